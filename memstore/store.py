"""The store, for synchronous code."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

from memstore import compatibility, wire
from memstore.api.store import Functions
from memstore.connections import slots
from memstore.connections.slots import Attempts
from memstore.connections.sync import Connections, fetch, require_schema
from memstore.embedder import Embedder
from memstore.errors import InvalidValue, StoreUnavailable, translate
from memstore.models import Memory
from memstore.wire import PAGE, Call

T = TypeVar("T")


class Pool(Protocol):
    """What lends connections, as `psycopg_pool.ConnectionPool` does."""

    def connection(self) -> AbstractContextManager[Connection[Any]]:
        """Lends a connection for one transaction."""


class Store(Functions):
    """The memories in a database. Each method calls the function of the same name in the schema `memstore`.

    The source decides about transactions:

    - A `Connection`: a call joins its transaction, and commits or rolls back with the application's own rows.
      As for any statement, psycopg opens a transaction where none is open, unless the connection is in
      autocommit mode; and an error leaves a transaction aborted. To go on after one, make the call inside
      `connection.transaction()`.
    - A `ConnectionPool`: each call is a transaction of its own.
    - A connection string or URL: likewise, on connections of the store's own: as many as there are calls at
      once, four at most, which are made when they are needed and closed with the store. A process that is
      forked off makes its own, so a store may be made before; a connection or a pool may not.

    The first call checks that the schema is compatible, and raises `SchemaOutdated` where it isn't. Threads
    can share a store as far as they can share its source.

    Where a connection breaks, or was broken while it rested, a call is sent once more on another, if it
    reads or gives what it writes an id; other writes are never sent twice. `StoreUnavailable` says that no
    connection could be made, that the call can't be sent again, or that no answer came in time.
    `StoreOverloaded`, a kind of it, that all connections were in use. A read that recovery cancels on a
    standby is repeated, unless it is part of the caller's transaction. What recall answers instead of an
    exception, `Recall.backend` has.

    A store with an embedder has it embed the bodies and queries of calls, of a query the beginning, once a
    call, unless the caller gives an embedding. No call fails for that: where the embedder fails or takes too
    long, or the database refuses its embedding, a warning is logged, a memory is written without an
    embedding, and recall ranks by words alone. `memstore.embedders.fill` embeds such memories later. In the
    caller's transaction, a write with the embedder's embedding has a savepoint, so that a refusal of it
    doesn't abort the transaction.
    """

    def __init__(
        self,
        source: Connection[Any] | Pool | str,
        *,
        timeout: float = 5.0,
        call_timeout: float | None = 30.0,
        embedder: Embedder | None = None,
        prepare: bool | None = None,
        bound: bool = False,
    ) -> None:
        """Makes a store; nothing is connected yet.

        Args:
            source: A connection, a pool, or a connection string.
            timeout: With a connection string: how many seconds to wait for a connection. A `connect_timeout`
                in the string takes precedence while one is being made.
            call_timeout: How many seconds to wait for the database's answer to a call, also of a server that
                has fallen silent; None: for ever. Then the server is asked to cancel the call, for two
                seconds at most, the connection is closed, also one of the caller's, and the store counts as
                unreachable. Whether a write was carried out isn't known then. The operator's functions, of
                which some read the whole store, may take any time.
            embedder: What embeds bodies and queries.
            prepare: Whether psycopg may prepare the statements of calls, by the connection's
                `prepare_threshold`. Left out: unless there is a pooler before the server. True is for a
                pooler that supports prepared statements, as PgBouncer does from 1.21 on; with any other, a
                name may stand for another client's statement.
            bound: Whether the role is one that `bind_role` bound to accounts. Calls then go to the `my_`
                functions, where an `actor` of None is the account of a role that has one only.

        Raises:
            ValueError: libpq can't read the connection string.
            TypeError: The source is none of the three.
            ConnectionInherited: The source belongs to the process that this one was forked from.
        """
        self._source: Connection[Any] | Pool | str = source
        self._timeout = timeout
        self._call_timeout = call_timeout
        self._embedder = embedder
        self._asked_to_prepare = prepare
        self._bound = bound
        self._prepare: bool | None = False
        self._schema_checked = False
        self._pool_errors = 0
        self._closed = False
        # By process: a fork must neither use nor close the connections of the process it comes from.
        self._own: dict[int, Connections] = {}
        if isinstance(source, str):
            self._source = wire.connection_string(source, timeout)
        elif isinstance(source, Connection) or callable(getattr(source, "connection", None)):
            self._process = compatibility.process_of(source)
            compatibility.refuse_inherited(self._process)
        else:
            raise TypeError(f"a store needs a connection, a pool or a URL, not {type(source).__name__}")

    def close(self) -> None:
        """Closes the store's own connections, where it has some; no call can follow."""
        self._closed = True
        if own := self._own.get(os.getpid()):
            own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def iterate_memories(
        self,
        actor: UUID | str | None,
        *,
        bucket: str | None = None,
        include_superseded: bool = False,
        after: UUID | str | None = None,
        scopes: Sequence[str] | None = None,
        filter: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    ) -> Iterator[Memory]:
        """Reads the account's memories, newest first, a page at a time.

        Each page is a call of `list_memories`, when it is needed. A memory that is there throughout comes
        once, also where others go meanwhile, the last one of a page among them; what is written meanwhile
        doesn't come.

        Args:
            actor: The account; None for that of a bound role.
            bucket: Only memories of user, learned or system.
            include_superseded: Whether to read superseded memories too.
            after: The id of a memory, to begin after it.
            scopes: Only memories of these scopes, and those without one.
            filter: Only memories whose metadata contain this object, or one of these.

        Yields:
            The memories, in the order of `list_memories`.

        Raises:
            MemstoreError: As `list_memories`, with the first memory or a later one.
        """
        moment = None
        while True:
            page = self.list_memories(
                actor,
                bucket=bucket,
                include_superseded=include_superseded,
                page_size=PAGE,
                after=after,
                scopes=scopes,
                filter=filter,
                after_inserted_at=moment,
            )
            yield from page
            if len(page) < PAGE:
                return
            after, moment = page[-1].id, page[-1].inserted_at

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
        if self._bound:
            call = call.of_bound_role()
        attempts = None
        deadline = None
        if self._call_timeout is not None and not call.patient:
            deadline = time.monotonic() + self._call_timeout
        while True:
            connection, earlier, idle = None, True, False
            try:
                self._sync_pipeline()
                earlier = False
                with self._connection() as connection:
                    idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
                    if not self._schema_checked:
                        self._check_schema(connection, deadline)
                    with _savepoint(connection) if savepoint else nullcontext():
                        return fetch(connection, call, self._prepare, deadline)
            except StoreUnavailable as error:
                refusal: Exception = error
                again = False
            except (psycopg.Error, UnicodeError) as error:
                refusal = slots.overload(self._source, error, self._pool_errors) or translate(error)
                if earlier and not isinstance(refusal, StoreUnavailable):
                    raise
                attempts = attempts or Attempts(call, not isinstance(self._source, Connection))
                again = attempts.again(error, connection, idle)
            if isinstance(refusal, StoreUnavailable):
                self._schema_checked = False
            elif slots.is_conflict(refusal) and idle and connection is self._source:
                connection.rollback()  # psycopg had opened the transaction for this call
            if not again:
                return call.refused(refusal, idle)

    def _connection(self) -> AbstractContextManager[Connection[Any]]:
        """Lends a connection for one call.

        Raises:
            MemstoreError: There is none.
            psycopg.Error: The caller's pool has none.
        """
        if isinstance(self._source, str):
            return self._own_connections(self._source).connection()
        compatibility.refuse_inherited(self._process)
        if isinstance(self._source, Connection):
            return nullcontext(self._source)
        return _open_one(self._source)

    def _own_connections(self, url: str) -> Connections:
        process = os.getpid()
        own = self._own.get(process)
        if self._closed:
            raise slots.closed()
        if own is None:
            # Of threads that come here at once, all get the one that was set first.
            own = self._own.setdefault(process, Connections(url, self._timeout))
        return own

    def _sync_pipeline(self) -> None:
        """Raises what earlier statements of the caller's pipeline failed with, untranslated."""
        source = self._source
        if isinstance(source, Connection) and not source.closed and source.info.pipeline_status:
            with source.pipeline():  # entering a nested pipeline syncs the outer one
                pass

    def _check_schema(self, connection: Connection[Any], deadline: float | None) -> None:
        """Checks that the schema is compatible: with the first call, and again after an outage."""
        direct = require_schema(connection, deadline)
        prepares = direct if self._asked_to_prepare is None else self._asked_to_prepare
        self._prepare = None if prepares else False  # to psycopg, None leaves it to the threshold
        self._pool_errors = slots.connection_errors(self._source)
        self._schema_checked = True


@contextmanager
def _open_one(pool: Pool) -> Iterator[Connection[Any]]:
    """Borrows a connection that the server hasn't closed; the pool replaces each that it has."""
    while True:
        with pool.connection() as connection:
            if slots.is_open(connection):
                yield connection
                return


@contextmanager
def _savepoint(connection: Connection[Any]) -> Iterator[None]:
    """Undoes a failed statement alone: in an open transaction by a savepoint, else with its transaction."""
    status = connection.pgconn.transaction_status
    with connection.transaction() if status == TransactionStatus.INTRANS else nullcontext():
        try:
            yield
        except psycopg.Error:
            if status == TransactionStatus.IDLE:
                connection.rollback()
            raise
