"""Installing while applications work: locks that are not taken, let go of, or waited for again."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memstore import schema
from tests.databases import WAYS, dump, empty_database, psql_install, skip_without
from tests.upgrades.released import NO_HISTORY, RELEASES, Release, releases, run_python
from tests.upgrades.stores import broken

if TYPE_CHECKING:
    from tests.servers import Server

MIGRATE = "import sys; from memstore import schema; schema.migrate(sys.argv[1])"


def post_apply(conninfo: str) -> None:
    """What yoyo does after it has applied migrations, in a transaction of its own."""
    with psycopg.connect(conninfo) as connection:
        schema.load_code(connection)


LOADS: dict[str, Callable[[str], object]] = {
    "migrate": schema.migrate,
    "psql": psql_install,
    "post-apply": post_apply,
}
INSERT = "select memstore.insert_memory(memstore.find_user('a'), 'x')"
TRANSACTIONS = {
    "users first": ("select memstore.create_user(external_ref => 'b')", INSERT),
    "memories first": (
        "update memstore.memories set updated_at = clock_timestamp()",
        "select memstore.create_user(external_ref => 'b')",
    ),
    "records first": (
        "delete from memstore.memory_admissions where false",
        INSERT,
    ),
}


@pytest.fixture
def application(another_url: str) -> Iterator[psycopg.Connection]:
    """A connection of an application that has an account with a memory."""
    with psycopg.connect(another_url, autocommit=True) as connection:
        connection.execute("select memstore.create_user(external_ref => 'a')")
        connection.execute("select memstore.insert_memory(memstore.find_user('a'), 'I use pnpm.')")
        yield connection


@contextmanager
def beside(connection: psycopg.Connection, run: Callable[[], object]) -> Iterator[Future[object]]:
    """Runs it in a thread, once it waits for a lock that the connection holds."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(connection.info.dsn, autocommit=True) as watcher:
        future = pool.submit(run)
        blocked = "select from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
        deadline = time.monotonic() + 60
        while not watcher.execute(blocked, [connection.info.backend_pid]).fetchall():
            assert not future.done(), future.result()
            assert time.monotonic() < deadline
        yield future
        future.result(60)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_to_apply_waits_for_nothing(
    way: str, another_url: str, application: psycopg.Connection
) -> None:
    limit = f"alter database {application.info.dbname} set lock_timeout = '10s'"
    application.execute(limit.encode())
    with application.transaction():
        application.execute("select memstore.create_user(external_ref => 'b')")
        application.execute("lock table memstore.users, memstore.memories in share row exclusive mode")
        WAYS[way](another_url)
        application.execute("select memstore.insert_memory(memstore.find_user('b'), 'x')")


@pytest.mark.parametrize("statement", [
    "drop trigger memories_chain_insert on memstore.memories",
    "alter table memstore.memories disable trigger memories_chain_insert",
    "drop function memstore.find_user(text)",
    "create or replace function memstore.schema_version() returns integer language sql as 'select 3'",
    "alter function memstore.recall(uuid, text, real[], text, integer, integer, text[], jsonb)"
    " reset search_path",
    "drop view memstore.pages cascade",
    "grant execute on function memstore.verify_store() to public",
    "grant select on memstore.memories to public",
    "update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'",
    "select memstore.drop_code()",
])  # fmt: skip
def test_what_was_changed_is_loaded_again(
    statement: str, another_url: str, fresh: str, application: psycopg.Connection
) -> None:
    application.execute(statement.encode())
    post_apply(another_url)
    assert dump(another_url) == fresh


def test_psql_loads_what_was_changed(another_url: str, fresh: str, application: psycopg.Connection) -> None:
    application.execute("drop trigger memories_chain_insert on memstore.memories")
    psql_install(another_url)
    assert dump(another_url) == fresh


def test_pgvector_is_noticed(another_url: str, application: psycopg.Connection) -> None:
    compiled = "select pg_get_functiondef(oid) from pg_proc where proname = 'similarities'"
    plain = application.execute(compiled).fetchall()
    try:
        application.execute("create extension vector")
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
        skip_without("pgvector")
    psql_install(another_url)
    with_it = application.execute(compiled).fetchall()
    assert with_it != plain
    application.execute("create schema elsewhere; alter extension vector set schema elsewhere")
    schema.migrate(another_url)
    assert application.execute(compiled).fetchall() not in (plain, with_it)
    application.execute("drop extension vector")
    schema.migrate(another_url)
    assert application.execute(compiled).fetchall() == plain


@pytest.mark.parametrize("order", TRANSACTIONS)
@pytest.mark.parametrize("way", LOADS)
def test_a_load_lets_an_open_transaction_end(
    way: str, order: str, another_url: str, application: psycopg.Connection
) -> None:
    """It waits for what this transaction holds, and holds nothing that this one waits for."""
    application.execute("update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'")
    application.execute("begin")
    application.execute(TRANSACTIONS[order][0].encode())
    with beside(application, lambda: LOADS[way](another_url)):
        application.execute(TRANSACTIONS[order][1].encode())
        application.execute("commit")
    record = "select checksum from memstore.deployment where name = 'sql'"
    assert application.execute(record).fetchone() == (schema.checksums()["sql"],)
    assert broken(another_url) == []


def test_a_load_waits_no_longer_than_it_may(another_url: str, application: psycopg.Connection) -> None:
    application.execute("update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'")
    with application.transaction(), psycopg.connect(another_url) as owner:
        application.execute("update memstore.users set language = language")
        owner.execute("set lock_timeout = '300ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            schema.load_code(owner)
    with psycopg.connect(another_url) as owner:
        owner.execute("set lock_timeout = '300ms'")
        schema.load_code(owner)
        assert owner.execute("show lock_timeout").fetchone() == ("300ms",)


def test_a_deadlock_is_repeated(
    another_url: str, application: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of 0006, which keeps writers out and in the end readers, too."""
    for name, source in (("sql", schema.sql_dir()), ("migrations", schema.migrations_dir())):
        shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(schema, "_dir", lambda name: tmp_path / name)
    (tmp_path / "migrations" / "0999-later.sql").write_text(
        "lock table memstore.users in share row exclusive mode;\n"
        "drop index memstore.memories_account_body_idx;\n"
        "insert into memstore.deployment (name) values ('0999-later');\n"
    )
    (tmp_path / "migrations" / "0999-later.rollback.sql").write_text("select 1;\n")
    application.execute("set deadlock_timeout = '1h'")  # so that the migration is what ends
    application.execute("begin")
    application.execute("select from memstore.memories")
    with beside(application, lambda: schema.migrate(another_url)) as migration:
        application.execute("select memstore.create_user(external_ref => 'b')")
        application.execute("commit")
    assert migration.result() == ["0999-later"]


AGAIN = ("deadlock detected", "has locked the migrations", "has locked this database", "Database locked")
"""What whoever upgrades is told to wait for, and to run again."""


def repeated(run: Callable[..., object], *arguments: object) -> object:
    for _ in range(20):
        try:
            return run(*arguments)
        except (psycopg.errors.DeadlockDetected, AssertionError) as error:
            if not any(said in str(error) for said in AGAIN):
                raise
    return run(*arguments)


def calls(connection: psycopg.Connection, number: int, rounds: int) -> int:
    """How many memories an application wrote, which runs again what a deadlock rolled back."""
    chance = random.Random(number)
    account = f"memstore.find_user('w{number}')"
    single = (
        f"select memstore.insert_memory({account}, 'single ' || gen_random_uuid())",
        f"select memstore.recall({account}, 'single or not')",
        f"select memstore.list_memories({account})",
        f"select memstore.memory_history({account}, id) from memstore.list_memories({account}) limit 1",
        f"select memstore.supersede_memory({account}, id, 'better')"
        f" from memstore.list_memories({account}) limit 1",
    )
    written = 0

    def together(turn: int) -> None:
        with connection.transaction():
            connection.execute("select memstore.create_user(external_ref => %s)", [f"w{number} {turn}"])
            text = "'together ' || gen_random_uuid()"
            connection.execute(f"select memstore.insert_memory({account}, {text})".encode())

    for turn in range(rounds):
        if chance.random() < 0.5:
            call = chance.randrange(len(single))
            repeated(connection.execute, single[call].encode())
            written += call == 0
        else:
            repeated(together, turn)
            written += 1
    return written


@pytest.mark.long
@pytest.mark.parametrize("release", [releases()[0], RELEASES[-1]] if RELEASES else [None], ids=str)
def test_everybody_at_once(
    release: Release | None, code_of: Callable[[Release], Path], server: Server, fresh: str
) -> None:
    """Applications, today's migrations in all ways, and an earlier version's, on its store."""
    if release is None:
        skip_without("history", NO_HISTORY)
    code = code_of(release)
    ways: list[Callable[[str], object]] = [schema.migrate]
    ways += [partial(repeated, way) for way in WAYS.values()]
    with empty_database(server) as database:
        assert run_python(code, MIGRATE, database).returncode == 0
        with psycopg.connect(database, autocommit=True) as owner:
            for number in range(4):
                owner.execute("select memstore.create_user(external_ref => %s)", [f"w{number}"])
            owner.execute("update memstore.users set maximum_live_memories = 100000")
        connections = [psycopg.connect(database, autocommit=True) for _ in range(4)]
        with ThreadPoolExecutor(12) as pool:
            work = [pool.submit(calls, *each, 100) for each in zip(connections, range(4), strict=True)]
            # More patience than an installation has by itself, since everybody works at once.
            patient = make_conninfo(database, options="-c lock_timeout=2min")
            ours = [pool.submit(way, patient) for way in ways]
            theirs = [pool.submit(run_python, code, MIGRATE, database) for _ in range(2)]
            written = [each.result() for each in work]
            for each in ours:
                each.result()
        for connection in connections:
            connection.close()
        for result in (each.result() for each in theirs):
            expected = ("This migration is not in the version", *AGAIN)
            assert result.returncode == 0 or any(said in result.stderr for said in expected), result.stderr
        schema.migrate(database)
        assert dump(database) == fresh
        assert broken(database) == []
        with psycopg.connect(database) as owner:
            kept = owner.execute(
                "select count(*) from memstore.memories where body <> 'better' group by user_id"
            ).fetchall()
            assert sorted(count for (count,) in kept) == sorted(written)
