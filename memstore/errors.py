"""What the store refuses, and how a refusal by the database becomes an exception here.

A refusal is recognised by its name, which it has as the constraint's name in PostgreSQL's diagnostics. No
exception of this module carries the text of a memory, nor the driver's exception, which may show the row.
"""

import json
from typing import Final

import psycopg
from psycopg import errors as driver

from memstore.models import Violation


class MemstoreError(Exception):
    """The store refused, or failed; the subclasses are the outcomes that a caller may handle.

    Attributes:
        name: The refusal's name: of a broken rule, or of an outcome such as `quota_reached`.
        field: The field or argument that it is about, where there is one.
        sqlstate: PostgreSQL's code; None where the client found it before asking.
        hint: What to do about it, where there is something to say.
        violations: All the rules that were broken, where rules were broken.
    """

    def __init__(
        self,
        message: str,
        *,
        name: str = "memstore_error",
        field: str | None = None,
        sqlstate: str | None = None,
        hint: str | None = None,
        violations: tuple[Violation, ...] = (),
    ) -> None:
        super().__init__(message)
        self.name = name
        self.field = field
        self.sqlstate = sqlstate
        self.hint = hint
        self.violations = violations

    @property
    def message(self) -> str:
        """One sentence for a reader."""
        return str(self)


class InvalidValue(MemstoreError):
    """A value breaks a rule of the store, or can't be sent to it."""


class InvalidMemory(InvalidValue):
    """The memory breaks a rule; `violations` has all that it breaks."""


class ActorUnknown(MemstoreError):
    """No such account, or an erased one."""


class MemoryNotFound(MemstoreError):
    """The account has no such memory."""


class NotSupersedable(MemstoreError):
    """The target isn't a live memory that the account may correct."""


class IdTaken(MemstoreError):
    """The id that the caller gave belongs to something else."""


class QuotaReached(MemstoreError):
    """The account is full, or has as many items or open challenges as it may."""


class ItemChanged(MemstoreError):
    """The item is no more of the version that the call names."""


class StewardRequired(MemstoreError):
    """Only a steward may do this."""


class RecordTargetNotFound(MemstoreError):
    """There is no such claim: no memory of the system bucket that is no tombstone."""


class ChallengeNotFound(MemstoreError):
    """There is no such challenge."""


class StanceRequired(MemstoreError):
    """A promotion needs the position that the claim moved to."""


class MemoryIsImmutable(MemstoreError):
    """What a memory says is fixed for its life."""


class RecordIsImmutable(MemstoreError):
    """A record on a claim never changes."""


class TokenInvalid(MemstoreError):
    """There is no such token, or it has ended."""


class ScopeMissing(MemstoreError):
    """The token doesn't allow this."""


class AccessDenied(MemstoreError):
    """The database role may not call this function."""


class SchemaOutdated(MemstoreError):
    """memstore is not installed in the database, or in a version that this client can't use."""


class MigrationRefused(MemstoreError):
    """The database, or the connection to it, isn't one that this package can migrate."""


class StoreUnavailable(MemstoreError):
    """The store can't be reached: no connection could be made, or one broke, or no answer came in time."""


class StoreOverloaded(StoreUnavailable):
    """The server is there, but all connections of the store or of its pool were in use for too long."""


class ConnectionInherited(MemstoreError):
    """The store was given a connection or a pool of the process that this one was forked from."""


# The database's refusals, as its view `memstore.refusals` lists them; each comes with its message.
REFUSALS: Final[dict[str, type[MemstoreError]]] = {
    "actor_unknown": ActorUnknown,
    "argument_invalid": InvalidValue,
    "challenge_not_found": ChallengeNotFound,
    "count_is_kept": MemstoreError,
    "deployment_newer": MigrationRefused,
    "embedding_dimensions_differ": InvalidMemory,
    "embedding_model_unregistered": InvalidMemory,
    "id_taken": IdTaken,
    "item_changed": ItemChanged,
    "item_is_kept": MemstoreError,
    "memory_is_immutable": MemoryIsImmutable,
    "memory_not_found": MemoryNotFound,
    "migration_changed": MigrationRefused,
    "not_supersedable": NotSupersedable,
    "quota_reached": QuotaReached,
    "record_is_immutable": RecordIsImmutable,
    "record_target_not_found": RecordTargetNotFound,
    "restored_by_inserts": MemstoreError,
    "role_bound": InvalidValue,
    "role_unbound": InvalidValue,
    "scope_missing": ScopeMissing,
    "stance_required": StanceRequired,
    "steward_required": StewardRequired,
    "token_invalid": TokenInvalid,
}

# Constraints that only a race or plain SQL violates, with clearer messages than PostgreSQL's. Check
# constraints aren't among them: their violations come with the rule as the message.
CONSTRAINTS: Final[dict[str, tuple[type[MemstoreError], str]]] = {
    "account_roles_pkey": (InvalidValue, "The role is bound to the account already."),
    "account_roles_user_id_fkey": (ActorUnknown, "The account does not exist."),
    "admitted_claims_pkey": (MemstoreError, "The claim is among the admitted ones already."),
    "api_roles_pkey": (InvalidValue, "What the role was granted is recorded already."),
    "claim_counter_pkey": (InvalidValue, "There is one counter of claims."),
    "claim_languages_pkey": (MemstoreError, "The language's claims are counted already."),
    "claim_signs_pkey": (MemstoreError, "The claim's signs are there already."),
    "claim_statuses_pkey": (MemstoreError, "The claim has a status already."),
    "claim_words_pkey": (MemstoreError, "The word's claims are counted already."),
    "deployment_pkey": (MemstoreError, "The migration is recorded already."),
    "embedding_models_pkey": (InvalidValue, "The embedding model is registered already."),
    "item_embeddings_embedding_model_fkey": (InvalidValue, "The embedding model is not registered."),
    "item_embeddings_item_id_fkey": (InvalidValue, "The item does not exist."),
    "item_embeddings_pkey": (InvalidValue, "The item has an embedding of the field already."),
    "items_path_key": (IdTaken, "The account has an item of the path already."),
    "items_pkey": (IdTaken, "The id is taken."),
    "items_user_id_fkey": (ActorUnknown, "The account does not exist."),
    "memories_claim_key": (IdTaken, "The id is taken."),
    "memories_embedding_model_fkey": (InvalidMemory, "The embedding model is not registered."),
    "memories_pkey": (IdTaken, "The id is taken."),
    "memories_superseded_by_id_fkey": (NotSupersedable, "The replacement does not exist."),
    "memories_user_id_fkey": (ActorUnknown, "The account does not exist."),
    "memory_admissions_challenge_id_fkey": (ChallengeNotFound, "The claim has no such challenge."),
    "memory_admissions_challenge_key": (IdTaken, "The id is taken."),
    "memory_admissions_memory_id_fkey": (RecordTargetNotFound, "There is no such claim."),
    "memory_admissions_pkey": (IdTaken, "The id is taken."),
    "memory_admissions_user_id_fkey": (ActorUnknown, "The account does not exist."),
    "open_challenges_pkey": (MemstoreError, "The challenge is open already."),
    "settings_pkey": (InvalidValue, "There is one row of settings."),
    "tokens_digest_key": (IdTaken, "The token is there already."),
    "tokens_pkey": (IdTaken, "The id is taken."),
    "tokens_user_id_fkey": (ActorUnknown, "The account does not exist."),
    "users_external_ref_key": (IdTaken, "The application's id belongs to another account."),
    "users_pkey": (IdTaken, "The id is taken."),
}

# The client's own names.
TEXT_NOT_STORABLE: Final = "text_not_storable"
VALUE_MALFORMED: Final = "value_malformed"
ACCESS_DENIED: Final = "access_denied"
SCHEMA_OUTDATED: Final = "schema_outdated"
STORE_UNAVAILABLE: Final = "store_unavailable"
STORE_OVERLOADED: Final = "store_overloaded"
CONNECTION_INHERITED: Final = "connection_inherited"
CONNECTION_POOLED: Final = "connection_pooled"
DATABASE_ERROR: Final = "database_error"

# No connection, or one that the server ended: by a shutdown, or by a timeout between statements.
_UNREACHABLE: Final = ("08", "28", "3D", "53300", "57P", "25P03", "25P04")
_DENIED: Final = (
    "What an operator does is for the schema's owner alone; to other roles the owner grants the API with"
    " grant_api. A role that bind_role bound has the my_ functions alone, which"
    " a store calls with bound=True; it can't create, find or erase accounts."
)
_PASSED_ON: Final = ("25", "40", "55P03", "57014")


def translate(error: psycopg.Error | UnicodeError) -> MemstoreError | psycopg.Error:
    """Finds what a caller gets for an exception of the driver.

    To be raised outside the `except` block: the driver's exception would go along as the context, and its
    text may show the row, or the parameters.

    Returns:
        A refusal. Where applications act on PostgreSQL's own codes, the driver's exception again with no more
        than its sentence: a failed transaction (25), a serialization failure or a deadlock (40), a timeout
        (55P03, 57014).
    """
    if isinstance(error, UnicodeError):
        return InvalidValue("A character isn't in the connection's client_encoding.", name=TEXT_NOT_STORABLE)
    diag, state = error.diag, error.sqlstate or ""
    said = diag.message_primary or str(error).partition("\n")[0]
    if means_lost(error):
        return StoreUnavailable(
            f"The store can't be reached: {said}", name=STORE_UNAVAILABLE, sqlstate=state or None
        )
    if not state or state.startswith(_PASSED_ON):
        return type(error)(said)
    if state in ("3F000", "42883"):
        return schema_outdated(said, state)

    name, kind, message, hint = (
        diag.constraint_name or DATABASE_ERROR,
        MemstoreError,
        said,
        diag.message_hint,
    )
    if name in REFUSALS:
        kind = REFUSALS[name]
    elif name in CONSTRAINTS:
        kind, message = CONSTRAINTS[name]
    elif state == "23514":
        kind = InvalidMemory if diag.table_name == "memories" else InvalidValue
    elif state.startswith("22"):  # PostgreSQL's own sentence may quote the value
        name, kind, message = VALUE_MALFORMED, InvalidValue, "A value doesn't have the form of its type."
    elif state == "42501":
        name, kind, hint = ACCESS_DENIED, AccessDenied, _DENIED
    return kind(
        message,
        name=name,
        field=diag.column_name or None,
        sqlstate=state,
        hint=hint,
        violations=_violations(diag.message_detail),
    )


def means_lost(error: psycopg.Error) -> bool:
    """Tells whether the connection leads nowhere, or couldn't be made."""
    state = error.sqlstate or ""
    lost = isinstance(error, driver.OperationalError) and not isinstance(error, driver.PipelineAborted)
    return state.startswith(_UNREACHABLE) or (lost and not state)


def schema_outdated(message: str, sqlstate: str | None = None) -> SchemaOutdated:
    """Makes the refusal of a schema that isn't compatible with this client."""
    hint = "Run memstore migrate; where the schema is newer than this client, install a newer pg-memstore."
    return SchemaOutdated(message, name=SCHEMA_OUTDATED, sqlstate=sqlstate, hint=hint)


def _violations(detail: str | None) -> tuple[Violation, ...]:
    """Reads the broken rules; PostgreSQL's own details, which may show the row, aren't read."""
    try:
        rules = json.loads(detail or "[]")
        return tuple(Violation(rule["name"], rule["field"], rule["message"]) for rule in rules)
    except (ValueError, TypeError, KeyError):
        return ()
