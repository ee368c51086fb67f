"""The memory of AI agents, in a PostgreSQL database that owns its rules.

`Store` and `AsyncStore` call the functions of the database; `memstore.errors` has what they refuse.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstore.aio import AsyncStore
    from memstore.embedders import Embedder
    from memstore.errors import (
        AccessDenied,
        ActorUnknown,
        ChallengeNotFound,
        ConnectionInherited,
        IdTaken,
        InvalidMemory,
        InvalidValue,
        ItemChanged,
        MemoryIsImmutable,
        MemoryNotFound,
        MemstoreError,
        MigrationRefused,
        NotSupersedable,
        QuotaReached,
        RecordIsImmutable,
        RecordTargetNotFound,
        SchemaOutdated,
        ScopeMissing,
        StanceRequired,
        StewardRequired,
        StoreOverloaded,
        StoreUnavailable,
        TokenInvalid,
    )
    from memstore.models import (
        Access,
        AdmissionRecord,
        ChainMember,
        Claim,
        ClaimCount,
        Document,
        Evidence,
        ExplainedMemory,
        FoundItem,
        Invariant,
        Item,
        Memory,
        NewToken,
        RankedMemory,
        RebuiltPage,
        Recall,
        RedeemedLogin,
        Role,
        Rule,
        Settings,
        SimilarMemory,
        Statistic,
        Token,
        User,
        Violation,
    )
    from memstore.store import Store

__all__ = [
    "Access",
    "AccessDenied",
    "ActorUnknown",
    "AdmissionRecord",
    "AsyncStore",
    "ChainMember",
    "ChallengeNotFound",
    "Claim",
    "ClaimCount",
    "ConnectionInherited",
    "Document",
    "Embedder",
    "Evidence",
    "ExplainedMemory",
    "FoundItem",
    "IdTaken",
    "InvalidMemory",
    "InvalidValue",
    "Invariant",
    "Item",
    "ItemChanged",
    "Memory",
    "MemoryIsImmutable",
    "MemoryNotFound",
    "MemstoreError",
    "MigrationRefused",
    "NewToken",
    "NotSupersedable",
    "QuotaReached",
    "RankedMemory",
    "RebuiltPage",
    "Recall",
    "RecordIsImmutable",
    "RecordTargetNotFound",
    "RedeemedLogin",
    "Role",
    "Rule",
    "SchemaOutdated",
    "ScopeMissing",
    "Settings",
    "SimilarMemory",
    "StanceRequired",
    "Statistic",
    "StewardRequired",
    "Store",
    "StoreOverloaded",
    "StoreUnavailable",
    "Token",
    "TokenInvalid",
    "User",
    "Violation",
]

_MODULES = ("models", "errors", "embedder", "store", "aio", "embedders")

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name

    def __getattr__(name: str) -> object:
        """Imports a name when it is first used: psycopg takes a while to load."""
        if name in _MODULES:
            return import_module(f"memstore.{name}")
        if name in __all__:
            for module in _MODULES:
                found = getattr(import_module(f"memstore.{module}"), name, None)
                if found is not None:
                    return globals().setdefault(name, found)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES, *__all__})
