"""Connections for asynchronous code: line by line as `memstore.connections.sync`, which has the comments."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, capabilities
from psycopg.adapt import AdaptersMap
from psycopg.errors import ConnectionTimeout
from psycopg.rows import TupleRow, tuple_row

from memstore import compatibility, wire
from memstore.api import calls
from memstore.connections import slots
from memstore.connections.slots import NoAnswer, Slots
from memstore.errors import MemstoreError, means_lost, translate
from memstore.wire import Call

T = TypeVar("T")

_Lent: TypeAlias = tuple[AsyncConnection[Any], float]


class CallCursor(AsyncCursor[TupleRow]):
    """Sends calls, and reads their answers."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        super().__init__(connection, row_factory=tuple_row)

    @property
    def adapters(self) -> AdaptersMap:
        """The adapters of calls, and no others."""
        return wire.ADAPTERS

    async def send(self, query: bytes, parameters: Any, prepare: bool | None, deadline: float | None) -> None:
        """Executes a statement; where no answer comes before the deadline, it closes the connection."""
        async with self._conn.lock:
            statement = self._execute_gen(query, parameters, prepare=prepare)
            try:
                await self._conn.wait(slots.bounded(statement, deadline))
            except NoAnswer:
                await _give_up(self._conn)
                raise
            except psycopg.Error as error:
                if means_lost(error):
                    self._conn.pgconn.finish()
                raise


async def _give_up(connection: AsyncConnection[Any]) -> None:
    try:
        if capabilities.has_cancel_safe():
            await connection.cancel_safe(timeout=slots.CHECK)
    except psycopg.Error:
        pass
    finally:
        connection.pgconn.finish()


async def fetch(
    connection: AsyncConnection[Any],
    call: Call[T],
    prepare: bool | None = False,
    deadline: float | None = None,
) -> T:
    """Sends a call and reads its answer."""
    async with CallCursor(connection) as cursor:
        await cursor.send(call.statement, call.parameters, prepare, deadline)
        return call.answer(await cursor.fetchall())


async def require_schema(connection: AsyncConnection[Any], deadline: float | None = None) -> bool:
    """Checks that a connection's schema is compatible, once a connection."""
    direct = compatibility.known(connection)
    if direct is None:
        version = None
        if backend := await fetch(connection, compatibility.INSTALLED, deadline=deadline):
            version = await fetch(connection, calls.schema_version(), deadline=deadline)
        direct = compatibility.require_version(connection, version, backend)
    return direct


class _Own(AsyncConnection[TupleRow]):
    def __del__(self, *_: Any) -> None:
        pass


class Connections:
    """A store's own connections in one process and on one event loop."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        future = asyncio.get_running_loop().create_future
        self._slots: Slots[AsyncConnection[Any], asyncio.Future[Any]] = Slots(future, timeout)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lends a connection in autocommit mode, of a schema that is compatible."""
        connection = await self._claim()
        try:
            yield connection
        finally:
            self._slots.give_back(connection)

    def close(self) -> None:
        """Closes them."""
        self._slots.close()

    async def _claim(self) -> AsyncConnection[Any]:
        deadline = time.monotonic() + self._timeout
        given = self._slots.claim()
        while True:
            lent = await self._wait(given, deadline) if isinstance(given, asyncio.Future) else given
            if lent is None:
                made = await self._make()
                if not isinstance(made, asyncio.Future):
                    return made
                given = made
            else:
                connection, rested = lent
                if slots.is_open(connection) and (rested < slots.REST or await self._answers(connection)):
                    return connection
                self._slots.discard(connection)
                given = self._slots.claim()

    async def _wait(self, future: "asyncio.Future[Any]", deadline: float) -> _Lent | None:
        try:
            await asyncio.wait({future}, timeout=deadline - time.monotonic())
        except BaseException:
            self._slots.leave(future)
            raise
        if not future.done() and (refusal := self._slots.withdraw(future)):
            raise refusal
        lent: _Lent | None = future.result()
        return lent

    async def _make(self) -> "AsyncConnection[Any] | asyncio.Future[Any]":
        failure: MemstoreError | psycopg.Error
        try:
            connection = await self._connect()
        except psycopg.Error as error:
            failure = translate(error)
        except MemstoreError as error:
            failure = error
        except BaseException:
            self._slots.gave_up()
            raise
        else:
            self._slots.made(connection)
            return connection
        return self._slots.failed(failure)

    async def _connect(self) -> AsyncConnection[Any]:
        patience = time.monotonic() + (min(slots.RESTART, self._timeout) if self._slots.was_up else 0)
        pause = 0.02
        while True:
            try:
                return await self._open()
            except psycopg.OperationalError as error:
                silent = isinstance(error, ConnectionTimeout | NoAnswer)
                if silent or time.monotonic() + pause > patience:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.2)

    async def _open(self) -> AsyncConnection[Any]:
        connection = await _Own.connect(self._url, autocommit=True)
        try:
            await require_schema(connection, time.monotonic() + self._timeout)
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    async def _answers(self, connection: AsyncConnection[Any]) -> bool:
        try:
            async with CallCursor(connection) as cursor:
                await cursor.send(b"", None, False, time.monotonic() + min(slots.CHECK, self._timeout))
            return True
        except psycopg.Error:
            return False
        except BaseException:
            self._slots.give_back(connection)
            raise
