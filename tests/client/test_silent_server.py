"""Servers that fall silent, are slow, or cancel a read: a call ends in time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors as driver
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from memstore import AsyncStore, Recall, Store, StoreUnavailable
from memstore.api import calls
from tests.client.proxy import Proxy
from tests.client.proxy import proxy as make_proxy

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

Db = psycopg.Connection[Any]

UNAVAILABLE = Recall(backend="unavailable")


@pytest.fixture
def proxy(db_url: str) -> Iterator[Proxy]:
    with make_proxy(db_url) as made:
        yield made


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


# A server, or the way to it, that gives no answer.


def test_a_silent_way_to_the_server(proxy: Proxy, account: UUID) -> None:
    with Store(proxy.conninfo, call_timeout=2) as store:
        store.insert_memory(account, "I use pnpm.")
        for strict in (False, True):
            proxy.silence()
            with within(5):
                if strict:
                    with pytest.raises(StoreUnavailable, match="answer"):
                        store.recall(account, "pnpm", strict=True)
                else:
                    assert store.recall(account, "pnpm") == UNAVAILABLE
            assert len(store.recall(account, "pnpm").memories) == 1
        proxy.silence()
        with within(5), pytest.raises(StoreUnavailable):
            store.insert_memory(account, "Nobody knows.")


def test_a_silent_way_to_the_server_asynchronously(proxy: Proxy, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(proxy.conninfo, call_timeout=2) as store:
            await store.insert_memory(account, "I use pnpm.")
            proxy.silence()
            assert await store.recall(account, "pnpm") == UNAVAILABLE
            assert len((await store.recall(account, "pnpm")).memories) == 1

    with within(10):
        asyncio.run(body())


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_silent_connection_of_the_callers(proxy: Proxy, account: UUID, autocommit: bool) -> None:
    with psycopg.connect(proxy.conninfo, autocommit=autocommit) as connection:
        store = Store(connection, call_timeout=2)
        store.list_memories(account)
        connection.commit()
        proxy.silence()
        with within(5):
            assert store.recall(account, "pnpm") == UNAVAILABLE
        assert connection.closed
        with within(1):
            assert store.recall(account, "pnpm") == UNAVAILABLE


def test_a_silent_connection_of_a_pool(proxy: Proxy, account: UUID) -> None:
    async def asynchronously() -> None:
        async with AsyncConnectionPool(proxy.conninfo, min_size=1, max_size=1) as pool:
            store = AsyncStore(pool, call_timeout=2)
            await store.list_memories(account)
            proxy.silence()
            assert await store.recall(account, "pnpm") == UNAVAILABLE
            assert (await store.recall(account, "pnpm")).backend == "lexical"

    with ConnectionPool(proxy.conninfo, min_size=1, max_size=1, open=True) as pool:
        store = Store(pool, call_timeout=2)
        store.list_memories(account)
        proxy.silence()
        with within(5):
            assert store.recall(account, "pnpm") == UNAVAILABLE
        assert store.recall(account, "pnpm").backend == "lexical"
    with within(10):
        asyncio.run(asynchronously())


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Meanwhile, no process of the server runs."""
    if server.log is None:
        pytest.skip("the server isn't the test's own")
    pid = int((server.log.parent / "cluster" / "postmaster.pid").read_bytes().split()[0])
    processes = [pid]
    try:
        os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        processes += map(int, children)
        for process in processes[1:]:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_a_stopped_server(server: Server, db: Db, db_url: str, account: UUID) -> None:
    async def asynchronously() -> None:
        async with AsyncStore(db_url, timeout=1, call_timeout=2) as store:
            assert await store.recall(account, "pnpm") == UNAVAILABLE

    with Store(db_url, timeout=1, call_timeout=2) as store, psycopg.connect(db_url) as connection:
        given = Store(connection, call_timeout=2)
        for each in (store, given):
            each.recall(account, "pnpm")
        with stopped(server), within(20):
            assert store.recall(account, "pnpm") == UNAVAILABLE
            assert store.recall(account, "pnpm") == UNAVAILABLE  # nor is there a new connection
            assert given.recall(account, "pnpm") == UNAVAILABLE
            asyncio.run(asynchronously())
        assert store.recall(account, "pnpm").backend == "lexical"


def test_a_call_that_is_given_up_is_cancelled(db: Db, connect: Any, db_url: str, account: UUID) -> None:
    if not psycopg.capabilities.has_cancel_safe():
        pytest.skip("libpq can't cancel in time")
    locker = connect()
    with Store(db_url, call_timeout=2) as store:
        store.list_memories(account)
        with locker.transaction():
            locker.execute("select from memstore.users for update")
            with within(5), pytest.raises(StoreUnavailable):
                store.insert_memory(account, "Too late.")
            query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            deadline = time.monotonic() + 10
            while db.execute(f"{query} and datname = current_database()").fetchone() != (0,):
                assert time.monotonic() < deadline
        assert store.list_memories(account) == []


def test_what_may_take_its_time(db: Db, connect: Any, db_url: str, account: UUID) -> None:
    """The operator's functions, and all where there is no bound."""
    assert calls.verify_store().patient
    assert not calls.recall(actor=account, query="pnpm").patient
    with Store(db_url, call_timeout=None) as store:
        db.execute(
            "create or replace function memstore.list_rules("
            "out name text, out field text, out definition text, out message text)"
            " returns setof record language sql stable as $$select 'a', 'b', 'c', 'd' from pg_sleep(1.2)$$"
        )
        assert len(store.list_rules()) == 1


# A read that others cancel, as recovery does on a standby.


@pytest.fixture
def conflicts(db: Db) -> Callable[[int], None]:
    """Has so many recalls fail with a conflict."""
    ((definition,),) = db.execute(
        "select pg_get_functiondef(p.oid) from pg_proc p"
        " where p.pronamespace = 'memstore'::regnamespace and p.proname = 'recall'"
    ).fetchall()
    db.execute("create sequence conflicts")
    db.execute("create table public.left_over (number integer)")
    db.execute("insert into public.left_over values (0)")
    db.execute(
        "create function public.conflict() returns void language plpgsql as $$begin"
        " if nextval('public.conflicts') <= (select number from public.left_over) then"
        " raise exception using errcode = '40001', message = 'canceling statement due to conflict';"
        " end if; end$$"
    )
    call = "perform memstore.require_actor(actor);"
    assert call in definition
    db.execute(definition.replace(call, f"perform public.conflict(); {call}").encode())

    def set_number(number: int) -> None:
        db.execute("select setval('public.conflicts', 1, false)")
        db.execute("update public.left_over set number = %s", [number])

    return set_number


@pytest.mark.parametrize("kind", ["url", "pool", "autocommit", "connection"])
def test_a_read_that_conflicts_is_repeated(
    db_url: str, account: UUID, conflicts: Callable[[int], None], kind: str
) -> None:
    source: Any = db_url
    if kind == "pool":
        source = ConnectionPool(db_url, min_size=1, open=True)
    elif kind != "url":
        source = psycopg.connect(db_url, autocommit=kind == "autocommit")
    store = Store(source)
    for number, expected in ((0, "lexical"), (2, "lexical"), (3, "unavailable"), (9, "unavailable")):
        conflicts(number)
        assert store.recall(account, "pnpm").backend == expected
        if kind == "connection":
            source.rollback()
    conflicts(9)
    with pytest.raises(driver.SerializationFailure):
        store.recall(account, "pnpm", strict=True)
    if kind == "connection":
        assert source.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    (store if kind == "url" else source).close()


def test_a_read_that_conflicts_is_repeated_asynchronously(
    db_url: str, account: UUID, conflicts: Callable[[int], None]
) -> None:
    async def body() -> None:
        async with AsyncStore(db_url) as store:
            for number, expected in ((2, "lexical"), (9, "unavailable")):
                conflicts(number)
                assert (await store.recall(account, "pnpm")).backend == expected

    asyncio.run(body())


def test_a_conflict_in_the_callers_transaction_is_the_callers(
    db_url: str, account: UUID, conflicts: Callable[[int], None]
) -> None:
    """Its transaction has failed, which it has to know."""
    with psycopg.connect(db_url) as connection:
        store = Store(connection)
        connection.execute("select 1")
        conflicts(1)
        with pytest.raises(driver.SerializationFailure):
            store.recall(account, "pnpm")
        connection.rollback()
        assert store.recall(account, "pnpm").backend == "lexical"
