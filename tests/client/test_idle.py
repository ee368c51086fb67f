"""Connections that died while they rested, and how many a store holds."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from memstore import AsyncStore, Recall, SchemaOutdated, Store, StoreOverloaded, StoreUnavailable
from memstore.connections import slots
from tests.client.proxy import Proxy
from tests.client.proxy import proxy as make_proxy

pytestmark = pytest.mark.long

Db = psycopg.Connection[Any]

APPLICATION = "memstore_idle"


@pytest.fixture
def url(db_url: str) -> str:
    return make_conninfo(db_url, application_name=APPLICATION)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with make_proxy(url) as made:
        yield made


def connections(db: Db) -> int:
    query = (
        "select count(*) from pg_stat_activity where application_name = %s and datname = current_database()"
    )
    (count,) = db.execute(query, [APPLICATION]).fetchone() or (0,)
    return int(count)


def terminate(db: Db) -> None:
    """Ends all sessions of stores, and waits for that."""
    query = (
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
        " where application_name = %s and datname = current_database()"
    )
    db.execute(query, [APPLICATION])


def wait_for(db: Db, blocked: int) -> None:
    """Waits until so many sessions of stores wait for a lock."""
    query = (
        "select count(*) from pg_stat_activity where application_name = %s"
        " and datname = current_database() and wait_event_type = 'Lock'"
    )
    deadline = time.monotonic() + 20
    while db.execute(query, [APPLICATION]).fetchone() != (blocked,):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def bodies(db: Db) -> list[str]:
    return [body for (body,) in db.execute("select body from memstore.memories order by inserted_at")]


# After a rest.


@pytest.mark.parametrize("kind", ["url", "pool"])
def test_a_terminated_connection_is_replaced(db: Db, url: str, account: UUID, kind: str) -> None:
    source: Any = url if kind == "url" else ConnectionPool(url, min_size=1, max_size=2, open=True)
    store = Store(source)
    written = [store.insert_memory(account, "I use pnpm, 0.").body]
    for turn in range(1, 8):
        terminate(db)
        if turn % 2:
            assert len(store.recall(account, "pnpm").memories) == turn
        written.append(store.insert_memory(account, f"I use pnpm, {turn}.").body)
    assert bodies(db) == written
    if kind == "url":
        assert connections(db) == 1
        store.close()
    else:
        source.close()


@pytest.mark.parametrize("kind", ["url", "pool"])
def test_a_terminated_connection_is_replaced_asynchronously(
    db: Db, url: str, account: UUID, kind: str
) -> None:
    async def body(store: AsyncStore) -> None:
        await store.insert_memory(account, "I use pnpm, 0.")
        for turn in range(1, 8):
            terminate(db)
            if turn % 2:
                assert len((await store.recall(account, "pnpm")).memories) == turn
            await store.insert_memory(account, f"I use pnpm, {turn}.")

    async def with_url() -> None:
        async with AsyncStore(url) as store:
            await body(store)
            assert connections(db) == 1

    async def with_pool() -> None:
        async with AsyncConnectionPool(url, min_size=1, max_size=2) as pool:
            await body(AsyncStore(pool))

    asyncio.run(with_url() if kind == "url" else with_pool())
    assert len(bodies(db)) == 8


def test_a_server_that_ends_idle_sessions(db: Db, url: str, account: UUID) -> None:
    name = sql.Identifier(db.info.dbname)
    db.execute(sql.SQL("alter database {} set idle_session_timeout to 300").format(name))
    chance = random.Random(1)
    with Store(url) as store:
        for turn in range(12):
            assert store.recall(account, "pnpm").backend == "lexical"
            store.insert_memory(account, f"I use pnpm, {turn}.")
            assert connections(db) <= 1
            time.sleep(chance.choice([0, 0.3, chance.uniform(0, 0.9)]))
    assert len(bodies(db)) == 12


def test_a_connection_that_leads_nowhere(
    proxy: Proxy, account: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A NAT forgets a connection and tells nobody."""
    monkeypatch.setattr(slots, "REST", 0.1)
    monkeypatch.setattr(slots, "CHECK", 0.3)

    async def body() -> None:
        async with AsyncStore(proxy.conninfo) as store:
            await store.insert_memory(account, "I use npm.")
            proxy.silence()
            await asyncio.sleep(0.2)
            await store.insert_memory(account, "I use yarn.")

    with Store(proxy.conninfo) as store:
        store.insert_memory(account, "I use pnpm.")
        proxy.silence()
        time.sleep(0.2)
        started = time.monotonic()
        assert store.insert_memory(account, "I use yarn.").body == "I use yarn."
        assert time.monotonic() - started < 3
    asyncio.run(body())


def test_a_server_or_pooler_that_restarts(proxy: Proxy, account: UUID) -> None:
    """What was there a moment ago may come back."""

    async def body() -> None:
        async with AsyncStore(proxy.conninfo) as store:
            await store.list_memories(account)
            proxy.stop()
            asyncio.get_running_loop().call_later(0.4, proxy.listen)
            await store.insert_memory(account, "Asynchronously.")

    with Store(proxy.conninfo) as store:
        store.insert_memory(account, "I use pnpm.")
        proxy.stop()
        threading.Timer(0.4, proxy.listen).start()
        assert len(store.recall(account, "pnpm").memories) == 1
        proxy.stop()
        threading.Timer(0.4, proxy.listen).start()
        store.insert_memory(account, "I use yarn.")
    asyncio.run(body())
    with Store(proxy.conninfo) as store:
        assert len(store.list_memories(account)) == 3
        proxy.stop()
        assert store.recall(account, "pnpm").backend == "unavailable"
        started = time.monotonic()
        assert store.recall(account, "pnpm").backend == "unavailable"
        assert time.monotonic() - started < 1


# In the middle of a call.


class _Loses:
    """Cuts the connection with the first answer to a call of a function, which the server has carried out."""

    def __init__(self, proxy: Proxy, function: str) -> None:
        self._function = function.encode()
        self.sent = 0
        self.lost = 0
        proxy.requests, proxy.answers = self._request, self._answer

    def _request(self, data: bytes) -> bytes:
        self.sent += self._function in data
        return data

    def _answer(self, data: bytes) -> bytes | None:
        if self.sent > self.lost == 0:
            self.lost += 1
            return None
        return data


def test_a_write_is_not_sent_twice(db: Db, proxy: Proxy, account: UUID) -> None:
    with Store(proxy.conninfo) as store:
        store.list_memories(account)
        loses = _Loses(proxy, "insert_memory")
        with pytest.raises(StoreUnavailable):
            store.insert_memory(account, "Once.")
        assert (loses.sent, bodies(db)) == (1, ["Once."])


def test_what_may_be_sent_twice(db: Db, proxy: Proxy, account: UUID) -> None:
    target = Store(db).insert_memory(account, "I use npm.")
    ids = [uuid4() for _ in range(4)]
    items = [{"id": id, "body": "Of several."} for id in ids[:2]]
    with Store(proxy.conninfo) as store:
        store.list_rules()
        calls: dict[str, Callable[[], object]] = {
            "recall": lambda: store.recall(account, "npm", strict=True),
            "list_memories": lambda: store.list_memories(account),
            "insert_memory": lambda: store.insert_memory(account, "New.", id=ids[2]),
            "insert_memories": lambda: store.insert_memories(account, items),
            "supersede_memory": lambda: store.supersede_memory(account, target.id, "I use pnpm.", id=ids[3]),
            "create_user": lambda: store.create_user(external_ref="account-1"),
        }
        for function, call in calls.items():
            loses = _Loses(proxy, function)
            assert call()
            assert (function, loses.sent, loses.lost) == (function, 2, 1)
        others: dict[str, Callable[[], object]] = {
            "insert_memories": lambda: store.insert_memories(account, [*items, {"body": "Without an id."}]),
            "delete_memory": lambda: store.delete_memory(account, ids[0]),
            "create_user": lambda: store.create_user(),
        }
        for function, call in others.items():
            loses = _Loses(proxy, function)
            with pytest.raises(StoreUnavailable):
                call()
            assert (function, loses.sent, loses.lost) == (function, 1, 1)


def test_what_may_be_sent_twice_asynchronously(db: Db, proxy: Proxy, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(proxy.conninfo) as store:
            await store.list_rules()
            loses = _Loses(proxy, "recall")
            await store.recall(account, "npm", strict=True)
            assert loses.sent == 2
            loses = _Loses(proxy, "insert_memory")
            with pytest.raises(StoreUnavailable):
                await store.insert_memory(account, "Once.")
            assert loses.sent == 1

    asyncio.run(body())
    assert bodies(db) == ["Once."]


# How many.


def test_a_cold_start_of_many_tasks(db: Db, proxy: Proxy, account: UUID) -> None:
    async def body() -> list[Recall]:
        async with AsyncStore(proxy.conninfo, timeout=60) as store:
            return await asyncio.gather(*(store.recall(account, "pnpm") for _ in range(500)))

    assert {each.backend for each in asyncio.run(body())} == {"lexical"}
    assert proxy.accepted <= 4


def test_a_cold_start_of_many_threads(proxy: Proxy, account: UUID) -> None:
    with Store(proxy.conninfo, timeout=60) as store, ThreadPoolExecutor(40) as threads:
        answers = threads.map(lambda _: store.recall(account, "pnpm").backend, range(200))
        assert set(answers) == {"lexical"}
    assert proxy.accepted <= 4


@pytest.mark.parametrize("kind", ["close", "hang"])
def test_a_failed_attempt_is_shared(proxy: Proxy, account: UUID, kind: str) -> None:
    """Nobody waits for one attempt after another."""
    proxy.accepts = kind

    async def body() -> list[Recall]:
        async with AsyncStore(proxy.conninfo, timeout=1) as store:
            return await asyncio.gather(*(store.recall(account, "pnpm") for _ in range(100)))

    started = time.monotonic()
    assert {each.backend for each in asyncio.run(body())} == {"unavailable"}
    with Store(proxy.conninfo, timeout=1) as store, ThreadPoolExecutor(20) as threads:
        start = threading.Barrier(20)

        def recall(_: int) -> str:
            start.wait()
            return store.recall(account, "pnpm").backend

        assert set(threads.map(recall, range(20))) == {"unavailable"}
    # psycopg waits two seconds at least.
    assert time.monotonic() - started < 8
    assert proxy.accepted <= (4 if kind == "hang" else 20)


class _Looks:
    """Does something with each look at the schema, and counts them."""

    def __init__(self, proxy: Proxy, *answers: bytes | None) -> None:
        self._answers = answers
        self.count = 0
        proxy.requests = self._request

    def _request(self, data: bytes) -> bytes | None:
        if b"pg_catalog.pg_proc" not in data:
            return data
        self.count += 1
        return self._answers[self.count - 1] if self.count <= len(self._answers) else data


def test_a_look_that_hangs_is_shared(proxy: Proxy, account: UUID) -> None:
    """A pooler lets clients in while the server behind it hangs."""
    hangs = [b""] * 20

    async def body() -> list[Recall]:
        async with AsyncStore(proxy.conninfo, timeout=1) as store:
            return await asyncio.gather(*(store.recall(account, "pnpm") for _ in range(100)))

    looks = _Looks(proxy, *hangs)
    assert {each.backend for each in asyncio.run(body())} == {"unavailable"}
    assert looks.count == 1
    looks = _Looks(proxy, *hangs)
    with Store(proxy.conninfo, timeout=1) as store, ThreadPoolExecutor(20) as threads:
        answers = threads.map(lambda _: store.recall(account, "pnpm").backend, range(20))
        assert set(answers) == {"unavailable"}
    assert looks.count == 1


def test_what_a_look_finds_is_shared(database: str) -> None:
    with make_proxy(database) as proxy:
        looks = _Looks(proxy)
        release = threading.Event()
        proxy.requests = lambda data: (release.wait(10) or True) and looks._request(data)

        def recall(store: Store) -> str:
            try:
                return store.recall(uuid4(), "pnpm").backend
            except SchemaOutdated as refusal:
                return refusal.name

        with Store(proxy.conninfo) as store, ThreadPoolExecutor(20) as threads:
            answers = [threads.submit(recall, store) for _ in range(20)]
            threading.Timer(0.5, release.set).start()
            assert {each.result() for each in answers} == {"schema_outdated"}
        assert looks.count == 1


def test_a_look_that_breaks_is_tried_again(proxy: Proxy, account: UUID) -> None:
    """A pooler lets clients in while the server behind it restarts."""

    async def body() -> None:
        async with AsyncStore(proxy.conninfo) as store:
            await store.list_memories(account)
            proxy.stop()
            proxy.listen()
            looks = _Looks(proxy, None, None)
            await store.insert_memory(account, "Asynchronously.")
            assert looks.count == 3

    with Store(proxy.conninfo) as store:
        store.list_memories(account)
        proxy.stop()
        proxy.listen()
        looks = _Looks(proxy, None, None)
        store.insert_memory(account, "I use pnpm.")
        assert looks.count == 3
    asyncio.run(body())


@contextmanager
def alarm(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Has a signal's handler raise meanwhile, as task queues do at a time limit."""

    def handle(*_: object) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(error):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _TimeLimit(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("error", [_TimeLimit, TimeoutError, KeyboardInterrupt])
def test_a_time_limit_loses_no_connection(
    db: Db, connect: Any, url: str, account: UUID, error: type[BaseException]
) -> None:
    """It ends a wait for a connection, and a call."""
    locker = connect()
    with Store(url, timeout=30) as store, ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            with locker.transaction():
                locker.execute("select from memstore.users for update")
                writing = [threads.submit(store.insert_memory, account, f"Number {n}.") for n in range(4)]
                wait_for(db, 4)
                with alarm(0.1, error):
                    store.recall(account, "pnpm")
            for each in writing:
                each.result()
            with locker.transaction():
                locker.execute("select from memstore.users for update")
                with alarm(0.1, error):
                    store.insert_memory(account, "Too late.")
            wait_for(db, 0)  # the server goes on with what nobody waits for
        assert store.recall(account, "pnpm").backend == "lexical"
        assert connections(db) <= 4


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("error", [_TimeLimit, TimeoutError])
def test_a_time_limit_is_not_shared(proxy: Proxy, account: UUID, error: type[BaseException]) -> None:
    """Who waits for the connection that it ended makes one."""
    proxy.accepts = "hang"
    with Store(proxy.conninfo, timeout=30) as store, ThreadPoolExecutor(4) as threads:
        waiting: list[Future[Recall]] = []

        def wait() -> None:
            waiting.extend(threads.submit(store.recall, account, "pnpm") for _ in range(4))
            proxy.accepts = "forward"

        threading.Timer(0.1, wait).start()
        with alarm(0.5, error):
            store.recall(account, "pnpm")
        assert {each.result().backend for each in waiting} == {"lexical"}


def test_cancelled_tasks_lose_no_connection(db: Db, url: str, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(url) as store:
            chance = random.Random(1)
            for _ in range(15):
                tasks = [asyncio.ensure_future(store.recall(account, "pnpm")) for _ in range(12)]
                await asyncio.sleep(chance.uniform(0, 0.02))
                for task in chance.sample(tasks, 8):
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            answers = await asyncio.gather(*(store.recall(account, "pnpm") for _ in range(12)))
            assert {each.backend for each in answers} == {"lexical"}
            assert connections(db) <= 4

    asyncio.run(body())


# Overload.


@pytest.mark.parametrize("kind", ["url", "pool"])
def test_an_overloaded_store(db: Db, connect: Any, url: str, account: UUID, kind: str) -> None:
    source: Any = (
        url if kind == "url" else ConnectionPool(url, min_size=1, max_size=4, timeout=0.5, open=True)
    )
    locker, store = connect(), Store(source, timeout=0.5)
    store.recall(account, "pnpm")
    with ThreadPoolExecutor() as threads:
        with locker.transaction():
            locker.execute("select from memstore.users for update")
            writing = [threads.submit(store.insert_memory, account, f"I use pnpm, {n}.") for n in range(4)]
            wait_for(db, 4)
            assert store.recall(account, "pnpm") == Recall(backend="overloaded")
            with pytest.raises(StoreOverloaded) as caught:
                store.list_memories(account)
            assert caught.value.name == "store_overloaded"
        for each in writing:
            each.result()
    assert len(store.recall(account, "pnpm").memories) == 4
    assert connections(db) <= 4
    (store if kind == "url" else source).close()


@pytest.mark.parametrize("kind", ["url", "pool"])
def test_an_overloaded_asynchronous_store(db: Db, connect: Any, url: str, account: UUID, kind: str) -> None:
    locker = connect()

    async def body(store: AsyncStore) -> None:
        await store.recall(account, "pnpm")
        with locker.transaction():
            locker.execute("select from memstore.users for update")
            writing = [
                asyncio.ensure_future(store.insert_memory(account, f"I use pnpm, {n}.")) for n in range(4)
            ]
            await asyncio.to_thread(wait_for, db, 4)
            assert await store.recall(account, "pnpm") == Recall(backend="overloaded")
            with pytest.raises(StoreOverloaded):
                await store.list_memories(account)
        await asyncio.gather(*writing)
        assert len((await store.recall(account, "pnpm")).memories) == 4

    async def with_url() -> None:
        async with AsyncStore(url, timeout=0.5) as store:
            await body(store)

    async def with_pool() -> None:
        async with AsyncConnectionPool(url, min_size=1, max_size=4, timeout=0.5) as pool:
            await body(AsyncStore(pool))

    asyncio.run(with_url() if kind == "url" else with_pool())


def test_a_pool_without_a_server_is_not_overloaded(proxy: Proxy, account: UUID) -> None:
    with ConnectionPool(proxy.conninfo, min_size=1, timeout=0.5, open=True) as pool:
        store = Store(pool)
        assert store.recall(account, "pnpm").backend == "lexical"
        proxy.stop()
        assert [store.recall(account, "pnpm").backend for _ in range(3)] == ["unavailable"] * 3
