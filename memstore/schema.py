"""Where the SQL is, and how it is installed.

The three ways to install (`memstore migrate`, yoyo, `psql -f sql/install.sql`) give the same database, and
each goes on where another has been used. `migrate` is the first of them; yoyo's post-apply hook calls
`load_code`.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row

from memstore.errors import CONNECTION_POOLED, MigrationRefused

# Imported in functions alone: yoyo takes a while to load.
if TYPE_CHECKING:
    from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend

__all__ = [
    "altered_objects",
    "checksums",
    "load_code",
    "migrate",
    "migrations_dir",
    "recorded_checksums",
    "sql_dir",
]

_logger = logging.getLogger("memstore")

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


# As sql/timeout.sql, for a session whose transactions are yoyo's.
_LOCK_TIMEOUT = (
    "select pg_catalog.set_config(s.name, '5s', false) from pg_catalog.pg_settings s"
    " where s.name = 'lock_timeout' and s.source = 'default'"
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
    code = install.partition("\n-- code: ")[2].partition("\n-- end\n")[0]
    return re.findall(r"^\\ir (\S+)$", code, re.MULTILINE)


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

    Where this code is loaded and nothing has changed it, only notes what roles hold.

    Args:
        connection: a DB-API connection of the schema's owner.

    Raises:
        psycopg.Error: with the constraint name `migration_changed` where a migration's file is not the one
            that was applied, `deployment_newer` where the database is ahead of this package.
    """
    with closing(connection.cursor()) as cursor:
        before = _set(cursor, _SETTINGS)
        cursor.execute("select pg_catalog.current_setting('lock_timeout')")
        before["lock_timeout"] = cursor.fetchone()[0]
        installed = checksums()
        record = (installed.pop("sql"), json.dumps(installed))
        if _is_loaded(cursor, record):
            cursor.execute((sql_dir() / "note.sql").read_text(encoding="utf-8"))
        else:
            with _logging_warnings(connection):
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
        for name in ("timeout.sql", *_code_files()):
            # Without parameters: psycopg would read a % in the file as a placeholder.
            cursor.execute((sql_dir() / name).read_text(encoding="utf-8"))
    except psycopg.errors.DeadlockDetected:
        cursor.execute("rollback to savepoint code")
        raise
    cursor.execute("select memstore.record_deployment(%s, %s::jsonb)", record)


def _repeated(run: Callable[[], None]) -> None:
    """Run again what PostgreSQL rolled back to end a deadlock with an application's transaction."""
    for attempt in range(1, 20):
        with suppress(psycopg.errors.DeadlockDetected):
            return run()
        time.sleep(attempt * 0.05)
    return run()


@contextmanager
def _logging_warnings(connection: _Connection) -> Iterator[None]:
    """Has the log tell what is warned of meanwhile, where the connection is psycopg's."""

    def log(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            _logger.warning("%s %s", diagnostic.message_primary, diagnostic.message_hint or "")

    if not isinstance(connection, psycopg.Connection):
        yield
        return
    connection.add_notice_handler(log)
    try:
        yield
    finally:
        connection.remove_notice_handler(log)


def altered_objects(connection: psycopg.Connection[Any]) -> list[tuple[str, str, str]]:
    """What of the schema is not as this package makes it.

    It runs the functions' bodies as the package has them, since the schema's owner can replace those in the
    database.

    Args:
        connection: A connection of the schema's owner, or of a superuser.

    Returns:
        Of each object its kind, its name, and whether it is `absent`, `different` or `not ours`.

    Raises:
        psycopg.errors.InsufficientPrivilege: The role may not read the schema's tables.
    """
    texts = {
        name: (sql_dir() / "internal/schema" / f"{name}.sql").read_text(encoding="utf-8")
        for name in ("altered_objects", "objects", "expected_objects")
    }
    bodies = {name: text.partition("as $$\n")[2].partition("$$;")[0] for name, text in texts.items()}
    query = bodies["altered_objects"]
    for name in ("expected_objects", "objects"):  # the latter's text names the former
        query = query.replace(f"memstore.{name}()", f"({bodies[name]})")
    with connection.transaction(force_rollback=True), connection.cursor(row_factory=tuple_row) as cursor:
        for setting in re.findall(r"^set .+", texts["objects"], re.MULTILINE):
            cursor.execute(setting.replace("set ", "set local ", 1))
        altered = cursor.execute(query).fetchall()
        # The list can't have its own digest.
        expected = "memstore.expected_objects()"
        there = "select prosrc from pg_proc where oid = to_regprocedure(%s)"
        ((source,),) = cursor.execute(there, [expected]).fetchall() or [(None,)]
    if source != "\n" + bodies["expected_objects"]:
        altered.append(("function", "expected_objects()", "different" if source else "absent"))
    return altered


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
            connection.execute(_LOCK_TIMEOUT)

    parameters = {**conninfo_to_dict(conninfo), "schema": "memstore", "client_encoding": "utf8"}
    database = parameters.pop("dbname", None)
    return Backend(
        DatabaseURI("postgresql+psycopg", None, None, None, None, database, parameters), "_yoyo_migration"
    )


def migrate(conninfo: str) -> list[str]:
    """Bring a database to this version: the migrations that it lacks, then the code layer.

    Safe to repeat, to run concurrently and beside applications, and to run again after it was killed at any
    point. Where nothing has changed it locks no table that applications use.

    Args:
        conninfo: a libpq URL or connection string of the role that owns, or will own, the schema.

    Returns:
        The names of the migrations that were applied.

    Raises:
        MigrationRefused: `connection_pooled`: the connection leads to a pooler.
        psycopg.Error: the server's refusal.
    """
    with _connect(conninfo) as guard:
        lock = _read("lock.sql")
        guard.execute(_read("schema.sql"))
        guard.execute(lock + b"delete from memstore.yoyo_lock where pid = 0")
        # yoyo's lock is this uncommitted row, so that a killed process leaves none behind. Who waits for it
        # has no other connection: many migrations at once must leave some for the one that works.
        with guard.transaction(force_rollback=True), ExitStack() as opened:
            guard.execute(lock)
            connection = opened.enter_context(_connect(conninfo))
            connection.execute(_read("rows.sql"))
            backend = opened.enter_context(_backend(conninfo))
            if _is_adopted(connection):
                connection.execute(b"begin;" + _read("adopted_schema.sql") + b"commit;")
            connection.execute(_read("yoyo.sql"))
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


def _read(name: str) -> bytes:
    return (sql_dir() / name).read_bytes()


def _is_adopted(connection: psycopg.Connection) -> bool:
    """Tells whether the schema is empty, and this role's, who may not create one."""
    empty = (
        "select to_regclass('memstore.deployment') is null"
        " and not has_database_privilege(current_database(), 'create')"
    )
    return connection.execute(empty).fetchone() == (True,)


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
