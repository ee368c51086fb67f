"""The calls: one function here for each function of the database, with its name, arguments and defaults.

Each returns a `Call`: the statement, its parameters, and how to read the answer. `Store` and `AsyncStore` run
them, and their methods take signature and docstring from here. An argument that is None is left out. Every
call may raise `ActorUnknown` for an account that doesn't exist or was erased, and `StoreUnavailable`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from memstore import wire
from memstore.errors import schema_outdated
from memstore.models import (
    AdmissionRecord,
    Claim,
    Document,
    Invariant,
    Memory,
    RankedMemory,
    Recall,
    Rule,
    Settings,
    Statistic,
    Violation,
)
from memstore.wire import Call

SCHEMA_VERSION: Final = 7
"""The oldest schema that has everything called here, by the number of its newest migration."""

_logger: Final = logging.getLogger("memstore")


# The schema.

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


def schema_version() -> Call[int]:
    """Tells which schema the database has; a store asks by itself, once.

    Calls `memstore.schema_version`.

    Returns:
        The number of its newest migration.
    """
    return wire.call("schema_version", wire.value, locals())


# Accounts.


def create_user(
    *, id: UUID | str | None = None, external_ref: str | None = None, language: str = "english"
) -> Call[UUID]:
    """Creates an account, or finds the one that has this `external_ref`; safe to repeat.

    Calls `memstore.create_user`.

    Args:
        id: The account's id; PostgreSQL makes one where it is left out.
        external_ref: The application's own id of the account, 1 to 200 characters, compared exactly.
        language: The text search configuration of its memories, such as `english` or `simple`.

    Returns:
        The account's id.

    Raises:
        InvalidValue: A rule of accounts is broken.
        IdTaken: The id belongs to an account with another `external_ref`, or to an erased one.
    """
    return wire.call("create_user", wire.identity, locals())


def find_user(external_ref: str) -> Call[UUID | None]:
    """Finds an account by the application's own id.

    Calls `memstore.find_user`.

    Args:
        external_ref: The application's own id of the account.

    Returns:
        The account's id; None where no account has it.
    """
    return wire.call("find_user", wire.identity_if_any, locals())


def delete_user(actor: UUID | str) -> Call[int]:
    """Erases an account: its memories in every bucket go, and the account can do nothing any more.

    Calls `memstore.delete_user`. Its records on others' claims stay, so that no status changes, without their
    texts.

    Args:
        actor: The account.

    Returns:
        How many memories went.
    """
    return wire.call("delete_user", wire.value, locals())


# Memories.


def insert_memory(
    actor: UUID | str,
    body: str,
    *,
    bucket: str = "user",
    source_ref: str | None = None,
    embedding: Iterable[float] | None = None,
    embedding_model: str | None = None,
    slug: str | None = None,
    entity: str | None = None,
    tier: str | None = None,
    as_of: date | None = None,
    admission: str | None = None,
    evidence_refs: Sequence[Mapping[str, object]] | None = None,
    language: str | None = None,
    id: UUID | str | None = None,
) -> Call[Memory]:
    """Remembers one thing.

    Calls `memstore.insert_memory`. The same `id` and content again returns the memory already there, which
    makes a retry safe. White space around texts goes.

    Args:
        actor: The account.
        body: The text, 1 to 2,000 characters.
        bucket: `user`: the account said it. `learned`: a job learned it. `system`: shared, and governed.
        source_ref: Which work taught it, at most 200 characters.
        embedding: The body's embedding, 1 to 16,000 numbers, together with its model.
        embedding_model: The embedding's model. All embeddings of one model are equally long.
        slug: Of a system memory: its name, `sys:` and something behind it.
        entity: Of a system memory: what it is about.
        tier: Of a system memory: `ledger` or `glass`.
        as_of: Of a system memory: the date of the claim.
        admission: Of a system memory: `candidate`, `admitted` or `rejected`, as its author claims.
        evidence_refs: Of a system memory: 1 to 20 objects with `kind`, `ref` and `digest`.
        language: The text search configuration of the body; the account's where it is left out.
        id: The memory's id, for a safe retry.

    Returns:
        The memory.

    Raises:
        InvalidMemory: It breaks rules; `violations` has all of them.
        QuotaReached: The account is full.
        IdTaken: The id belongs to something else.
    """
    return wire.call("insert_memory", wire.row(Memory), locals(), about="body")


def insert_memories(actor: UUID | str, memories: Iterable[Mapping[str, object]]) -> Call[list[Memory]]:
    """Remembers many things, all or none.

    Calls `memstore.insert_memories`.

    Args:
        actor: The account.
        memories: At most 10,000 mappings; their keys are `insert_memory`'s arguments.

    Returns:
        The memories, in the order given.

    Raises:
        InvalidMemory: One breaks rules; the message says which one, by its position.
        InvalidValue: One has an unknown key, or there are too many.
        QuotaReached: The account has no room for all.
        IdTaken: An id belongs to something else.
    """
    return wire.call("insert_memories", wire.rows(Memory), locals(), about="memories")


def supersede_memory(
    actor: UUID | str,
    target: UUID | str,
    body: str,
    *,
    bucket: str | None = None,
    source_ref: str | None = None,
    embedding: Iterable[float] | None = None,
    embedding_model: str | None = None,
    entity: str | None = None,
    tier: str | None = None,
    as_of: date | None = None,
    admission: str | None = None,
    evidence_refs: Sequence[Mapping[str, object]] | None = None,
    language: str | None = None,
    id: UUID | str | None = None,
) -> Call[Memory]:
    """Corrects a memory: writes a replacement, and points the old one at it.

    Calls `memstore.supersede_memory`. `source_ref`, `language`, `entity` and `tier` come from the target
    where they are left out; an empty string clears them. The same `id` and content again returns the
    replacement already there. Where a steward corrects a claim, its open challenges are answered.

    Args:
        actor: The account; of a system memory, its author or a steward.
        target: The live memory to correct.
        body: The new text, 1 to 2,000 characters.
        bucket: `user` or `learned`, to move it; the target's where it is left out.
        source_ref: Which work taught it, at most 200 characters.
        embedding: The new body's embedding, 1 to 16,000 numbers, together with its model.
        embedding_model: The embedding's model.
        entity: Of a system memory: what it is about.
        tier: Of a system memory: `ledger` or `glass`.
        as_of: Of a system memory: the date of the claim; today where it is left out.
        admission: Of a system memory: what its author claims; `candidate` where it is left out.
        evidence_refs: Of a system memory: 1 to 20 objects with `kind`, `ref` and `digest`.
        language: The text search configuration of the body.
        id: The replacement's id, for a safe retry.

    Returns:
        The replacement.

    Raises:
        NotSupersedable: The target is unknown, another account's, or superseded already.
        InvalidMemory: The replacement breaks rules; `violations` has all of them.
        QuotaReached: A steward has no room for a correction of another's claim.
        IdTaken: The id belongs to something else.
    """
    return wire.call("supersede_memory", wire.row(Memory), locals(), about="body")


def supersede_with(actor: UUID | str, target: UUID | str, replacement: UUID | str) -> Call[Memory]:
    """Points a memory at another live one of the same account as its replacement: a merge.

    Calls `memstore.supersede_with`.

    Args:
        actor: The account.
        target: The live memory that is superseded.
        replacement: The live memory that replaces it.

    Returns:
        The superseded memory.

    Raises:
        NotSupersedable: They are the same, or one isn't a live memory of the account's own buckets.
    """
    return wire.call("supersede_with", wire.row(Memory), locals())


def delete_memory(actor: UUID | str, id: UUID | str) -> Call[Memory]:
    """Forgets a memory: the row is gone. What it superseded stays superseded.

    Calls `memstore.delete_memory`.

    Args:
        actor: The account.
        id: The memory, live or superseded.

    Returns:
        The memory as it was.

    Raises:
        MemoryNotFound: The account has no such memory.
    """
    return wire.call("delete_memory", wire.row(Memory), locals())


def get_memory(actor: UUID | str, id: UUID | str) -> Call[Memory]:
    """Reads one memory, live or superseded.

    Calls `memstore.get_memory`.

    Args:
        actor: The account.
        id: The memory.

    Returns:
        The memory.

    Raises:
        MemoryNotFound: The account has no such memory.
    """
    return wire.call("get_memory", wire.row(Memory), locals())


def list_memories(
    actor: UUID | str,
    *,
    bucket: str | None = None,
    include_superseded: bool = False,
    page_size: int = 200,
    after: UUID | str | None = None,
) -> Call[list[Memory]]:
    """Lists an account's memories, newest first.

    Calls `memstore.list_memories`.

    Args:
        actor: The account.
        bucket: Only this bucket.
        include_superseded: Also those that were superseded.
        page_size: How many at most, 200 or fewer.
        after: The last memory of the page before.

    Returns:
        One page.

    Raises:
        MemoryNotFound: The account has no memory `after`.
    """
    return wire.call("list_memories", wire.rows(Memory), locals())


def memory_history(actor: UUID | str, id: UUID | str) -> Call[list[Memory]]:
    """Reads a memory's whole chain: what it superseded, and what superseded it.

    Calls `memstore.memory_history`.

    Args:
        actor: The account.
        id: Any memory of the chain.

    Returns:
        The chain, oldest first.

    Raises:
        MemoryNotFound: The account has no such memory.
    """
    return wire.call("memory_history", wire.rows(Memory), locals())


def memories_as_of(actor: UUID | str, moment: datetime) -> Call[list[Memory]]:
    """Reads what was live at a past moment.

    Calls `memstore.memories_as_of`.

    Args:
        actor: The account.
        moment: The moment, with its time zone.

    Returns:
        The memories, newest first.
    """
    return wire.call("memories_as_of", wire.rows(Memory), locals())


def set_embedding(
    actor: UUID | str, id: UUID | str, embedding: Iterable[float] | None, embedding_model: str | None
) -> Call[Memory]:
    """Gives a memory an embedding, another one, or, with None for both, none.

    Calls `memstore.set_embedding`.

    Args:
        actor: The account.
        id: The memory.
        embedding: The body's embedding, 1 to 16,000 numbers.
        embedding_model: The embedding's model.

    Returns:
        The memory.

    Raises:
        MemoryNotFound: The account has no such memory.
        InvalidMemory: The embedding breaks a rule.
    """
    return wire.call("set_embedding", wire.row(Memory), locals())


def memory_violations(memory: Mapping[str, object]) -> Call[list[Violation]]:
    """Tells which rules a candidate breaks, without writing anything.

    Calls `memstore.memory_violations`.

    Args:
        memory: Values by field, as `insert_memory` takes them.

    Returns:
        The broken rules.
    """
    return wire.call("memory_violations", wire.rows(Violation), locals())


def list_rules() -> Call[list[Rule]]:
    """Lists the rules of memories, so that no form has to repeat them.

    Calls `memstore.list_rules`.

    Returns:
        The rules.
    """
    return wire.call("list_rules", wire.rows(Rule), locals())


# Recall.


def rank_memories(
    actor: UUID | str,
    query: str,
    *,
    embedding: Iterable[float] | None = None,
    embedding_model: str | None = None,
) -> Call[list[RankedMemory]]:
    """Ranks all candidates for a turn, eligible or not: how recall comes to its choice.

    Calls `memstore.rank_memories`.

    Args:
        actor: The account.
        query: The turn's text.
        embedding: The turn's embedding, together with its model.
        embedding_model: The embedding's model.

    Returns:
        The candidates, best first.
    """
    return wire.call("rank_memories", wire.rows(RankedMemory), locals(), about="query")


def rank_claims(
    actor: UUID | str,
    query: str,
    *,
    embedding: Iterable[float] | None = None,
    embedding_model: str | None = None,
) -> Call[list[RankedMemory]]:
    """Ranks the admitted claims that are about a turn: those that recall may choose from.

    Calls `memstore.rank_claims`. Accounts take turns, and each has a share of the pool.

    Args:
        actor: Any account.
        query: The turn's text.
        embedding: The turn's embedding, together with its model.
        embedding_model: The embedding's model.

    Returns:
        The claims, in the order of the turns taken, all eligible; none unless the operator turned
        `system_recall_enabled` on.
    """
    return wire.call("rank_claims", wire.rows(RankedMemory), locals(), about="query")


def recall(
    actor: UUID | str,
    query: str,
    *,
    embedding: Iterable[float] | None = None,
    embedding_model: str | None = None,
    maximum_attached: int | None = None,
    maximum_attached_characters: int | None = None,
    strict: bool = False,
) -> Call[Recall]:
    """Chooses the memories for a turn, and writes the note that tells the model of them.

    Calls `memstore.recall`. It doesn't fail a turn: where the store can't be reached, the answer is an empty
    recall with the backend `unavailable`, and a warning is logged. Other errors are raised, among them those
    of the caller's own transaction and statement timeout.

    Args:
        actor: The account.
        query: The turn's text.
        embedding: The turn's embedding, together with its model.
        embedding_model: The embedding's model.
        maximum_attached: How many memories at most; the operator's setting where it is left out.
        maximum_attached_characters: How many characters of bodies at most; likewise.
        strict: Raise `StoreUnavailable` instead of answering without the store.

    Returns:
        The account's memories, what was dropped, the note, and, behind them in the note too, claims of the
        system bucket, where the operator turned them on.

    Raises:
        InvalidValue: A bound or the embedding is none.
    """
    arguments = {name: value for name, value in locals().items() if name != "strict"}
    return wire.call("recall", wire.recall, arguments, otherwise=None if strict else Recall(), about="query")


# Governance of the system bucket, whose memories are claims. Nothing is updated: each step adds a record.


def record_admission(
    actor: UUID | str, memory_id: UUID | str, verdict: str, ground: str
) -> Call[AdmissionRecord]:
    """Gives a verdict on a claim; the latest one counts, and closes no challenge.

    Calls `memstore.record_admission`. Stewards only.

    Args:
        actor: The steward.
        memory_id: The claim, live or superseded.
        verdict: `admitted` or `rejected`.
        ground: Why, 1 to 2,000 characters.

    Returns:
        The record.

    Raises:
        StewardRequired: The account is no steward.
        RecordTargetNotFound: There is no such claim.
        InvalidValue: The record breaks rules; `violations` has all of them.
    """
    return wire.call("record_admission", wire.row(AdmissionRecord), locals())


def challenge_memory(
    actor: UUID | str,
    memory_id: UUID | str,
    ground: str,
    *,
    evidence_refs: Sequence[Mapping[str, object]] | None = None,
) -> Call[AdmissionRecord]:
    """Says that a claim is wrong.

    Calls `memstore.challenge_memory`. Only with evidence does it suspend an admitted claim, within the
    account's share; only a refutation closes it.

    Args:
        actor: Any account, the claim's author too.
        memory_id: The claim, live or superseded.
        ground: Why, 1 to 2,000 characters.
        evidence_refs: 1 to 20 objects with `kind`, `ref` and `digest`.

    Returns:
        The record; its `id` is the challenge's.

    Raises:
        RecordTargetNotFound: There is no such claim.
        QuotaReached: The account has as many open challenges as it may.
        InvalidValue: The record breaks rules; `violations` has all of them.
    """
    return wire.call("challenge_memory", wire.row(AdmissionRecord), locals())


def refute_challenge(actor: UUID | str, challenge_id: UUID | str, ground: str) -> Call[AdmissionRecord]:
    """Answers a challenge, which closes it; one that is closed already stays so.

    Calls `memstore.refute_challenge`. Stewards only.

    Args:
        actor: The steward.
        challenge_id: The challenge.
        ground: Why, 1 to 2,000 characters.

    Returns:
        The record.

    Raises:
        StewardRequired: The account is no steward.
        ChallengeNotFound: There is no such challenge.
        InvalidValue: The record breaks rules; `violations` has all of them.
    """
    return wire.call("refute_challenge", wire.row(AdmissionRecord), locals())


def promote_memory(
    actor: UUID | str,
    target: UUID | str,
    stance: str,
    evidence_refs: Sequence[Mapping[str, object]],
    *,
    as_of: date | None = None,
    entity: str | None = None,
) -> Call[Memory]:
    """Moves a claim to a reviewed position of a knowledge base: a tombstone supersedes it, and points there.

    Calls `memstore.promote_memory`. Stewards only. The claim's open challenges are answered, as by any
    correction of a steward's.

    Args:
        actor: The steward.
        target: The live claim.
        stance: The position's id, 1 to 200 characters: lowercase words joined by single hyphens.
        evidence_refs: 1 to 20 objects with `kind`, `ref` and `digest`.
        as_of: The date of the promotion; today where it is left out.
        entity: What it is about; the claim's where it is left out; an empty string clears it.

    Returns:
        The tombstone.

    Raises:
        StewardRequired: The account is no steward.
        StanceRequired: The stance is blank.
        NotSupersedable: There is no such live claim.
        InvalidMemory: The tombstone breaks rules; `violations` has all of them.
    """
    return wire.call("promote_memory", wire.row(Memory), locals())


def memory_status(actor: UUID | str, memory_id: UUID | str) -> Call[str | None]:
    """Tells what the records say of a claim.

    Calls `memstore.memory_status`.

    Args:
        actor: Any account.
        memory_id: The claim, live or superseded.

    Returns:
        `candidate`, `admitted`, `rejected` or `suspended`; None where it is no claim.
    """
    return wire.call("memory_status", wire.value, locals())


def list_records(actor: UUID | str, memory_id: UUID | str) -> Call[list[AdmissionRecord]]:
    """Reads the argument about a claim.

    Calls `memstore.list_records`.

    Args:
        actor: Any account.
        memory_id: The claim, live or superseded.

    Returns:
        Its records, oldest first.

    Raises:
        RecordTargetNotFound: There is no such claim.
    """
    return wire.call("list_records", wire.rows(AdmissionRecord), locals())


def list_claims(
    actor: UUID | str,
    *,
    status: str | None = None,
    page_size: int = 50,
    after: UUID | str | None = None,
) -> Call[list[Claim]]:
    """Lists the live claims, oldest first: a steward's queue.

    Calls `memstore.list_claims`. Stewards only.

    Args:
        actor: The steward.
        status: Only those that are `candidate`, `admitted`, `rejected` or `suspended`.
        page_size: How many at most, 200 or fewer.
        after: The last claim of the page before.

    Returns:
        One page.

    Raises:
        StewardRequired: The account is no steward.
        InvalidValue: The status or the page's size is none.
        MemoryNotFound: There is no claim `after`.
    """
    return wire.call("list_claims", wire.rows(Claim), locals())


# An account's way out; `import_memories` is the way in.


def export_account(actor: UUID | str) -> Call[Document]:
    """Tells what an export of an account begins with.

    Calls `memstore.export_account`.

    Args:
        actor: The account.

    Returns:
        `export`, the version of the format; `language`, the account's; `memories`, how many `export_memories`
        gives; `live_memories`, how many of them count towards a ceiling.
    """
    return wire.call("export_account", wire.document, locals())


def export_memories(
    actor: UUID | str, *, page_size: int = 1000, after: UUID | str | None = None
) -> Call[list[Document]]:
    """Exports all that an account owns, with embeddings, times and history, as `import_memories` takes it.

    Calls `memstore.export_memories`. Each memory comes behind what replaced it, so that any first part can be
    imported. The pages are of one moment in one transaction that is REPEATABLE READ.

    Args:
        actor: The account.
        page_size: How many at most, 10,000 or fewer.
        after: The id of the last memory of the page before.

    Returns:
        One page, as mappings whose `repr` shows no text.

    Raises:
        InvalidValue: The page's size is none.
        MemoryNotFound: There is no memory `after`.
    """
    return wire.call("export_memories", wire.documents, locals())


# The operator's calls, for the owner of the schema.


def configure(
    *,
    maximum_live_memories: int | None = None,
    maximum_attached: int | None = None,
    maximum_attached_characters: int | None = None,
    lexical_floor: float | None = None,
    semantic_floor: float | None = None,
    previous_share: float | None = None,
    next_share: float | None = None,
    system_recall_enabled: bool | None = None,
    maximum_system_pool: int | None = None,
) -> Call[Settings]:
    """Changes the settings of the whole store, and tells them; what is left out stays.

    Calls `memstore.configure`. Operator only.

    Args:
        maximum_live_memories: The ceiling of new accounts.
        maximum_attached: How many memories one recall attaches.
        maximum_attached_characters: How many characters of bodies one recall attaches.
        lexical_floor: A learned memory is eligible with a lexical score above this, 0 to 1.
        semantic_floor: A learned memory is eligible with a semantic score above this, 0 to 1.
        previous_share: 0 to 1; by how much a word of the memory before, of the same source, counts.
        next_share: 0 to 1; by how much a word of the memory after counts.
        system_recall_enabled: Whether recall reads the system bucket.
        maximum_system_pool: How many claims are ranked for one turn.

    Returns:
        The settings.

    Raises:
        InvalidValue: A setting breaks its rule.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("configure", wire.row(Settings), locals())


def set_maximum_live_memories(user_id: UUID | str, maximum_live_memories: int) -> Call[None]:
    """Sets the ceiling of one account; it may lie below what the account holds.

    Calls `memstore.set_maximum_live_memories`. Operator only.

    Args:
        user_id: The account.
        maximum_live_memories: Live memories at most, 0 or more.

    Raises:
        InvalidValue: The ceiling breaks its rule.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("set_maximum_live_memories", wire.nothing, locals())


def set_steward(user_id: UUID | str, steward: bool) -> Call[None]:
    """Marks an account as a steward of the system bucket, or unmarks it.

    Calls `memstore.set_steward`. Operator only.

    Args:
        user_id: The account.
        steward: Whether it is one.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("set_steward", wire.nothing, locals())


def register_embedding_model(name: str, dimensions: int) -> Call[None]:
    """Fixes how long the embeddings of a model are; otherwise its first embedding does.

    Calls `memstore.register_embedding_model`. Operator only.

    Args:
        name: The model's name, 1 to 200 characters.
        dimensions: The number of dimensions, 1 to 16,000.

    Raises:
        InvalidMemory: Embeddings of another length are stored.
        InvalidValue: The name or the number breaks a rule.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("register_embedding_model", wire.nothing, locals())


def forget_embedding_model(name: str) -> Call[None]:
    """Takes `register_embedding_model` back; the name goes with its last embedding.

    Calls `memstore.forget_embedding_model`. Operator only.

    Args:
        name: The model's name.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("forget_embedding_model", wire.nothing, locals())


def memories_to_embed(
    embedding_model: str, *, page_size: int = 1000, after: UUID | str | None = None
) -> Call[list[Memory]]:
    """Lists the live memories of all accounts that have no embedding of a model, tombstones aside.

    Calls `memstore.memories_to_embed`. Operator only. `memstore.embedders.fill` embeds them.

    Args:
        embedding_model: The model's name.
        page_size: How many at most, 10,000 or fewer.
        after: The id of the last memory of the page before, whether or not it is still there.

    Returns:
        One page, by id.

    Raises:
        InvalidValue: The model is missing, or the page's size is none.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("memories_to_embed", wire.rows(Memory), locals())


def import_memories(user_id: UUID | str, memories: Iterable[Mapping[str, object]]) -> Call[list[Memory]]:
    """Brings in memories of one account with their ids, times and corrections, all or none.

    Calls `memstore.import_memories`. Operator only.

    Args:
        user_id: The account.
        memories: At most 10,000 mappings, as for `insert_memories`; also with `stance`, `inserted_at`,
            `updated_at`, `superseded_at` and `superseded_by_id`.

    Returns:
        The memories, in the order given.

    Raises:
        InvalidMemory: One breaks rules; the message says which one, by its position.
        InvalidValue: One has an unknown key, or there are too many.
        NotSupersedable: A pointer that no correction could have left.
        QuotaReached: The account has no room for all.
        IdTaken: An id belongs to something else.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("import_memories", wire.rows(Memory), locals())


def store_statistics() -> Call[list[Statistic]]:
    """Reads figures of the whole store, for monitoring; none shows a text.

    Calls `memstore.store_statistics`. Operator only.

    Returns:
        The figures; the header of `store_statistics` in `sql/functions` says what each means.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("store_statistics", wire.rows(Statistic), locals())


def verify_store() -> Call[list[Invariant]]:
    """Checks the store's data against each of its invariants; it reads all of it.

    Calls `memstore.verify_store`. Operator only.

    Returns:
        The invariants, each with how many rows break it: 0 of all in a sound store.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("verify_store", wire.rows(Invariant), locals())


def grant_api(role: str) -> Call[None]:
    """Lets a role call the API, and nothing else: neither a table nor the operator's functions.

    Calls `memstore.grant_api`. Operator only.

    Args:
        role: The role's name.

    Raises:
        InvalidValue: There is no such role.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("grant_api", wire.nothing, locals())


def revoke_api(role: str) -> Call[None]:
    """Takes `grant_api` back.

    Calls `memstore.revoke_api`. Operator only.

    Args:
        role: The role's name.

    Raises:
        InvalidValue: There is no such role.
        AccessDenied: The role isn't the operator's.
    """
    return wire.call("revoke_api", wire.nothing, locals())
