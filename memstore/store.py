"""The store, for synchronous code."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Protocol, Self, TypeVar

import psycopg
from psycopg import Connection, Cursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool

from memstore import compatibility, wire
from memstore.api import calls
from memstore.api.store import Functions
from memstore.embedder import Embedder
from memstore.errors import InvalidValue, StoreUnavailable, translate
from memstore.wire import Call

T = TypeVar("T")


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

    The first call checks that the schema is compatible, and raises `SchemaOutdated` where it isn't. Threads
    can share a store as far as they can share its source.

    A store with an embedder has it embed the bodies and queries of calls, once a call, unless the caller
    gives an embedding. No call fails for that: where the embedder fails or takes too long, or the database
    refuses its embedding, a warning is logged, a memory is written without an embedding, and recall ranks by
    words alone. `memstore.embedders.fill` embeds such memories later. In the caller's transaction, a write
    with the embedder's embedding has a savepoint, so that a refusal of it doesn't abort the transaction.
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
            embedder: What embeds bodies and queries.
            prepare: Whether psycopg may prepare the statements of calls, by the connection's
                `prepare_threshold`. Left out: unless there is a pooler before the server. True is for a
                pooler that supports prepared statements, as PgBouncer does from 1.21 on; with any other, a
                name may stand for another client's statement.

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
            call.log_unembedded(model, error)
        # Outside the `except` block: a refusal's context would show the embedder's exception.
        if embedded is None:
            return self._send(call)
        if call.embeds == "query":  # the database refuses no query for its embedding
            return self._send(embedded)
        try:
            return self._send(embedded, savepoint=True)
        except InvalidValue as refusal:
            refused = refusal
        # Where the embedding wasn't the reason, this raises the refusal of what the caller gave.
        answer = self._send(call)
        call.log_unembedded(model, refused)
        return answer

    def _send(self, call: Call[T], savepoint: bool = False) -> T:
        earlier = True
        try:
            self._sync_pipeline()
            earlier = False
            if not self._schema_checked:
                self._check_schema()
            with self._connection() as connection, _savepoint(connection) if savepoint else nullcontext():
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

    def _sync_pipeline(self) -> None:
        """Raises what earlier statements of the caller's pipeline failed with, untranslated."""
        source = self._source
        if isinstance(source, Connection) and not source.closed and source.info.pipeline_status:
            with source.pipeline():  # entering a nested pipeline syncs the outer one
                pass

    def _check_schema(self) -> None:
        """Checks that the schema is compatible: with the first call, and again after an outage."""
        if self._own is None:
            with self._connection() as connection:
                direct = _require_schema(connection)
        else:
            # Not through the pool, which retries until its timeout and then doesn't tell the reason.
            with psycopg.connect(self._url, autocommit=True) as connection:
                direct = _require_schema(connection)
            self._own.open()
            self._own.check()
        prepares = direct if self._asked_to_prepare is None else self._asked_to_prepare
        self._prepare = None if prepares else False  # to psycopg, None leaves it to the threshold
        self._schema_checked = True


@contextmanager
def _savepoint(connection: Connection[object]) -> Iterator[None]:
    """Undoes a failed statement alone: in an open transaction by a savepoint, else with its transaction."""
    status = connection.info.transaction_status
    with connection.transaction() if status == TransactionStatus.INTRANS else nullcontext():
        try:
            yield
        except psycopg.Error:
            if status == TransactionStatus.IDLE:
                connection.rollback()
            raise


def _fetch(connection: Connection[object], call: Call[T], prepare: bool | None = False) -> T:
    # Not `connection.cursor()`: the application may have set its cursor and row factories.
    with Cursor(connection, row_factory=tuple_row) as cursor:
        wire.use_text_adapters(cursor)
        cursor.execute(call.statement, call.parameters, prepare=prepare)
        return call.answer(cursor.fetchall())


def _require_schema(connection: Connection[object]) -> bool:
    """Returns whether the connection leads to the server itself, not to a pooler."""
    direct = compatibility.DIRECT.get(connection)
    if direct is None:
        version = None
        if backend := _fetch(connection, compatibility.INSTALLED):
            version = _fetch(connection, calls.schema_version())
        direct = compatibility.require_version(connection, version, backend)
    return direct
