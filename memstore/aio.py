"""The store, for asynchronous code: line by line as `memstore.store`, which has the comments."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from memstore import compatibility, wire
from memstore.api.aio import AsyncFunctions
from memstore.connections import slots
from memstore.connections.aio import Connections, fetch, require_schema
from memstore.connections.slots import Attempts
from memstore.embedder import Embedder
from memstore.errors import InvalidValue, StoreUnavailable, translate
from memstore.models import Memory
from memstore.wire import PAGE, Call

T = TypeVar("T")


class AsyncPool(Protocol):
    """What lends connections, as `psycopg_pool.AsyncConnectionPool` does."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Lends a connection for one transaction."""


class AsyncStore(AsyncFunctions):
    """`memstore.Store` for asyncio: the same methods, to be awaited, on psycopg's asynchronous sources.

    With a connection string, the store has connections of its own on each event loop. An embedder's coroutine
    function is awaited on the loop; any other function runs in a thread.
    """

    def __init__(
        self,
        source: AsyncConnection[Any] | AsyncPool | str,
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
        self._source: AsyncConnection[Any] | AsyncPool | str = source
        self._timeout = timeout
        self._call_timeout = call_timeout
        self._embedder = embedder
        self._asked_to_prepare = prepare
        self._bound = bound
        self._prepare: bool | None = False
        self._schema_checked = False
        self._pool_errors = 0
        self._closed = False
        self._own: dict[tuple[int, asyncio.AbstractEventLoop], Connections] = {}
        if isinstance(source, str):
            self._source = wire.connection_string(source, timeout)
        elif isinstance(source, AsyncConnection) or callable(getattr(source, "connection", None)):
            self._process = compatibility.process_of(source)
            compatibility.refuse_inherited(self._process)
        else:
            raise TypeError(f"a store needs an async connection, pool or a URL, not {type(source).__name__}")

    async def close(self) -> None:
        """Closes the store's own connections, where it has some; no call can follow."""
        self._closed = True
        for process, loop in list(self._own):
            if process == os.getpid() and (loop is asyncio.get_running_loop() or loop.is_closed()):
                self._own[process, loop].close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def iterate_memories(
        self,
        actor: UUID | str | None,
        *,
        bucket: str | None = None,
        include_superseded: bool = False,
        after: UUID | str | None = None,
        scopes: Sequence[str] | None = None,
        filter: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    ) -> AsyncIterator[Memory]:
        """Reads the account's memories, newest first, a page at a time; see `memstore.Store`."""
        moment = None
        while True:
            page = await self.list_memories(
                actor,
                bucket=bucket,
                include_superseded=include_superseded,
                page_size=PAGE,
                after=after,
                scopes=scopes,
                filter=filter,
                after_inserted_at=moment,
            )
            for memory in page:
                yield memory
            if len(page) < PAGE:
                return
            after, moment = page[-1].id, page[-1].inserted_at

    async def run(self, call: Call[T]) -> T:
        """Runs a call that `memstore.api.calls` made; the methods do no more than this.

        Raises:
            MemstoreError: The store refuses, or can't be reached.
            psycopg.Error: A conflict or a timeout, or the caller's transaction had failed before.
        """
        if self._embedder is None or not (texts := call.texts()):
            return await self._send(call)
        model = self._embedder.model
        embedded = None
        try:
            vectors = await self._embedder.within_limit_async(texts)
            if call.embeds == "memories":  # which may be thousands
                embedded = await asyncio.to_thread(call.with_embeddings, model, vectors)
            else:
                embedded = call.with_embeddings(model, vectors)
        except Exception as error:
            call.log_unembedded(model, error)
        if embedded is None:
            return await self._send(call)
        if call.embeds == "query":
            return await self._send(embedded)
        try:
            return await self._send(embedded, savepoint=True)
        except InvalidValue as refusal:
            refused = refusal
        answer = await self._send(call)
        call.log_unembedded(model, refused)
        return answer

    async def _send(self, call: Call[T], savepoint: bool = False) -> T:
        if self._bound:
            call = call.of_bound_role()
        attempts = None
        deadline = None
        if self._call_timeout is not None and not call.patient:
            deadline = time.monotonic() + self._call_timeout
        while True:
            connection, earlier, idle = None, True, False
            try:
                await self._sync_pipeline()
                earlier = False
                async with self._connection() as connection:
                    idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
                    if not self._schema_checked:
                        await self._check_schema(connection, deadline)
                    async with _savepoint(connection) if savepoint else nullcontext():
                        return await fetch(connection, call, self._prepare, deadline)
            except StoreUnavailable as error:
                refusal: Exception = error
                again = False
            except (psycopg.Error, UnicodeError) as error:
                refusal = slots.overload(self._source, error, self._pool_errors) or translate(error)
                if earlier and not isinstance(refusal, StoreUnavailable):
                    raise
                attempts = attempts or Attempts(call, not isinstance(self._source, AsyncConnection))
                again = attempts.again(error, connection, idle)
            if isinstance(refusal, StoreUnavailable):
                self._schema_checked = False
            elif slots.is_conflict(refusal) and idle and connection is self._source:
                await connection.rollback()
            if not again:
                return call.refused(refusal, idle)

    def _connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        if isinstance(self._source, str):
            return self._own_connections(self._source).connection()
        compatibility.refuse_inherited(self._process)
        if isinstance(self._source, AsyncConnection):
            return nullcontext(self._source)
        return _open_one(self._source)

    def _own_connections(self, url: str) -> Connections:
        key = os.getpid(), asyncio.get_running_loop()
        own = self._own.get(key)
        if self._closed:
            raise slots.closed()
        if own is None:
            for process, loop in list(self._own):  # nobody can await those of a loop that has ended
                if process == key[0] and loop.is_closed():
                    self._own.pop((process, loop)).close()
            own = self._own.setdefault(key, Connections(url, self._timeout))
        return own

    async def _sync_pipeline(self) -> None:
        source = self._source
        if isinstance(source, AsyncConnection) and not source.closed and source.info.pipeline_status:
            async with source.pipeline():
                pass

    async def _check_schema(self, connection: AsyncConnection[Any], deadline: float | None) -> None:
        direct = await require_schema(connection, deadline)
        prepares = direct if self._asked_to_prepare is None else self._asked_to_prepare
        self._prepare = None if prepares else False
        self._pool_errors = slots.connection_errors(self._source)
        self._schema_checked = True


@asynccontextmanager
async def _open_one(pool: AsyncPool) -> AsyncIterator[AsyncConnection[Any]]:
    while True:
        async with pool.connection() as connection:
            if slots.is_open(connection):
                yield connection
                return


@asynccontextmanager
async def _savepoint(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    status = connection.pgconn.transaction_status
    async with connection.transaction() if status == TransactionStatus.INTRANS else nullcontext():
        try:
            yield
        except psycopg.Error:
            if status == TransactionStatus.IDLE:
                await connection.rollback()
            raise
