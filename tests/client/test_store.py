"""Each kind of source, and whose transaction a call belongs to."""

import asyncio
import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import ClientCursor, RawCursor
from psycopg.adapt import Loader
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from memstore import (
    AccessDenied,
    AsyncStore,
    MemoryNotFound,
    Recall,
    SchemaOutdated,
    Store,
    StoreUnavailable,
)
from memstore.api.calls import SCHEMA_VERSION

Db = psycopg.Connection[Any]

BODY = "private words"
CLOSED = "host=127.0.0.1 port=1 dbname=memstore"


def bodies(db: Db) -> list[str]:
    return [body for (body,) in db.execute("select body from memstore.memories order by inserted_at")]


def shown(error: BaseException) -> str:
    return repr(error) + "".join(traceback.format_exception(error))


class Shouting(Loader):
    """An adapter that no library expects."""

    def load(self, data: bytes | bytearray | memoryview) -> str:
        return bytes(data).decode().upper() + "!"


@contextmanager
def customised(url: str, **settings: Any) -> Iterator[Db]:
    with psycopg.connect(url, **settings) as connection:
        for kind in ("uuid", "text", "timestamptz", "date", "jsonb", "bool", "float8"):
            connection.adapters.register_loader(kind, Shouting)
        set_json_loads(lambda data: pytest.fail("the caller's parser"), connection)
        for setting in ("timezone to 'Asia/Kolkata'", "datestyle to 'German'", "extra_float_digits to 0"):
            connection.execute(f"set {setting}")
        connection.commit()
        yield connection


# Sources.


@pytest.mark.parametrize("cursor_factory", [psycopg.Cursor, ClientCursor, RawCursor])
@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_of_any_make(
    db: Db, db_url: str, account: UUID, cursor_factory: Any, autocommit: bool
) -> None:
    settings = {"row_factory": dict_row, "prepare_threshold": 0, "autocommit": autocommit}
    with customised(db_url, cursor_factory=cursor_factory, **settings) as connection:
        store = Store(connection)
        memory = store.insert_memory(account, "I use pnpm.", source_ref="a thread")
        assert store.get_memory(account, memory.id) == memory
        assert (memory.user_id, memory.body, memory.source_ref) == (account, "I use pnpm.", "a thread")
        assert memory.inserted_at.utcoffset() is not None
        assert store.recall(account, "pnpm").memories == (memory,)
        (ranked,) = store.rank_memories(account, "pnpm")
        assert ranked.memory == memory
        assert (ranked.score, ranked.lexical_score, ranked.semantic_score, ranked.eligible) == (
            0.714286,
            1,
            None,
            True,
        )


@pytest.mark.parametrize("gone", ["the last", "all of a page"])
def test_iterating_goes_on_where_memories_go(db: Db, db_url: str, account: UUID, gone: str) -> None:
    """All of the others come, once and in their order, on both clients."""
    with Store(db_url) as store:
        store.set_maximum_live_memories(account, 500)
        store.insert_memories(account, [{"body": f"{n}", "scope": "x"} for n in range(450)])
        store.insert_memory(account, "another", scope="y")
        found = store.iterate_memories(account, scopes=["x"])
        first = [next(found) for _ in range(200)]
        for memory in first if gone == "all of a page" else first[-1:]:
            store.delete_memory(account, memory.id)
        rest = list(found)
        assert [each.body for each in [*first, *rest]] == [f"{n}" for n in reversed(range(450))]
        assert list(store.iterate_memories(account, scopes=["x"], after=rest[-3].id)) == rest[-2:]
        with pytest.raises(MemoryNotFound):
            next(store.iterate_memories(account, after=first[-1].id))


def test_iterating_asynchronously(db: Db, db_url: str, account: UUID) -> None:
    async def bodies() -> list[str]:
        async with AsyncStore(db_url) as store:
            await store.set_maximum_live_memories(account, 500)
            await store.insert_memories(account, [{"body": f"{n}"} for n in range(401)])
            found = []
            async for memory in store.iterate_memories(account):
                found.append(memory.body)
                if len(found) == 200:
                    await store.delete_memory(account, memory.id)
            return found

    assert asyncio.run(bodies()) == [f"{n}" for n in reversed(range(401))]


def test_a_pool_ends_each_call(db: Db, db_url: str, account: UUID) -> None:
    with ConnectionPool(db_url, min_size=1, kwargs={"row_factory": dict_row}) as pool:
        store = Store(pool)
        memory = store.insert_memory(account, "I use pnpm.")
        assert bodies(db) == ["I use pnpm."]
        with pytest.raises(MemoryNotFound):
            store.get_memory(account, account)
        assert store.get_memory(account, memory.id) == memory


def test_a_url_brings_its_own_pool(db: Db, db_url: str, account: UUID) -> None:
    with Store(db_url) as store:
        store.insert_memory(str(account), "I use pnpm.")
        assert bodies(db) == ["I use pnpm."]
    with pytest.raises(StoreUnavailable):
        store.list_memories(account)


@pytest.mark.parametrize("prepare", [None, False, True])
def test_a_store_of_a_server_prepares_unless_told(db_url: str, account: UUID, prepare: bool | None) -> None:
    """Over a pooler it doesn't: see test_pgbouncer."""
    query = "select count(*) from pg_prepared_statements where statement like 'select to_jsonb%'"

    async def asynchronously() -> object:
        async with await psycopg.AsyncConnection.connect(db_url, prepare_threshold=0) as connection:
            await AsyncStore(connection, prepare=prepare).list_memories(account)
            return await (await connection.execute(query)).fetchone()

    with psycopg.connect(db_url, prepare_threshold=0) as connection:
        Store(connection, prepare=prepare).list_memories(account)
        assert connection.execute(query).fetchone() == (int(prepare is not False),)
    assert asyncio.run(asynchronously()) == (int(prepare is not False),)


def test_a_store_is_no_source(db: Db) -> None:
    with pytest.raises(TypeError):
        Store(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        AsyncStore(db)  # type: ignore[arg-type]
    with pytest.raises(ValueError) as caught:
        Store("pass word")
    assert "word" not in str(caught.value)


# Transactions.


def test_a_call_joins_the_transaction(db: Db, account: UUID) -> None:
    db.execute("create table orders (id integer)")
    store = Store(db)
    with pytest.raises(ZeroDivisionError), db.transaction():
        db.execute("insert into orders values (1)")
        store.insert_memory(account, "Order 1.")
        raise ZeroDivisionError
    assert not bodies(db)
    with db.transaction():
        db.execute("insert into orders values (2)")
        store.insert_memory(account, "Order 2.")
    assert bodies(db) == ["Order 2."]
    assert db.execute("select id from orders").fetchall() == [(2,)]


def test_the_caller_commits(db: Db, db_url: str, account: UUID) -> None:
    with psycopg.connect(db_url) as connection:
        store = Store(connection)
        store.insert_memory(account, "Rolled back.")
        connection.rollback()
        store.insert_memory(account, "Committed.")
        assert not bodies(db)
        connection.commit()
    assert bodies(db) == ["Committed."]


def test_an_error_aborts_the_transaction_as_ever(db: Db, db_url: str, account: UUID) -> None:
    with psycopg.connect(db_url) as connection:
        store = Store(connection)
        with pytest.raises(MemoryNotFound):
            store.get_memory(account, account)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            store.recall(account, "words")
        connection.rollback()
        with pytest.raises(MemoryNotFound), connection.transaction():
            store.get_memory(account, account)
        store.insert_memory(account, "Still here.")
        connection.commit()
    assert bodies(db) == ["Still here."]


# Pipelines.


def test_in_a_pipeline(db: Db, account: UUID) -> None:
    store = Store(db)
    with db.pipeline():
        pending = db.execute("select 1")
        memory = store.insert_memory(account, "In a pipeline.")
        assert store.get_memory(account, memory.id) == memory
        assert pending.fetchall() == [(1,)]
    with pytest.raises(MemoryNotFound), db.pipeline():
        store.get_memory(account, account)
    assert store.list_memories(account) == [memory]


def test_what_failed_before_in_a_pipeline_is_the_callers(db: Db, account: UUID) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as caught, db.pipeline():
        db.execute("select from nowhere")
        Store(db).recall(account, "words")
    assert "LINE 1" in str(caught.value)


def test_in_an_asynchronous_pipeline(db_url: str, account: UUID) -> None:
    async def body() -> None:
        async with await psycopg.AsyncConnection.connect(db_url, autocommit=True) as connection:
            store = AsyncStore(connection)
            with pytest.raises(psycopg.errors.UndefinedTable):
                async with connection.pipeline():
                    await connection.execute("select from nowhere")
                    await store.list_memories(account)
            async with connection.pipeline():
                memory = await store.insert_memory(account, "In a pipeline.")
                assert await store.get_memory(account, memory.id) == memory
            with pytest.raises(MemoryNotFound):
                async with connection.pipeline():
                    await store.get_memory(account, account)
            assert await store.list_memories(account) == [memory]

    asyncio.run(body())


# What the operator calls.


def test_the_operators_calls(db: Db, account: UUID) -> None:
    store = Store(db)
    assert store.find_user("account-1") == account == store.create_user(external_ref="account-1")
    assert store.find_user("nobody") is None
    settings = store.configure(lexical_floor=0.25, system_recall_enabled=True)
    assert store.configure() == settings
    assert (settings.lexical_floor, settings.system_recall_enabled) == (0.25, True)
    store.set_steward(account, True)
    store.set_maximum_live_memories(account, 1)
    store.register_embedding_model("two-numbers", 2)
    store.forget_embedding_model("two-numbers")
    written = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    (memory,) = store.import_memories(
        account, [{"id": uuid4(), "body": "I use npm.", "inserted_at": written}]
    )
    assert memory.inserted_at == written
    assert store.memories_as_of(account, written) == [memory]
    with db.transaction(force_rollback=True):
        db.execute("create role memstore_application")
        store.grant_api("memstore_application")
        db.execute("set local role memstore_application")
        assert store.get_memory(account, memory.id) == memory
        with pytest.raises(AccessDenied), db.transaction():
            store.set_steward(account, False)
        db.execute("reset role")
        store.revoke_api("memstore_application")
    assert store.delete_user(account) == 1


# The same, asynchronously.


def test_asynchronous_sources(db: Db, db_url: str, account: UUID) -> None:
    async def body() -> None:
        async with await psycopg.AsyncConnection.connect(db_url, row_factory=dict_row) as connection:
            await AsyncStore(connection).insert_memory(account, "Rolled back.")
            await connection.rollback()
            await AsyncStore(connection).insert_memory(account, "By connection.")
        async with AsyncConnectionPool(db_url, min_size=1) as pool:
            await AsyncStore(pool).insert_memory(account, "By pool.")
        async with AsyncStore(db_url) as store:
            await asyncio.gather(*(store.insert_memory(account, f"By URL, {n}.") for n in range(6)))
            (memory, *_) = await store.list_memories(account, page_size=1)
            assert (await store.recall(account, memory.body)).memories[0] == memory

    asyncio.run(body())
    assert bodies(db)[:2] == ["By connection.", "By pool."]
    assert len(bodies(db)) == 8


# Out of reach.


def test_recall_does_without_a_store(caplog: pytest.LogCaptureFixture) -> None:
    started = time.monotonic()
    with Store(CLOSED) as store, caplog.at_level(logging.WARNING, "memstore"):
        assert store.recall(uuid4(), BODY) == Recall(backend="unavailable")
        (record,) = [each for each in caplog.records if each.name == "memstore"]
        assert "private" not in record.getMessage()
        for strict in (
            lambda: store.recall(uuid4(), "words", strict=True),
            lambda: store.list_memories(uuid4()),
        ):
            with pytest.raises(StoreUnavailable) as caught:
                strict()
            assert caught.value.name == "store_unavailable"
            assert "refused" in caught.value.message
    assert time.monotonic() - started < 3


def test_recall_does_without_a_store_asynchronously() -> None:
    async def body() -> None:
        async with AsyncStore(CLOSED) as store:
            assert (await store.recall(uuid4(), "words")).backend == "unavailable"
            with pytest.raises(StoreUnavailable):
                await store.recall(uuid4(), "words", strict=True)

    asyncio.run(body())


def test_a_pool_that_waits_in_vain() -> None:
    with ConnectionPool(CLOSED, min_size=1, timeout=0.2) as pool:
        assert Store(pool).recall(uuid4(), "words").backend == "unavailable"
        with pytest.raises(StoreUnavailable):
            Store(pool).recall(uuid4(), "words", strict=True)


def test_a_connection_that_is_gone(db: Db, db_url: str, account: UUID) -> None:
    with psycopg.connect(db_url, autocommit=True) as connection:
        store = Store(connection)
        store.insert_memory(account, "I use pnpm.")
        db.execute("select pg_terminate_backend(%s)", (connection.info.backend_pid,))
        assert store.recall(account, "pnpm").backend == "unavailable"
        assert store.recall(account, "pnpm").backend == "unavailable"
        with pytest.raises(StoreUnavailable):
            store.list_memories(account)


def test_a_connection_that_idled_too_long(db_url: str, account: UUID) -> None:
    with psycopg.connect(db_url) as connection:
        connection.execute("set idle_in_transaction_session_timeout to '10ms'")
        time.sleep(0.1)
        assert Store(connection).recall(account, "words").backend == "unavailable"


def test_a_url_comes_back(db: Db, db_url: str, account: UUID) -> None:
    with Store(db_url) as store:
        memory = store.insert_memory(account, "I use pnpm.")
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        assert store.recall(account, "pnpm").memories == (memory,)
        assert store.recall(account, "pnpm").memories == (memory,)


def test_a_timeout_is_no_outage(db: Db, account: UUID) -> None:
    with psycopg.connect(db.info.dsn, autocommit=True) as other, other.transaction():
        other.execute("select from memstore.users for update")
        db.execute("set lock_timeout to '10ms'; set log_parameter_max_length_on_error to -1")
        with pytest.raises(psycopg.errors.LockNotAvailable) as caught:
            Store(db).insert_memory(account, BODY)
    assert caught.value.sqlstate == "55P03"
    assert "private" not in shown(caught.value)


# The schema.


def version(db: Db, number: int) -> None:
    db.execute(
        f"create or replace function memstore.schema_version() returns integer language sql return {number}"
    )


def test_no_schema_and_an_unharmed_transaction(db: Db) -> None:
    db.execute("drop schema memstore cascade")
    with db.transaction():
        with pytest.raises(SchemaOutdated) as caught:
            Store(db).recall(uuid4(), "words")
        assert db.execute("select 1").fetchone() == (1,)
    assert caught.value.name == "schema_outdated"
    assert "memstore migrate" in str(caught.value.hint)


def test_an_older_schema(db: Db, db_url: str) -> None:
    version(db, SCHEMA_VERSION - 1)
    with db.transaction(), pytest.raises(SchemaOutdated, match=f"version {SCHEMA_VERSION - 1}"):
        Store(db).list_rules()

    async def body() -> None:
        async with AsyncStore(db_url) as store:
            with pytest.raises(SchemaOutdated):
                await store.list_rules()

    asyncio.run(body())
    with Store(db_url) as store, pytest.raises(SchemaOutdated):
        store.list_rules()
    version(db, SCHEMA_VERSION)
    assert Store(db).list_rules()


def test_a_newer_schema(db: Db) -> None:
    version(db, SCHEMA_VERSION + 1)
    assert Store(db).list_rules()
    db.execute("drop function memstore.list_rules()")
    with pytest.raises(SchemaOutdated, match="list_rules"):
        Store(db).list_rules()


def test_the_version_is_asked_once(db: Db, account: UUID) -> None:
    store = Store(db)
    store.list_memories(account)
    db.execute("drop function memstore.schema_version()")
    assert not store.list_memories(account)
    assert not Store(db).list_memories(account)
