"""The store, for asynchronous code: line by line as `memstore.store`, which has the comments."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Protocol, Self, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool

from memstore import compatibility, wire
from memstore.api import calls
from memstore.api.aio import AsyncFunctions
from memstore.embedder import Embedder
from memstore.errors import InvalidValue, StoreUnavailable, translate
from memstore.wire import Call

T = TypeVar("T")


class AsyncPool(Protocol):
    """What lends connections, as `psycopg_pool.AsyncConnectionPool` does."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[object]]:
        """Lends a connection for one transaction."""


class AsyncStore(AsyncFunctions):
    """`memstore.Store` for asyncio: the same methods, to be awaited, on psycopg's asynchronous sources.

    With a connection string, its pool belongs to the event loop of the first call. An embedder's coroutine
    function is awaited on the loop; any other function runs in a thread.
    """

    def __init__(
        self,
        source: AsyncConnection[object] | AsyncPool | str,
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
        self._source: AsyncConnection[object] | AsyncPool
        self._embedder = embedder
        self._asked_to_prepare = prepare
        self._prepare: bool | None = False
        self._own: AsyncConnectionPool | None = None
        self._schema_checked = False
        if isinstance(source, str):
            self._url = wire.connection_string(source, timeout)
            self._source = self._own = AsyncConnectionPool(
                self._url,
                kwargs={"autocommit": True},
                min_size=0,
                max_size=4,
                timeout=timeout,
                open=False,
            )
        elif isinstance(source, AsyncConnection) or callable(getattr(source, "connection", None)):
            self._source = source
        else:
            raise TypeError(f"a store needs an async connection, pool or a URL, not {type(source).__name__}")

    async def close(self) -> None:
        """Closes the store's own pool, where it has one."""
        if self._own is not None:
            await self._own.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

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
            embedded = call.with_embeddings(model, await self._embedder.within_limit_async(texts))
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
        earlier = True
        try:
            await self._sync_pipeline()
            earlier = False
            if not self._schema_checked:
                await self._check_schema()
            async with (
                self._connection() as connection,
                _savepoint(connection) if savepoint else nullcontext(),
            ):
                return await _fetch(connection, call, self._prepare)
        except (psycopg.Error, UnicodeError) as error:
            refusal = translate(error)
            if earlier and not isinstance(refusal, StoreUnavailable):
                raise
        if isinstance(refusal, StoreUnavailable):
            self._schema_checked = False
        return call.refused(refusal)

    def _connection(self) -> AbstractAsyncContextManager[AsyncConnection[object]]:
        if isinstance(self._source, AsyncConnection):
            return nullcontext(self._source)
        return self._source.connection()

    async def _sync_pipeline(self) -> None:
        source = self._source
        if isinstance(source, AsyncConnection) and not source.closed and source.info.pipeline_status:
            async with source.pipeline():
                pass

    async def _check_schema(self) -> None:
        if self._own is None:
            async with self._connection() as connection:
                direct = await _require_schema(connection)
        else:
            async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
                direct = await _require_schema(connection)
            await self._own.open()
            await self._own.check()
        prepares = direct if self._asked_to_prepare is None else self._asked_to_prepare
        self._prepare = None if prepares else False
        self._schema_checked = True


@asynccontextmanager
async def _savepoint(connection: AsyncConnection[object]) -> AsyncIterator[None]:
    status = connection.info.transaction_status
    async with connection.transaction() if status == TransactionStatus.INTRANS else nullcontext():
        try:
            yield
        except psycopg.Error:
            if status == TransactionStatus.IDLE:
                await connection.rollback()
            raise


async def _fetch(connection: AsyncConnection[object], call: Call[T], prepare: bool | None = False) -> T:
    async with AsyncCursor(connection, row_factory=tuple_row) as cursor:
        wire.use_text_adapters(cursor)
        await cursor.execute(call.statement, call.parameters, prepare=prepare)
        return call.answer(await cursor.fetchall())


async def _require_schema(connection: AsyncConnection[object]) -> bool:
    direct = compatibility.DIRECT.get(connection)
    if direct is None:
        version = None
        if backend := await _fetch(connection, compatibility.INSTALLED):
            version = await _fetch(connection, calls.schema_version())
        direct = compatibility.require_version(connection, version, backend)
    return direct
