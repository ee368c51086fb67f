"""The calls: one function here for each function of the database, with its name, arguments and defaults.

Each returns a `Call`: the statement, its parameters, and how to read the answer. `Store` and `AsyncStore` run
them, and their methods take signature and docstring from here. An argument that is None is left out. Every
call may raise `ActorUnknown` for an account that doesn't exist or was erased, and `StoreUnavailable`.

Values travel as text with an explicit cast, and answers as one JSON document a row, so that no row factory,
type adapter or setting of the caller's connection changes what is sent or read.
"""

import json
import logging
import operator
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from functools import cache
from inspect import Parameter, signature
from math import ceil
from typing import Any, Final, Generic, SupportsFloat, TypeVar, get_args
from uuid import UUID

import psycopg
from psycopg.abc import AdaptContext
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumperUnknown, TextLoader

from memstore.errors import (
    TEXT_NOT_STORABLE,
    VALUE_MALFORMED,
    InvalidMemory,
    InvalidValue,
    StoreUnavailable,
    schema_outdated,
)
from memstore.models import Memory, RankedMemory, Recall, Rule, Settings, Violation

SCHEMA_VERSION: Final = 4
"""The oldest schema that has everything called here, by the number of its newest migration."""

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

_logger: Final = logging.getLogger("memstore")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of one function of the database.

    Attributes:
        function: The function's name.
        statement: The SQL text; one for all calls of the function, so that it is prepared once.
        parameters: The values, by argument. They may hold a body, so no `repr` shows them.
        read: Makes the result of the rows' documents.
        otherwise: The answer where the store can't be reached; None: an exception.
    """

    function: str
    statement: bytes
    parameters: Mapping[str, str | None] = field(repr=False)
    read: Callable[[list[Any]], T] = field(repr=False)
    otherwise: T | None = field(default=None, repr=False)

    def answer(self, rows: Iterable[Sequence[Any]]) -> T:
        """Reads what the statement returned."""
        return self.read([None if document is None else json.loads(document) for (document,) in rows])

    def refused(self, error: Exception) -> T:
        """Raises the error, or gives the answer for a store that can't be reached."""
        if self.otherwise is None or not isinstance(error, StoreUnavailable):
            raise error
        _logger.warning("%s found nothing. %s", self.function, error)
        return self.otherwise


# What both stores share.


def describe(method: F, call: Callable[..., object], owner: str) -> F:
    """Gives a method that runs a call the name, docstring and signature of the call.

    Args:
        method: The method.
        call: The call that it runs.
        owner: The name of the method's class.

    Returns:
        The method.
    """
    signed = signature(call)
    (answer,) = get_args(signed.return_annotation)
    itself = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    method.__name__ = call.__name__
    method.__qualname__ = f"{owner}.{call.__name__}"
    method.__doc__ = call.__doc__
    method.__annotations__ = call.__annotations__ | {"return": answer}
    method.__signature__ = signed.replace(  # type: ignore[attr-defined]
        parameters=[itself, *signed.parameters.values()], return_annotation=answer
    )
    return method


def connection_string(source: str, timeout: float) -> str:
    """Bounds how long making a connection may take.

    Args:
        source: A connection string or URL.
        timeout: Seconds; a `connect_timeout` in the string goes before it.

    Returns:
        A connection string.

    Raises:
        ValueError: libpq can't read the string.
    """
    bound = make_conninfo(connect_timeout=max(ceil(timeout), 1), fallback_application_name="memstore")
    try:
        return make_conninfo(bound, **conninfo_to_dict(source))
    except psycopg.ProgrammingError:  # its text may quote a password
        pass
    raise ValueError("the connection string isn't one that libpq reads")


def pin(cursor: AdaptContext) -> None:
    """Gives a cursor psycopg's own adapters for text, whatever the connection has instead."""
    cursor.adapters.register_dumper(str, StrDumperUnknown)
    cursor.adapters.register_loader("text", TextLoader)


# Writing values down. This refuses what can't be sent at all; whether a value is a good one is the database's
# to say.

_OF_A_MEMORY: Final = {each.name for each in fields(Memory)} | {"embedding", "memory", "memories"}
# `json` escapes NUL; behind an even number of backslashes the same letters are only text.
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def _unsendable(name: str, problem: str, refusal: str = VALUE_MALFORMED) -> InvalidValue:
    kind = InvalidMemory if name in _OF_A_MEMORY else InvalidValue
    return kind(f"{name} {problem}.", name=refusal, field=name)


def _wrong_type(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def _encodable(name: str, text: str, *, nul: bool) -> str:
    try:
        text.encode()
        problem = "holds a NUL character" if nul else None
    except UnicodeEncodeError:
        problem = "holds a lone surrogate"
    # Raised out here: the codec's exception has the text.
    if problem:
        raise _unsendable(name, f"{problem}, which PostgreSQL can't store", TEXT_NOT_STORABLE)
    return text


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(name, "a str", value)
    text = str.__str__(value)  # of a str enumeration its value
    return _encodable(name, text, nul="\0" in text)


def _uuid(name: str, value: object) -> str:
    if not isinstance(value, UUID | str):
        raise _wrong_type(name, "a UUID or a str", value)
    try:
        return str(value if isinstance(value, UUID) else UUID(value))
    except ValueError:
        pass
    raise _unsendable(name, "is no UUID")


def _boolean(name: str, value: object) -> str:
    if not isinstance(value, bool):
        raise _wrong_type(name, "a bool", value)
    return str(value)


def _integer(name: str, value: object) -> str:
    if not hasattr(value, "__index__"):
        raise _wrong_type(name, "an int", value)
    return str(operator.index(value))


def _number(name: str, value: object) -> str:
    if not isinstance(value, SupportsFloat):
        raise _wrong_type(name, "a number", value)
    return str(float(value))


def _date(name: str, value: object) -> str:
    if not isinstance(value, date):
        raise _wrong_type(name, "a date", value)
    return date.isoformat(value)  # of a datetime its date


def _moment(name: str, value: object) -> str:
    if not isinstance(value, datetime):
        raise _wrong_type(name, "a datetime", value)
    if value.utcoffset() is None:
        raise _unsendable(name, "has no time zone")
    return value.isoformat()


def _vector(name: str, value: object) -> str:
    if not isinstance(value, Iterable):
        raise _wrong_type(name, "numbers", value)
    try:
        # As a real holds it: what is too large becomes infinite, which the database refuses by name.
        return f"{{{','.join(map(repr, array('f', iter(value))))}}}"
    except (TypeError, OverflowError):
        pass
    raise TypeError(f"{name} must be numbers")


def _json(name: str, value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:  # a number that JSON has no word for, or a circle
        text = None
    if text is None:
        raise _unsendable(name, "can't be written as JSON")
    return _encodable(name, text, nul=bool(_ESCAPED_NUL.search(text)))


def _plain(value: object) -> object:
    """Makes what `json` knows of what memories are given with."""
    match value:
        case UUID():
            return str(value)
        case datetime():
            return _moment("a time", value)
        case date():
            return value.isoformat()
        case Mapping():
            return dict(value)
        case Iterable() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
        case SupportsFloat():
            return float(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


_UUID: Final = ("uuid", _uuid)
_TEXT: Final = ("text", _text)
_BOOLEAN: Final = ("boolean", _boolean)
_INTEGER: Final = ("integer", _integer)
_NUMBER: Final = ("double precision", _number)
_JSON: Final = ("jsonb", _json)

# An argument has one type wherever it appears.
_TYPES: Final[dict[str, tuple[str, Callable[[str, object], str]]]] = {
    "actor": _UUID,
    "admission": _TEXT,
    "after": _UUID,
    "as_of": ("date", _date),
    "body": _TEXT,
    "bucket": _TEXT,
    "dimensions": _INTEGER,
    "embedding": ("real[]", _vector),
    "embedding_model": _TEXT,
    "entity": _TEXT,
    "evidence_refs": _JSON,
    "external_ref": _TEXT,
    "id": _UUID,
    "include_superseded": _BOOLEAN,
    "language": _TEXT,
    "lexical_floor": _NUMBER,
    "maximum_attached": _INTEGER,
    "maximum_attached_characters": _INTEGER,
    "maximum_live_memories": _INTEGER,
    "maximum_system_pool": _INTEGER,
    "memories": _JSON,
    "memory": _JSON,
    "moment": ("timestamptz", _moment),
    "name": _TEXT,
    "page_size": _INTEGER,
    "query": _TEXT,
    "replacement": _UUID,
    "role": _TEXT,
    "semantic_floor": _NUMBER,
    "slug": _TEXT,
    "source_ref": _TEXT,
    "steward": _BOOLEAN,
    "system_recall_enabled": _BOOLEAN,
    "target": _UUID,
    "tier": _TEXT,
    "user_id": _UUID,
}


@cache
def _statement(function: str, arguments: tuple[str, ...]) -> bytes:
    given = ", ".join(f"{name} => %({name})s::{_TYPES[name][0]}" for name in arguments)
    return f"select to_jsonb(answer)::text from memstore.{function}({given}) as answer".encode()  # noqa: S608


def _call(
    function: str,
    read: Callable[[list[Any]], T],
    arguments: Mapping[str, object],
    otherwise: T | None = None,
) -> Call[T]:
    parameters = {
        name: None if value is None else _TYPES[name][1](name, value) for name, value in arguments.items()
    }
    return Call(function, _statement(function, tuple(arguments)), parameters, read, otherwise)


# Reading answers.


def _value(documents: list[Any]) -> Any:
    return documents[0]


def _id(documents: list[Any]) -> UUID:
    return UUID(documents[0])


def _id_if_any(documents: list[Any]) -> UUID | None:
    return None if documents[0] is None else UUID(documents[0])


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_FIELDS: Final[dict[str, Callable[[Any], object]]] = {
    "id": UUID,
    "user_id": UUID,
    "as_of": date.fromisoformat,
    "evidence_refs": tuple,
    "superseded_by_id": UUID,
    "superseded_at": _time,
    "inserted_at": _time,
    "updated_at": _time,
}
_FIELD_NAMES: Final = tuple(each.name for each in fields(Memory))


def _one_memory(document: Any) -> Memory:
    values = {name: document[name] for name in _FIELD_NAMES}
    for name, convert in _FIELDS.items():
        if values[name] is not None:
            values[name] = convert(values[name])
    return Memory(**values)


def _memory(documents: list[Any]) -> Memory:
    return _one_memory(documents[0])


def _memories(documents: list[Any]) -> list[Memory]:
    return [_one_memory(document) for document in documents]


def _ranked(documents: list[Any]) -> list[RankedMemory]:
    return [
        RankedMemory(
            _one_memory(each["memory"]),
            each["score"],
            each["lexical_score"],
            each["semantic_score"],
            each["eligible"],
        )
        for each in documents
    ]


def _recall(documents: list[Any]) -> Recall:
    (each,) = documents
    return Recall(
        tuple(_memories(each["memories"])), each["dropped"], each["unembedded"], each["backend"], each["note"]
    )


def _violations(documents: list[Any]) -> list[Violation]:
    return [Violation(each["name"], each["field"], each["message"]) for each in documents]


def _rules(documents: list[Any]) -> list[Rule]:
    return [Rule(each["name"], each["field"], each["definition"], each["message"]) for each in documents]


def _settings(documents: list[Any]) -> Settings:
    (each,) = documents
    return Settings(**{known.name: each[known.name] for known in fields(Settings)})


def _nothing(documents: list[Any]) -> None:
    pass


# The schema.

INSTALLED: Final[Call[bool]] = Call(
    "schema_version",
    # Asks the catalog: a call of what isn't there would abort the caller's transaction.
    b"select 'true' from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace"
    b" where n.nspname = 'memstore' and p.proname = 'schema_version'",
    {},
    bool,
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
        _logger.info("the memstore schema is at version %d, this client knows %d", version, SCHEMA_VERSION)


def schema_version() -> Call[int]:
    """Tells which schema the database has; a store asks by itself, once.

    Calls `memstore.schema_version`.

    Returns:
        The number of its newest migration.
    """
    return _call("schema_version", _value, locals())


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
    return _call("create_user", _id, locals())


def find_user(external_ref: str) -> Call[UUID | None]:
    """Finds an account by the application's own id.

    Calls `memstore.find_user`.

    Args:
        external_ref: The application's own id of the account.

    Returns:
        The account's id; None where no account has it.
    """
    return _call("find_user", _id_if_any, locals())


def delete_user(actor: UUID | str) -> Call[int]:
    """Erases an account: its memories in every bucket go, and the account can do nothing any more.

    Calls `memstore.delete_user`.

    Args:
        actor: The account.

    Returns:
        How many memories went.
    """
    return _call("delete_user", _value, locals())


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
    return _call("insert_memory", _memory, locals())


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
    return _call("insert_memories", _memories, locals())


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
    replacement already there.

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
    return _call("supersede_memory", _memory, locals())


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
    return _call("supersede_with", _memory, locals())


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
    return _call("delete_memory", _memory, locals())


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
    return _call("get_memory", _memory, locals())


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
    return _call("list_memories", _memories, locals())


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
    return _call("memory_history", _memories, locals())


def memories_as_of(actor: UUID | str, moment: datetime) -> Call[list[Memory]]:
    """Reads what was live at a past moment.

    Calls `memstore.memories_as_of`.

    Args:
        actor: The account.
        moment: The moment, with its time zone.

    Returns:
        The memories, newest first.
    """
    return _call("memories_as_of", _memories, locals())


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
    return _call("set_embedding", _memory, locals())


def memory_violations(memory: Mapping[str, object]) -> Call[list[Violation]]:
    """Tells which rules a candidate breaks, without writing anything.

    Calls `memstore.memory_violations`.

    Args:
        memory: Values by field, as `insert_memory` takes them.

    Returns:
        The broken rules.
    """
    return _call("memory_violations", _violations, locals())


def list_rules() -> Call[list[Rule]]:
    """Lists the rules of memories, so that no form has to repeat them.

    Calls `memstore.list_rules`.

    Returns:
        The rules.
    """
    return _call("list_rules", _rules, locals())


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
    return _call("rank_memories", _ranked, locals())


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
        The memories, what was dropped, and the note.

    Raises:
        InvalidValue: A bound or the embedding is none.
    """
    arguments = {name: value for name, value in locals().items() if name != "strict"}
    return _call("recall", _recall, arguments, otherwise=None if strict else Recall())


# The operator's calls, for the owner of the schema.


def configure(
    *,
    maximum_live_memories: int | None = None,
    maximum_attached: int | None = None,
    maximum_attached_characters: int | None = None,
    lexical_floor: float | None = None,
    semantic_floor: float | None = None,
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
        system_recall_enabled: Whether recall reads the system bucket.
        maximum_system_pool: How many claims are ranked for one turn.

    Returns:
        The settings.

    Raises:
        InvalidValue: A setting breaks its rule.
        AccessDenied: The role isn't the operator's.
    """
    return _call("configure", _settings, locals())


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
    return _call("set_maximum_live_memories", _nothing, locals())


def set_steward(user_id: UUID | str, steward: bool) -> Call[None]:
    """Marks an account as a steward of the system bucket, or unmarks it.

    Calls `memstore.set_steward`. Operator only.

    Args:
        user_id: The account.
        steward: Whether it is one.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return _call("set_steward", _nothing, locals())


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
    return _call("register_embedding_model", _nothing, locals())


def forget_embedding_model(name: str) -> Call[None]:
    """Takes `register_embedding_model` back; the name goes with its last embedding.

    Calls `memstore.forget_embedding_model`. Operator only.

    Args:
        name: The model's name.

    Raises:
        AccessDenied: The role isn't the operator's.
    """
    return _call("forget_embedding_model", _nothing, locals())


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
    return _call("import_memories", _memories, locals())


def grant_api(role: str) -> Call[None]:
    """Lets a role call the API, and nothing else: neither a table nor the operator's functions.

    Calls `memstore.grant_api`. Operator only.

    Args:
        role: The role's name.

    Raises:
        InvalidValue: There is no such role.
        AccessDenied: The role isn't the operator's.
    """
    return _call("grant_api", _nothing, locals())


def revoke_api(role: str) -> Call[None]:
    """Takes `grant_api` back.

    Calls `memstore.revoke_api`. Operator only.

    Args:
        role: The role's name.

    Raises:
        InvalidValue: There is no such role.
        AccessDenied: The role isn't the operator's.
    """
    return _call("revoke_api", _nothing, locals())
