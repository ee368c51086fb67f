"""What the command prints: JSON if asked for, tables at a terminal, else tab-separated lines.

Bodies are untrusted: control characters and bidirectional controls are printed as escapes, so that no memory
can move a terminal's cursor, or end a line.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from io import TextIOWrapper
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from memstore.models import AdmissionRecord, Claim, Memory, RankedMemory, SimilarMemory

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

MORE_PACKAGES = "the command needs more packages: pip install 'pg-memstore[cli]'"
# Together with lone surrogates, which no output could encode.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
UNITS = (("year", 31536000), ("month", 2592000), ("day", 86400), ("hour", 3600), ("minute", 60))
_TABLE_ROWS = 200
_NARROWEST = 20  # columns for the last cell of a row
_LONGEST_WORD = 36  # columns of a word that isn't broken, such as an id
_INDENT = 2
MEMORY_COLUMNS = ("id", "bucket", "written", "state", "body")
RANKED_COLUMNS = ("id", "score", "words", "meaning", "state", "body")
CLAIM_COLUMNS = ("id", "slug", "status", "challenges", "written", "body")


def printable(text: str) -> str:
    """Escapes line ends, and what could control a terminal, as Python does in strings."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_json(text: str) -> str:
    """Escapes what could control a terminal as JSON does; valid JSON has such characters only in strings."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def complain(text: str) -> None:
    """Prints one line on stderr."""
    print(f"memstore: {printable(text)}", file=sys.stderr)


def age(moment: datetime) -> str:
    """Tells how long ago a moment is, as the note of a recall does."""
    seconds = max((datetime.now(UTC) - moment).total_seconds(), 0)
    for unit, length in UNITS:
        if number := int(seconds // length):
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def memory_cells(memory: Memory, pretty: bool) -> tuple[str, ...]:
    """Gives the cells of `MEMORY_COLUMNS`; at a terminal the scope, too, and of the id the beginning."""
    state = "live" if memory.live else "superseded"
    if pretty:
        return str(memory.id)[:8], memory.bucket, age(memory.inserted_at), _scoped(state, memory), memory.body
    return str(memory.id), memory.bucket, memory.inserted_at.isoformat(), state, memory.body


def ranked_cells(ranked: RankedMemory, pretty: bool) -> tuple[str, ...]:
    """Gives the cells of `RANKED_COLUMNS`, as `memory_cells`."""
    memory = ranked.memory
    state = "eligible" if ranked.eligible else "live" if memory.live else "superseded"
    scores = (ranked.score, ranked.lexical_score, ranked.semantic_score)
    shown = ("" if score is None else f"{score:.2f}" if pretty else str(score) for score in scores)
    if pretty:
        return str(memory.id)[:8], *shown, _scoped(state, memory), memory.body
    return str(memory.id), *shown, state, memory.body


def _scoped(state: str, memory: Memory) -> str:
    return state if memory.scope is None else f"{state}, {memory.scope}"


def effect_text(effect: str) -> str:
    """Tells the effect of a challenge on its claim."""
    if effect == "not_admitted":
        return "without effect, since the claim is not admitted"
    return effect.replace("_", " ")


def claim_cells(claim: Claim, pretty: bool) -> tuple[str, ...]:
    """Gives the cells of `CLAIM_COLUMNS`."""
    memory = claim.memory
    said = (memory.slug or "", claim.status, str(claim.open_challenges))
    if pretty:
        return str(memory.id)[:8], *said, age(memory.inserted_at), memory.body
    return str(memory.id), *said, memory.inserted_at.isoformat(), memory.body


class Output:
    """The standard output of one run.

    Args:
        as_json: Print JSON, one document a line.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.pretty: bool = not as_json and sys.stdout.isatty()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def records(
        self,
        records: Iterable[T],
        cells: Callable[[T, bool], Sequence[str]],
        columns: Sequence[str] = (),
        document: Callable[[T], object] = lambda record: record,
    ) -> None:
        """Prints records as they come, in constant memory.

        Args:
            records: What to print.
            cells: Makes the texts of one, for a terminal or not.
            columns: The headings of a terminal's table.
            document: Makes the JSON of one.
        """
        if self.pretty:
            rows = (cells(record, True) for record in records)
            while some := list(islice(rows, _TABLE_ROWS)):
                self._table(some, columns)
                columns = ["" for _ in columns]
        else:
            for record in records:
                if self.as_json:
                    self._document(document(record))
                else:
                    print("\t".join(map(printable, cells(record, False))))

    def memories(self, memories: Iterable[Memory]) -> None:
        """Prints a list of memories."""
        self.records(memories, memory_cells, MEMORY_COLUMNS, asdict)

    def memory(self, memory: Memory, done: str) -> None:
        """Prints the id and body of a memory, and at a terminal what was done with it."""
        start = (f"{done} ",) if self.pretty else ()
        self.records([memory], lambda each, _: (*start, str(each.id), each.body), document=asdict)

    def remembered(self, memory: Memory, similar: Sequence[SimilarMemory]) -> None:
        """Prints what was remembered, and what that may correct: for scripts the ids, on stderr."""
        if self.as_json:
            self._document({**asdict(memory), "similar": [asdict(each) for each in similar]})
            return
        self.memory(memory, "remembered")
        if not similar:
            return
        if self.pretty:
            self.records(similar, lambda each, _: ("similar", *memory_cells(each.memory, True)))
            told = ("It supersedes one with", f"memstore replace ID {str(memory.id)[:8]}")
            self.records([told], lambda cells, _: cells)
        else:
            ids = ", ".join(str(each.memory.id) for each in similar)
            complain(
                f"similar: {ids}; memstore replace ID {memory.id} has the new one supersede one of these"
            )

    def ranked(self, memories: Iterable[RankedMemory]) -> None:
        """Prints memories with their scores."""
        self.records(memories, ranked_cells, RANKED_COLUMNS, asdict)

    def claims(self, claims: Iterable[Claim]) -> None:
        """Prints a list of claims."""
        self.records(claims, claim_cells, CLAIM_COLUMNS, asdict)

    def record(self, record: AdmissionRecord, done: str, status: str) -> None:
        """Prints the id of a record, its claim's status with it, and the effect of a challenge."""
        cells = [str(record.id), status]
        if self.pretty:
            cells = [f"{done} ", str(record.id), f"the claim is now {status}"]
        if record.effect:
            cells.append(f"the challenge is {effect_text(record.effect)}" if self.pretty else record.effect)
        self.records([record], lambda *_: cells, document=lambda each: {**asdict(each), "status": status})

    def facts(self, facts: Mapping[str, object]) -> None:
        """Prints one object: a line a value, without those that are None."""
        if self.as_json:
            self._document(facts)
            return
        present = [(name, _text(value)) for name, value in facts.items() if value is not None]
        self.records(present, lambda fact, _: fact)

    def remark(self, text: str) -> None:
        """Tells a person at a terminal why nothing was printed."""
        if self.pretty:
            print(text)

    def _document(self, document: object) -> None:
        print(printable_json(json.dumps(document, ensure_ascii=False, default=_text)))

    def _table(self, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
        from rich.cells import cell_len
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False)
        rows = [[printable(cell) for cell in row] for row in rows]
        heads = columns or [""] * len(rows[0])
        widths = [max(map(cell_len, column)) + 1 for column in zip(heads, *rows, strict=True)]
        words = [cell_len(word) for row in rows for word in row[-1].split()]
        needed = max(min(widths[-1], _NARROWEST), min(max(words, default=0), _LONGEST_WORD))
        if sum(widths[:-1]) + needed > console.width:
            self._stacked(rows, console)
            return
        table = Table(box=None, pad_edge=False, show_header=any(columns), header_style="dim")
        for head in heads[:-1]:
            table.add_column(head, no_wrap=True)
        table.add_column(heads[-1], overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))  # in which rich reads no markup
        console.print(table)

    def _stacked(self, rows: Sequence[Sequence[str]], console: "Console") -> None:
        """Prints each row over several lines, since the columns don't fit; no cell is cut."""
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.text import Text

        for row in rows:
            lines = [""]
            for cell in filter(None, row):
                longer = f"{lines[-1]}  {cell}" if lines[-1] else cell
                if lines[-1] and cell_len(longer) > console.width - (_INDENT if lines[1:] else 0):
                    lines.append(cell)
                else:
                    lines[-1] = longer
            for number, line in enumerate(lines):
                console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, _INDENT if number else 0)))


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case date():
            return value.isoformat()
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False)
    return str(value)
