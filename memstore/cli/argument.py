"""What `memstore records` shows: the argument about one claim, each challenge with what answered it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from memstore.cli.output import Output, age, printable
from memstore.errors import MemoryNotFound
from memstore.models import AdmissionRecord, Evidence, Memory
from memstore.store import Store

if TYPE_CHECKING:
    from rich.text import Text


def evidence_text(piece: Evidence) -> str:
    """Writes one piece of evidence as the option `--evidence` takes it."""
    return f"{piece['kind']}:{piece['ref']}@{piece['digest']}"


@dataclass(frozen=True)
class Argument:
    """The argument about a claim.

    Attributes:
        actor: Who reads it.
        claim: The claim's id.
        status: What the records say of it.
        memory: The claim itself, for its author and for stewards.
        replacement: What replaced it, likewise; None where nothing did, and where that is gone.
        records: The records, oldest first.
    """

    actor: UUID
    claim: UUID
    status: str
    memory: Memory | None
    replacement: Memory | None
    records: Sequence[AdmissionRecord]

    def show(self, out: Output) -> None:
        """Prints it: a tree at a terminal, else a line a record, the answers behind their challenge."""
        if out.as_json:
            out.facts(self._document())
        elif out.pretty:
            self._tree()
        else:
            out.records(self._ordered(), lambda record, _: self._cells(record))

    def _answers(self, challenge: AdmissionRecord) -> list[AdmissionRecord]:
        return [record for record in self.records if record.challenge_id == challenge.id]

    def _ordered(self) -> Iterator[AdmissionRecord]:
        for record in self.records:
            if record.role != "refutation":
                yield record
                yield from self._answers(record)

    def _state(self, record: AdmissionRecord) -> str:
        if record.role == "challenge":
            return "refuted" if self._answers(record) else "open"
        return record.verdict or ""

    def _cells(self, record: AdmissionRecord) -> tuple[str, ...]:
        return (
            str(record.id),
            record.role,
            self._state(record),
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
                    "state": self._state(record),
                    "refutations": [asdict(answer) for answer in self._answers(record)],
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
                for answer in self._answers(record):
                    branch.add(self._label(answer))
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

    def _effect(self, challenge: AdmissionRecord) -> str:
        """Tells whether an open challenge suspends the claim, where the claim's status says so."""
        open_ones = [
            record
            for record in self.records
            if record.role == "challenge" and record.evidence_refs and not self._answers(record)
        ]
        if challenge not in open_ones:
            return ""
        if self.status == "admitted":
            return ", queued"
        return ", in effect" if self.status == "suspended" and len(open_ones) == 1 else ""

    def _label(self, record: AdmissionRecord) -> "Text":
        from rich.text import Text

        title = self._state(record) or "refuted"
        by = "you" if record.user_id == self.actor else str(record.user_id)[:8]
        when = age(record.inserted_at)
        if record.role == "challenge":
            title += f" challenge {str(record.id)[:8]}"
            when += self._effect(record) if record.evidence_refs else ", without evidence"
        return Text.assemble((title, "bold"), (f" by {by}, {when}: ", "dim"), printable(record.ground))


def read_argument(store: Store, actor: UUID, claim: UUID) -> Argument:
    """Reads what an account may see of the argument about a claim.

    Raises:
        RecordTargetNotFound: There is no such claim.
    """
    records = store.list_records(actor, claim)
    status = store.memory_status(actor, claim) or ""
    history: list[Memory] = []
    with suppress(MemoryNotFound):  # what is another's, a steward alone can read
        history = store.memory_history(actor, claim)
    memories = {memory.id: memory for memory in history}
    memory = memories.get(claim)
    replacement = memories.get(memory.superseded_by_id) if memory and memory.superseded_by_id else None
    return Argument(actor, claim, status, memory, replacement, records)
