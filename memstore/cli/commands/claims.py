"""Commands for claims: the memories of the system bucket, which all accounts share."""

from datetime import date
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from memstore.cli.application import (
    AsOf,
    ClaimId,
    Entity,
    EvidenceRefs,
    Ground,
    Language,
    Limit,
    NewId,
    Registers,
    Source,
    Text,
    commands_of,
    day,
    evidence_refs_of,
    read_text,
    show_first,
)
from memstore.cli.output import complain
from memstore.cli.parameters import Argument, Command, Option
from memstore.models import AdmissionRecord

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


@command(
    "memstore propose 'pnpm needs --frozen-lockfile in CI.' --slug sys:pnpm-ci --tier glass"
    " --evidence 'receipt:ci run 118@sha256:5f2c'"
)
def propose(
    session: "Session",
    text: Text,
    slug: Annotated[str | None, Option(metavar="sys:NAME", help="The claim's name; required.")] = None,
    tier: Annotated[
        str | None,
        Option(metavar="TIER", help="ledger or glass; required.", autocompletion=lambda: ["ledger", "glass"]),
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
    body = read_text(text)
    evidence_refs = evidence_refs_of(evidence)
    memory = session.store.insert_memory(
        session.writer(),
        body,
        bucket="system",
        source_ref=source,
        slug=slug,
        entity=entity,
        tier=tier,
        as_of=day(as_of) or date.today(),
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
        Option(
            metavar="STATUS",
            help="Only the candidate, admitted, rejected or suspended ones.",
            autocompletion=lambda: ["candidate", "admitted", "rejected", "suspended"],
        ),
    ] = None,
    limit: Limit = None,
    after: Annotated[str | None, Option(metavar="ID", help="Only those listed after this claim.")] = None,
) -> None:
    """List the claims, oldest first; for stewards.

    Each with its status, and its number of open challenges.
    """
    actor = session.existing()
    found = session.claims(actor, status, session.find_claim(actor, after) if after else None)
    last = show_first(found, limit, session.out.claims)
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
    reason = read_text(ground)
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
    of them; its other challenges are queued. What is printed tells the effect.
    """
    reason = read_text(ground)
    evidence_refs = evidence_refs_of(evidence)
    actor = session.writer()
    claim = session.find_claim(actor, id)
    record = session.store.challenge_memory(actor, claim, reason, evidence_refs=evidence_refs)
    _tell_record(session, actor, record, "challenged")


@command("memstore refute 0b7c41de 'That page is about another version.'")
def refute(
    session: "Session",
    challenge: Annotated[str, Argument(metavar="ID", help="The challenge's id, or its first characters.")],
    ground: Ground,
) -> None:
    """Answer a challenge, which closes it; for stewards."""
    reason = read_text(ground)
    actor = session.existing()
    record = session.store.refute_challenge(actor, session.find_challenge(actor, challenge), reason)
    _tell_record(session, actor, record, "refuted")


@command("memstore promote 6f1d2a90 pnpm-in-ci --evidence url:https://example.org/pnpm-in-ci@sha256:77d0")
def promote(
    session: "Session",
    id: ClaimId,
    stance: Annotated[
        str, Argument(metavar="STANCE", help="The position's id: lowercase words joined by hyphens.")
    ],
    evidence: EvidenceRefs = None,
    entity: Entity = None,
    as_of: AsOf = None,
) -> None:
    """Move a claim to a knowledge base; for stewards.

    A pointer to the reviewed position supersedes it, and recall attaches it no more.
    """
    evidence_refs = evidence_refs_of(evidence) or []
    actor = session.existing()
    target = session.find_claim(actor, id)
    memory = session.store.promote_memory(
        actor, target, stance, evidence_refs, as_of=day(as_of), entity=entity
    )
    session.out.memory(memory, "promoted")


@command("memstore records 6f1d2a90", "memstore records 6f1d2a90 --json | jq .records")
def records(session: "Session", id: ClaimId) -> None:
    """Show the records about a claim.

    They are verdicts, challenges with their effect, and the answers to these.
    """
    from memstore.cli.records import read_records

    actor = session.existing()
    read_records(session.store, actor, session.find_claim(actor, id)).show(session.out)
