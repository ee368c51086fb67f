"""The memory of AI agents, in a PostgreSQL database that owns its rules.

`Store` and `AsyncStore` call the functions of the database; `memstore.errors` has what they refuse.
"""

from memstore.aio import AsyncStore
from memstore.errors import (
    AccessDenied,
    ActorUnknown,
    IdTaken,
    InvalidMemory,
    InvalidValue,
    MemoryIsImmutable,
    MemoryNotFound,
    MemstoreError,
    MigrationRefused,
    NotSupersedable,
    QuotaReached,
    SchemaOutdated,
    StewardRequired,
    StoreUnavailable,
)
from memstore.models import Evidence, Memory, RankedMemory, Recall, Rule, Settings, Violation
from memstore.store import Store

__all__ = [
    "AccessDenied",
    "ActorUnknown",
    "AsyncStore",
    "Evidence",
    "IdTaken",
    "InvalidMemory",
    "InvalidValue",
    "Memory",
    "MemoryIsImmutable",
    "MemoryNotFound",
    "MemstoreError",
    "MigrationRefused",
    "NotSupersedable",
    "QuotaReached",
    "RankedMemory",
    "Recall",
    "Rule",
    "SchemaOutdated",
    "Settings",
    "StewardRequired",
    "Store",
    "StoreUnavailable",
    "Violation",
]
