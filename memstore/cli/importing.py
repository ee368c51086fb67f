"""Importing memories from JSON Lines, a batch at a time."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO
from uuid import UUID

from memstore import calls
from memstore.errors import InvalidValue, MemstoreError, StoreUnavailable
from memstore.store import Store

_LONGEST_LINE = 1 << 25  # bytes
_LARGEST_BATCH = 1 << 25  # bytes of lines, beyond which no other line joins


class LineRefused(Exception):
    """A line, or all lines of a batch, can't be imported.

    Attributes:
        where: Which ones.
        refusal: What is wrong.
    """

    def __init__(self, where: str, refusal: MemstoreError) -> None:
        super().__init__(f"{where}: {refusal}")
        self.where = where
        self.refusal = refusal


@dataclass
class _Batch:
    numbers: list[int] = field(default_factory=list)
    items: list[Mapping[str, object]] = field(default_factory=list)
    size: int = 0


class Import:
    """One import into one account. Lines that have an `id` can be imported again.

    Attributes:
        imported: How many memories were written.
        already_there: How many were there before, with the same id and content.
    """

    def __init__(self, store: Store, actor: UUID, started: datetime) -> None:
        """Prepares an import.

        Args:
            store: Where to.
            actor: The account.
            started: The database's time now.
        """
        self.imported = 0
        self.already_there = 0
        self._store = store
        self._actor = actor
        self._started = started

    def run(self, file: IO[bytes], count: int) -> Iterator[int]:
        """Imports a file, in batches of which all is written or nothing.

        Args:
            file: Lines of UTF-8, each empty or an object with the arguments of `insert_memory`.
            count: How many lines a batch has at most.

        Yields:
            The bytes of each batch that was written.

        Raises:
            LineRefused: Nothing of the line's batch is written, nor what comes after.
            MemstoreError: Likewise, for what isn't about lines.
        """
        for batch in _batches(file, count):
            try:
                memories = self._store.insert_memories(self._actor, batch.items)
                refusal = None
            except StoreUnavailable:
                raise
            except MemstoreError as error:
                refusal = error
            if refusal:
                raise self._locate(refusal, batch)
            written = sum(memory.inserted_at >= self._started for memory in memories)
            self.imported += written
            self.already_there += len(memories) - written
            yield batch.size

    def _locate(self, refusal: MemstoreError, batch: _Batch) -> LineRefused:
        """Turns a position in the batch, where the refusal has one, into a line of the file."""
        if found := re.match(r"Item (\d+): ", str(refusal)):
            number = batch.numbers[int(found[1]) - 1]
            if refusal.name == "argument_invalid" and refusal.field in (None, "memories"):
                return _malformed(
                    number, "The line isn't an object whose keys are arguments of insert_memory."
                )
            refusal.args = (str(refusal)[found.end() :],)
            return LineRefused(f"line {number}", refusal)
        for number, item in zip(batch.numbers, batch.items, strict=True):
            try:
                calls.insert_memories(self._actor, [item])
            except InvalidValue as error:  # it can't even be sent
                return LineRefused(f"line {number}", error)
        return LineRefused(f"lines {batch.numbers[0]} to {batch.numbers[-1]}", refusal)


def _batches(file: IO[bytes], count: int) -> Iterator[_Batch]:
    batch, number = _Batch(), 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        batch.size += len(line)
        text = _decode(line, number).strip()
        if text:
            batch.numbers.append(number)
            batch.items.append(_parse(text, number))
        if len(batch.items) >= count or batch.size >= _LARGEST_BATCH:
            yield batch
            batch = _Batch()
    if batch.items:
        yield batch


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
    return LineRefused(f"line {number}", MemstoreError(problem, name="line_malformed"))
