"""Importing memories from JSON Lines: in batches, or an exported account in one transaction.

What MCP's own memory server keeps is imported too, see `knowledge_graph`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from typing import IO, Any, TypeVar, cast
from uuid import UUID

import psycopg

from memstore.api import calls
from memstore.cli import knowledge_graph
from memstore.errors import InvalidValue, MemstoreError, QuotaReached, StoreUnavailable
from memstore.models import Memory
from memstore.store import Store

T = TypeVar("T")

_LONGEST_LINE = 1 << 25  # bytes
_LARGEST_BATCH = 1 << 25  # bytes of lines, from which on no line is added
_FORMATS = (1, 2)  # the versions that export_account has written: 1 had no items


class LineRefused(Exception):
    """A line, or all lines of a batch, can't be imported.

    Attributes:
        where: Which lines.
        refusal: The reason.
        number: The line's number, where it is one.
    """

    def __init__(self, where: str, refusal: MemstoreError, number: int | None = None) -> None:
        super().__init__(f"{where}: {refusal}")
        self.where = where
        self.refusal = refusal
        self.number = number


@dataclass(frozen=True)
class _Line:
    number: int
    size: int
    item: Mapping[str, object]


@dataclass
class _Batch:
    lines: list[_Line] = field(default_factory=list)
    size: int = 0

    @property
    def items(self) -> list[Mapping[str, object]]:
        return [line.item for line in self.lines]


class Import:
    """One import into one account. Lines that have an `id` can be imported again.

    Attributes:
        imported: How many memories and items were written that the account hadn't.
        already_there: How many it had: memories with the same id and content, and items of the same path,
            which are overwritten.
        replaced_otherwise: How many of these are superseded otherwise than in the export.
        is_export: Whether the file is an export, which is written in one transaction.
        refused: The lines of a graph that were left out.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        store: Store,
        account: Callable[[str], UUID],
        *,
        raise_ceiling: bool = False,
    ) -> None:
        """Prepares an import.

        Args:
            connection: The connection of the database.
            store: The store on that connection.
            account: Finds the account, or creates it with a language.
            raise_ceiling: Whether an export raises a ceiling that is too low for it.
        """
        self.imported: int = 0
        self.already_there: int = 0
        self.replaced_otherwise: int = 0
        self.is_export: bool = False
        self.refused: list[LineRefused] = []
        self._connection = connection
        self._store = store
        self._account = account
        self._raise_ceiling = raise_ceiling

    def run(self, file: IO[bytes], count: int) -> Iterator[int]:
        """Imports a file, a transaction a batch, or an export in one transaction.

        Args:
            file: Lines of UTF-8, each empty or an object with the arguments of `insert_memory`; or an export.
            count: The most lines of a batch.

        Yields:
            The bytes of each batch that was written.

        Raises:
            LineRefused: The line's batch isn't written, nor what follows.
            MemstoreError: Likewise, for a reason that isn't in a line.
        """
        lines = _lines(file)
        first = next(lines, None)
        if first and isinstance(first.item, dict) and "export" in first.item:
            self.is_export = True
            yield from self._run_export(first, lines, count)
            return
        actor = self._account("english")
        started = self._now()
        for batch in _batches(chain([first] if first else [], lines), count):
            memories = self._write(
                batch, "insert_memory", lambda items: self._store.insert_memories(actor, items)
            )
            self._count(memories, started)
            yield batch.size

    def run_graph(self, file: IO[bytes], count: int) -> Iterator[int]:
        """Imports the file of MCP's own memory server, a transaction a batch; can be repeated.

        Lines that can't be imported are left out, and kept in `refused`.

        Args:
            file: Lines of UTF-8, each an entity or a relation; or one document with all.
            count: The most memories of a batch.

        Yields:
            The bytes of each batch that was written.

        Raises:
            LineRefused: The account has no room for a batch; neither it nor what follows is written.
            MemstoreError: Likewise, for a reason that isn't in a line.
        """
        actor = self._account("english")
        started = self._now()
        for batch in _batches(self._graph_lines(file, actor), count):
            while batch.lines:
                try:
                    memories = self._write(batch, "insert_memory", lambda items: self._insert(actor, items))
                except LineRefused as refused:
                    numbers = [line.number for line in batch.lines]
                    if refused.number not in numbers:
                        raise
                    self.refused.append(refused)
                    batch.lines = [line for line in batch.lines if line.number != refused.number]
                else:
                    self._count(memories, started)
                    break
            yield batch.size

    def _graph_lines(self, file: IO[bytes], actor: UUID) -> Iterator[_Line]:
        for given in _documents(file):
            if isinstance(given, LineRefused):
                self.refused.append(given)
                continue
            for part in knowledge_graph.parts(given.item):
                memories = knowledge_graph.memories(part, actor)
                if memories is None:
                    self.refused.append(
                        _malformed(given.number, f"The line isn't {knowledge_graph.EXPECTED}.")
                    )
                for memory in memories or ():
                    yield _Line(given.number, given.size, memory)

    def _insert(self, actor: UUID, items: list[Mapping[str, object]]) -> list[Memory]:
        if self._raise_ceiling:
            return self._store.import_memories(actor, items, raise_ceiling=True)
        return self._store.insert_memories(actor, items)

    def _now(self) -> datetime:
        [(moment,)] = self._connection.execute("select clock_timestamp()").fetchall()
        return cast(datetime, moment)

    def _count(self, memories: list[Memory], started: datetime) -> None:
        written = sum(memory.inserted_at >= started for memory in memories)
        self.imported += written
        self.already_there += len(memories) - written

    def _run_export(self, first: _Line, lines: Iterator[_Line], count: int) -> Iterator[int]:
        if first.item["export"] not in _FORMATS:
            raise _malformed(first.number, "The file was exported by another version of memstore.")
        memories, language = first.item.get("memories"), first.item.get("language")
        items = first.item.get("items", 0)
        if not isinstance(language, str) or not isinstance(memories, int) or not isinstance(items, int):
            raise _malformed(first.number, "The line isn't as memstore export writes it.")
        totals = {False: 0, True: 0}
        with self._connection.transaction():
            actor = self._account(language)
            before = self._number(actor)
            for is_item, group in groupby(lines, _is_item):
                function = "import_items" if is_item else "import_memories"
                write = partial(self._import_items if is_item else self._import_memories, actor)
                for batch in _batches(group, count):
                    try:
                        self._write(batch, function, write)
                    except LineRefused as refused:
                        if isinstance(refused.refusal, QuotaReached):
                            live = f"{first.item.get('live_memories')} live memories"
                            refused.where = f"the file, which has {f'{items} items' if is_item else live}"
                        raise
                    totals[is_item] += len(batch.lines)
                    yield batch.size
            for is_item, expected in ((False, memories), (True, items)):
                if totals[is_item] != expected:
                    what = "items" if is_item else "memories"
                    problem = f"It has {totals[is_item]} of its {expected} {what}: it isn't whole."
                    raise LineRefused("the file", MemstoreError(problem, name="file_cut"))
            self.imported += self._number(actor) - before
        self.already_there = memories + items - self.imported

    def _import_memories(self, actor: UUID, given: list[Mapping[str, object]]) -> None:
        memories = self._store.import_memories(actor, given, raise_ceiling=self._raise_ceiling)
        self.replaced_otherwise += sum(map(_replaced_otherwise, memories, given))

    def _import_items(self, actor: UUID, given: list[Mapping[str, object]]) -> None:
        self.imported += self._store.import_items(actor, given, raise_maximum=self._raise_ceiling)

    def _number(self, actor: UUID) -> int:
        return int(str(self._store.export_account(actor)["memories"]))

    def _write(self, batch: _Batch, function: str, write: Callable[[list[Mapping[str, object]]], T]) -> T:
        try:
            return write(batch.items)
        except StoreUnavailable:
            raise
        except MemstoreError as error:
            refusal = error
        raise _locate(refusal, batch, function)


def _is_item(line: _Line) -> bool:
    return isinstance(line.item, dict) and "namespace" in line.item


def _replaced_otherwise(memory: Memory, item: Mapping[str, object]) -> bool:
    moment, replacement = item.get("superseded_at"), item.get("superseded_by_id")
    return (
        memory.superseded_at != (moment and datetime.fromisoformat(str(moment)))
        or (memory.superseded_by_id and str(memory.superseded_by_id)) != replacement
    )


def _locate(refusal: MemstoreError, batch: _Batch, function: str) -> LineRefused:
    """Turns a position in the batch, where the refusal has one, into a line of the file."""
    if found := re.match(r"Item (\d+): ", str(refusal)):
        number = batch.lines[int(found[1]) - 1].number
        if refusal.name == "argument_invalid" and refusal.field in (None, "memories", "items"):
            return _malformed(number, f"The line isn't an object whose keys are arguments of {function}.")
        refusal.args = (str(refusal)[found.end() :],)
        return LineRefused(f"line {number}", refusal, number)
    for line in batch.lines:
        try:
            calls.insert_memories(actor=UUID(int=0), memories=[line.item])
        except InvalidValue as error:  # the client refuses to send it
            return LineRefused(f"line {line.number}", error, line.number)
    return LineRefused(f"lines {batch.lines[0].number} to {batch.lines[-1].number}", refusal)


def _batches(lines: Iterable[_Line], count: int) -> Iterator[_Batch]:
    batch = _Batch()
    for line in lines:
        batch.lines.append(line)
        batch.size += line.size
        if len(batch.lines) >= count or batch.size >= _LARGEST_BATCH:
            yield batch
            batch = _Batch()
    if batch.lines:
        yield batch


def _lines(file: IO[bytes]) -> Iterator[_Line]:
    for number, size, line in _read_lines(file):
        text = _decode(line, number).strip()
        if text:
            yield _Line(number, size, _parse(text, number))


def _documents(file: IO[bytes]) -> Iterator[_Line | LineRefused]:
    """The lines of a graph, or what is wrong with one; the whole file, where that is one document."""
    lines = list(_read_lines(file))
    if len(lines) > 1:
        try:
            whole = json.loads(b"".join(line for _, _, line in lines).decode("utf-8-sig"))
        except (ValueError, RecursionError):
            pass
        else:
            yield _Line(1, sum(size for _, size, _ in lines), whole)
            return
    for number, size, line in lines:
        try:
            text = _decode(line, number).strip()
            if text:
                yield _Line(number, size, _parse(text, number))
        except LineRefused as refused:
            yield refused


def _read_lines(file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        yield number, len(line), line


def _decode(line: bytes, number: int) -> str:
    if len(line) > _LONGEST_LINE:
        raise _malformed(number, f"The line is longer than {_LONGEST_LINE >> 20} MB.")
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        start = error.start
    raise _malformed(number, f"The line isn't UTF-8: see byte {start + 1}.")


def _parse(text: str, number: int) -> Mapping[str, object]:
    try:
        item: Mapping[str, object] = json.loads(text)
        return item
    except json.JSONDecodeError as error:
        problem = f"The line isn't JSON: {error.msg}, at character {error.pos + 1}."
    except (ValueError, RecursionError):
        problem = "The line can't be read: it is nested too deep, or a number in it is too long."
    raise _malformed(number, problem)


def _malformed(number: int, problem: str) -> LineRefused:
    return LineRefused(f"line {number}", MemstoreError(problem, name="line_malformed"), number)
