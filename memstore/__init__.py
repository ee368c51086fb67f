"""The memory of AI agents, in a PostgreSQL database that owns its rules.

`Store` and `AsyncStore` call the functions of the database; `memstore.errors` has what they refuse.
"""

from memstore.aio import AsyncStore
from memstore.errors import (
    AccessDenied,
    ActorUnknown,
    ChallengeNotFound,
    IdTaken,
    InvalidMemory,
    InvalidValue,
    MemoryIsImmutable,
    MemoryNotFound,
    MemstoreError,
    MigrationRefused,
    NotSupersedable,
    QuotaReached,
    RecordIsImmutable,
    RecordTargetNotFound,
    SchemaOutdated,
    StanceRequired,
    StewardRequired,
    StoreUnavailable,
)
from memstore.models import (
    AdmissionRecord,
    Claim,
    Evidence,
    Memory,
    RankedMemory,
    Recall,
    Rule,
    Settings,
    Violation,
)
from memstore.store import Store

__all__ = [
    "AccessDenied",
    "ActorUnknown",
    "AdmissionRecord",
    "AsyncStore",
    "ChallengeNotFound",
    "Claim",
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
    "RecordIsImmutable",
    "RecordTargetNotFound",
    "Rule",
    "SchemaOutdated",
    "Settings",
    "StanceRequired",
    "StewardRequired",
    "Store",
    "StoreUnavailable",
    "Violation",
]
