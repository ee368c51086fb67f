"""Whether a database has a schema that this client can use."""

import logging
from typing import Final
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection, Connection

from memstore.api.calls import SCHEMA_VERSION
from memstore.errors import schema_outdated
from memstore.wire import Call

_logger: Final = logging.getLogger("memstore")

# By connection with a compatible schema, whether it leads to the server itself, not to a pooler. Not in the
# store: an application may make one for each transaction on a pool's connections.
DIRECT: Final[WeakKeyDictionary[Connection[object] | AsyncConnection[object], bool]] = WeakKeyDictionary()

# Read from the catalog: a call of a function that doesn't exist would abort the caller's transaction.
INSTALLED: Final[Call[int | None]] = Call(
    "schema_version",
    b"select pg_catalog.pg_backend_pid()::text from pg_catalog.pg_proc p"
    b" join pg_catalog.pg_namespace n on n.oid = p.pronamespace"
    b" where n.nspname = 'memstore' and p.proname = 'schema_version'",
    {},
    lambda documents: documents[0] if documents else None,
)
"""The PID of the backend, where the schema is installed."""


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
        raise schema_outdated("The database has no memstore schema.")
    if version < SCHEMA_VERSION:
        raise schema_outdated(
            f"The memstore schema is at version {version}; this client needs {SCHEMA_VERSION}."
        )
    if version > SCHEMA_VERSION:
        _logger.warning("the memstore schema is at version %d, this client knows %d", version, SCHEMA_VERSION)
    return DIRECT.setdefault(connection, backend == connection.info.backend_pid)
