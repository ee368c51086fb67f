"""Connections for synchronous code."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import Connection, Cursor, capabilities
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

_Lent: TypeAlias = tuple[Connection[Any], float]


class CallCursor(Cursor[TupleRow]):
    """Sends calls, and reads their answers."""

    def __init__(self, connection: Connection[Any]) -> None:
        """Takes nothing from the connection that the application may have set."""
        super().__init__(connection, row_factory=tuple_row)

    @property
    def adapters(self) -> AdaptersMap:
        """The adapters of calls, and no others."""
        return wire.ADAPTERS

    def send(self, query: bytes, parameters: Any, prepare: bool | None, deadline: float | None) -> None:
        """Executes a statement; where no answer comes before the deadline, it closes the connection."""
        with self._conn.lock:
            statement = self._execute_gen(query, parameters, prepare=prepare)
            try:
                self._conn.wait(slots.bounded(statement, deadline))
            except NoAnswer:
                _give_up(self._conn)
                raise
            except psycopg.Error as error:
                if means_lost(error):  # the server's farewell may come before the end
                    self._conn.pgconn.finish()
                raise


def _give_up(connection: Connection[Any]) -> None:
    # The server may be busy and only seem silent: without this it would go on.
    try:
        if capabilities.has_cancel_safe():
            connection.cancel_safe(timeout=slots.CHECK)
    except psycopg.Error:
        pass
    connection.pgconn.finish()


def fetch(
    connection: Connection[Any], call: Call[T], prepare: bool | None = False, deadline: float | None = None
) -> T:
    """Sends a call and reads its answer.

    Args:
        connection: The connection.
        call: The call.
        prepare: As psycopg's argument.
        deadline: When to stop waiting, by `time.monotonic`. The connection is closed then.

    Raises:
        psycopg.Error: The server refuses, or can't be reached.
    """
    with CallCursor(connection) as cursor:
        cursor.send(call.statement, call.parameters, prepare, deadline)
        return call.answer(cursor.fetchall())


def require_schema(connection: Connection[Any], deadline: float | None = None) -> bool:
    """Checks that a connection's schema is compatible, once a connection.

    Returns:
        Whether the connection leads to the server itself, not to a pooler.

    Raises:
        MemstoreError: The schema isn't compatible, or the connection is another process's.
        psycopg.Error: The server refuses, or can't be reached.
    """
    direct = compatibility.known(connection)
    if direct is None:
        version = None
        if backend := fetch(connection, compatibility.INSTALLED, deadline=deadline):
            version = fetch(connection, calls.schema_version(), deadline=deadline)
        direct = compatibility.require_version(connection, version, backend)
    return direct


class _Own(Connection[TupleRow]):
    def __del__(self, *_: Any) -> None:
        """Without psycopg's warning: at its end a process may leave connections open, and a fork must."""


class Connections:
    """A store's own connections in one process, each lent to one caller at a time."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._slots: Slots[Connection[Any], Future[Any]] = Slots(Future, timeout)

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """Lends a connection in autocommit mode, of a schema that is compatible.

        Raises:
            MemstoreError: There is none: the first attempt to make it after `slots.RESTART` failed, or all
                are in use.
        """
        connection = self._claim()
        try:
            yield connection
        finally:
            self._slots.give_back(connection)

    def close(self) -> None:
        """Closes them."""
        self._slots.close()

    def _claim(self) -> Connection[Any]:
        deadline = time.monotonic() + self._timeout
        given = self._slots.claim()
        while True:
            lent = self._wait(given, deadline) if isinstance(given, Future) else given
            if lent is None:
                made = self._make()
                if not isinstance(made, Future):
                    return made
                given = made
            else:
                connection, rested = lent
                if slots.is_open(connection) and (rested < slots.REST or self._answers(connection)):
                    return connection
                self._slots.discard(connection)
                given = self._slots.claim()

    def _wait(self, future: "Future[Any]", deadline: float) -> _Lent | None:
        try:
            wait([future], deadline - time.monotonic())
        except BaseException:  # of a signal handler, such as a task's time limit
            self._slots.leave(future)
            raise
        if not future.done() and (refusal := self._slots.withdraw(future)):
            raise refusal
        lent: _Lent | None = future.result()
        return lent

    def _make(self) -> "Connection[Any] | Future[Any]":
        """Makes a connection, or gives a future to wait for where none can be made but others are open."""
        failure: MemstoreError | psycopg.Error
        try:
            connection = self._connect()
        except psycopg.Error as error:
            failure = translate(error)
        except MemstoreError as error:
            failure = error
        except BaseException:  # which is this caller's alone
            self._slots.gave_up()
            raise
        else:
            self._slots.made(connection)
            return connection
        return self._slots.failed(failure)

    def _connect(self) -> Connection[Any]:
        """Connects and looks at the schema: what is known of the server only after both is one attempt."""
        patience = time.monotonic() + (min(slots.RESTART, self._timeout) if self._slots.was_up else 0)
        pause = 0.02
        while True:
            try:
                return self._open()
            except psycopg.OperationalError as error:
                silent = isinstance(error, ConnectionTimeout | NoAnswer)
                if silent or time.monotonic() + pause > patience:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 0.2)

    def _open(self) -> Connection[Any]:
        # A call is one statement, so autocommit saves two round trips.
        connection = _Own.connect(self._url, autocommit=True)
        try:
            require_schema(connection, time.monotonic() + self._timeout)
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    def _answers(self, connection: Connection[Any]) -> bool:
        """Asks the server for a sign of life."""
        try:
            with CallCursor(connection) as cursor:
                cursor.send(b"", None, False, time.monotonic() + min(slots.CHECK, self._timeout))
            return True
        except psycopg.Error:
            return False
        except BaseException:
            self._slots.give_back(connection)
            raise
