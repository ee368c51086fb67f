"""Who has which of a store's own connections, and whether one can still be used. Nothing here waits."""

import asyncio
import copy
import select
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any, Final, Generic, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.abc import PQGen
from psycopg.errors import DeadlockDetected, IdleSessionTimeout, SerializationFailure
from psycopg.pq import TransactionStatus

from memstore.errors import STORE_OVERLOADED, STORE_UNAVAILABLE, StoreOverloaded, StoreUnavailable
from memstore.wire import Call

MAXIMUM: Final = 4
"""How many connections a store opens."""

REST: Final = 2.0
"""The seconds after which a connection that rested is asked whether it still leads to a server."""

RESTART: Final = 4.0
"""The seconds that a server, or a pooler, which was there for the last attempt gets to come back."""

CHECK: Final = 2.0
"""The seconds that such a question, or asking the server to stop, may take."""

_IDLE: Final = 600.0  # seconds after which a connection that isn't needed is closed
_REPEATS: Final = 2  # of a read that conflicts
_FULL: Final = 1.0  # seconds without another attempt after one that failed while there are connections

_Connection: TypeAlias = Connection[Any] | AsyncConnection[Any]

C = TypeVar("C", Connection[Any], AsyncConnection[Any])
F = TypeVar("F", "Future[Any]", "asyncio.Future[Any]")
T = TypeVar("T")


class NoAnswer(psycopg.OperationalError):
    """The server didn't answer in time."""


def bounded(statement: PQGen[T], deadline: float | None) -> PQGen[T]:
    """Ends a statement's generator at a deadline; psycopg (3.2.11) resumes it ten times a second meanwhile.

    Raises:
        NoAnswer: The connection can't be used any more.
    """
    if deadline is None:
        return (yield from statement)
    try:
        wanted = next(statement)
        while True:
            ready = yield wanted
            if not ready and monotonic() > deadline:
                raise NoAnswer("the server didn't answer in time")
            wanted = statement.send(ready)
    except StopIteration as end:
        answer: T = end.value
        return answer


def is_open(connection: _Connection) -> bool:
    """Tells whether the server's end is open, by what has arrived; it sends nothing and doesn't wait."""
    pgconn = connection.pgconn
    try:
        for _ in range(8):  # a farewell and the end; or a notice, which libpq puts by
            if not _has_arrived(pgconn.socket):
                break
            pgconn.consume_input()
    except (psycopg.Error, OSError, ValueError):
        pgconn.finish()
    return not connection.closed


if hasattr(select, "poll"):

    def _has_arrived(socket: int) -> bool:
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        return bool(poll.poll(0))

else:

    def _has_arrived(socket: int) -> bool:
        return bool(select.select([socket], [], [], 0)[0])


@dataclass(slots=True)
class Attempts:
    """How often a call is sent: again after a lost connection or a conflict, where that can do no harm.

    Attributes:
        call: The call.
        replaceable: Whether another connection can be had.
    """

    call: Call[Any]
    replaceable: bool
    _lost: int = 0
    _conflicts: int = 0

    def again(self, error: Exception, connection: "_Connection | None", idle: bool) -> bool:
        """Tells whether to send the call again.

        Args:
            error: What it failed with.
            connection: What it was sent on.
            idle: Whether the connection was in no transaction before.
        """
        if connection is None or isinstance(error, NoAnswer) or not isinstance(error, psycopg.Error):
            return False
        if connection.closed:
            # A session that timed out while it was idle didn't read the call.
            harmless = isinstance(error, IdleSessionTimeout) or self.call.repeatable
            self._lost += 1
            return self.replaceable and harmless and self._lost == 1
        if is_conflict(error) and idle and self.call.reads:
            self._conflicts += 1
            return self._conflicts <= _REPEATS
        return False


def is_conflict(error: Exception) -> bool:
    """Tells whether a statement was cancelled for others: of a read, by recovery on a hot standby."""
    return isinstance(error, SerializationFailure | DeadlockDetected)


def connection_errors(pool: object) -> int:
    """Counts the attempts to connect that failed, of a pool that counts them as psycopg's do."""
    statistics = getattr(pool, "get_stats", None)
    return int(statistics().get("connections_errors", 0)) if callable(statistics) else 0


def overload(pool: object, error: Exception, errors_before: int) -> StoreOverloaded | None:
    """Makes the refusal of a pool whose connections are all in use; None where the error is another.

    psycopg's pool raises the same where it can't connect, and then it counts errors.
    """
    psycopg_pool = sys.modules.get("psycopg_pool")
    if psycopg_pool is None or not isinstance(error, psycopg_pool.PoolTimeout | psycopg_pool.TooManyRequests):
        return None
    if isinstance(error, psycopg_pool.PoolTimeout) and connection_errors(pool) > errors_before:
        return None
    return StoreOverloaded(f"All connections of the pool are in use: {error}", name=STORE_OVERLOADED)


class Slots(Generic[C, F]):
    """The connections of one store in one process, and on one event loop.

    At most one connection is made at a time: a caller that finds none free makes it or, while another does,
    waits. All who wait share the outcome of the attempt, but for a failure while others are open: then they
    go on waiting for these. Callers are served in the order in which they came.

    Args:
        future: Makes what a caller waits for: a connection with the seconds that it rested, or None, which
            makes the caller the one who makes a connection.
        timeout: The seconds that a caller waits.
    """

    def __init__(self, future: Callable[[], F], timeout: float) -> None:
        self.was_up: bool = False
        """Whether the last attempt to connect succeeded."""
        self._future: Callable[[], F] = future
        self._timeout = timeout
        self._lock = Lock()
        self._free: list[tuple[C, float]] = []  # with when they came back; the last one is lent first
        self._waiting: deque[F] = deque()
        self._size = 0  # with the one that is being made
        self._making = False
        self._retry_after = 0.0
        self._closed = False

    def claim(self) -> tuple[C, float] | F | None:
        """Gives a free connection with the seconds that it rested, a future to wait for, or None: make one.

        Raises:
            StoreUnavailable: The store is closed.
        """
        with self._lock:
            if self._closed:
                raise closed()
            if self._free:
                connection, since = self._free.pop()
                return connection, monotonic() - since
            if self._begin_attempt():
                return None
            future = self._future()
            self._waiting.append(future)
            return future

    def _begin_attempt(self) -> bool:
        if self._making or self._size >= MAXIMUM or (self._size and monotonic() < self._retry_after):
            return False
        self._making = True
        self._size += 1
        return True

    def made(self, connection: C) -> None:
        """Ends an attempt with a connection, which its maker has now.

        Raises:
            StoreUnavailable: The store was closed meanwhile.
        """
        with self._lock:
            self._making = False
            self.was_up = True
            if self._closed:
                connection.pgconn.finish()
                raise closed()
            self._appoint()

    def failed(self, error: Exception) -> F:
        """Ends an attempt without one.

        Returns:
            A future to wait for, where other connections are open.

        Raises:
            Exception: The error, which all get who wait.
        """
        with self._lock:
            self._making = self.was_up = False
            self._size -= 1
            self._retry_after = monotonic() + _FULL
            if not self._size:
                while self._waiting:
                    future = self._waiting.popleft()
                    if not future.done():
                        future.set_exception(copy.copy(error))
                raise error
            future = self._future()
            self._waiting.appendleft(future)
            return future

    def gave_up(self) -> None:
        """Ends an attempt whose maker was cancelled; who waits next goes on with another."""
        with self._lock:
            self._making = False
            self._size -= 1
            self._appoint()

    def _appoint(self) -> None:
        """Has the first who waits make another connection, where there may be one."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if self._waiting and self._begin_attempt():
            self._waiting.popleft().set_result(None)

    def give_back(self, connection: C) -> None:
        """Takes a connection back; one that isn't as it was lent is closed."""
        now = monotonic()
        with self._lock:
            if self._closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                connection.pgconn.finish()
                self._size -= 1
                # The others may be broken too, though nobody has told: they are asked.
                self._free = [(free, min(since, now - REST)) for free, since in self._free]
                self._appoint()
                return
            while self._waiting:
                future = self._waiting.popleft()
                if not future.done():
                    future.set_result((connection, 0.0))
                    return
            self._free.append((connection, now))
            if now - self._free[0][1] > _IDLE:
                self._free.pop(0)[0].pgconn.finish()
                self._size -= 1

    def discard(self, connection: C) -> None:
        """Closes a connection that led nowhere after a rest, and the free ones, which rested longer."""
        with self._lock:
            self._free.append((connection, 0.0))
            for each, _ in self._free:
                each.pgconn.finish()
            self._size -= len(self._free)
            self._free.clear()

    def withdraw(self, future: F) -> StoreUnavailable | None:
        """Ends a wait that took too long.

        Returns:
            What to raise; None where the future has a result after all.
        """
        with self._lock:
            if future not in self._waiting:
                return None
            self._waiting.remove(future)
            if self._size > self._making:
                return StoreOverloaded(
                    f"All connections of the store were in use for {self._timeout:g} seconds.",
                    name=STORE_OVERLOADED,
                )
            return StoreUnavailable(
                f"The store can't be reached: no connection in {self._timeout:g} seconds.",
                name=STORE_UNAVAILABLE,
            )

    def leave(self, future: F) -> None:
        """Ends a wait whose caller is cancelled, and passes on what it was given."""
        if self.withdraw(future) is None and not future.cancelled() and future.exception() is None:
            given = future.result()
            if given is None:
                self.gave_up()
            else:
                self.give_back(given[0])

    def close(self) -> None:
        """Closes the free connections, and those that are lent when they come back; who waits is refused."""
        with self._lock:
            self._closed = True
            for connection, _ in self._free:
                connection.pgconn.finish()
            self._free.clear()
            while self._waiting:
                future = self._waiting.popleft()
                if not future.done():
                    future.set_exception(closed())


def closed() -> StoreUnavailable:
    """Makes the refusal of a store that was closed."""
    return StoreUnavailable("The store is closed.", name=STORE_UNAVAILABLE)
