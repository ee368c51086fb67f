"""Over PgBouncer, which gives each transaction any server connection: here there is one for everybody.

`MEMSTORE_TEST_PGBOUNCER` names another program than the path's.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from memstore import AsyncStore, InvalidMemory, MemoryNotFound, MemstoreError, Store, schema
from memstore.errors import MigrationRefused
from tests.cli.running import complaints, documents, invoke
from tests.databases import empty_database, psql_install, skip_without
from tests.sql.api import call_all
from tests.sql.support import account_of, refused, steward_of

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

APPLICATION = "memstore_pooled"
# Look-alikes, so that a match that is too loose shows.
ACCOUNTS = ("a", "A", "ab", "a_1", "%")
FOLLOWS_PREPARED_STATEMENTS = (1, 21)


@dataclass(frozen=True)
class Bouncer:
    """A PgBouncer in transaction mode."""

    directory: Path
    version: tuple[int, ...]

    def conninfo(self, dbname: str, user: str) -> str:
        return make_conninfo(host=str(self.directory), port=6432, dbname=dbname, user=user)


@pytest.fixture(scope="session")
def bouncer(server: Server) -> Iterator[Bouncer]:
    program = os.environ.get("MEMSTORE_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=_path())
    if not program:
        skip_without("pgbouncer")
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", told)
    assert found, told
    version = tuple(map(int, found.groups()))
    with tempfile.TemporaryDirectory(prefix="pgb-", dir="/tmp") as folder:
        directory = Path(folder)
        password = f" password={server.password}" if server.password else ""
        settings = {
            "listen_port": "6432",
            "unix_socket_dir": folder,
            "unix_socket_mode": "0777",
            "auth_type": "trust",
            "auth_file": f"{folder}/users",
            "pool_mode": "transaction",
            "default_pool_size": "1",
            "max_client_conn": "100",
        }
        if version >= FOLLOWS_PREPARED_STATEMENTS:
            settings["max_prepared_statements"] = "100"
        lines = ["[databases]", f"* = host={server.host} port={server.port}{password}", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in settings.items()]
        (directory / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        (directory / "users").write_text(f'"{server.user}" ""\n"{APPLICATION}" ""\n')
        account = _account(server)
        if account:
            for path in (directory, *directory.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, str(directory / "pgbouncer.ini")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
            try:
                _wait(process, directory)
                yield Bouncer(directory, version)
            finally:
                process.kill()
                process.wait()


def _path() -> str:
    """Where Debian has its daemons, too."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])


def _account(server: Server) -> pwd.struct_passwd | None:
    """PgBouncer refuses root too. The private server's socket is its own account's alone."""
    if os.geteuid():
        return None
    host = Path(server.host)
    owner = host.stat().st_uid if host.is_dir() else 0
    return pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")


def _wait(process: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + 20
    while not (directory / ".s.PGSQL.6432").exists():
        assert process.poll() is None and time.monotonic() < deadline, (directory / "log").read_text()
        time.sleep(0.01)


@pytest.fixture
def pooled(bouncer: Bouncer, db: psycopg.Connection) -> Iterator[str]:
    """The conninfo of an application's role at the pooler."""
    role = sql.Identifier(APPLICATION)
    db.execute(sql.SQL("create role {} login").format(role))
    db.execute("select memstore.grant_api(%s)", [APPLICATION])
    try:
        yield bouncer.conninfo(db.info.dbname, APPLICATION)
    finally:
        # The database, which the pooler is connected to, is dropped after this.
        db.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [APPLICATION])
        db.execute(sql.SQL("drop owned by {}").format(role))
        db.execute(sql.SQL("drop role {}").format(role))


def session(conninfo: str) -> dict[str, Any]:
    """All that the server connection keeps from one transaction to the next."""
    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as connection:
        # One statement, so that all of it is of one server connection.
        row = connection.execute("""
            select pg_backend_pid(), current_user::text, session_user::text,
              coalesce(current_setting('memstore.actor', true), ''),
              -- PgBouncer itself sets the application's name.
              (
                select jsonb_object_agg(name, setting) from pg_settings
                where source = 'session' and name <> 'application_name'
              ),
              (select count(*) from pg_locks where locktype = 'advisory'),
              (select count(*) from pg_prepared_statements),
              (select count(*) from pg_cursors where statement not like '%pg_cursors%'),
              (select count(*) from pg_listening_channels()),
              (select count(*) from pg_class where relnamespace = pg_my_temp_schema())
        """).fetchone()
    assert row is not None
    names = ("process", "user", "login", "actor", "settings", "locks", "prepared", "cursors", "channels")
    return dict(zip((*names, "temporary"), row, strict=True))


@pytest.fixture
def unchanged(pooled: str) -> Iterator[None]:
    """The server connection is one and the same before the test and after it, and keeps nothing of it."""
    before = session(pooled)
    assert (before["actor"], before["locks"], before["prepared"], before["temporary"]) == ("", 0, 0, 0)
    yield
    assert session(pooled) == before


def live(store: Store, account: UUID) -> set[str]:
    return {memory.body for memory in store.list_memories(account, page_size=200)}


def one_turn(store: Store, account: UUID, name: str, turn: int, others: list[UUID]) -> None:
    """Uses many functions for one account; every answer is that account's own."""
    prefix = f"[{name}] "
    first = store.insert_memory(account, f"{prefix}npm {turn}")
    second = store.supersede_memory(account, first.id, f"{prefix}pnpm {turn}")
    store.insert_memories(account, [{"body": f"{prefix}item {turn}.{item}"} for item in range(3)])
    assert {first.user_id, second.user_id} == {account}
    assert store.get_memory(account, second.id).body == f"{prefix}pnpm {turn}"
    assert [memory.id for memory in store.memory_history(account, second.id)] == [first.id, second.id]
    bodies = live(store, account)
    assert len(bodies) == 4 * (turn + 1)
    assert all(body.startswith(prefix) for body in bodies)
    recalled = store.recall(account, f"pnpm {turn}", strict=True)
    assert recalled.memories
    assert all(memory.body.startswith(prefix) for memory in recalled.memories)
    assert recalled.note is not None
    assert all(prefix in line for line in recalled.note.splitlines() if "] [" in line)
    for other in others:
        with pytest.raises(MemoryNotFound):
            store.get_memory(other, second.id)
        with pytest.raises(MemoryNotFound):
            store.delete_memory(other, second.id)


@contextmanager
def stores(conninfo: str, kind: str, count: int) -> Iterator[list[Store]]:
    """Stores with a client connection each, however they came by it."""
    with ExitStack() as held:
        made = []
        for _ in range(count):
            if kind == "url":
                made.append(held.enter_context(Store(conninfo)))
            elif kind == "pool":
                pool = ConnectionPool(
                    conninfo, kwargs={"prepare_threshold": 0}, min_size=1, max_size=1, open=False
                )
                made.append(Store(held.enter_context(pool)))
            else:
                # The application's own statements would be prepared at once, the store's never are.
                settings: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0}
                made.append(Store(held.enter_context(psycopg.connect(conninfo, **settings))))
        yield made


@pytest.mark.usefixtures("unchanged")
class TestOneServerConnection:
    @pytest.mark.parametrize("kind", ["url", "pool", "connection"])
    def test_accounts_alternate(self, kind: str, pooled: str) -> None:
        with stores(pooled, kind, len(ACCOUNTS)) as clients:
            accounts = [
                client.create_user(external_ref=name) for client, name in zip(clients, ACCOUNTS, strict=True)
            ]
            for turn in range(8):
                for number, account in enumerate(accounts):
                    # Each turn by another client than the last.
                    client = clients[(number + turn) % len(clients)]
                    others = accounts[:number] + accounts[number + 1 :]
                    one_turn(client, account, ACCOUNTS[number], turn, others)

    def test_every_function(self, db: psycopg.Connection, pooled: str) -> None:
        account, steward = account_of(db, "account"), steward_of(db, "steward")
        with psycopg.connect(pooled, autocommit=True) as connection:
            call_all(connection, account, steward)

    def test_threads_at_once(self, pooled: str) -> None:
        start = threading.Barrier(6)
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                with Store(pooled, timeout=60) as store:
                    account = store.create_user(external_ref=f"thread {number}")
                    start.wait()
                    for turn in range(10):
                        one_turn(store, account, f"thread {number}", turn, [])
            except BaseException as error:
                failures.append(error)
                start.abort()

        threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    def test_tasks_at_once(self, pooled: str) -> None:
        async def work(name: str) -> None:
            async with AsyncStore(pooled, timeout=60) as store:
                account = await store.create_user(external_ref=name)
                for turn in range(10):
                    await store.insert_memory(account, f"[{name}] {turn}")
                    memories = await store.list_memories(account)
                    assert {memory.body for memory in memories} == {f"[{name}] {n}" for n in range(turn + 1)}
                    note = (await store.recall(account, str(turn), strict=True)).note or ""
                    assert all(f"[{name}]" in line for line in note.splitlines() if "] [" in line)

        async def all_at_once() -> None:
            await asyncio.gather(*map(work, ACCOUNTS))

        asyncio.run(all_at_once())

    def test_refusals_leave_nothing(self, pooled: str) -> None:
        with stores(pooled, "connection", 2) as (first, second):
            account, other = first.create_user(), second.create_user()
            for _ in range(8):
                with pytest.raises(InvalidMemory) as caught:
                    first.insert_memory(account, " ")
                assert caught.value.name == "memories_body_shape"
                second.insert_memory(other, "mine")
                assert not first.list_memories(account)

    def test_a_transaction_of_an_application(self, pooled: str) -> None:
        """The others wait for the server connection, and see what was committed alone."""
        with (
            stores(pooled, "url", 1) as (other,),
            psycopg.connect(pooled, prepare_threshold=None) as connection,
        ):
            store = Store(connection)
            account = store.create_user()
            connection.commit()
            for body, end in (("kept", connection.commit), ("taken back", connection.rollback)):
                store.insert_memory(account, body)
                with ThreadPoolExecutor() as threads:
                    seen = threads.submit(live, other, account)
                    end()
                    assert seen.result() == {"kept"}

    def test_the_command(self, pooled: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memstore.cli.session.ready", lambda: None)

        def run(name: str, *arguments: str, code: int = 0) -> Any:
            return invoke("--database-url", pooled, "--account", name, *arguments, code=code)

        for turn in range(3):
            for name in ACCOUNTS:
                run(name, "remember", f"[{name}] pnpm {turn}")
                listed = documents(run(name, "list", "--json"))
                assert {each["body"] for each in listed} == {f"[{name}] pnpm {n}" for n in range(turn + 1)}
                note = run(name, "recall", "pnpm").stdout
                assert note.count(f"[{name}] pnpm") == turn + 1
                assert note.count("pnpm") == turn + 1


def test_prepared_statements(bouncer: Bouncer, pooled: str) -> None:
    """They work over a PgBouncer that follows them; an older one has another client's under their name."""
    with Store(pooled, prepare=True) as first, Store(pooled, prepare=True) as second:
        clients, accounts = (first, second), (first.create_user(), second.create_user())

        def alternate() -> None:
            for turn in range(12):
                for number, account in enumerate(accounts):
                    one_turn(clients[(number + turn) % 2], account, str(number), turn, [accounts[1 - number]])

        if bouncer.version >= FOLLOWS_PREPARED_STATEMENTS:
            alternate()
            assert session(pooled)["prepared"]
        else:
            with pytest.raises(MemstoreError) as caught:
                alternate()
            assert caught.value.sqlstate == "42P05"


@pytest.mark.parametrize(
    ("left", "where"),
    [
        ("set memstore.actor = 'somebody'", "actor"),
        ("set search_path = pg_catalog", "settings"),
        ("select pg_advisory_lock(1)", "locks"),
        ("prepare left_behind as select 1", "prepared"),
        ("declare left_behind cursor with hold for select 1", "cursors"),
        ("listen left_behind", "channels"),
        ("create temporary table left_behind ()", "temporary"),
    ],
)
def test_what_a_session_leaves_is_seen(left: str, where: str, pooled: str) -> None:
    before = session(pooled)
    with psycopg.connect(pooled, autocommit=True) as connection:
        connection.execute(left.encode())
    after = session(pooled)
    assert after["process"] == before["process"]
    assert where in {name for name in before if before[name] != after[name]}


class TestRowSecurity:
    """An account named for one transaction is forgotten with it."""

    def test_the_setting_is_the_transactions(self, db: psycopg.Connection, pooled: str) -> None:
        db.execute(f"grant usage on schema memstore to {APPLICATION}")
        db.execute(f"grant select on memstore.memories to {APPLICATION}")
        query = "select body from memstore.memories"
        with stores(pooled, "url", 1) as (store,):
            accounts = {name: store.create_user(external_ref=name) for name in ACCOUNTS}
            for name, account in accounts.items():
                store.insert_memory(account, name)
        with (
            psycopg.connect(pooled, prepare_threshold=None) as one,
            psycopg.connect(pooled, prepare_threshold=None) as other,
        ):
            for name, account in accounts.items():
                for end in (one.commit, one.rollback):
                    one.execute("select set_config('memstore.actor', %s, true)", [str(account)])
                    assert one.execute(query).fetchall() == [(name,)]
                    end()
                    assert other.execute(query).fetchall() == []
                    other.commit()


class TestBoundRoles:
    """A role that is set for one transaction is forgotten with it."""

    def test_the_role_is_the_transactions(self, db: psycopg.Connection, pooled: str) -> None:
        for name in ("one", "two"):
            role = f"memstore_pooled_{name}"
            db.execute(f"create role {role}; grant {role} to {APPLICATION}".encode())
            db.execute("select memstore.bind_role(%s, %s)", [role, account_of(db, name)])
            db.execute("select memstore.insert_memory(%s, %s)", [account_of(db, name), f"of {name}"])
        query = "select body from memstore.my_list_memories()"
        try:
            with (
                psycopg.connect(pooled, prepare_threshold=None) as one,
                psycopg.connect(pooled, prepare_threshold=None) as other,
            ):
                for name in ("one", "two"):
                    for end in (one.commit, one.rollback):
                        one.execute(f"set local role memstore_pooled_{name}".encode())
                        assert one.execute(query).fetchall() == [(f"of {name}",)]
                        end()
                        with refused("actor_unknown", "actor"):
                            other.execute(query)
                        other.rollback()
        finally:
            db.execute("drop owned by memstore_pooled_one, memstore_pooled_two")
            db.execute("drop role memstore_pooled_one, memstore_pooled_two")


def dbname_of(conninfo: str) -> str:
    return str(conninfo_to_dict(conninfo)["dbname"])


class TestInstalling:
    def test_migrate_refuses_before_it_changes_anything(self, bouncer: Bouncer, server: Server) -> None:
        with empty_database(server) as conninfo:
            through = bouncer.conninfo(dbname_of(conninfo), server.user)
            before = session(through)
            with pytest.raises(MigrationRefused) as caught:
                schema.migrate(through)
            assert caught.value.name == "connection_pooled"
            assert session(through) == before
            (said,) = complaints(invoke("--database-url", through, "migrate", code=1))
            assert "pooler" in said and "psql -f sql/install.sql" in said
            with psycopg.connect(conninfo) as connection:
                assert connection.execute("select to_regnamespace('memstore')").fetchone() == (None,)

    def test_psql_installs_and_leaves_nothing(self, bouncer: Bouncer, server: Server) -> None:
        with empty_database(server) as conninfo:
            through = bouncer.conninfo(dbname_of(conninfo), server.user)
            before = session(through)
            psql_install(through)
            psql_install(through)
            assert session(through) == before
            with Store(through) as store:
                account = store.create_user()
                store.insert_memory(account, "one")
                assert live(store, account) == {"one"}
            assert schema.migrate(conninfo) == []
