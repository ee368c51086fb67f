"""The store in the private database, whose server may still be starting, or has to be started again."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, Protocol, TypeVar

import psycopg

from memstore.aio import AsyncStore
from memstore.api.aio import AsyncFunctions
from memstore.embedder import Embedder
from memstore.errors import STORE_UNAVAILABLE, MemstoreError, StoreUnavailable, translate
from memstore.wire import Call

T = TypeVar("T")

_logger: Final = logging.getLogger("memstore")

_PATIENCE: Final = 60.0
"""For how many seconds a call is repeated, once there is a server."""

_PAUSE: Final = 0.1

# Not repeated where it may have been carried out; the tools' other calls have an id, or do nothing twice.
_ONCE: Final = {"challenge_memory"}
# Calls after which the tables are to be rewritten, and whether for a text that is gone.
_LEAVING_ROWS: Final = {
    "delete_history": True,
    "delete_memory": True,
    "supersede_memory": False,
    "supersede_with": False,
}


class Database(Protocol):
    """The private database."""

    def reach(self) -> str:
        """Has it up, and gives its URL. Called in one thread at a time."""

    def is_up(self) -> bool:
        """Tells whether its server runs, without waiting."""

    def clean_later(self, deleted: bool = True) -> None:
        """Has its tables rewritten after a call."""


class Attempt:
    """An attempt to reach the database, in a thread that doesn't keep the process from ending."""

    def __init__(self, database: Database) -> None:
        self._future: Future[str | BaseException] = Future()
        Thread(target=self._work, args=[database.reach], name="memstore-database", daemon=True).start()

    def _work(self, reach: Callable[[], str]) -> None:
        try:
            self._future.set_result(reach())
        except BaseException as error:
            self._future.set_result(error)

    @property
    def done(self) -> bool:
        """Whether it has succeeded or failed."""
        return self._future.done()

    @property
    def failed(self) -> bool:
        """Whether it has failed."""
        return self._future.done() and not isinstance(self._future.result(), str)

    async def url(self) -> str:
        """Waits for it; several callers may.

        Raises:
            MemstoreError: It has failed.
        """
        await asyncio.wait({asyncio.wrap_future(self._future)})  # cancels nothing
        reached = self._future.result()
        if isinstance(reached, str):
            return reached
        problem = translate(reached) if isinstance(reached, psycopg.Error) else reached
        if isinstance(problem, MemstoreError):
            raise problem
        raise StoreUnavailable(f"The store can't be reached: {problem}", name=STORE_UNAVAILABLE)


# The account of a bound login, which needs no right to look for accounts.
_BOUND: Final[Call[bool]] = Call(
    "account_roles",
    b"select to_json(count(*))::text from memstore.account_roles r where r.role = current_user",
    {},
    lambda documents: bool(documents[0]),
    reads=True,
)


class LoginStore(AsyncFunctions):
    """An `AsyncStore` that finds out whether its login is bound to an account.

    Args:
        url: The database.
        named: The account that the user named, if any: of a bound login by its id.
        embedder: The store's.

    Attributes:
        named: The account that the user named, if any.
    """

    def __init__(self, url: str, named: str | None, embedder: Embedder | None) -> None:
        self.named: str | None = named
        self._store = AsyncStore(url, embedder=embedder)
        self._bound: bool | None = None

    async def close(self) -> None:
        """Closes its connections."""
        await self._store.close()

    async def is_bound(self) -> bool:
        """Tells whether the login is bound.

        Raises:
            MemstoreError: The store can't be reached.
        """
        if self._bound is None:
            self._bound = await self._store.run(_BOUND)
        return self._bound

    async def run(self, call: Call[T]) -> T:
        """Runs a call."""
        try:
            bound = await self.is_bound()
        except StoreUnavailable as error:
            return call.refused(error)
        return await self._store.run(call.of_bound_role() if bound else call)


class PrivateStore(AsyncFunctions):
    """An `AsyncStore` that waits for its database, and has a server that died started again.

    Calls that come meanwhile share one attempt, and are repeated where that can't do a thing twice.

    Args:
        database: The database.
        first: The first attempt to reach it, which has begun.
        embedder: The store's.
    """

    def __init__(self, database: Database, first: Attempt, embedder: Embedder | None) -> None:
        self._database = database
        self._attempt = first
        self._embedder = embedder
        self._url = ""
        self._store: AsyncStore | None = None

    @property
    def is_starting(self) -> bool:
        """Whether calls wait for the server."""
        return not self._attempt.done

    async def close(self) -> None:
        """Closes its connections."""
        if self._store is not None:
            await self._store.close()

    async def run(self, call: Call[T]) -> T:
        """Runs a call."""
        deadline: float | None = None
        while True:
            try:
                store = await self._reached()
            except StoreUnavailable as error:
                return call.refused(error)
            if call.function in _LEAVING_ROWS:
                self._database.clean_later(_LEAVING_ROWS[call.function])
            try:
                return await store.run(call.or_else(None))
            except StoreUnavailable as error:
                refusal = error
            deadline = deadline or time.monotonic() + _PATIENCE
            if call.function in _ONCE or time.monotonic() > deadline:
                return call.refused(refusal)
            await asyncio.sleep(_PAUSE)

    async def _reached(self) -> AsyncStore:
        if self._attempt.failed or (self._attempt.done and not self._database.is_up()):
            self._attempt = Attempt(self._database)
        url = await self._attempt.url()
        if self._store is None or url != self._url:
            await self.close()
            self._url, self._store = url, AsyncStore(url, embedder=self._embedder)
        return self._store
