"""Commands for the memories of an account."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from memstore.cli.application import (
    AsOf,
    Bucket,
    Entity,
    EvidenceRefs,
    Filter,
    Id,
    Language,
    Limit,
    Metadata,
    NewId,
    Registers,
    Scope,
    Scopes,
    Source,
    Text,
    Yes,
    commands_of,
    confirm,
    day,
    evidence_refs_of,
    json_of,
    read_text,
    read_turn,
    show_first,
)
from memstore.cli.errors import UsageError
from memstore.cli.output import complain
from memstore.cli.parameters import Argument, Command, Option
from memstore.models import Recall

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


def counted(number: int) -> str:
    """Tells how many memories."""
    return "1 memory" if number == 1 else f"{number} memories"


@command(
    "memstore remember 'I use pnpm, not npm.'",
    "git log -1 --format=%s | memstore remember - --bucket learned --source 'git log' --scope project:x",
)
def remember(
    session: "Session",
    text: Text,
    bucket: Bucket = "user",
    source: Source = None,
    language: Language = None,
    scope: Scope = None,
    metadata: Metadata = None,
    id: NewId = None,
) -> None:
    """Remember one thing, unless it is remembered already."""
    body = read_text(text)
    keys = json_of("--metadata", metadata)
    actor = session.writer()
    similar = session.similar(actor, body, scope)
    memory = session.store.insert_memory(
        actor,
        body,
        bucket=bucket or "",
        source_ref=source,
        language=language,
        scope=scope,
        metadata=keys,
        id=id,
    )
    # Of what was there already, that was told before.
    there = any(each.memory.id == memory.id for each in similar)
    session.out.remembered(memory, [] if there else similar)


@command("memstore correct 6f1d2a90 'I use pnpm 9, not npm.'")
def correct(
    session: "Session",
    id: Id,
    text: Text,
    bucket: Bucket = None,
    source: Source = None,
    language: Language = None,
    evidence: EvidenceRefs = None,
    entity: Entity = None,
    as_of: AsOf = None,
    scope: Scope = None,
    metadata: Metadata = None,
    new_id: NewId = None,
) -> None:
    """Correct a memory: a new one supersedes it.

    What is left out stays as it was; an empty --scope and --metadata {} clear it. A claim's correction needs
    evidence of its own. A steward's answers all open challenges.
    """
    body = read_text(text)
    keys = json_of("--metadata", metadata)
    actor, target = session.find(id)
    session.clean_later(deleted=False)
    memory = session.store.supersede_memory(
        actor,
        target,
        body,
        bucket=bucket,
        source_ref=source,
        language=language,
        entity=entity,
        as_of=day(as_of),
        evidence_refs=evidence_refs_of(evidence),
        scope=scope,
        metadata=keys,
        id=new_id,
    )
    session.out.memory(memory, "corrected")


@command("memstore replace 6f1d2a90 8e2f5c0e")
def replace(
    session: "Session",
    id: Id,
    by: Annotated[str, Argument(metavar="BY", help="The one that takes its place, likewise.")],
) -> None:
    """Replace a memory by another one that is there already, which supersedes it."""
    actor, target = session.find(id)
    _, replacement = session.find(by)
    session.clean_later(deleted=False)
    session.store.supersede_with(actor, target, replacement)
    session.out.memory(session.store.get_memory(actor, replacement), "replaced by")


@command("memstore forget 6f1d2a90")
def forget(session: "Session", id: Id) -> None:
    """Forget a memory: it is deleted, for good."""
    actor, found = session.find(id)
    session.clean_later()
    session.out.memory(session.store.delete_memory(actor, found), "forgot")


@command("memstore forget-scope project:x", name="forget-scope")
def forget_scope(
    session: "Session",
    scope: Annotated[str, Argument(metavar="NAME", help="The project, session or agent.")],
    yes: Yes = False,
) -> None:
    """Forget all memories of one scope, live and superseded, for good.

    A file that memstore export wrote before brings them back: import adds what isn't there.
    """
    actor = session.existing()
    memories = session.store.iterate_memories(actor, include_superseded=True, scopes=[scope])
    number = sum(memory.scope is not None for memory in memories)
    confirm(f"Forget the {counted(number)} of the scope {scope}?", yes)
    session.clean_later()
    session.out.facts({"forgot": session.store.delete_scope(actor, scope)})


@command("memstore erase --account customer-7")
def erase(session: "Session", yes: Yes = False) -> None:
    """Erase an account, which --account has to name: its memories in every bucket, for good.

    The texts that it wrote on others' claims go too; the records themselves stay. A file that memstore
    export wrote before brings its memories and items back, but neither its tokens nor its ceilings.
    """
    if not session.account_given:
        raise UsageError("erase needs --account, with the account to erase")
    actor = session.existing()
    number = sum(1 for _ in session.store.iterate_memories(actor, include_superseded=True))
    confirm(f"Erase the account {session.account} with its {counted(number)}?", yes)
    session.clean_later()
    session.out.facts({"erased": session.store.delete_user(actor)})


@command(
    "memstore list",
    "memstore list --scope project:x",
    "memstore list --all --json | jq -r .body",
    name="list",
)
def list_(
    session: "Session",
    bucket: Bucket = None,
    superseded: Annotated[bool, Option("--all", help="Also those that were superseded.")] = False,
    scopes: Scopes = None,
    filter: Filter = None,
    limit: Limit = None,
    after: Annotated[str | None, Option(metavar="ID", help="Only those listed after this memory.")] = None,
) -> None:
    """List the memories, newest first."""
    wanted = json_of("--filter", filter)
    if after is None:
        actor, start = session.reader(), None
    else:
        actor, start = session.find(after)
    memories = (
        session.store.iterate_memories(
            actor, bucket=bucket, include_superseded=superseded, after=start, scopes=scopes, filter=wanted
        )
        if actor
        else iter(())
    )
    last = show_first(memories, limit, session.out.memories)
    if last is None:
        session.out.remark("There are no memories.")
    elif next(memories, None):
        complain(f"There are more: go on with --after {last.id}")


@command(
    "memstore search 'package manager'",
    "memstore search pnpm --all --scope project:x --limit 3",
)
def search(
    session: "Session",
    text: Annotated[str, Argument(metavar="TEXT", help="What to look for; - reads it from standard input.")],
    superseded: Annotated[bool, Option("--all", help="Also those that were superseded.")] = False,
    scopes: Scopes = None,
    filter: Filter = None,
    limit: Limit = 10,
) -> None:
    """Search the memories, best first, with their scores: overall, of words and of meaning.

    The state says whether a recall for this text could attach it: eligible, else live or superseded.
    """
    query = read_turn(text)
    wanted = json_of("--filter", filter)
    actor = session.reader()
    found = (
        session.store.rank_memories(
            actor, query, scopes=scopes, filter=wanted, maximum=limit, include_superseded=superseded
        )
        if actor
        else []
    )
    found = [each for each in found if each.score > 0]
    session.out.ranked(found)
    if not found:
        session.out.remark("Nothing was found.")


@command("memstore show 6f1d2a90")
def show(session: "Session", id: Id) -> None:
    """Show all of one memory, and of a claim its status."""
    actor, found = session.find(id)
    memory = session.store.get_memory(actor, found)
    status = session.store.memory_status(actor, found) if memory.bucket == "system" else None
    session.out.facts({**asdict(memory), "status": status})


@command("memstore history 6f1d2a90")
def history(session: "Session", id: Id) -> None:
    """Show what a memory superseded and what superseded it: at a terminal as a tree, else oldest first."""
    from memstore.cli.history import read_history

    read_history(session.store, *session.find(id)).show(session.out)


@command("memstore recall 'Install the dependencies.'", "memstore recall - --max 3 --json < turn.txt")
def recall(
    session: "Session",
    turn: Text,
    maximum: Annotated[int | None, Option("--max", metavar="NUMBER", help="The most memories.")] = None,
    characters: Annotated[int | None, Option(metavar="NUMBER", help="The most characters of bodies.")] = None,
    scopes: Scopes = None,
    filter: Filter = None,
) -> None:
    """Recall what to tell a model before a turn."""
    query = read_turn(turn)
    wanted = json_of("--filter", filter)
    actor = session.reader()
    answer = Recall(backend="none")
    if actor is not None:
        answer = session.store.recall(
            actor,
            query,
            maximum_attached=maximum,
            maximum_attached_characters=characters,
            scopes=scopes,
            filter=wanted,
            strict=True,
        )
    if session.out.as_json:
        session.out.facts(asdict(answer))
    elif answer.note is not None:
        print(answer.note)  # the database has replaced what could control a terminal
    else:
        session.out.remark("There is nothing to recall.")
