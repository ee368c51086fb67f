"""A store through pg_dump and pg_restore, whole and data alone, on one server and to a newer PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memstore import embedded, schema
from tests.databases import admin_conninfo, dump, empty_database, names, program, psql_install, run
from tests.servers import private_server
from tests.sql.cases import CASES
from tests.sql.recall.test_large_accounts import INDEXES, install_option
from tests.sql.support import raw_insert, refused
from tests.upgrades.stores import IDS, broken, content, fill

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

OWNER = "memstore_restorer"


@dataclass(frozen=True)
class Move:
    """From one server to one, with the newer one's programs."""

    source: Server
    target: Server
    binaries: Path | None

    def run(self, name: str, *arguments: str) -> str:
        return run([str(self.binaries / name) if self.binaries else program(name), *arguments]).stdout


def binaries_of(oldest: bool) -> Path:
    """Of the oldest PostgreSQL at hand, or of the newest."""
    wheel = embedded._wheel_binaries()
    debian = Path("/usr/lib/postgresql/15/bin")
    if oldest and (debian / "postgres").exists():
        return debian
    if not wheel:
        pytest.skip("needs two versions of PostgreSQL")
    return wheel.parents[1] / "pginstall" / "bin" if oldest else wheel


@pytest.fixture(scope="module", params=["one server", "two versions"])
def move(request: pytest.FixtureRequest, server: Server) -> Iterator[Move]:
    with ExitStack() as stack:
        if request.param == "one server":
            source, target, binaries = server, server, None
        else:
            binaries = binaries_of(oldest=False)
            source = stack.enter_context(private_server(binaries_of(oldest=True)))
            target = stack.enter_context(private_server(binaries))
        for place in {source, target}:
            admin = stack.enter_context(psycopg.connect(admin_conninfo(place), autocommit=True))
            admin.execute(f"create role {OWNER}".encode())
            stack.callback(admin.execute, f"drop role {OWNER}".encode())
        yield Move(source, target, binaries)


@pytest.fixture(scope="module")
def source(move: Move) -> Iterator[str]:
    """A store of an ordinary role, which restores it too. One account is above a ceiling that was lowered."""
    with empty_database(move.source, owner=OWNER) as conninfo:
        conninfo = make_conninfo(conninfo, options=f"-c role={OWNER}")
        schema.migrate(conninfo)
        fill(conninfo)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("select memstore.set_maximum_live_memories(memstore.find_user('a'), 1)")
        yield conninfo


@pytest.fixture
def target(move: Move, source: str) -> Iterator[str]:
    with empty_database(move.target, owner=OWNER) as conninfo:
        yield make_conninfo(conninfo, options=f"-c role={OWNER}")


@pytest.fixture(scope="module")
def archive(move: Move, source: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Row-level security doesn't hold for the owner, so the dump is whole."""
    path = tmp_path_factory.mktemp("archive") / "whole"
    move.run("pg_dump", "-Fc", "-n", "memstore", "-f", str(path), "-d", source)
    return path


@pytest.fixture(scope="module")
def data(move: Move, source: str, archive: Path) -> Path:
    """Only in a dump of data alone do the tables come in the order of the foreign keys."""
    path = archive.with_name("data")
    move.run("pg_dump", "-Fc", "--data-only", "-n", "memstore", "-f", str(path), "-d", source)
    return path


def restore(move: Move, conninfo: str, archive: Path, *options: str) -> None:
    move.run("pg_restore", "--exit-on-error", *options, "-d", conninfo, str(archive))


# Twenty admitted claims and as many memories with a word that PostgreSQL 18 stems otherwise than 15.
CLAIMS = """
select memstore.create_user(external_ref => 's');
select memstore.set_steward(memstore.find_user('s'), true), memstore.configure(system_recall_enabled => true);
select memstore.insert_memory(memstore.find_user('s'), 'added ' || n) from generate_series(1, 20) n;
select memstore.record_admission(memstore.find_user('s'), c.id, 'admitted', 'Yes.')
from (
  select (memstore.insert_memory(
    memstore.find_user('s'), 'claim added ' || n, 'system', slug => 'sys:x', tier => 'glass',
    as_of => '2026-01-02', admission => 'candidate',
    evidence_refs => '[{"kind": "url", "ref": "r", "digest": "d"}]')).id
  from generate_series(1, 20) n
) c;
"""

CLAIM = "'00000000-0000-4000-8000-000000000020'"

# Each statement by the name of its refusal.
REFUSED = dict(
    re.findall(r"^-- (\w+)\n([^;]+);$", Path(__file__).with_name("refused.sql").read_text(), re.MULTILINE)
)


def test_it_refuses_what_it_refused(move: Move, target: str, archive: Path) -> None:
    """By plain SQL of the owner, for each constraint, and each rule of a trigger."""
    restore(move, target, archive)
    with psycopg.connect(target, autocommit=True) as connection:
        constraints = connection.execute(
            "select conname from pg_constraint where connamespace = 'memstore'::regnamespace"
            " and contype in ('c', 'f') and conrelid::regclass::text !~ 'yoyo'"
        ).fetchall()
        of_memories = {f"memories_{field}_shape" for case in CASES for field in case.broken}
        assert {name for (name,) in constraints} <= REFUSED.keys() | of_memories
        connection.execute(IDS)
        for name, statement in REFUSED.items():
            with refused(name), connection.transaction():
                connection.execute(statement.encode())
        steward = connection.execute("select memstore.find_user('s')").fetchall()[0][0]
        for case in CASES:
            if case.broken:
                # PostgreSQL checks them in the order of their names.
                with (
                    refused(min(f"memories_{field}_shape" for field in case.broken)),
                    connection.transaction(),
                ):
                    raw_insert(connection, steward, **case.row)
            else:
                with connection.transaction(force_rollback=True):
                    raw_insert(connection, steward, **case.row)
    assert broken(target) == []


class TestWhole:
    def test_archive(self, move: Move, source: str, target: str, archive: Path) -> None:
        restore(move, target, archive)
        assert content(target) == content(source)
        if move.source is move.target:
            # PostgreSQL reads back the parentheses that it prints, and then prints fewer of them.
            parentheses = str.maketrans("", "", "()")
            restored, original = (dump(conninfo, "-n", "memstore") for conninfo in (target, source))
            assert restored.translate(parentheses) == original.translate(parentheses)
        works(target)

    @pytest.mark.parametrize("options", [(), ("--inserts",)], ids=["copy", "inserts"])
    def test_plain_sql(
        self, options: tuple[str, ...], move: Move, source: str, target: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "dump.sql"
        move.run("pg_dump", "-n", "memstore", *options, "-f", str(path), "-d", source)
        move.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", str(path))
        assert content(target) == content(source)
        works(target)

    def test_without_privileges(self, move: Move, target: str, archive: Path) -> None:
        """PUBLIC may execute what is restored so; a role of the API gets the API alone all the same."""
        restore(move, target, archive, "--no-privileges")
        role = "memstore_restored_application"
        with psycopg.connect(make_conninfo(target, options=""), autocommit=True) as admin:
            admin.execute(f"create role {role}".encode())
            try:
                assert admin.execute(
                    "select has_schema_privilege(%s, 'memstore', 'usage')", [role]
                ).fetchone() == (False,)
                with psycopg.connect(target, autocommit=True) as owner:
                    owner.execute("select memstore.grant_api(%s)", [role])
                executes = (
                    "select oid::regprocedure::text from pg_proc"
                    " where pronamespace = 'memstore'::regnamespace"
                    f" and has_function_privilege('{role}', oid, 'execute')"
                )
                assert names(admin, executes) == names(
                    admin, "select signature::text from memstore.api_functions"
                )
                reads = (
                    "select relname::text from pg_class where relnamespace = 'memstore'::regnamespace"
                    f" and relkind in ('r', 'v') and has_table_privilege('{role}', oid, 'select')"
                )
                # Its own bindings, which the policies of the other tables read.
                assert names(admin, reads) == {"account_roles"}
            finally:
                admin.execute(f"drop owned by {role}".encode())
                admin.execute(f"drop role {role}".encode())


class TestOtherWays:
    """What the guide says of them: each works, or is refused and leaves nothing."""

    def test_in_parallel(self, move: Move, source: str, target: str, archive: Path) -> None:
        restore(move, target, archive, "--jobs=4")
        assert content(target) == content(source)
        works(target)

    def test_rows_in_parallel(self, move: Move, source: str, target: str, data: Path) -> None:
        """Tables are loaded side by side, perhaps before those that they reference: an error, not a loss."""
        schema.migrate(target)
        result = self._restored(move, target, data, "--exit-on-error", "--data-only", "--jobs=4")
        if result.returncode == 0:
            assert content(target) == content(source)
        else:
            assert "violates foreign key constraint" in result.stderr

    @pytest.mark.parametrize("option", ["--inserts", "--column-inserts", "--rows-per-insert=1000"])
    def test_inserted_rows(self, option: str, move: Move, source: str, target: str, tmp_path: Path) -> None:
        schema.migrate(target)
        before = content(target)
        path = tmp_path / "rows"
        move.run("pg_dump", "-Fc", "--data-only", option, "-n", "memstore", "-f", str(path), "-d", source)
        said = self._fails(move, target, path, "--data-only")
        assert "The rows of a dump are restored by COPY alone." in said
        assert content(target) == before

    def test_without_triggers_into_an_installed_store(self, move: Move, target: str, data: Path) -> None:
        """As a superuser."""
        schema.migrate(target)
        before = content(target)
        said = self._fails(move, make_conninfo(target, options=""), data, "--disable-triggers")
        assert "duplicate key" in said
        assert content(target) == before
        assert altered(target) == []

    def test_the_schema_alone(self, move: Move, source: str, target: str, archive: Path) -> None:
        restore(move, target, archive, "--schema-only")
        with refused("rows_absent"):
            schema.migrate(target)
        installed = psql_install(target, check=False)
        assert installed.returncode == 3
        assert "pg_restore --data-only" in installed.stderr
        restore(move, make_conninfo(target, options=""), archive, "--data-only", "--disable-triggers")
        assert content(target) == content(source)
        works(target)

    def test_half_of_it(self, move: Move, target: str, archive: Path, tmp_path: Path) -> None:
        listed = move.run("pg_restore", "-l", str(archive)).splitlines()
        kept = [line for line in listed if not re.search(" (FK CONSTRAINT|POLICY) ", line)]
        chosen = tmp_path / "list"
        chosen.write_text("\n".join(kept))
        self._restored(move, target, archive, f"--use-list={chosen}")  # goes on after errors
        lost = altered(target)
        assert [(kind, state) for kind, _, state in lost] == [("constraint", "absent")] * 11 + [
            ("policy", "absent")
        ] * 5
        assert all(name.endswith("_fkey") for kind, name, _ in lost if kind == "constraint")

    def test_with_the_indexes_for_large_accounts(self, move: Move, target: str, tmp_path: Path) -> None:
        path = tmp_path / "large"
        with empty_database(move.source, owner=OWNER) as conninfo:
            large = make_conninfo(conninfo, options=f"-c role={OWNER}")
            schema.migrate(large)
            fill(large)
            with psycopg.connect(large, autocommit=True) as connection:
                install_option(connection)
            move.run("pg_dump", "-Fc", "-n", "memstore", "-f", str(path), "-d", large)
            expected = content(large)
        restore(move, target, path)
        assert content(target) == expected
        assert altered(target) == []
        with psycopg.connect(target) as connection:
            for index in INDEXES:
                there = connection.execute("select to_regclass(%s) is not null", [f"memstore.{index}"])
                assert there.fetchone() == (True,)

    @staticmethod
    def _fails(move: Move, conninfo: str, archive: Path, *options: str) -> str:
        """In one transaction, as the guide has it."""
        once = "--single-transaction", "--exit-on-error", "--data-only"
        result = TestOtherWays._restored(move, conninfo, archive, *once, *options)
        assert result.returncode != 0
        return result.stderr

    @staticmethod
    def _restored(move: Move, conninfo: str, archive: Path, *options: str) -> CompletedProcess[str]:
        command = str(move.binaries / "pg_restore") if move.binaries else program("pg_restore")
        return run([command, *options, "-d", conninfo, str(archive)], check=False)


class TestWords:
    def test_claims_are_found(self, move: Move, target: str, tmp_path: Path) -> None:
        """Where another version's stemmers made what system recall reads, the load and verify tell."""
        path = tmp_path / "words"
        with empty_database(move.source, owner=OWNER) as conninfo:
            conninfo = make_conninfo(conninfo, options=f"-c role={OWNER}")
            schema.migrate(conninfo)
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute(CLAIMS.encode())
            move.run("pg_dump", "-Fc", "-n", "memstore", "-f", str(path), "-d", conninfo)
        restore(move, target, path)
        schema.migrate(target)
        with psycopg.connect(target, autocommit=True) as connection:
            found = "select count(*) from memstore.rank_claims(memstore.find_user('s'), 'added')"
            current = "select memstore.words_are_current()"
            stale = move.source.host != move.target.host
            assert connection.execute(current).fetchone() == (not stale,)
            assert connection.execute(found).fetchone() == (0 if stale else 5,)
            assert bool(broken(target)) == stale
            after = None
            rebuilt = 0
            while True:
                page = connection.execute("select * from memstore.rebuild_words(30, %s)", [after]).fetchone()
                assert page is not None
                after, rebuilt = page[0], rebuilt + page[2]
                if after is None:
                    break
            assert rebuilt == (20 if stale else 0)
            assert connection.execute(current).fetchone() == (True,)
            assert connection.execute(found).fetchone() == (5,)  # an account's share
        assert broken(target) == []


class TestDataAlone:
    def test_into_an_installed_store(self, move: Move, source: str, target: str, tmp_path: Path) -> None:
        """Plainly: pg_dump --data-only, and psql."""
        schema.migrate(target)
        path = tmp_path / "data.sql"
        move.run("pg_dump", "--data-only", "-n", "memstore", "-f", str(path), "-d", source)
        move.run("psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", str(path))
        self._is_restored(source, target)

    def test_by_pg_restore(self, move: Move, source: str, target: str, data: Path) -> None:
        schema.migrate(target)
        restore(move, target, data)
        self._is_restored(source, target)

    def test_by_chosen_tables(self, move: Move, source: str, target: str, data: Path) -> None:
        schema.migrate(target)
        tables = ["users", "embedding_models", "memories", "memory_admissions", "settings"]
        tables += ["items", "item_embeddings", "item_versions", "tokens"]
        restore(move, target, data, *[f"--table={table}" for table in tables])
        self._is_restored(source, target)

    def test_into_a_restored_schema(
        self, move: Move, source: str, target: str, archive: Path, data: Path
    ) -> None:
        restore(move, target, archive, "--schema-only")
        restore(move, target, data)
        self._is_restored(source, target)

    def test_without_triggers(self, move: Move, source: str, target: str, archive: Path) -> None:
        """As a superuser."""
        restore(move, target, archive, "--schema-only")
        restore(move, make_conninfo(target, options=""), archive, "--data-only", "--disable-triggers")
        self._is_restored(source, target)

    def test_of_what_is_ahead(self, move: Move, source: str, target: str, data: Path) -> None:
        """A migration that the dump's store had and this one has not is told of."""
        schema.migrate(target)
        with psycopg.connect(source, autocommit=True) as connection:
            try:
                connection.execute("insert into memstore.deployment (name) values ('9999-later')")
                path = data.with_name("ahead")
                move.run("pg_dump", "-Fc", "--data-only", "-n", "memstore", "-f", str(path), "-d", source)
            finally:
                connection.execute("delete from memstore.deployment where name = '9999-later'")
        restore(move, target, path)
        with refused("deployment_newer", sqlstate="MS021"):
            schema.migrate(target)

    def test_no_rule_sleeps_meanwhile(self, move: Move, source: str, target: str, data: Path) -> None:
        """A session like a restore's is under the ceiling too, and the API knows no restore."""
        schema.migrate(target)
        restore(move, target, data)
        with psycopg.connect(target, autocommit=True) as connection:
            connection.execute("select set_config('search_path', '', false)")
            for name in ("settings_pkey", "claim_counter_pkey", "claim_statuses_pkey", "deployment_pkey"):
                with refused(name):
                    connection.execute(REFUSED[name].replace("pg_temp.id(20)", CLAIM).encode())
            connection.execute("set check_function_bodies = off")
            with refused("restored_by_inserts"):
                connection.execute(REFUSED["quota_reached"].encode())
            with refused("quota_reached", "actor"), connection.cursor() as cursor:
                account = cursor.execute("select memstore.find_user('a')").fetchall()[0][0]
                with cursor.copy("copy memstore.memories (user_id, body) from stdin") as copy:
                    copy.write_row([account, "x"])
            with refused("quota_reached", "actor"):
                connection.execute("select memstore.insert_memory(memstore.find_user('a'), 'x')")
            connection.execute("select memstore.insert_memory(memstore.find_user('s'), 'x')")
            connection.execute(
                f"select memstore.challenge_memory(memstore.find_user('s'), {CLAIM}, 'x')".encode()
            )
            connection.execute("select memstore.create_user()")
        assert broken(target) == []

    @staticmethod
    def _is_restored(source: str, target: str) -> None:
        assert content(target) == content(source)
        works(target)


def altered(conninfo: str) -> list[tuple[str, str, str]]:
    with psycopg.connect(conninfo) as connection:
        return schema.altered_objects(connection)


def works(conninfo: str) -> None:
    assert broken(conninfo) == []
    assert altered(conninfo) == []
    schema.migrate(conninfo)
    assert altered(conninfo) == []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        recall = "select note from memstore.recall(memstore.find_user('a'), 'strasse 上海')"
        assert "Straße" in str(connection.execute(recall).fetchone())
        with refused("quota_reached", "actor"), connection.transaction():
            connection.execute("select memstore.insert_memory(memstore.find_user('a'), 'x')")
        challenge = (
            "select memstore.challenge_memory(memstore.find_user('b'), id, 'No.',"
            """ '[{"kind": "url", "ref": "r", "digest": "d"}]')"""
            " from memstore.memories where bucket = 'system' and not promoted"
        )
        connection.execute(challenge)
        connection.execute("select memstore.insert_memory(memstore.find_user('s'), 'More.')")
    assert broken(conninfo) == []
