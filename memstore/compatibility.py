"""Whether a database has a schema that this client can use."""

import logging
import os
from typing import Final
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection, Connection

from memstore.api.calls import SCHEMA_VERSION
from memstore.errors import CONNECTION_INHERITED, ConnectionInherited, schema_outdated
from memstore.wire import Call

_logger: Final = logging.getLogger("memstore")

# By connection with a compatible schema, whether it leads to the server itself, not to a pooler. Not in the
# store: an application may make one for each transaction on a pool's connections.
_DIRECT: Final[WeakKeyDictionary[Connection[object] | AsyncConnection[object], bool]] = WeakKeyDictionary()

# By source that a store was given, in which process it was first seen.
_PROCESSES: Final[WeakKeyDictionary[object, int]] = WeakKeyDictionary()

# Read from the catalog: a call of a function that doesn't exist would abort the caller's transaction.
INSTALLED: Final[Call[int | None]] = Call(
    "schema_version",
    b"select pg_catalog.pg_backend_pid()::text from pg_catalog.pg_proc p"
    b" join pg_catalog.pg_namespace n on n.oid = p.pronamespace"
    b" where n.nspname = 'memstore' and p.proname = 'schema_version'",
    {},
    lambda documents: documents[0] if documents else None,
    reads=True,
)
"""The PID of the backend, where the schema is installed."""


def process_of(source: object) -> int:
    """Tells in which process a connection or a pool was first seen, by its PID."""
    try:
        return _PROCESSES.setdefault(source, os.getpid())
    except TypeError:  # a pool of the application's own making, without a hash or weak references
        return os.getpid()


def refuse_inherited(process: int) -> None:
    """Refuses what another process has, too: both would read each other's answers.

    Raises:
        ConnectionInherited: This isn't the process.
    """
    if process != os.getpid():
        raise ConnectionInherited(
            f"The connection belongs to the process {process}, which this one was forked from.",
            name=CONNECTION_INHERITED,
            hint="Make the connection or the pool after the fork, or give the store a connection string.",
        )


def known(connection: Connection[object] | AsyncConnection[object]) -> bool | None:
    """Tells whether a connection that was checked before leads to the server itself; None: it wasn't.

    Raises:
        ConnectionInherited: It is another process's.
    """
    refuse_inherited(process_of(connection))
    return _DIRECT.get(connection)


def require_version(
    connection: Connection[object] | AsyncConnection[object], version: int | None, backend: int | None
) -> bool:
    """Refuses a schema that isn't there or lacks functions that are called here.

    Args:
        connection: The connection, which isn't checked again.
        version: The number of the newest migration; None where there is no schema.
        backend: The PID that the server gives. A pooler reports another one to its client.

    Returns:
        Whether the connection leads to the server itself.

    Raises:
        SchemaOutdated: With the command to run.
    """
    if version is None:
        raise schema_outdated("memstore is not installed in the database.")
    if version < SCHEMA_VERSION:
        raise schema_outdated(
            f"The memstore schema is at version {version}; this client needs {SCHEMA_VERSION}."
        )
    if version > SCHEMA_VERSION:
        _logger.warning("the memstore schema is at version %d, this client knows %d", version, SCHEMA_VERSION)
    return _DIRECT.setdefault(connection, backend == connection.info.backend_pid)
