"""Where the SQL is, and how it is installed.

The three ways to install (`memstore migrate`, yoyo, `psql -f sql/install.sql`) give the same database, and
each goes on where another has been used. `migrate` is the first of them; yoyo's post-apply hook calls
`load_code`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memstore.errors import CONNECTION_POOLED, MigrationRefused

# Imported in functions alone: yoyo takes a while to load.
if TYPE_CHECKING:
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend

__all__ = ["checksums", "load_code", "migrate", "migrations_dir", "recorded_checksums", "sql_dir"]

# Also in sql/install.sql: the advisory lock that serialises migrations of a database.
_LOCK = 7310603183541

# Also in sql/install.sql: how the names in sql/ resolve, and how PostgreSQL prints the checks that rules are
# compiled from.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",
    "standard_conforming_strings": "on",
    "datestyle": "ISO",
    "timezone": "UTC",
    "quote_all_identifiers": "off",
    "check_function_bodies": "off",  # a function may call one that loads later
}
_SET = "select pg_catalog.current_setting(%s), pg_catalog.set_config(%s, %s, true)"

# Timeouts that a role or a database may have: one connection is idle while the other migrates, which takes
# long in a large store.
_NO_TIMEOUTS = (
    "select pg_catalog.set_config(s.name, '0', false)"
    " from pg_catalog.unnest(array['idle_session_timeout', 'idle_in_transaction_session_timeout',"
    " 'transaction_timeout']) s (name)"  # this one exists since PostgreSQL 17
    " where pg_catalog.current_setting(s.name, true) is not null"
)


class _Connection(Protocol):
    """A DB-API connection: psycopg's, or the one that yoyo was told to use."""

    def cursor(self) -> Any: ...


def _dir(name: str) -> Path:
    here = Path(__file__).resolve().parent
    for folder in (here / name, here.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name}/ of memstore is missing; install the package again")


def sql_dir() -> Path:
    """The folder of the code layer, in the installed package or beside it in a checkout."""
    return _dir("sql")


def migrations_dir() -> Path:
    """The folder of the migrations, in the installed package or beside it in a checkout."""
    return _dir("migrations")


def _code_files() -> list[str]:
    install = (sql_dir() / "install.sql").read_text(encoding="utf-8")
    code = install.rpartition("\\ir yoyo.sql\n")[2]
    return [name for name in re.findall(r"^\\ir (\S+)$", code, re.MULTILINE) if name != "digest.sql"]


def _code_checksum() -> str:
    import hashlib  # here and below: the command doesn't wait for it

    digest = hashlib.sha256()
    for name in _code_files():
        digest.update(name.encode() + b"\0" + (sql_dir() / name).read_bytes() + b"\0")
    return digest.hexdigest()


def migration_files() -> list[Path]:
    """The migrations without their rollbacks, in the order in which they apply."""
    return [p for p in sorted(migrations_dir().glob("[0-9]*.sql")) if not p.name.endswith(".rollback.sql")]


def _migration_checksums() -> dict[str, str]:
    import hashlib

    return {p.stem: hashlib.sha256(p.read_bytes()).hexdigest() for p in migration_files()}


def checksums() -> dict[str, str]:
    """The checksums of what this package installs, as in `memstore.deployment`; the code layer is `sql`."""
    return {**_migration_checksums(), "sql": _code_checksum()}


def recorded_checksums() -> dict[str, str]:
    """The same, as `sql/digest.sql` has them: without reading all the files."""
    digest = (sql_dir() / "digest.sql").read_text(encoding="utf-8")
    (code, migrations) = re.findall(r"^'(.*?)'", digest, re.MULTILINE | re.DOTALL)
    return {**json.loads(migrations), "sql": code}


def load_code(connection: _Connection) -> None:
    """Load `sql/` and record what is installed, in the connection's current transaction.

    Does nothing where this code is loaded and nothing has changed it.

    Args:
        connection: a DB-API connection of the schema's owner.

    Raises:
        psycopg.Error: with the constraint name `migration_changed` where a migration's file is not the one
            that was applied, `deployment_newer` where the database is ahead of this package.
    """
    with closing(connection.cursor()) as cursor:
        before = _set(cursor, _SETTINGS)
        installed = checksums()
        record = (installed.pop("sql"), json.dumps(installed))
        if not _is_loaded(cursor, record):
            _repeated(lambda: _load(cursor, record))
        _set(cursor, before)


def _set(cursor: Any, settings: Mapping[str, str]) -> dict[str, str]:
    """Set these for the transaction, and return what they were."""
    before = {}
    for setting, value in settings.items():
        cursor.execute(_SET, (setting, setting, value))
        before[setting] = cursor.fetchone()[0]
    return before


def _is_loaded(cursor: Any, record: tuple[str, str]) -> bool:
    cursor.execute("select to_regprocedure('memstore.code_is_loaded(text, jsonb)') is not null")
    if not cursor.fetchone()[0]:
        return False
    cursor.execute("select memstore.code_is_loaded(%s, %s::jsonb)", record)
    return bool(cursor.fetchone()[0])


def _load(cursor: Any, record: tuple[str, str]) -> None:
    cursor.execute("savepoint code")
    try:
        for name in _code_files():
            # Without parameters: psycopg would read a % in the file as a placeholder.
            cursor.execute((sql_dir() / name).read_text(encoding="utf-8"))
    except psycopg.errors.DeadlockDetected:
        cursor.execute("rollback to savepoint code")
        raise
    cursor.execute("select memstore.record_deployment(%s, %s::jsonb)", record)


def _repeated(run: Callable[[], None]) -> None:
    """Run again what PostgreSQL rolled back to end a deadlock with an application's transaction."""
    for _ in range(9):
        with suppress(psycopg.errors.DeadlockDetected):
            return run()
    return run()


def read_migrations() -> Any:
    """This package's migrations, as yoyo reads them."""
    from yoyo import read_migrations

    return read_migrations(str(migrations_dir()))


def _backend(conninfo: str) -> PostgresqlPsycopgBackend:
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
    from yoyo.connections import DatabaseURI

    class Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
        """A class, since yoyo copies the backend, with a new connection, for each migration."""

        def init_connection(self, connection: Any) -> None:
            super().init_connection(connection)
            connection.execute(_NO_TIMEOUTS)

    parameters = {**conninfo_to_dict(conninfo), "schema": "memstore", "client_encoding": "utf8"}
    database = parameters.pop("dbname", None)
    return Backend(
        DatabaseURI("postgresql+psycopg", None, None, None, None, database, parameters), "_yoyo_migration"
    )


def migrate(conninfo: str) -> list[str]:
    """Bring a database to this version: the migrations that it lacks, then the code layer.

    Safe to repeat, to run concurrently and beside applications, and to run again after it was killed at any
    point. Where nothing has changed it locks no table.

    Args:
        conninfo: a libpq URL or connection string of the role that owns, or will own, the schema.

    Returns:
        The names of the migrations that were applied.

    Raises:
        MigrationRefused: `connection_pooled`: the connection leads to a pooler.
        psycopg.Error: the server's refusal.
    """
    with _connect(conninfo) as guard:
        # Who waits has no other connection: many migrations at once must leave some for the one that works.
        guard.execute("select pg_advisory_lock(%s)", [_LOCK])
        guard.execute("create schema if not exists memstore")
        lock = (sql_dir() / "lock.sql").read_bytes()
        guard.execute(lock + b"delete from memstore.yoyo_lock where pid = 0")
        # yoyo's lock is this uncommitted row, so that a killed process leaves none behind.
        with (
            _connect(conninfo) as connection,
            _backend(conninfo) as backend,
            guard.transaction(force_rollback=True),
        ):
            guard.execute(lock)
            connection.execute((sql_dir() / "yoyo.sql").read_bytes())
            ours = json.dumps(_migration_checksums())
            check = "select to_regprocedure('memstore.check_deployment(jsonb)') is not null"
            if connection.execute(check).fetchone() == (True,):
                connection.execute("select memstore.check_deployment(%s::jsonb)", [ours])
            missing = backend.to_apply(read_migrations())
            # Each migration is a transaction of its own.
            _repeated(lambda: backend.apply_migrations_only(backend.to_apply(missing)))
            with connection.transaction():
                load_code(connection)
    return [migration.id for migration in missing]


def _connect(conninfo: str) -> psycopg.Connection:
    connection = psycopg.connect(conninfo, autocommit=True, client_encoding="utf8")
    # A pooler reports another backend PID. It may give the session, with its lock and settings, to others.
    if connection.execute("select pg_backend_pid()").fetchone() != (connection.info.backend_pid,):
        connection.close()
        raise MigrationRefused(
            "There is a connection pooler before the database.",
            name=CONNECTION_POOLED,
            hint="Connect to PostgreSQL itself, or use psql -f sql/install.sql, which needs no session.",
        )
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute("set client_min_messages = warning; set search_path = pg_catalog, pg_temp")
    connection.execute(_NO_TIMEOUTS)
    return connection
