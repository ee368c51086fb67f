"""Three ways to install, one database: memstore migrate, yoyo, and psql, each after and beside the others."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memstore import schema
from tests.databases import (
    WAYS,
    dump,
    empty_database,
    long_but,
    names,
    program,
    psql_install,
    recorded,
    run,
    yoyo,
)
from tests.generate.install import digest_sql
from tests.sql.support import refused

if TYPE_CHECKING:
    from tests.servers import Server

MIGRATIONS = [path.stem for path in schema.migration_files()]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of sql/ and migrations/ that a test may change, and that memstore installs from."""
    for name, source in (("sql", schema.sql_dir()), ("migrations", schema.migrations_dir())):
        shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(schema, "_dir", lambda name: tmp_path / name)
    return tmp_path


class TestThreeWays:
    @pytest.mark.parametrize("first", long_but("migrate", WAYS))
    def test_same_database_and_each_adopts_it(self, first: str, fresh: str, database: str) -> None:
        WAYS[first](database)
        record = recorded(database)
        assert [row[0] for row in record] == [*MIGRATIONS, "sql"]
        assert all(checksum for _, checksum, _ in record)
        with psycopg.connect(database, autocommit=True) as connection:
            account = connection.execute("select memstore.create_user()").fetchone()
            for way in (lambda _: None, *WAYS.values()):
                way(database)
                assert dump(database) == fresh
                assert recorded(database) == record
                assert not connection.execute("select from memstore.yoyo_lock").fetchall()
            assert connection.execute("select id from memstore.users").fetchone() == account

    def test_migrate_tells_what_it_applied(self, database: str) -> None:
        assert schema.migrate(database) == MIGRATIONS
        assert schema.migrate(database) == []

    def test_nothing_stays_locked(self, server: Server) -> None:
        for way in WAYS.values():
            with empty_database(server) as conninfo:
                way(conninfo)
                with psycopg.connect(conninfo) as connection:
                    assert not connection.execute("select from memstore.yoyo_lock").fetchall()

    @pytest.mark.long
    def test_twenty_at_once(self, server: Server, fresh: str, database: str) -> None:
        barrier = Barrier(20)

        def install(number: int) -> None:
            barrier.wait()
            (schema.migrate, psql_install)[number % 2](database)

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(install, range(20)))
        assert dump(database) == fresh

    @pytest.mark.long
    def test_beside_yoyo(self, fresh: str, database: str) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("create schema memstore")
        barrier = Barrier(6)

        def install(number: int) -> None:
            barrier.wait()
            (schema.migrate, psql_install, lambda conninfo: yoyo(conninfo, "apply"))[number % 3](database)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(install, range(6)))
        assert dump(database) == fresh

    def test_who_makes_the_locks_table(self, database: str) -> None:
        """Another may have made it between two looks at whether it is there: in some of a hundred rounds."""
        lock = (schema.sql_dir() / "lock.sql").read_text(encoding="utf-8")
        (create,) = (
            block for block in re.findall(r"do \$\$.*?\$\$;", lock, re.DOTALL) if "primary key" in block
        )
        with ExitStack() as stack, ThreadPoolExecutor(6) as pool:
            barrier = Barrier(6)
            connections = [
                stack.enter_context(psycopg.connect(database, autocommit=True))
                for _ in range(barrier.parties)
            ]
            connections[0].execute("create schema memstore")

            def run_it(connection: psycopg.Connection) -> None:
                barrier.wait()
                connection.execute(create.encode())

            for _ in range(100):
                list(pool.map(run_it, connections))
                connections[0].execute("drop table memstore.yoyo_lock")

    def test_psql_says_nothing(self, database: str) -> None:
        for _ in range(2):
            result = psql_install(database)
            assert (result.stdout, result.stderr) == ("", "")

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["a b", "quo\"te's", "back\\slash", "100%d?&=;#/@:", "é-数", "$HOME"])
    def test_odd_names(self, name: str, server: Server, tmp_path: Path) -> None:
        """Of the database and of the folder of the socket (in which a comma would end the name)."""
        host = server.host
        if host.startswith("/"):
            folder = Path("/tmp", name.replace("/", "") + tmp_path.name)
            folder.symlink_to(host)
            host = str(folder)
        try:
            with empty_database(server, name=f"{name} {tmp_path.name}") as conninfo:
                odd = make_conninfo(conninfo, host=host)
                assert schema.migrate(odd) == MIGRATIONS
                psql_install(odd)
                assert "0001-deployment" in yoyo(odd, "list").stdout
        finally:
            if host.startswith("/tmp"):
                Path(host).unlink()

    def test_url(self, database: str) -> None:
        parts = {k: v for k, v in conninfo_to_dict(database).items() if v is not None}
        name = parts.pop("dbname")
        query = "&".join(f"{key}={value}" for key, value in parts.items())
        assert schema.migrate(f"postgresql:///{name}?{query}&application_name=an%20app") == MIGRATIONS


class TestRefusals:
    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_a_changed_migration(self, way: str, package: Path, database: str) -> None:
        schema.migrate(database)
        before = dump(database)
        path = package / "migrations" / f"{MIGRATIONS[1]}.sql"
        path.write_text(path.read_text(encoding="utf-8") + "-- changed\n", encoding="utf-8")
        self._refused(way, "migration_changed", MIGRATIONS[1], package, database)
        assert dump(database) == before

    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_nothing_is_applied_beside_a_changed_migration(
        self, way: str, package: Path, database: str
    ) -> None:
        schema.migrate(database)
        path = package / "migrations" / f"{MIGRATIONS[1]}.sql"
        path.write_text(path.read_text(encoding="utf-8") + "-- changed\n", encoding="utf-8")
        self._add_migration(package)
        self._refused(way, "migration_changed", MIGRATIONS[1], package, database)
        with psycopg.connect(database) as connection:
            assert connection.execute("select to_regclass('memstore.later')").fetchone() == (None,)

    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_a_newer_database(self, way: str, package: Path, database: str) -> None:
        self._add_migration(package)
        assert schema.migrate(database)[-1] == "0999-later"
        for name in ("0999-later.sql", "0999-later.rollback.sql"):
            (package / "migrations" / name).unlink()
        before = dump(database)
        self._refused(way, "deployment_newer", "0999-later", package, database)
        assert dump(database) == before

    @staticmethod
    def _add_migration(package: Path) -> None:
        (package / "migrations" / "0999-later.sql").write_text(
            "create table memstore.later (id integer);\n"
            "insert into memstore.deployment (name) values ('0999-later');\n"
        )
        (package / "migrations" / "0999-later.rollback.sql").write_text("drop table memstore.later;\n")

    @staticmethod
    def _refused(way: str, name: str, migration: str, package: Path, database: str) -> None:
        if way == "migrate":
            with refused(name) as caught:
                schema.migrate(database)
            assert migration in str(caught.value)
        else:
            (package / "sql" / "digest.sql").write_text(digest_sql(), encoding="utf-8")
            result = psql_install(database, package / "sql" / "install.sql", check=False)
            assert result.returncode == 3
            assert migration in result.stderr

    @pytest.mark.parametrize("way", WAYS)
    def test_another_encoding(self, way: str, server: Server) -> None:
        with empty_database(server, encoding="LATIN1") as conninfo:
            if way == "migrate":
                with refused("encoding_unsupported"):
                    schema.migrate(conninfo)
            elif way == "psql":
                assert "is not encoded in UTF8" in psql_install(conninfo, check=False).stderr
            else:
                with psycopg.connect(conninfo, autocommit=True) as connection:
                    connection.execute("create schema memstore")
                assert "is not encoded in UTF8" in yoyo(conninfo, "apply", check=False).stderr

    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_a_schema_of_another_role(self, way: str, database: str) -> None:
        """Its owner could have put anything into it, which would run with the installer's rights."""
        role = f"memstore_other_{way}"
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"create role {role}".encode())
            try:
                connection.execute(f"create schema memstore authorization {role}".encode())
                if way == "migrate":
                    with refused("owner_differs"):
                        schema.migrate(database)
                else:
                    assert "belongs to another role" in psql_install(database, check=False).stderr
            finally:
                connection.execute("drop schema memstore cascade")
                connection.execute(f"drop role {role}".encode())

    def test_no_right_to_create_a_schema(self, database: str) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("create role memstore_nobody login")
            try:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    schema.migrate(make_conninfo(database, user="memstore_nobody"))
            finally:
                connection.execute("drop role memstore_nobody")


def adopted_then_yoyo(conninfo: str) -> None:
    """As the guide has it for such a schema; an upgrade is yoyo alone."""
    with psycopg.connect(conninfo) as connection:
        installed = connection.execute("select to_regclass('memstore.deployment')").fetchone() != (None,)
    if not installed:
        files = [schema.sql_dir() / name for name in ("adopted_schema.sql", "yoyo.sql")]
        run(
            [
                program("psql"),
                "-Xq1",
                "-v",
                "ON_ERROR_STOP=1",
                "-d",
                conninfo,
                *(f"-f{file}" for file in files),
            ]
        )
    yoyo(conninfo, "apply")


IN_ITS_SCHEMA = {**WAYS, "yoyo": adopted_then_yoyo}


class TestASchemaThatADbaMade:
    """Its role owns the schema, and may not create one in the database."""

    @pytest.fixture
    def adopted(self, database: str) -> Iterator[str]:
        role = f"memstore_tenant_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"create role {role} login".encode())
            connection.execute(f"create schema memstore authorization {role}".encode())
            yield make_conninfo(database, user=role)
            connection.execute(f"drop owned by {role} cascade; drop role {role}".encode())

    @staticmethod
    def dumped(conninfo: str) -> str:
        owner = str(conninfo_to_dict(conninfo)["user"])
        return re.sub(rf"\b{owner}\b", "owner", dump(conninfo, "-n", "memstore"))

    @pytest.mark.parametrize("way", IN_ITS_SCHEMA)
    def test_installs_and_upgrades(self, way: str, adopted: str, installed: str) -> None:
        for each in (way, *IN_ITS_SCHEMA):
            IN_ITS_SCHEMA[each](adopted)
            assert self.dumped(adopted) == self.dumped(installed)
        assert [row[0] for row in recorded(adopted)] == [*MIGRATIONS, "sql"]

    def test_an_upgrade_brings_what_is_new(self, package: Path, adopted: str) -> None:
        schema.migrate(adopted)
        TestRefusals._add_migration(package)
        assert schema.migrate(adopted) == ["0999-later"]

    def test_at_once(self, adopted: str, installed: str) -> None:
        barrier = Barrier(6)

        def install(number: int) -> None:
            barrier.wait()
            (schema.migrate, psql_install)[number % 2](adopted)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(install, range(6)))
        assert self.dumped(adopted) == self.dumped(installed)


class TestWaiting:
    def test_an_applications_lock_stops_no_installation(self, database: str) -> None:
        """An advisory lock is anybody's to take; this one was the installers'."""
        with psycopg.connect(database, autocommit=True) as other:
            other.execute("select pg_advisory_lock(7310603183541)")
            for way in ("psql", "migrate"):
                WAYS[way](database)

    @pytest.mark.parametrize("way", ["migrate", "psql"])
    def test_a_lock_of_an_application_is_waited_for_for_so_long(
        self, way: str, package: Path, database: str
    ) -> None:
        """Unless the caller has set a limit, also none."""
        schema.migrate(database)
        timeout = package / "sql" / "timeout.sql"
        timeout.write_text(timeout.read_text(encoding="utf-8").replace("'5s'", "'50ms'"), "utf-8")
        # So that there is something to load.
        (package / "sql" / "note.sql").write_text("select pg_catalog.pg_sleep(0);\n", "utf-8")
        (package / "sql" / "digest.sql").write_text(digest_sql(), "utf-8")

        def install(conninfo: str) -> str:
            if way == "psql":
                return psql_install(conninfo, package / "sql" / "install.sql", check=False).stderr
            try:
                schema.migrate(conninfo)
            except psycopg.Error as error:
                return str(error)
            return ""

        with psycopg.connect(database) as application:
            application.execute("insert into memstore.users default values")
            assert "canceling statement due to lock timeout" in install(database)
            with ThreadPoolExecutor(1) as pool:
                patient = pool.submit(install, make_conninfo(database, options="-c lock_timeout=0"))
                with pytest.raises(TimeoutError):
                    patient.result(1)
                application.rollback()
                assert patient.result(60) == ""


class TestLoading:
    def test_each_file_is_listed_once(self) -> None:
        root = schema.sql_dir()
        outside = {
            *(
                "adopted_schema.sql",
                "digest.sql",
                "install.sql",
                "lock.sql",
                "rows.sql",
                "schema.sql",
                "timeout.sql",
                "yoyo.sql",
            )
        }
        code = schema._code_files()
        files = {str(path.relative_to(root)) for path in root.rglob("*.sql")} - outside
        files = {
            name for name in files if not name.startswith(("examples/", "options/", "recipes/"))
        }  # run by hand
        assert sorted(code) == sorted(files)
        assert code[0] == "lock_tables.sql"

    def test_each_migration_is_listed_once_and_in_order(self) -> None:
        listed = (schema.sql_dir() / "install.sql").read_text(encoding="utf-8")
        assert re.findall(r"^\\ir \.\./migrations/(\S+)\.sql$", listed, re.MULTILINE) == MIGRATIONS
        assert re.findall(r"migration_id = '(\S+)'", listed) == MIGRATIONS

    def test_version_is_the_newest_migrations(self, db: psycopg.Connection) -> None:
        assert db.execute("select memstore.schema_version()").fetchone() == (int(MIGRATIONS[-1][:4]),)

    def test_a_change_of_code_is_loaded(self, package: Path, database: str) -> None:
        schema.migrate(database)
        path = package / "sql" / "functions" / "schema" / "schema_version.sql"
        path.write_text(re.sub(r"select \d+\n", "select 12345\n", path.read_text(encoding="utf-8")), "utf-8")
        assert schema.migrate(database) == []
        with psycopg.connect(database) as connection:
            assert connection.execute("select memstore.schema_version()").fetchone() == (12345,)
            assert connection.execute(
                "select checksum from memstore.deployment where name = 'sql'"
            ).fetchone() == (schema._code_checksum(),)

    @pytest.mark.long
    @pytest.mark.parametrize("way", WAYS)
    def test_settings_of_the_role_change_nothing(self, way: str, fresh: str, server: Server) -> None:
        """A search path with overloads in it that fit better than PostgreSQL's own functions, and more."""
        with empty_database(server) as conninfo:
            name = conninfo_to_dict(conninfo)["dbname"]
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("create schema evil")
                for overload in (
                    "length(name)",
                    '"substring"(name, int, int)',
                    "format(text, text)",
                ):
                    connection.execute(
                        f"create function evil.{overload} returns text"
                        " language plpgsql immutable as $$begin raise 'evil'; end$$".encode()
                    )
                for setting in (
                    "search_path = evil, pg_catalog",
                    "standard_conforming_strings = off",
                    "check_function_bodies = off",
                    "default_transaction_isolation = 'repeatable read'",
                    "DateStyle = 'German'",
                    "TimeZone = 'Asia/Kolkata'",
                    "client_min_messages = error",
                ):
                    connection.execute(f'alter database "{name}" set {setting}'.encode())
            WAYS[way](conninfo)
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("drop schema evil cascade")
                connection.execute(f'alter database "{name}" reset all'.encode())
            # A DROP ... CASCADE would have taken along what was bound to an overload.
            assert dump(conninfo) == fresh

    def test_time_limits_of_applications(self, package: Path, database: str) -> None:
        """A connection waits for the others while a migration takes longer than the database lets one."""
        (package / "migrations" / "0999-later.sql").write_text(
            "select pg_sleep(1.5);\ninsert into memstore.deployment (name) values ('0999-later');\n"
        )
        (package / "migrations" / "0999-later.rollback.sql").write_text("select 1;\n")
        name = conninfo_to_dict(database)["dbname"]
        with psycopg.connect(database, autocommit=True) as connection:
            limits = ["idle_session_timeout", "idle_in_transaction_session_timeout"]
            if connection.info.server_version >= 170000:
                limits.append("transaction_timeout")
            for limit in limits:
                connection.execute(f"alter database \"{name}\" set {limit} = '700ms'".encode())
        assert schema.migrate(database)[-1] == "0999-later"

    def test_an_earlier_parameter_list_goes(self, db: psycopg.Connection) -> None:
        """As of a version whose function had fewer arguments."""
        signatures = (
            "select oid::regprocedure::text from pg_proc where pronamespace = 'memstore'::regnamespace"
        )
        before = names(db, signatures)
        db.execute(
            "create function memstore.list_memories(actor uuid) returns bigint language sql as 'select 1'"
        )
        with db.transaction():
            schema.load_code(db)
        assert names(db, signatures) == before

    def test_rights_survive_a_reload(self, db: psycopg.Connection) -> None:
        before = names(db, "select proacl::text from pg_proc where pronamespace = 'memstore'::regnamespace")
        db.execute("delete from memstore.deployment where name = 'sql'")
        with db.transaction():
            schema.load_code(db)
        assert before == names(
            db, "select proacl::text from pg_proc where pronamespace = 'memstore'::regnamespace"
        )
