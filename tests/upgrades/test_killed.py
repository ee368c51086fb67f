"""``migrate`` killed, and its connections terminated, at every statement: run again, it repairs all of it.

A short run takes a sample of the statements; a long one (``MEMSTORE_LONG``) kills at each of them, and
terminates at every fifth. Of the accidents that leave the same database it repairs the first, and every 25th.
"""

from __future__ import annotations

import multiprocessing
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import psycopg
import pytest

from memstore import schema
from tests.databases import (
    LONG,
    WAYS,
    dump,
    empty_database,
    environment,
    program,
    psql_install,
    recorded,
    run,
    yoyo,
    yoyo_command,
)
from tests.sql.support import refused
from tests.upgrades.interrupted import FAILED, migrate_interrupted
from tests.upgrades.stores import MIGRATIONS, broken, content, synthesise, without_what_came_later

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

MIGRATE = [sys.executable, "-c", "import sys; from memstore import schema; schema.migrate(sys.argv[1])"]

# What a process is killed at: the method of yoyo or psycopg, and the how-manieth call of it.
_KILLED = """
import os, signal, sys
from yoyo.backends.base import DatabaseBackend
from yoyo.migrations import Migration
from memstore import schema
owner, method, number = sys.argv[2], sys.argv[3], int(sys.argv[4])
owner = {"backend": DatabaseBackend, "migration": Migration, "schema": schema}[owner]
real, calls = getattr(owner, method), 0
def killed(*arguments, **keywords):
    global calls
    calls += 1
    if calls == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **keywords)
setattr(owner, method, killed)
schema.migrate(sys.argv[1])
"""


class TestKilled:
    @pytest.mark.parametrize(
        ("owner", "method", "number"),
        [
            pytest.param("schema", "read_migrations", 1, id="before the first migration"),
            pytest.param("migration", "process_steps", 3, id="between migrations"),
            pytest.param("backend", "log_migration", 1, id="the first applied and not marked"),
            pytest.param("backend", "log_migration", len(MIGRATIONS), id="the last applied and not marked"),
            pytest.param("backend", "mark_one", 2, id="the second logged and not marked"),
            pytest.param("schema", "load_code", 1, id="before the code"),
            pytest.param("schema", "_set", 2, id="the code loaded and not committed"),
        ],
    )
    def test_migrate_again(self, owner: str, method: str, number: int, fresh: str, database: str) -> None:
        command = [sys.executable, "-c", _KILLED, database, owner, method, str(number)]
        assert run(command, check=False).returncode == -signal.SIGKILL
        schema.migrate(database)
        assert dump(database) == fresh
        assert {row[0] for row in recorded(database)} == {*MIGRATIONS, "sql"}

    @pytest.mark.parametrize("way", ["yoyo", "psql"])
    def test_another_way_goes_on(self, way: str, fresh: str, database: str) -> None:
        command = [sys.executable, "-c", _KILLED, database, "migration", "process_steps", "3"]
        assert run(command, check=False).returncode == -signal.SIGKILL
        WAYS[way](database)
        assert dump(database) == fresh

    @pytest.mark.parametrize("accident", ["kill", "terminate"])
    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_inside_a_statement(self, way: str, accident: str, fresh: str, database: str) -> None:
        """It waits for a lock while the process dies, or its connection."""
        install = str(schema.sql_dir() / "install.sql")
        psql = [program("psql"), "-X", "-q", "-d", database, "-f", install]
        with (
            psycopg.connect(database, autocommit=True) as watcher,
            psycopg.connect(database, autocommit=True) as blocker,
        ):
            blocker.execute("create schema memstore")
            blocker.execute("begin; create table memstore.deployment ()")
            command = psql if way == "psql" else [*MIGRATE, database]
            with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE) as process:
                waits = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = %s"
                while not (waiting := watcher.execute(waits, [watcher.info.dbname]).fetchall()):
                    assert process.poll() is None
                if accident == "kill":
                    process.kill()
                else:
                    watcher.execute("select pg_terminate_backend(%s)", waiting[0])
                process.communicate(timeout=60)
                assert process.returncode == (
                    -signal.SIGKILL if accident == "kill" else 2 if way == "psql" else 1
                )
            blocker.execute("rollback")
        WAYS[way](database)
        assert dump(database) == fresh

    def test_yoyo_killed_before_it_marked(self, fresh: str, database: str) -> None:
        """Plain yoyo leaves its lock, which only a person may break: yoyo itself might still run."""
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("create schema memstore")
        killed = (
            "import os, signal, sys\n"
            "from yoyo.backends.base import DatabaseBackend\n"
            "from yoyo.scripts.main import main\n"
            "DatabaseBackend.log_migration = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
            "main(sys.argv[1:])\n"
        )
        command = yoyo_command(database, "apply")
        assert run([sys.executable, "-c", killed, *command[3:]], check=False).returncode == -signal.SIGKILL
        with refused("yoyo_locked") as caught:
            schema.migrate(database)
        assert caught.value.diag.sqlstate == "MS022"
        yoyo(database, "break-lock")
        psql_install(database)
        assert dump(database) == fresh

    def test_a_lock_of_an_earlier_version(self, fresh: str, database: str) -> None:
        """Its process id is 0, which no yoyo has: the killed process held the advisory lock."""
        for install in (schema.migrate, psql_install):
            install(database)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("insert into memstore.yoyo_lock (locked, pid) values (1, 0)")
            install(database)
            assert dump(database) == fresh


@pytest.fixture(scope="module")
def older(server: Server) -> Iterator[str]:
    """A store with data at the migration before the newest."""
    with empty_database(server) as conninfo:
        synthesise(conninfo, MIGRATIONS[-2])
        yield conninfo


@pytest.fixture(scope="module")
def empty(server: Server) -> Iterator[str]:
    with empty_database(server) as conninfo:
        yield conninfo


def interrupt(conninfo: str, accident: str, number: int) -> tuple[int | None, int]:
    """How migrate ended, and how many exchanges with the server there were."""
    seen = _PROCESSES.Value("i", 0)
    process = _PROCESSES.Process(target=migrate_interrupted, args=(conninfo, accident, number, seen))
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode, seen.value


# Forked from a server that has everything imported: a process for each statement.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.upgrades.interrupted", "yoyo.backends.core.postgresql"])


def left(conninfo: str) -> str:
    """The schema and the rows, once nobody is connected any more, without times and yoyo's log."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        others = "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        while connection.execute(others).fetchone() is not None:
            time.sleep(0.001)
    command = [program("pg_dump"), "--exclude-table-data=memstore._yoyo_log", "-d", conninfo]
    return re.sub(
        r"^\\(un)?restrict .*|[\d-]{10} [\d:]{8}[.\d]*", "", run(command).stdout, flags=re.MULTILINE
    )


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS) if LONG else range(1))
@pytest.mark.parametrize("accident", ["kill", "terminate", "terminate all"])
@pytest.mark.parametrize("state", ["empty", "older"])
def test_at_every_statement(
    accident: str, state: str, part: int, fresh: str, server: Server, request: pytest.FixtureRequest
) -> None:
    start = request.getfixturevalue(state)
    before = content(start)
    with empty_database(server, like=start) as database:
        ended, total = interrupt(database, accident, 0)
        assert ended == 0
    assert total > 100
    numbers: Sequence[int] = range(1, total + 1)
    if not LONG:
        numbers = random.Random(accident + state).sample(numbers, 3)
    else:
        numbers = numbers[
            part * total // PARTS : (part + 1) * total // PARTS : 1 if accident == "kill" else 5
        ]
    repaired: set[str] = set()
    for number in numbers:
        with empty_database(server, like=start) as database:
            ended, seen = interrupt(database, accident, number)
            assert seen >= number
            if accident == "kill":
                assert ended == -signal.SIGKILL
            else:
                # The last ones only say goodbye.
                assert ended == FAILED or number > total - 5, (number, ended)
            # Now and then at once, while the server may not yet know.
            if LONG and number % 25:
                if (found := left(database)) in repaired:
                    continue
                repaired.add(found)
            schema.migrate(database)
            assert dump(database) == fresh, number
            assert {row[0] for row in recorded(database)} == {*MIGRATIONS, "sql"}, number
            after = content(database)
            assert without_what_came_later(after, before) == {k: v for k, v in before.items() if v}, number
            assert broken(database) == [], number
    print(f"{len(numbers)} of {total}, {len(repaired)} databases")
