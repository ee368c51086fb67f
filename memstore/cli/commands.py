"""The commands of `memstore`: one function each."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

import typer

from memstore.cli.failures import REFUSED, UNREACHABLE, Commands, UsageError, tell
from memstore.cli.output import complain, printable, printable_json
from memstore.models import AdmissionRecord, Evidence, Recall, Settings

# Help texts and completion don't wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session

P = ParamSpec("P")
T = TypeVar("T")

app = typer.Typer(
    cls=Commands,
    epilog="Without a database URL, memstore keeps a private PostgreSQL in your data directory.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)

_IMPORT_PATIENCE = 600.0  # seconds that embedding a batch may take: who imports waits anyway

# What every command takes, before or behind its name.
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The database; else $MEMSTORE_DATABASE_URL, else $DATABASE_URL, else the private one.",
    ),
]
Account = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Whose memories: your own id of the account; else $MEMSTORE_ACCOUNT, else default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one document a line.")]

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters.")]
Bucket = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="user: somebody said it; learned: a job found it out.",
        autocompletion=lambda: ["user", "learned"],
    ),
]
Source = Annotated[str | None, typer.Option(metavar="NAME", help="Which work taught it.")]
Language = Annotated[
    str | None, typer.Option(metavar="NAME", help="How its words are read, such as english or simple.")
]
Ground = Annotated[str, typer.Argument(metavar="GROUND", help="Why; - reads it from standard input.")]
ClaimId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The claim's id; its first characters do for its author and for stewards."
    ),
]
EvidenceRefs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND:REF@DIGEST",
        help="A receipt, memory or url, with its digest behind the last @; or a JSON object with"
        " kind, ref and digest. Repeatable.",
    ),
]
AsOf = Annotated[
    datetime | None,
    typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="For which day it holds; today if left out."),
]
Entity = Annotated[str | None, typer.Option(metavar="NAME", help="What it is about.")]
Limit = Annotated[int | None, typer.Option(metavar="NUMBER", min=1, help="So many at most.")]
NewId = Annotated[str | None, typer.Option("--id", metavar="UUID", help="Its id: makes a retry safe.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"memstore {version('pg-memstore')}")
        raise typer.Exit


@app.callback()
def memstore(
    ctx: typer.Context,
    database_url: DatabaseUrl = None,
    account: Account = None,
    as_json: AsJson = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The memory of AI agents, in a PostgreSQL database that owns its rules."""
    ctx.obj = (database_url, account, as_json)
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


_SHARED = [
    parameter
    for name, parameter in inspect.signature(memstore).parameters.items()
    if name in ("database_url", "account", "as_json")
]


def command(
    *examples: str, name: str | None = None, **settings: Any
) -> "Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]":
    """Makes a function a command: its first argument becomes the session, and the shared options are added.

    Args:
        examples: For the help text.
        name: The command's name, if not the function's.
        settings: Typer's own.
    """

    def register(
        function: "Callable[Concatenate[Session, P], None]",
    ) -> "Callable[Concatenate[Session, P], None]":
        def run(ctx: typer.Context, **arguments: Any) -> None:
            from memstore.cli.session import Session

            own = [arguments.pop(shared.name) for shared in _SHARED]
            with Session(*(mine or before for mine, before in zip(own, ctx.obj, strict=True))) as session:
                function(session, **arguments)  # type: ignore[call-arg]

        (_, *parameters) = inspect.signature(function).parameters.values()
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        signature = inspect.Signature([context, *parameters, *_SHARED])
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        shown = "".join(f"\n  {example}" for example in examples)
        app.command(
            name or function.__name__, help=f"{inspect.getdoc(function)}\n\n\b\nExamples:{shown}", **settings
        )(run)
        return function

    return register


# Memories.


def _read(text: str) -> str:
    """Gives a text, or for - what standard input has."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise UsageError("standard input isn't UTF-8")


@command(
    "memstore remember 'I use pnpm, not npm.'",
    "git log -1 --format=%s | memstore remember - --bucket learned --source 'git log'",
)
def remember(
    session: "Session",
    text: Text,
    bucket: Bucket = "user",
    source: Source = None,
    language: Language = None,
    id: NewId = None,
) -> None:
    """Remember one thing."""
    body = _read(text)
    memory = session.store.insert_memory(
        session.writer(), body, bucket=bucket or "", source_ref=source, language=language, id=id
    )
    session.out.memory(memory, "remembered")


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
    new_id: NewId = None,
) -> None:
    """Correct a memory: a new one supersedes it.

    A claim's correction needs evidence of its own. A steward's answers all open challenges.
    """
    body = _read(text)
    actor, target = session.find(id)
    memory = session.store.supersede_memory(
        actor,
        target,
        body,
        bucket=bucket,
        source_ref=source,
        language=language,
        entity=entity,
        as_of=_day(as_of),
        evidence_refs=_evidence(evidence),
        id=new_id,
    )
    session.out.memory(memory, "corrected")


@command("memstore forget 6f1d2a90")
def forget(session: "Session", id: Id) -> None:
    """Forget a memory: it is deleted, for good."""
    session.out.memory(session.store.delete_memory(*session.find(id)), "forgot")


@command("memstore list", "memstore list --all --json | jq -r .body", name="list")
def list_(
    session: "Session",
    bucket: Bucket = None,
    superseded: Annotated[bool, typer.Option("--all", help="Also those that were superseded.")] = False,
    limit: Limit = None,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those that this memory comes before.")
    ] = None,
) -> None:
    """List the memories, newest first."""
    if after is None:
        actor, start = session.reader(), None
    else:
        actor, start = session.find(after)
    memories = (
        session.memories(actor, bucket=bucket, superseded=superseded, after=start) if actor else iter(())
    )
    last = _first(memories, limit, session.out.memories)
    if last is None:
        session.out.remark("There are no memories.")
    elif next(memories, None):
        complain(f"There are more: go on with --after {last.id}")


def _first(found: Iterator[T], limit: int | None, show: Callable[[Iterator[T]], None]) -> T | None:
    """Shows so many at most, and gives the last one shown."""
    last: list[T] = []

    def shown() -> Iterator[T]:
        for each in islice(found, limit):
            last[:] = [each]
            yield each

    show(shown())
    return last[0] if last else None


@command("memstore show 6f1d2a90")
def show(session: "Session", id: Id) -> None:
    """Show all of one memory, and of a claim its status."""
    actor, found = session.find(id)
    memory = session.store.get_memory(actor, found)
    status = session.store.memory_status(actor, found) if memory.bucket == "system" else None
    session.out.facts({**asdict(memory), "status": status})


@command("memstore history 6f1d2a90")
def history(session: "Session", id: Id) -> None:
    """Show what superseded what: at a terminal as a tree, else oldest first."""
    from memstore.cli.lineage import read_lineage

    read_lineage(session.store, *session.find(id)).show(session.out)


@command("memstore recall 'Install the dependencies.'", "memstore recall - --max 3 --json < turn.txt")
def recall(
    session: "Session",
    turn: Text,
    maximum: Annotated[
        int | None, typer.Option("--max", metavar="NUMBER", help="So many memories at most.")
    ] = None,
    characters: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="So many characters of bodies at most.")
    ] = None,
) -> None:
    """Tell what a model is to be told before a turn."""
    query = _read(turn)
    actor = session.reader()
    answer = Recall(backend="none")
    if actor is not None:
        answer = session.store.recall(
            actor, query, maximum_attached=maximum, maximum_attached_characters=characters, strict=True
        )
    if session.out.as_json:
        session.out.facts(asdict(answer))
    elif answer.note is not None:
        print(answer.note)  # in which the database has left nothing that could steer a terminal
    else:
        session.out.remark("There is nothing to tell.")


@command(
    "memstore import memories.jsonl",
    """echo '{"body": "I use pnpm.", "id": "8e2f5c0e-7d0f-4f0e-9d5e-0c4b6f1f2a77"}' | memstore import -""",
    name="import",
)
def import_(
    session: "Session",
    file: Annotated[
        typer.FileBinaryRead, typer.Argument(metavar="FILE", help="JSON Lines; - reads standard input.")
    ],
    batch: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Lines that are written together, or not at all.")
    ] = 1000,
) -> None:
    """Remember what a file has: a JSON object a line.

    Its keys are body and, where wanted, bucket, source_ref, language, id and the other arguments of
    insert_memory. A line that has an id can be imported again.

    What memstore export wrote comes in as it was, with ids, times and history, whole or not at all; for the
    database's owner.
    """
    from memstore.cli.importing import Import, LineRefused

    work = Import(session.connection, session.patient_store(_IMPORT_PATIENCE), session.writer)
    try:
        # Of a pipe the size is 0.
        with _progress(lambda: os.fstat(file.fileno()).st_size or None, in_bytes=True) as advance:
            for size in work.run(file, batch):
                advance(size)
    except LineRefused as refused:
        code = tell(refused.refusal, f"{refused.where}: ")
        if work.whole:
            complain("Nothing of the file is kept.")
        else:
            complain(f"Nothing of that batch is kept. Before it, {work.imported} memories were imported.")
        raise typer.Exit(code) from None
    session.out.facts({"imported": work.imported, "already_there": work.already_there})
    if work.replaced_otherwise:
        complain(
            f"{work.replaced_otherwise} memories that were there are not replaced as in the file; they stay."
        )
        raise typer.Exit(REFUSED)


@command(
    "memstore export customer-7.jsonl --account customer-7",
    "memstore export | gzip > memories.jsonl.gz",
)
def export(
    session: "Session",
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to, readable by you alone; - is standard output.")
    ] = "-",
) -> None:
    """Export all that the account owns, as JSON Lines for memstore import.

    That is its memories in every bucket, with embeddings, times and history. The records on claims stay in
    the store, and so does what the operator decides: the ceiling, and who is a steward.
    """
    from memstore.cli.exporting import export, private_file

    actor = session.existing()
    number = -1  # the first line is about the account
    with private_file(file) as stream:
        for line in export(session.connection, actor):
            stream.write(f"{printable_json(line)}\n".encode())
            number += 1
    if file != "-":
        session.out.facts({"exported": number})


@contextmanager
def _progress(total: Callable[[], int | None], in_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Shows how much is done, at a terminal."""
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    done = DownloadColumn() if in_bytes else MofNCompleteColumn()
    with Progress(BarColumn(), done, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total())
        yield lambda amount: bar.advance(task, amount)


@command("memstore mcp --account me", "claude mcp add memory -- memstore mcp --account me")
def mcp(
    session: "Session",
    claims: Annotated[
        bool, typer.Option("--claims", help="Also the tools that propose and challenge shared claims.")
    ] = False,
) -> None:
    """Serve the memories of one account to an agent, by the Model Context Protocol on stdin and stdout.

    The client starts it; put its command and arguments into the client's configuration, with the whole path
    of memstore where the client doesn't find it. The tools are remember, correct, forget, list, recall and
    history; with --claims also propose, challenge and records. None of them names an account: two accounts
    are two entries of the configuration.

    A database's URL with a password is better given as MEMSTORE_DATABASE_URL, in the entry's env, than as an
    argument, which other users of the machine can see. Without one, servers and commands of one user share
    the private PostgreSQL, which ends with the last of them.

    --claims is off unless it is asked for, since what these tools write is for all accounts to see, and can't
    be taken back.
    """
    import signal

    try:
        from memstore.mcp_server.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic", "anyio"):
            raise
        complain("memstore mcp needs more packages: pip install 'pg-memstore[mcp]'")
        raise typer.Exit(REFUSED) from None
    if session.server:
        session.connection.close()  # having brought the private database up to date

    def end(number: int, _: object) -> None:
        # Not by an exception: a thread that waits for standard input would hold it up.
        session.close()
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    serve(session.url, session.account, claims)


# Claims: the system bucket, which is shared and governed.


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _evidence(given: Sequence[str] | None) -> list[Evidence] | None:
    return [_piece(each) for each in given] if given else None


def _piece(given: str) -> Evidence:
    if given.startswith("{"):
        import json

        try:
            piece: Evidence = json.loads(given)
            return piece
        except ValueError:
            pass
        raise UsageError("--evidence: what begins with { has to be a JSON object")
    kind, colon, rest = given.partition(":")
    ref, at, digest = rest.rpartition("@")
    if not (colon and at):
        raise UsageError("--evidence takes KIND:REF@DIGEST, such as url:https://example.org@sha256:5f2c")
    return {"kind": kind, "ref": ref, "digest": digest}


@command(
    "memstore propose 'pnpm needs --frozen-lockfile in CI.' --slug sys:pnpm-ci --tier glass"
    " --evidence 'receipt:ci run 118@sha256:5f2c'"
)
def propose(
    session: "Session",
    text: Text,
    slug: Annotated[
        str | None, typer.Option(metavar="sys:NAME", help="What the claim is called; needed.")
    ] = None,
    tier: Annotated[
        str | None,
        typer.Option(
            metavar="TIER", help="ledger or glass; needed.", autocompletion=lambda: ["ledger", "glass"]
        ),
    ] = None,
    evidence: EvidenceRefs = None,
    entity: Entity = None,
    as_of: AsOf = None,
    source: Source = None,
    language: Language = None,
    id: NewId = None,
) -> None:
    """Propose a claim to all accounts, with evidence.

    A steward decides on it.
    """
    body = _read(text)
    evidence_refs = _evidence(evidence)
    memory = session.store.insert_memory(
        session.writer(),
        body,
        bucket="system",
        source_ref=source,
        slug=slug,
        entity=entity,
        tier=tier,
        as_of=_day(as_of) or date.today(),
        admission="candidate",
        evidence_refs=evidence_refs,
        language=language,
        id=id,
    )
    session.out.memory(memory, "proposed")


@command("memstore claims --status candidate", "memstore claims --json | jq -r .memory.body")
def claims(
    session: "Session",
    status: Annotated[
        str | None,
        typer.Option(
            metavar="STATUS",
            help="Only the candidate, admitted, rejected or suspended ones.",
            autocompletion=lambda: ["candidate", "admitted", "rejected", "suspended"],
        ),
    ] = None,
    limit: Limit = None,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those that come after this claim.")
    ] = None,
) -> None:
    """List the claims, oldest first; for stewards.

    Each with its status, and how many challenges are open.
    """
    actor = session.existing()
    found = session.claims(actor, status, session.find_claim(actor, after) if after else None)
    last = _first(found, limit, session.out.claims)
    if last is None:
        session.out.remark("There are no claims.")
    elif next(found, None):
        complain(f"There are more: go on with --after {last.memory.id}")


@command("memstore admit 6f1d2a90 'The run shows it.'")
def admit(session: "Session", id: ClaimId, ground: Ground) -> None:
    """Admit a claim, so that it may reach all accounts; for stewards."""
    _judge(session, id, "admitted", ground)


@command("memstore reject 6f1d2a90 'The run shows the opposite.'")
def reject(session: "Session", id: ClaimId, ground: Ground) -> None:
    """Reject a claim; for stewards."""
    _judge(session, id, "rejected", ground)


def _judge(session: "Session", id: str, verdict: str, ground: str) -> None:
    reason = _read(ground)
    actor = session.existing()
    claim = session.find_claim(actor, id)
    _tell_record(session, actor, session.store.record_admission(actor, claim, verdict, reason), verdict)


def _tell_record(session: "Session", actor: UUID, record: AdmissionRecord, done: str) -> None:
    session.out.record(record, done, session.store.memory_status(actor, record.memory_id) or "")


@command(
    "memstore challenge 6f1d2a90-2f9c-4a51-9b43-7d0c5f6a1e08 'It is the default in CI.'"
    " --evidence url:https://pnpm.io/cli/install@sha256:90ab"
)
def challenge(session: "Session", id: ClaimId, ground: Ground, evidence: EvidenceRefs = None) -> None:
    """Say that a claim is wrong.

    With evidence, that suspends an admitted claim until a steward answers. One account can suspend a quarter
    of them; its other challenges wait.
    """
    reason = _read(ground)
    evidence_refs = _evidence(evidence)
    actor = session.writer()
    claim = session.find_claim(actor, id)
    record = session.store.challenge_memory(actor, claim, reason, evidence_refs=evidence_refs)
    _tell_record(session, actor, record, "challenged")


@command("memstore refute 0b7c41de 'That page is about another version.'")
def refute(
    session: "Session",
    challenge: Annotated[
        str, typer.Argument(metavar="ID", help="The challenge's id, or its first characters.")
    ],
    ground: Ground,
) -> None:
    """Answer a challenge, which closes it; for stewards."""
    reason = _read(ground)
    actor = session.existing()
    record = session.store.refute_challenge(actor, session.find_challenge(actor, challenge), reason)
    _tell_record(session, actor, record, "refuted")


@command("memstore promote 6f1d2a90 pnpm-in-ci --evidence url:https://example.org/pnpm-in-ci@sha256:77d0")
def promote(
    session: "Session",
    id: ClaimId,
    stance: Annotated[
        str, typer.Argument(metavar="STANCE", help="The position's id: lowercase words joined by hyphens.")
    ],
    evidence: EvidenceRefs = None,
    entity: Entity = None,
    as_of: AsOf = None,
) -> None:
    """Move a claim to a knowledge base; for stewards.

    A pointer to the reviewed position takes its place, and no recall tells of it any more.
    """
    evidence_refs = _evidence(evidence) or []
    actor = session.existing()
    target = session.find_claim(actor, id)
    memory = session.store.promote_memory(
        actor, target, stance, evidence_refs, as_of=_day(as_of), entity=entity
    )
    session.out.memory(memory, "promoted")


@command("memstore records 6f1d2a90", "memstore records 6f1d2a90 --json | jq .records")
def records(session: "Session", id: ClaimId) -> None:
    """Show the argument about a claim.

    That is the verdicts, and the challenges with their answers.
    """
    from memstore.cli.argument import read_argument

    actor = session.existing()
    read_argument(session.store, actor, session.find_claim(actor, id)).show(session.out)


# The operator's.


@command("memstore migrate --database-url postgresql://localhost/memory")
def migrate(session: "Session") -> None:
    """Install memstore in the database, or bring it up to date."""
    from memstore.schema import migrate

    applied = migrate(session.url)
    if session.out.as_json:
        session.out.facts({"applied": applied})
    else:
        for name in applied:
            print(f"applied {name}")
        print("The database is up to date.")


@command("memstore verify", "memstore verify --data")
def verify(
    session: "Session",
    data: Annotated[
        bool, typer.Option("--data", help="Check all that is stored instead; for the operator.")
    ] = False,
) -> None:
    """Check that the database is as this version needs it; exit 1 where it isn't."""
    from memstore.cli.checks import check_data, check_database

    checks = list(check_data(session.store) if data else check_database(session.connection))
    session.out.records(
        checks,
        lambda check, _: ("ok" if check.ok else "off", check.name, check.found, check.advice or ""),
        document=asdict,
    )
    if not all(check.ok for check in checks):
        raise typer.Exit(REFUSED)


@command("memstore stats", "memstore stats --json | jq -r 'select(.name == \"dead_rows\")'")
def stats(session: "Session") -> None:
    """Show figures of the store; for the database's owner.

    How many memories there are of each kind, which accounts are nearly full, what waits for an embedding or
    a steward, and how large and how much used tables and indexes are. A ~ stands before an estimate.
    """
    from memstore.cli.statistics import COLUMNS, statistic_rows

    session.out.records(
        statistic_rows(session.store.store_statistics(), session.out.pretty),
        lambda row, _: row.cells,
        COLUMNS,
        document=lambda row: asdict(row.statistic),
    )


@command("memstore accounts")
def accounts(session: "Session") -> None:
    """List the accounts; for the database's owner."""
    _print_accounts(session, None)


def _print_accounts(session: "Session", only: UUID | None) -> None:
    from psycopg.rows import dict_row

    query = (
        "select external_ref, id, live_memories, maximum_live_memories, steward, inserted_at"
        " from memstore.users where erased_at is null and id = coalesce(%s, id) order by external_ref, id"
    )
    with session.connection.cursor(row_factory=dict_row) as cursor:
        session.out.records(
            cursor.stream(query, [only]),
            lambda row, _: (
                row["external_ref"] or "",
                str(row["id"]),
                f"{row['live_memories']}/{row['maximum_live_memories']}",
                "steward" if row["steward"] else "",
            ),
            ("account", "id", "live/maximum", ""),
        )


@command("memstore steward reviewer-1", "memstore steward reviewer-1 --off")
def steward(
    session: "Session",
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your own id of the account.")],
    off: Annotated[bool, typer.Option("--off", help="It is one no more.")] = False,
) -> None:
    """Mark an account as a steward; for the database's owner.

    The account is made where there is none.
    """
    session.account = name
    # Together, so that a role that may not mark it doesn't make it either.
    with session.connection.transaction():
        account = session.existing() if off else session.writer()
        session.store.set_steward(account, not off)
    _print_accounts(session, account)


@command("memstore embed", "memstore embed --model my_package.models:embedder")
def embed(
    session: "Session",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The ready model, which is meant when this is left out; or a memstore.Embedder of your own,"
            " as MODULE:VARIABLE.",
        ),
    ] = None,
) -> None:
    """Embed what has no embedding; for the database's owner.

    That is the live memories of all accounts that have none of this model. It may be stopped at any time, and
    goes on when it is run again.
    """
    from memstore.cli.embedding import count_gaps, find_embedder, require_working
    from memstore.embedders import Filled, fill

    embedder = find_embedder(model)
    require_working(embedder)
    done = Filled()
    with _progress(lambda: count_gaps(session.connection, embedder.model)) as advance:

        def show(filled: Filled) -> None:
            nonlocal done
            advance(filled.embedded + filled.skipped - done.embedded - done.skipped)
            done = filled

        fill(session.store, embedder, progress=show)
    session.out.facts({"model": embedder.model, **asdict(done)})
    if done.skipped:
        complain("What was skipped could not be embedded; it is tried again the next time.")
        raise typer.Exit(REFUSED)


@command("memstore settings")
def settings(session: "Session") -> None:
    """Show the settings of the store; for the database's owner."""
    session.out.facts(asdict(session.store.configure()))


@command(
    "memstore configure maximum_attached=6 lexical_floor=0.1",
    "memstore configure --account default maximum_live_memories=5000",
)
def configure(
    session: "Session",
    changes: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="See memstore settings.")],
) -> None:
    """Change settings; for the database's owner.

    maximum_live_memories is for new accounts; with --account, it is for that account alone.
    """
    values = dict(map(_setting, changes))
    if not session.account_given:
        session.out.facts(asdict(session.store.configure(**values)))
        return
    if values.keys() != {"maximum_live_memories"}:
        raise UsageError("of one account, only maximum_live_memories can be set")
    actor = session.writer()
    session.store.set_maximum_live_memories(actor, **values)
    _print_accounts(session, actor)


def _setting(change: str) -> tuple[str, Any]:
    name, _, value = change.partition("=")
    kinds = {each.name: each.type for each in fields(Settings)}
    if name not in kinds:
        raise UsageError(f"there is no setting {name}; there are {', '.join(kinds)}")
    try:
        if kinds[name] is bool:
            return name, {"true": True, "on": True, "false": False, "off": False}[value.lower()]
        return name, (int if kinds[name] is int else float)(value)
    except (ValueError, KeyError):
        pass
    raise UsageError(f"{name} takes {'true or false' if kinds[name] is bool else 'a number'}")


@command("memstore demo")
def demo(session: "Session") -> None:
    """Show the store at work, under an account that is erased again."""
    from memstore.cli.demo import run_demo

    for step in run_demo(session.connection):
        if session.out.as_json:
            session.out.facts(asdict(step))
            continue
        print(f"# {step.about}")
        if step.command:
            print(f"$ {step.command}")
        print(step.sql)
        for row in step.rows:
            lines = "  ".join(str(value) for value in row.values()).splitlines()
            print(*(f"    {printable(line)}" for line in lines), sep="\n")
        print()


@command(
    "memstore psql",
    "memstore psql -- -c 'select * from memstore.list_rules()'",
    context_settings={"ignore_unknown_options": True},
)
def psql(
    session: "Session",
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENTS]", help="For psql.")] = None,
) -> None:
    """Open psql on the database."""
    import signal
    import subprocess

    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    session.connection.close()  # having brought the private database up to date
    program = _find_psql(session)
    parameters = conninfo_to_dict(session.url)
    environment = dict(os.environ)
    if password := parameters.pop("password", None):
        environment["PGPASSWORD"] = str(password)  # a command line can be seen by all
    # Not ignored: psql would inherit that.
    signal.signal(signal.SIGINT, lambda *_: None)
    result = subprocess.run([program, make_conninfo("", **parameters), *(arguments or [])], env=environment)
    raise typer.Exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)


def _find_psql(session: "Session") -> str:
    """Finds psql: the private server's own, else the one of the path, else the wheel's."""
    import shutil

    from memstore.embedded import EmbeddedServerError, find_binaries

    if session.server and (session.server.binaries / "psql").exists():
        return str(session.server.binaries / "psql")
    if found := shutil.which("psql"):
        return found
    try:
        own = find_binaries() / "psql"
    except EmbeddedServerError:
        own = Path()
    if own.is_file():
        return str(own)
    complain("There is no psql: install PostgreSQL's client programs.")
    raise typer.Exit(UNREACHABLE)
