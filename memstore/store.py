"""The store, for synchronous code."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Final, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection, Cursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from memstore import compatibility, wire
from memstore.api import calls
from memstore.api.store import Functions
from memstore.embedders import Embedder
from memstore.errors import InvalidValue, MemstoreError, StoreUnavailable, translate
from memstore.wire import Call

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

_logger: Final = logging.getLogger("memstore")

# Connections whose schema was looked at: an application may make a store for each of a pool's transactions.
# The connections whose schema fits, and whether they lead to the server itself.
_fitting: WeakKeyDictionary[Connection[object], bool] = WeakKeyDictionary()


class Pool(Protocol):
    """What lends connections, as `psycopg_pool.ConnectionPool` does."""

    def connection(self) -> AbstractContextManager[Connection[object]]:
        """Lends a connection for one transaction."""


class Store(Functions):
    """The memories in a database. Each method calls the function of the same name in the schema `memstore`.

    The source decides about transactions:

    - A `Connection`: a call joins its transaction, and commits or rolls back with the application's own rows.
      As for any statement, psycopg opens a transaction where none is open, unless the connection is in
      autocommit mode; and an error leaves a transaction aborted. To go on after one, make the call inside
      `connection.transaction()`.
    - A `ConnectionPool`: each call is a transaction of its own.
    - A connection string or URL: likewise, on a small pool of the store's own, which opens with the first
      call and closes with the store.

    The first call looks whether the schema fits, and raises `SchemaOutdated` where it doesn't. Threads can
    share a store as far as they can share its source.

    A store with an embedder has it embed what is written and what is recalled for, once a call, unless the
    caller gives an embedding. No call fails for that: where the embedder fails or takes too long, and where
    the database refuses its embedding, a warning is logged, the memory is written without an embedding, and
    the turn is ranked by its words. `memstore.embedders.fill` makes up for it. So that a refusal leaves the
    caller's transaction as it was, a write in one, with an embedding of the embedder's, has a savepoint.
    """

    def __init__(
        self,
        source: Connection[object] | Pool | str,
        *,
        timeout: float = 5.0,
        embedder: Embedder | None = None,
        prepare: bool | None = None,
    ) -> None:
        """Makes a store; nothing is connected yet.

        Args:
            source: A connection, a pool, or a connection string.
            timeout: With a connection string: how many seconds to wait for a connection. A `connect_timeout`
                in the string takes precedence while one is being made.
            embedder: What embeds memories and turns.
            prepare: Whether psycopg may prepare the statements of calls, as often as the connection's
                `prepare_threshold` says. Left out: where there is no pooler before the server. True is for a
                pooler that follows prepared statements, as PgBouncer does from 1.21 on. Where one doesn't, a
                name can stand for what another client has prepared.

        Raises:
            ValueError: libpq can't read the connection string.
            TypeError: The source is none of the three.
        """
        self._source: Connection[object] | Pool
        self._embedder = embedder
        self._asked_to_prepare = prepare
        self._prepare: bool | None = False
        self._own: ConnectionPool | None = None
        self._schema_checked = False
        if isinstance(source, str):
            self._url = wire.connection_string(source, timeout)
            self._source = self._own = ConnectionPool(
                self._url,
                kwargs={"autocommit": True},  # a call is one statement, so this saves two round trips
                min_size=0,
                max_size=4,
                timeout=timeout,
                open=False,
            )
        elif isinstance(source, Connection) or callable(getattr(source, "connection", None)):
            self._source = source
        else:
            raise TypeError(f"a store needs a connection, a pool or a URL, not {type(source).__name__}")

    def close(self) -> None:
        """Closes the store's own pool, where it has one."""
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def run(self, call: Call[T]) -> T:
        """Runs a call that `memstore.api.calls` made; the methods do no more than this.

        Raises:
            MemstoreError: The store refuses, or can't be reached.
            psycopg.Error: A conflict or a timeout, or the caller's transaction had failed before.
        """
        if self._embedder is None or not (texts := call.texts()):
            return self._send(call)
        model = self._embedder.model
        embedded = None
        try:
            embedded = call.with_embeddings(model, self._embedder.within_limit(texts))
        except Exception as error:
            without_embedding(call, model, error)
        if embedded is None:  # sent out here: the context of a refusal would show the embedder's exception
            return self._send(call)
        if call.embeds == "query":  # a turn isn't refused for its embedding
            return self._send(embedded)
        try:
            return self._send(embedded, undo=True)
        except InvalidValue as refusal:
            refused = refusal
        # Where that wasn't for the embedding, the caller gets the refusal of what he gave himself.
        answer = self._send(call)
        without_embedding(call, model, refused)
        return answer

    def _send(self, call: Call[T], undo: bool = False) -> T:
        earlier = True
        try:
            self._finish_earlier()
            earlier = False
            if not self._schema_checked:
                self._check_schema()
            with self._connection() as connection, _undone(connection) if undo else nullcontext():
                return _fetch(connection, call, self._prepare)
        except (psycopg.Error, UnicodeError) as error:
            refusal = translate(error)
            if earlier and not isinstance(refusal, StoreUnavailable):
                raise
        if isinstance(refusal, StoreUnavailable):
            self._schema_checked = False
        return call.refused(refusal)

    def _connection(self) -> AbstractContextManager[Connection[object]]:
        if isinstance(self._source, Connection):
            return nullcontext(self._source)
        return self._source.connection()

    def _finish_earlier(self) -> None:
        """Lets the statements that the caller's pipeline has under way fail, if they do, as what they are."""
        source = self._source
        if isinstance(source, Connection) and not source.closed and source.info.pipeline_status:
            with source.pipeline():  # the start of a pipeline inside another synchronises
                pass

    def _check_schema(self) -> None:
        """Sees whether the schema fits: once, and again when the store was out of reach meanwhile."""
        if self._own is None:
            with self._connection() as connection:
                direct = _require_schema(connection)
        else:
            # Not through the pool, which retries until the time is up and then can't tell why.
            with psycopg.connect(self._url, autocommit=True) as connection:
                direct = _require_schema(connection)
            self._own.open()
            self._own.check()
        prepares = direct if self._asked_to_prepare is None else self._asked_to_prepare
        self._prepare = None if prepares else False  # to psycopg, None leaves it to the threshold
        self._schema_checked = True


def without_embedding(call: Call[T], model: str, error: Exception) -> None:
    """Logs why a call goes without an embedding, by the error's name alone: its words may be a text's."""
    reason = error.name if isinstance(error, MemstoreError) else type(error).__name__
    _logger.warning("%s goes without an embedding by %s: %s", call.function, model, reason)


@contextmanager
def _undone(connection: Connection[object]) -> Iterator[None]:
    """Leaves a transaction as it was before the statement that failed in it."""
    status = connection.info.transaction_status
    with connection.transaction() if status == TransactionStatus.INTRANS else nullcontext():
        try:
            yield
        except psycopg.Error:
            if status == TransactionStatus.IDLE:
                connection.rollback()
            raise


def _fetch(connection: Connection[object], call: Call[T], prepare: bool | None = False) -> T:
    # A cursor of our own making, whatever the connection's cursor and row factories make.
    with Cursor(connection, row_factory=tuple_row) as cursor:
        wire.use_text_adapters(cursor)
        cursor.execute(call.statement, call.parameters, prepare=prepare)
        return call.answer(cursor.fetchall())


def _require_schema(connection: Connection[object]) -> bool:
    if connection not in _fitting:
        version = None
        if process := _fetch(connection, compatibility.INSTALLED):
            version = _fetch(connection, calls.schema_version())
        compatibility.require_version(version)
        _fitting[connection] = process == connection.info.backend_pid
    return _fitting[connection]
