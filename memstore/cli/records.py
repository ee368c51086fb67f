"""What `memstore records` shows: the records about one claim, each challenge with its refutations."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from memstore.cli.output import Output, age, effect_text, printable
from memstore.errors import MemoryNotFound
from memstore.models import AdmissionRecord, Evidence, Memory
from memstore.store import Store

if TYPE_CHECKING:
    from rich.text import Text


def evidence_text(piece: Evidence) -> str:
    """Writes one piece of evidence as the option `--evidence` takes it."""
    return f"{piece['kind']}:{piece['ref']}@{piece['digest']}"


@dataclass(frozen=True)
class ClaimRecords:
    """The records about a claim.

    Attributes:
        actor: The account that reads them.
        claim: The claim's id.
        status: The claim's status.
        memory: The claim itself; None for an account that may not read it.
        replacement: The memory that supersedes it; None where there is none, or it was deleted.
        records: The records, oldest first.
    """

    actor: UUID
    claim: UUID
    status: str
    memory: Memory | None
    replacement: Memory | None
    records: Sequence[AdmissionRecord]

    def show(self, out: Output) -> None:
        """Prints them: a tree at a terminal, else a line a record, refutations after their challenge."""
        if out.as_json:
            out.facts(self._document())
        elif out.pretty:
            self._tree()
        else:
            out.records(self._ordered(), lambda record, _: self._cells(record))

    def _refutations(self, challenge: AdmissionRecord) -> list[AdmissionRecord]:
        return [record for record in self.records if record.challenge_id == challenge.id]

    def _ordered(self) -> Iterator[AdmissionRecord]:
        for record in self.records:
            if record.role != "refutation":
                yield record
                yield from self._refutations(record)

    def _cells(self, record: AdmissionRecord) -> tuple[str, ...]:
        return (
            str(record.id),
            record.role,
            record.verdict or record.effect or "",
            str(record.user_id),
            record.inserted_at.isoformat(),
            record.ground,
            *map(evidence_text, record.evidence_refs or ()),
        )

    def _document(self) -> dict[str, object]:
        return {
            "memory_id": self.claim,
            "status": self.status,
            "memory": self.memory and asdict(self.memory),
            "records": [
                {
                    **asdict(record),
                    "state": _state(record),
                    "refutations": [asdict(refutation) for refutation in self._refutations(record)],
                }
                for record in self.records
                if record.role != "refutation"
            ],
        }

    def _tree(self) -> None:
        from rich.console import Console
        from rich.text import Text
        from rich.tree import Tree

        about, body = str(self.claim), ""
        if self.memory:
            written = age(self.memory.inserted_at)
            about, body = f"{self.memory.slug}, {written}, {self._fate(self.memory)}: ", self.memory.body
        title = Text.assemble(
            (self.status, "bold"), "  ", (printable(about), "dim" if body else ""), printable(body)
        )
        tree = Tree(title, guide_style="dim")
        for record in self.records:
            if record.role != "refutation":
                branch = tree.add(self._label(record))
                for piece in record.evidence_refs or ():
                    branch.add(Text(printable(evidence_text(piece))))
                for refutation in self._refutations(record):
                    branch.add(self._label(refutation))
        if not self.records:
            tree.add(Text("no records yet", style="dim"))
        Console(highlight=False).print(tree)

    def _fate(self, claim: Memory) -> str:
        if claim.live:
            return "live"
        if self.replacement is None:
            return "superseded, its replacement is gone"
        if self.replacement.stance:
            return f"promoted to {self.replacement.stance}"
        return f"superseded by {str(self.replacement.id)[:8]}"

    def _label(self, record: AdmissionRecord) -> "Text":
        from rich.text import Text

        title, when = _state(record), age(record.inserted_at)
        by = "you" if record.user_id == self.actor else str(record.user_id)[:8]
        if record.effect:
            when += f", {effect_text(record.effect)}" if title == "open" else ""
            title += f" challenge {str(record.id)[:8]}"
        return Text.assemble((title, "bold"), (f" by {by}, {when}: ", "dim"), printable(record.ground))


def _state(record: AdmissionRecord) -> str:
    if record.effect is None:
        return record.verdict or "refuted"
    return "refuted" if record.effect == "refuted" else "open"


def read_records(store: Store, actor: UUID, claim: UUID) -> ClaimRecords:
    """Reads the records about a claim, and of the claim what the account may read.

    Raises:
        RecordTargetNotFound: There is no such claim.
    """
    records = store.list_records(actor, claim)
    status = store.memory_status(actor, claim) or ""
    history: list[Memory] = []
    with suppress(MemoryNotFound):  # for an account that is neither the author nor a steward
        history = store.memory_history(actor, claim)
    memories = {memory.id: memory for memory in history}
    memory = memories.get(claim)
    replacement = memories.get(memory.superseded_by_id) if memory and memory.superseded_by_id else None
    return ClaimRecords(actor, claim, status, memory, replacement, records)
