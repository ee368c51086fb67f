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
        records: The records, oldest first.
    """

    actor: UUID
    claim: UUID
    status: str
    memory: Memory | None
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

        about = f"{self.memory.slug}  {self.memory.body}" if self.memory else str(self.claim)
        tree = Tree(Text.assemble((self.status, "bold"), f"  {printable(about)}"), guide_style="dim")
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

    def _label(self, record: AdmissionRecord) -> "Text":
        from rich.text import Text

        title = self._state(record) or "refuted"
        by = "you" if record.user_id == self.actor else str(record.user_id)[:8]
        when = age(record.inserted_at)
        if record.role == "challenge":
            title += f" challenge {str(record.id)[:8]}"
            when += "" if record.evidence_refs else ", without evidence"
        return Text.assemble((title, "bold"), (f" by {by}, {when}: ", "dim"), printable(record.ground))


def read_argument(store: Store, actor: UUID, claim: UUID) -> Argument:
    """Reads what an account may see of the argument about a claim.

    Raises:
        RecordTargetNotFound: There is no such claim.
    """
    records = store.list_records(actor, claim)
    status = store.memory_status(actor, claim) or ""
    memory = None
    with suppress(MemoryNotFound):  # what is another's, a steward alone can read
        memory = next(each for each in store.memory_history(actor, claim) if each.id == claim)
    return Argument(actor, claim, status, memory, records)
