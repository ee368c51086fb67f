"""What the database answers, as frozen dataclasses.

A body is private: no `repr` here shows one, nor a note, which is made of bodies, nor a record's ground and
evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import ClassVar, TypedDict
from uuid import UUID


class _Redacted:
    """A `repr` without fields that are None, and with the length alone of private ones."""

    __slots__ = ()
    _private: ClassVar[dict[str, str]]
    """The private fields, with the unit of their length."""

    def __repr__(self) -> str:
        shown = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if value is not None:
                unit = self._private.get(each.name)
                shown.append(f"{each.name}={f'<{len(value)} {unit}>' if unit else repr(value)}")
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Evidence(TypedDict):
    """One piece of evidence of a memory in the system bucket, or of a challenge to one.

    Attributes:
        kind: `receipt`, `memory` or `url`.
        ref: what it refers to.
        digest: a digest of what it refers to.
    """

    kind: str
    ref: str
    digest: str


# Private fields have `repr=False` too: a derived dataclass generates a `repr` of its own.


@dataclass(frozen=True, slots=True, repr=False)
class Memory(_Redacted):
    """One memory, as the SQL type `memstore.memory`. Times are in UTC.

    `dataclasses.asdict` and pickling keep the body; printing and logging don't.

    Attributes:
        id: The memory's id.
        user_id: The account that it belongs to.
        bucket: `user`, `learned` or `system`.
        body: The text, fixed for the row's life.
        source_ref: The work that taught it.
        language: The text search configuration that parses it.
        embedding_model: The model of its embedding; None where it has none.
        slug: Of a system memory: its name, `sys:` and something behind it.
        entity: Of a system memory: what it is about.
        tier: Of a system memory: `ledger` or `glass`.
        as_of: Of a system memory: the date of the claim.
        admission: Of a system memory: what its author claims, not its status.
        evidence_refs: Of a system memory: its evidence.
        stance: Of a tombstone: the position that the claim moved to.
        promoted: Whether it is a tombstone.
        superseded_by_id: What superseded it; None while it is live, and once that row was deleted.
        superseded_at: When it was superseded; None while it is live.
        inserted_at: When it was written.
        updated_at: When its embedding or its pointer last changed.
        scope: The project, session or agent that it is for; None where it applies everywhere.
        metadata: The application's own keys; None where it has none.
    """

    _private: ClassVar[dict[str, str]] = {"body": "characters", "metadata": "keys"}

    id: UUID
    user_id: UUID
    bucket: str
    body: str = field(repr=False)
    source_ref: str | None
    language: str
    embedding_model: str | None
    slug: str | None
    entity: str | None
    tier: str | None
    as_of: date | None
    admission: str | None
    evidence_refs: tuple[Evidence, ...] | None = field(hash=False)
    stance: str | None
    promoted: bool
    superseded_by_id: UUID | None
    superseded_at: datetime | None
    inserted_at: datetime
    updated_at: datetime
    scope: str | None = None
    metadata: Mapping[str, object] | None = field(default=None, repr=False, hash=False)

    @property
    def live(self) -> bool:
        """Whether nothing superseded it."""
        return self.superseded_at is None


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory and its scores for one query.

    Attributes:
        memory: The memory.
        score: What it is ranked by, 0 to 1: of both, its label and its source.
        lexical_score: The share of the query's lexemes that it covers, 0 to 1.
        semantic_score: The cosine similarity to the query's embedding; None where the two can't be compared.
        eligible: Whether recall may attach it.
    """

    memory: Memory
    score: float
    lexical_score: float
    semantic_score: float | None
    eligible: bool


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A memory that a new body may correct or repeat.

    Attributes:
        memory: The memory.
        score: Of the body's lexemes and, with an embedding, its meaning, 0 to 1.
        identical: Whether its body is the same.
    """

    memory: Memory
    score: float
    identical: bool


@dataclass(frozen=True, slots=True)
class ExplainedMemory:
    """A memory, its scores for one query, and what recall does with it.

    Attributes:
        memory: The memory.
        score: As in `RankedMemory`, like the two that follow.
        lexical_score: The share of the query's lexemes that it covers, 0 to 1.
        semantic_score: The cosine similarity to the query's embedding; None where the two can't be compared.
        outcome: `attached`, or why it isn't: `count`, `size`, `duplicate` or `floor`.
    """

    memory: Memory
    score: float
    lexical_score: float
    semantic_score: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class ChainMember:
    """A memory of the chain of another one.

    Attributes:
        id: The memory whose chain it is.
        memory: The memory.
    """

    id: UUID
    memory: Memory


@dataclass(frozen=True, slots=True, repr=False)
class Recall(_Redacted):
    """What to tell a model before one turn of a conversation.

    Attributes:
        memories: The account's own memories to attach, best first.
        dropped: How many eligible ones the bounds left out.
        unembedded: How many candidates have no embedding that the query's could be compared with.
        backend: What ranked them: `lexical`, `hybrid`, `none` for a blank query, `unavailable` where the
            store couldn't be reached, or `overloaded` where all connections to it were in use.
        note: The text for the model, one line a memory; None where there is nothing to say.
        claims: The claims to attach, of any account, all of the status `admitted`; empty unless the operator
            turned `system_recall_enabled` on.
    """

    _private: ClassVar[dict[str, str]] = {"note": "characters"}

    memories: tuple[Memory, ...] = ()
    dropped: int = 0
    unembedded: int = 0
    backend: str = "unavailable"
    note: str | None = field(default=None, repr=False)
    claims: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class AdmissionRecord(_Redacted):
    """One record about a claim, as the SQL type `memstore.admission_record`. Times are in UTC.

    Attributes:
        id: The record's id; of a challenge, what a refutation names.
        memory_id: The claim that it is about.
        user_id: The account that wrote it.
        role: `admission`, `challenge` or `refutation`.
        verdict: Of an admission: `admitted` or `rejected`.
        challenge_id: Of a refutation: the challenge that it closes.
        ground: Why; `[erased]` once its author's account is.
        evidence_refs: Of a challenge: its evidence; None where it has none.
        slug: What it is about, by name: `adm:`, `chl:` or `ref:`, and an id.
        inserted_at: When it was written.
        effect: What a challenge does to its claim: `in_effect` (it suspends the claim), `queued` behind other
            challenges of its author, `not_admitted` (only an admitted claim can be suspended),
            `without_evidence` or `refuted`.
    """

    _private: ClassVar[dict[str, str]] = {"ground": "characters", "evidence_refs": "pieces"}

    id: UUID
    memory_id: UUID
    user_id: UUID
    role: str
    verdict: str | None
    challenge_id: UUID | None
    ground: str = field(repr=False)
    evidence_refs: tuple[Evidence, ...] | None = field(repr=False, hash=False)
    slug: str
    inserted_at: datetime
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A memory of the system bucket with what the records say of it, as the SQL type `memstore.claim`.

    Attributes:
        memory: The memory.
        status: `candidate`, `admitted`, `rejected` or `suspended`.
        open_challenges: How many challenges no refutation has closed, with evidence or without.
    """

    memory: Memory
    status: str
    open_challenges: int


@dataclass(frozen=True, slots=True, repr=False)
class Item(_Redacted):
    """One item: a JSON document by its path, as the SQL type `memstore.item`. Times are in UTC.

    Attributes:
        namespace: The labels of its path.
        key: Its name in the namespace.
        value: The document.
        version: A number that each change raises, for `if_version`.
        ttl_seconds: How long it lives from each put or renewal on; None where it stays.
        expires_at: From when on it is as one that is not there.
        inserted_at: When it was first put.
        updated_at: When it was last put.
    """

    _private: ClassVar[dict[str, str]] = {"namespace": "labels", "key": "characters", "value": "keys"}

    namespace: tuple[str, ...] = field(repr=False)
    key: str = field(repr=False)
    value: Mapping[str, object] = field(repr=False, hash=False)
    version: int
    ttl_seconds: float | None
    expires_at: datetime | None
    inserted_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that a search found.

    Attributes:
        item: The item.
        score: How well it fits, 0 to 1, or -1 to 1 by meaning alone; None where nothing compares.
    """

    item: Item
    score: float | None


@dataclass(frozen=True, slots=True)
class ClaimCount:
    """How many live claims have a status.

    Attributes:
        status: `candidate`, `admitted`, `rejected` or `suspended`.
        claims: The number.
    """

    status: str
    claims: int


@dataclass(frozen=True, slots=True)
class User:
    """An account. Times are in UTC.

    Attributes:
        external_ref: The application's own id; None where it has none.
        language: The text search configuration of its memories.
        steward: Whether it is a steward of the system bucket.
        live_memories: How many live memories it has.
        maximum_live_memories: How many it may have.
        inserted_at: When it was created.
    """

    external_ref: str | None
    language: str
    steward: bool
    live_memories: int
    maximum_live_memories: int
    inserted_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """What names an account to `memstore serve`, without its secret. Times are in UTC.

    Attributes:
        id: The token's id.
        kind: `agent`, `login` or `session`.
        name: What people call it.
        scopes: What it allows, of `recall`, `remember`, `forget`, `claims`, `steward` and `operator`.
        inserted_at: When it was made.
        expires_at: When it ends.
        last_used_at: When it was last used, to the minute; None: never.
        revoked_at: When it was revoked; None where it wasn't.
    """

    id: UUID
    kind: str
    name: str
    scopes: tuple[str, ...]
    inserted_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class NewToken(_Redacted):
    """A token with its secret, which nothing shows again; no `repr` does. Times are in UTC.

    Attributes:
        id: The token's id.
        token: The secret.
        expires_at: When it ends.
    """

    _private: ClassVar[dict[str, str]] = {"token": "characters"}

    id: UUID
    token: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Access:
    """What a token allows. Times are in UTC.

    Attributes:
        actor: The account that it names.
        id: The token's id.
        name: What people call it.
        scopes: Its scopes.
        functions: The functions that they allow; with `:claims` at its end one that they allow on claims of
            the account.
        expires_at: When it ends.
    """

    actor: UUID
    id: UUID
    name: str
    scopes: tuple[str, ...]
    functions: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RedeemedLogin:
    """The session that a login has become. Times are in UTC.

    Attributes:
        actor: The account.
        id: The session's id.
        expires_at: When it ends.
    """

    actor: UUID
    id: UUID
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a value breaks.

    Attributes:
        name: The rule's name, that of the check constraint.
        field: The field that it is about.
        message: The rule, stated for a reader.
    """

    name: str
    field: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of memories.

    Attributes:
        name: The rule's name, that of the check constraint.
        field: The field that it is about.
        definition: The constraint as PostgreSQL prints it.
        message: The rule, stated for a reader.
    """

    name: str
    field: str | None
    definition: str
    message: str


@dataclass(frozen=True, slots=True)
class Invariant:
    """A property that the store's data always has, and whether it holds.

    Attributes:
        invariant: Its name; the header of `verify_store` in `sql/functions` says what each means.
        violations: How many rows break it.
        example: The id of one of them, or the table where its rows have none; None where nothing breaks it.
    """

    invariant: str
    violations: int
    example: str | None


@dataclass(frozen=True, slots=True)
class RebuiltPage:
    """What one call of `rebuild_words` did.

    Attributes:
        last: The id of the last memory of the page, to go on after; None if it was the last page.
        read: How many memories were read.
        rebuilt: How many were rebuilt: those whose lexemes, or what recall reads of them, were others.
    """

    last: UUID | None
    read: int
    rebuilt: int


@dataclass(frozen=True, slots=True)
class Role:
    """A role that can execute functions of the schema, or could.

    Attributes:
        role: Its name.
        bundle: What it was granted: `all`, `write`, `read`, `bound`, `serve`, `by hand`, or `dropped`
            where there is no such role any more; None where it was granted nothing itself.
        accounts: The accounts that it is bound to.
        held: How many functions it was granted and can execute.
        lacking: The functions of the bundle that it was not.
        extra: The functions beside the bundle that it was.
        members_of: The roles that hold functions, or own the schema, and that it is a member of.
        beyond: By which roles a bound one reaches more than its accounts.
    """

    role: str
    bundle: str | None
    accounts: tuple[UUID, ...]
    held: int
    lacking: tuple[str, ...]
    extra: tuple[str, ...]
    members_of: tuple[str, ...]
    beyond: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure of the store.

    Attributes:
        name: What it counts or measures, with the unit where it has one, as in `table_bytes`.
        labels: What it is about, in the manner of Prometheus: `{"bucket": "user", "state": "live"}`.
        value: The figure.
        exact: Whether it was counted or measured, and not estimated.
    """

    name: str
    labels: Mapping[str, str] = field(hash=False)
    value: float
    exact: bool


class Document(dict[str, object]):
    """A JSON object as an export function gives it; its `repr` has its keys alone."""

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__}: {', '.join(self)}>"


@dataclass(frozen=True, slots=True)
class Settings:
    """The store's settings, which the operator changes.

    Attributes:
        maximum_live_memories: The ceiling of live memories that a new account gets.
        maximum_attached: How many memories one recall attaches at most, unless the call says otherwise.
        maximum_attached_characters: How many characters of bodies at most, likewise.
        lexical_floor: A learned memory is eligible with a lexical score above this, 0 to 1.
        semantic_floor: A learned memory is eligible with a semantic score above this, 0 to 1.
        previous_share: The weight of a lexeme of the previous memory of the same source, 0 to 1; of the one
            before, its square.
        next_share: The weight of a lexeme of the next one, 0 to 1; of the one after, its square.
        system_recall_enabled: Whether recall reads the system bucket.
        maximum_system_pool: How many claims are ranked for one query at most.
        speaker_share: By how much more a memory counts, 0 to 1, whose label begins with a word of the query.
        source_share: How much the best memory of the same source counts, 0 to 1, beside the memory itself.
        registered_models_only: Whether an embedding needs a model that the operator has registered.
        user_floor: A user memory that has a semantic score and no lexeme of the query is eligible with a
            semantic score of at least this, 0 to 1; 0 leaves none out.
        score_share: The share of the best eligible score, 0 to 1, that a memory with a semantic score needs
            to be eligible, unless it is nearly as near in meaning as the nearest; 0 leaves none out.
        maximum_items: How many items an account may hold that has no maximum of its own.
        time_share: By how much more a memory counts, 0 to 1, of a month or year that the query names.
    """

    maximum_live_memories: int
    maximum_attached: int
    maximum_attached_characters: int
    lexical_floor: float
    semantic_floor: float
    previous_share: float
    next_share: float
    system_recall_enabled: bool
    maximum_system_pool: int
    speaker_share: float
    source_share: float
    registered_models_only: bool
    user_floor: float = 0.0
    score_share: float = 0.0
    maximum_items: int = 10_000
    time_share: float = 0.0
