"""Where the SQL is, and how it gets into a database.

The three ways to install (``memstore migrate``, yoyo, ``psql -f sql/install.sql``) give the same database;
each adopts what the others did. :func:`migrate` is the first of them, :func:`load_code` is what yoyo's
post-apply hook calls.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memstore.errors import CONNECTION_POOLED, MigrationRefused

# yoyo is imported where it is needed: it takes a while to load.
if TYPE_CHECKING:
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend

__all__ = ["checksums", "load_code", "migrate", "migrations_dir", "sql_dir"]

# Also in sql/install.sql: whoever migrates waits for whoever does.
_LOCK = 7310603183541

# Also in sql/install.sql: what the names in sql/ mean, and how the rules read that are compiled from checks.
_PINNED = {
    "search_path": "pg_catalog, pg_temp",
    "standard_conforming_strings": "on",
    "datestyle": "ISO",
    "timezone": "UTC",
    "quote_all_identifiers": "off",
    "check_function_bodies": "off",  # a function may call one that loads later
}
_PIN = "select pg_catalog.current_setting(%s), pg_catalog.set_config(%s, %s, true)"

# What a role or a database may have set for its applications: here a connection waits for another one, and a
# migration of a large store takes its time.
_PATIENT = (
    "select pg_catalog.set_config(s.name, '0', false)"
    " from pg_catalog.unnest(array['idle_session_timeout', 'idle_in_transaction_session_timeout',"
    # PostgreSQL 17 brought this one.
    " 'transaction_timeout']) s (name)"
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
    digest = hashlib.sha256()
    for name in _code_files():
        digest.update(name.encode() + b"\0" + (sql_dir() / name).read_bytes() + b"\0")
    return digest.hexdigest()


def migration_files() -> list[Path]:
    """The migrations without their rollbacks, in the order in which they apply."""
    return [p for p in sorted(migrations_dir().glob("[0-9]*.sql")) if not p.name.endswith(".rollback.sql")]


def _migration_checksums() -> dict[str, str]:
    return {p.stem: hashlib.sha256(p.read_bytes()).hexdigest() for p in migration_files()}


def checksums() -> dict[str, str]:
    """What this package installs, by name, as ``memstore.deployment`` has it; the code layer's is ``sql``."""
    return {**_migration_checksums(), "sql": _code_checksum()}


def load_code(connection: _Connection) -> None:
    """Load ``sql/`` and record what is installed, in the connection's current transaction.

    Args:
        connection: a DB-API connection of the schema's owner.

    Raises:
        psycopg.Error: with the constraint name ``migration_changed`` where a migration's file is not the one
            that was applied, ``deployment_newer`` where the database is ahead of this package.
    """
    with closing(connection.cursor()) as cursor:
        before = {}
        for setting, value in _PINNED.items():
            cursor.execute(_PIN, (setting, setting, value))
            before[setting] = cursor.fetchone()[0]
        for name in _code_files():
            # Without parameters, so that a % in the text is only a %.
            cursor.execute((sql_dir() / name).read_text(encoding="utf-8"))
        migrations = checksums()
        code = migrations.pop("sql")
        record = "select memstore.record_deployment(%s, %s::jsonb)"
        cursor.execute(record, (code, json.dumps(migrations)))
        for setting, value in before.items():
            cursor.execute(_PIN, (setting, setting, value))


def read_migrations() -> Any:
    """This package's migrations, as yoyo reads them."""
    from yoyo import read_migrations

    return read_migrations(str(migrations_dir()))


def _backend(conninfo: str) -> PostgresqlPsycopgBackend:
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
    from yoyo.connections import DatabaseURI

    class Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
        """Also of the copies that yoyo makes of it, one for each migration."""

        def init_connection(self, connection: Any) -> None:
            super().init_connection(connection)
            connection.execute(_PATIENT)

    parameters = {**conninfo_to_dict(conninfo), "schema": "memstore", "client_encoding": "utf8"}
    database = parameters.pop("dbname", None)
    return Backend(
        DatabaseURI("postgresql+psycopg", None, None, None, None, database, parameters), "_yoyo_migration"
    )


def migrate(conninfo: str) -> list[str]:
    """Bring a database to this version: the migrations that it lacks, then the code layer.

    Safe to repeat, to run many times at once, and to run again after it was killed at any point.

    Args:
        conninfo: a libpq URL or connection string of the role that owns, or will own, the schema.

    Returns:
        The names of the migrations that were applied.

    Raises:
        MigrationRefused: ``connection_pooled``: the connection isn't to PostgreSQL itself.
        psycopg.Error: the server's refusal.
    """
    with _connect(conninfo) as guard, _connect(conninfo) as connection, _backend(conninfo) as backend:
        guard.execute("select pg_advisory_lock(%s)", [_LOCK])
        guard.execute("create schema if not exists memstore")
        lock = (sql_dir() / "lock.sql").read_bytes()
        guard.execute(lock + b"delete from memstore.yoyo_lock where pid = 0")
        # Whoever is killed leaves no lock behind: its row is never committed.
        with guard.transaction(force_rollback=True):
            guard.execute(lock)
            connection.execute((sql_dir() / "yoyo.sql").read_bytes())
            ours = json.dumps(_migration_checksums())
            check = "select to_regprocedure('memstore.check_deployment(jsonb)') is not null"
            if connection.execute(check).fetchone() == (True,):
                connection.execute("select memstore.check_deployment(%s::jsonb)", [ours])
            missing = backend.to_apply(read_migrations())
            backend.apply_migrations_only(missing)
            with connection.transaction():
                load_code(connection)
    return [migration.id for migration in missing]


def _connect(conninfo: str) -> psycopg.Connection:
    connection = psycopg.connect(conninfo, autocommit=True, client_encoding="utf8")
    # A pooler, which answers with a process id of its own, may hand the lock and the settings to others.
    if connection.execute("select pg_backend_pid()").fetchone() != (connection.info.backend_pid,):
        connection.close()
        raise MigrationRefused(
            "There is a connection pooler before the database.",
            name=CONNECTION_POOLED,
            hint="Connect to PostgreSQL itself, or use psql -f sql/install.sql, which needs no session.",
        )
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute("set client_min_messages = warning; set search_path = pg_catalog, pg_temp")
    connection.execute(_PATIENT)
    return connection
