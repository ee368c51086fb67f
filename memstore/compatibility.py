"""Whether a database has the schema that this client needs."""

import logging
from typing import Final

from memstore.api.calls import SCHEMA_VERSION
from memstore.errors import schema_outdated
from memstore.wire import Call

_logger: Final = logging.getLogger("memstore")

INSTALLED: Final[Call[int | None]] = Call(
    "schema_version",
    # Asks the catalog: a call of what isn't there would abort the caller's transaction. By the process the
    # server is told from a pooler, which gives its clients another one.
    b"select pg_catalog.pg_backend_pid()::text from pg_catalog.pg_proc p"
    b" join pg_catalog.pg_namespace n on n.oid = p.pronamespace"
    b" where n.nspname = 'memstore' and p.proname = 'schema_version'",
    {},
    lambda documents: documents[0] if documents else None,
)


def require_version(version: int | None) -> None:
    """Refuses a schema that isn't there or lacks what is called here.

    Args:
        version: The number of the newest migration; None where there is no schema.

    Raises:
        SchemaOutdated: with the command to run.
    """
    if version is None:
        raise schema_outdated("The database has no memstore schema.")
    if version < SCHEMA_VERSION:
        raise schema_outdated(
            f"The memstore schema is at version {version}; this client needs {SCHEMA_VERSION}."
        )
    if version > SCHEMA_VERSION:
        _logger.warning("the memstore schema is at version %d, this client knows %d", version, SCHEMA_VERSION)
