"""LangGraph's suites, unmodified, against memstore: `pytest -p swap_langgraph`."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, ClassVar

import langgraph.store.memory
import langgraph.store.postgres
import psycopg
from psycopg.rows import dict_row

from memstore import Store
from memstore.integrations.langgraph import AsyncMemstoreStore, MemstoreStore

_OF_POSTGRES = ("ann_index_config", "distance_type")


def _options(index: dict[str, Any] | None, ttl: Any) -> dict[str, Any]:
    """What the suites configure, without what is about the peer's own index."""
    kept = {name: value for name, value in (index or {}).items() if name not in _OF_POSTGRES}
    return {"account": "app", "index": kept or None, "ttl": ttl}


class Swapped(MemstoreStore):
    """With the arguments that the suites give, and the cursor with which they look at their table."""

    MIGRATIONS: ClassVar[list[str]] = []
    url = ""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: Any = None,
        index: Any = None,
        ttl: Any = None,
    ) -> Iterator[MemstoreStore]:
        with super().from_conn_string(conn_string, **_options(index, ttl)) as store:
            store.url = conn_string
            yield store

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as connection:
            yield connection.cursor()


class AsyncSwapped(AsyncMemstoreStore):
    """Likewise."""

    MIGRATIONS: ClassVar[list[str]] = []
    url = ""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        pool_config: Any = None,
        index: Any = None,
        ttl: Any = None,
    ) -> AsyncIterator[AsyncMemstoreStore]:
        async with super().from_conn_string(conn_string, **_options(index, ttl)) as store:
            store.url = conn_string
            yield store

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[Any]:
        async with await psycopg.AsyncConnection.connect(
            self.url, autocommit=True, row_factory=dict_row
        ) as connection:
            yield connection.cursor()


class InMemory(MemstoreStore):
    """In place of the store in memory: each has an account of its own."""

    _number = itertools.count()

    def __init__(self, *, index: Any = None) -> None:
        account = f"memory-{os.getpid()}-{next(self._number)}"
        super().__init__(Store(os.environ["MEMSTORE_PEERS_URL"]), account=account, index=index)


langgraph.store.postgres.PostgresStore = Swapped
langgraph.store.postgres.AsyncPostgresStore = AsyncSwapped
if os.environ.get("MEMSTORE_PEERS_SUITE") == "langgraph-checkpoint":
    langgraph.store.memory.InMemoryStore = InMemory
