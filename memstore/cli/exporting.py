"""Exporting an account as JSON Lines: an object about it, then one for each of its memories and items."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EBADF
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import psycopg

from memstore.api import calls
from memstore.cli import streams
from memstore.connections.sync import CallCursor
from memstore.wire import Call

_PAGE = 10_000


def export(connection: psycopg.Connection[Any], actor: UUID, bound: bool = False) -> Iterator[str]:
    """Reads an account in one snapshot, a row at a time.

    Args:
        connection: The connection of the database.
        actor: The account.
        bound: As a store's.

    Yields:
        JSON objects, as the database writes them.

    Raises:
        psycopg.Error: The database refuses.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read read only")
        yield from _stream(connection, calls.export_account(actor=actor), bound)
        after: UUID | None = None
        while True:
            number, line = 0, ""
            page = calls.export_memories(actor=actor, page_size=_PAGE, after=after)
            for line in _stream(connection, page, bound):
                number += 1
                yield line
            if number < _PAGE:
                break
            after = UUID(json.loads(line)["id"])
        path: dict[str, object] | None = None
        while True:
            number = 0
            for line in _stream(
                connection, calls.export_items(actor=actor, page_size=_PAGE, after=path), bound
            ):
                number += 1
                yield line
            if number < _PAGE:
                return
            path = {name: json.loads(line)[name] for name in ("namespace", "key")}


def _stream(connection: psycopg.Connection[Any], call: Call[Any], bound: bool) -> Iterator[str]:
    if bound:
        call = call.of_bound_role()
    with CallCursor(connection) as cursor:
        for (line,) in cursor.stream(call.statement, call.parameters):
            yield line


@contextmanager
def private_file(name: str) -> Iterator[IO[bytes]]:
    """Opens the file of an export: readable by its owner alone, and in place only once it is complete.

    Args:
        name: The file; - is standard output.

    Raises:
        OSError: It can't be written.
    """
    path = Path(name)
    if name == "-":
        if "stdout" in streams.missing:
            raise OSError(EBADF, os.strerror(EBADF), "standard output")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():  # a pipe or a device
        with path.open("wb") as stream:
            yield stream
    else:
        try:
            with _in_place_of(path.resolve()) as stream:  # a link stays, and its target is replaced
                yield stream
        except OSError as error:
            problem = error
        else:
            return
        raise OSError(problem.errno, problem.strerror, name)  # not the unfinished file's name


@contextmanager
def _in_place_of(path: Path) -> Iterator[IO[bytes]]:
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(unfinished).unlink()
        raise
