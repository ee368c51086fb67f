"""Calls as SQL: their arguments written as text, an embedding in binary, and their answers read from JSON.

Arguments are sent with explicit casts, and answers come as one JSON document a row, so that no row factory,
type adapter or setting of the caller's connection changes what is sent or read.
"""

import json
import logging
import operator
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache, partial
from math import ceil
from typing import Any, Final, Generic, SupportsFloat, TypeAlias, TypeVar
from uuid import UUID

import psycopg
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.pq import Format
from psycopg.types.none import NoneDumper
from psycopg.types.string import StrDumperUnknown, TextLoader

from memstore.errors import (
    TEXT_NOT_STORABLE,
    VALUE_MALFORMED,
    InvalidMemory,
    InvalidValue,
    MemstoreError,
    StoreOverloaded,
    StoreUnavailable,
)
from memstore.models import Document, Item, Memory, Recall

T = TypeVar("T")

_logger: Final = logging.getLogger("memstore")

PAGE: Final = 200
"""How many memories a page has at most."""

# Characters. A body that is longer is refused, and of a turn models read hardly more.
_MOST_TO_EMBED: Final = 2000
# The database reads 512 characters of a turn. Megabytes, such as of a log, would cost time on the way there.
_MOST_OF_A_TURN: Final = 10_000


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of one function of the database.

    Attributes:
        function: The function's name.
        statement: The SQL text, without the values.
        parameters: The values, by argument. They may hold a body, so no `repr` shows them.
        read: Makes the result of the rows' documents.
        otherwise: The answer where the store can't be reached; None: an exception.
        embeds: The argument whose text a store with an embedder embeds: `body`, `query`, or `memories`, each
            of which has a body; None where it embeds nothing.
        reads: Whether the function only reads, so that the call may be sent again.
        identity: The arguments that give what is written an id, so that with one of them the call may be
            sent again: it then answers with what is there. For `memories`, each has to have an id.
        patient: Whether it may take as long as it takes.
        own: Whether bound roles call it as `my_…`.
    """

    function: str
    statement: bytes
    parameters: "Mapping[str, str | Reals | None]" = field(repr=False)
    read: Callable[[list[Any]], T] = field(repr=False, compare=False)
    otherwise: T | None = field(default=None, repr=False)
    embeds: str | None = None
    reads: bool = False
    identity: tuple[str, ...] = ()
    patient: bool = False
    own: bool = False

    def answer(self, rows: Iterable[Sequence[Any]]) -> T:
        """Reads what the statement returned."""
        return self.read([None if document is None else json.loads(document) for (document,) in rows])

    def or_else(self, answer: T | None) -> "Call[T]":
        """Makes the call that has this answer where the store can't be reached; with None it raises."""
        return replace(self, otherwise=answer)

    def refused(self, error: Exception, alone: bool = False) -> T:
        """Raises the error, or gives the answer for a store that can't be reached.

        Args:
            error: The error.
            alone: Whether the call was in no transaction of the caller's, so that one that others cancelled
                may pass for a store that can't be reached.
        """
        gone = isinstance(error, StoreUnavailable) or (
            alone and isinstance(error, SerializationFailure | DeadlockDetected)
        )
        if self.otherwise is None or not gone:
            raise error
        _logger.warning("%s found nothing. %s", self.function, error)
        if isinstance(error, StoreOverloaded) and isinstance(self.otherwise, Recall):
            return replace(self.otherwise, backend="overloaded")
        return self.otherwise

    def of_bound_role(self) -> "Call[T]":
        """Makes the call that a role sends that `bind_role` bound: of `my_…`, where there is one."""
        if not self.own:
            return self
        statement = self.statement.replace(b" from memstore.", b" from memstore.my_", 1)
        return replace(self, statement=statement)

    @property
    def repeatable(self) -> bool:
        """Whether the call may be sent again where it isn't known if it was carried out."""
        if "memories" in self.identity:
            items = json.loads(self.parameters["memories"] or "null")
            return isinstance(items, list) and all(
                isinstance(item, dict) and item.get("id") for item in items
            )
        return self.reads or any(self.parameters.get(name) is not None for name in self.identity)

    def log_unembedded(self, model: str, error: Exception) -> None:
        """Logs that the call goes without an embedding; not the error's message, which may quote a text."""
        reason = error.name if isinstance(error, MemstoreError) else type(error).__name__
        _logger.warning("%s goes without an embedding by %s: %s", self.function, model, reason)

    def texts(self) -> list[str]:
        """Lists the texts to embed: those for which the caller gave no embedding, of a turn its beginning."""
        return [text for _, text in self._unembedded()[1]]

    def with_embeddings(self, model: str, vectors: Iterable[Iterable[float]]) -> "Call[T]":
        """Makes the call that has embeddings of its `texts`, in their order.

        Raises:
            MemstoreError, TypeError, ValueError: The embeddings can't be sent, or aren't as many.
        """
        given, unembedded = self._unembedded()
        for (item, _), vector in zip(unembedded, vectors, strict=True):
            item |= {"embedding": vector, "embedding_model": model}
        if self.embeds == "memories":
            changed: dict[str, str | Reals] = {"memories": _json("memories", given)}
        else:
            changed = {
                "embedding": _vector("embedding", given["embedding"]),
                "embedding_model": _text("embedding_model", given["embedding_model"]),
            }
        return replace(self, parameters={**self.parameters, **changed})

    def _unembedded(self) -> tuple[Any, list[tuple[dict[str, Any], str]]]:
        """Gives a copy of what the call has, and the parts of it that have a text and no embedding."""
        if self.embeds == "memories":
            given = json.loads(self.parameters["memories"] or "null")
            items = given if isinstance(given, list) else []
        else:
            given = dict(self.parameters)
            items = [given]
        return given, [
            (item, text[:_MOST_TO_EMBED])
            for item in items
            if isinstance(item, dict)
            and item.get("embedding") is None
            and item.get("embedding_model") is None
            and isinstance(text := item.get("body" if self.embeds == "memories" else self.embeds), str)
            and (text := text.strip())
            and (self.embeds == "query" or len(text) <= _MOST_TO_EMBED)
        ]


@dataclass(frozen=True, slots=True)
class Function(Generic[T]):
    """One function of the database; calling it makes a `Call`.

    Attributes:
        name: Its name.
        read: Makes the result of the rows' documents.
        arguments: The SQL types of its arguments, by name.
        embeds: As in `Call`, like those that follow.
    """

    name: str
    read: Callable[[list[Any]], T] = field(repr=False)
    arguments: Mapping[str, str] = field(hash=False)
    embeds: str | None = None
    reads: bool = False
    identity: tuple[str, ...] = ()
    patient: bool = False
    own: bool = False

    def __call__(self, **values: object) -> Call[T]:
        """Makes a call.

        Args:
            values: The values, by argument; None is sent as NULL, and an argument that is missing isn't sent.

        Raises:
            InvalidValue: A value can't be sent.
            TypeError: A value isn't of its argument's type, or there is no such argument.
        """
        if unknown := values.keys() - self.arguments.keys():
            raise TypeError(f"{self.name} has no argument {min(unknown)}")
        parameters = {
            name: None if value is None else WRITERS[self.arguments[name]](name, value)
            for name, value in values.items()
        }
        given = tuple((name, self.arguments[name]) for name in values)
        return Call(
            self.name,
            _statement(self.name, given),
            parameters,
            self.read,
            None,
            self.embeds,
            self.reads,
            self.identity,
            self.patient,
            self.own,
        )


@cache
def _statement(function: str, arguments: tuple[tuple[str, str], ...]) -> bytes:
    given = ", ".join(f"{name} => %({name})s::{kind}" for name, kind in arguments)
    return f"select to_jsonb(answer)::text from memstore.{function}({given}) as answer".encode()  # noqa: S608


# The connection.


def connection_string(source: str, timeout: float) -> str:
    """Adds a timeout for connecting to a connection string.

    Args:
        source: A connection string or URL.
        timeout: Seconds; a `connect_timeout` in the string takes precedence.

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


_REAL: Final = 700  # the types' OIDs, which PostgreSQL fixes
_REALS: Final = 1021
_TEXT: Final = 25


class Reals(bytes):
    """A `real[]` in PostgreSQL's binary format."""


class _RealsDumper(Dumper):
    format = Format.BINARY
    oid = _REALS

    def dump(self, obj: Reals) -> Reals:
        return obj


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap()
    adapters.register_dumper(type(None), NoneDumper)
    adapters.register_dumper(str, StrDumperUnknown)
    adapters.register_dumper(Reals, _RealsDumper)
    adapters.register_loader(_TEXT, TextLoader)
    return adapters


ADAPTERS: Final = _adapters()
"""All that calls and their answers need: the application may have changed the connection's, and psycopg's."""


# Writing arguments. Only what can't be sent is refused here: the rules of values are the database's.

# In a turn, a line of a note would find the memory that it was made of. It goes here and not in the database,
# since the turn is embedded as it is sent.
_NOTE_LINE: Final = re.compile(r"^[ \t>]*\[From memory\b.*\n?", re.MULTILINE)

_OF_A_MEMORY: Final = {each.name for each in fields(Memory)} | {"embedding", "memory", "memories"}
# The escape of NUL; after an odd number of backslashes the same characters are text.
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
    # Outside the `except` block: the codec's exception, as the context, would hold the text.
    if problem:
        raise _unsendable(name, f"{problem}, which PostgreSQL can't store", TEXT_NOT_STORABLE)
    return text


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong_type(name, "a str", value)
    text = str.__str__(value)  # the value of a str enumeration
    if name == "query":
        return _storable(_NOTE_LINE.sub("", text[:_MOST_OF_A_TURN]))
    return _encodable(name, text, nul="\0" in text)


def _storable(text: str) -> str:
    """Replaces what PostgreSQL can't store by U+FFFD: a turn goes on without half an emoji."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, in which two halves are one character again.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")


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
    try:
        return str(operator.index(value))
    except ValueError:
        pass
    raise _unsendable(name, "has more digits than Python writes")


def _number(name: str, value: object) -> str:
    if not isinstance(value, SupportsFloat):
        raise _wrong_type(name, "a number", value)
    try:
        return str(float(value))
    except (TypeError, ValueError, OverflowError):  # such as for an array
        pass
    raise _unsendable(name, "is no number that a float holds")


def _date(name: str, value: object) -> str:
    if not isinstance(value, date):
        raise _wrong_type(name, "a date", value)
    return date.isoformat(value)  # the date of a datetime


def _moment(name: str, value: object) -> str:
    if not isinstance(value, datetime):
        raise _wrong_type(name, "a datetime", value)
    if value.utcoffset() is None:
        raise _unsendable(name, "has no time zone")
    return value.isoformat()


def _span(name: str, value: object) -> str:
    if not isinstance(value, timedelta):
        raise _wrong_type(name, "a timedelta", value)
    return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"


def _bytes(name: str, value: object) -> str:
    if not isinstance(value, bytes | bytearray):
        raise _wrong_type(name, "bytes", value)
    return f"\\x{value.hex()}"


def _vector(name: str, value: object) -> Reals:
    # Iterating over bytes gives numbers too.
    if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray | Mapping | Set):
        raise _wrong_type(name, "numbers", value)
    try:
        # A larger number becomes infinite, which a rule refuses by name.
        numbers = array("f", iter(value)).tolist()
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None:
        raise TypeError(f"{name} must be numbers")
    # Its one dimension, no NULLs, the type of its elements; how many there are, counted from 1; and before
    # each its bytes.
    elements: list[float] = [4] * (2 * len(numbers))
    elements[1::2] = numbers
    return Reals(struct.pack(f"!5i{len(numbers) * 'if'}", 1, 0, _REAL, len(numbers), 1, *elements))


def _texts(name: str, value: object) -> str:
    # A text is made of texts too: its characters.
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | bytearray | Mapping):
        raise _wrong_type(name, "several texts", value)
    quoted = ['"' + re.sub(r'(["\\])', r"\\\1", _text(name, each)) + '"' for each in value]
    return f"{{{','.join(quoted)}}}"


def _uuids(name: str, value: object) -> str:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | bytearray | Mapping):
        raise _wrong_type(name, "several UUIDs", value)
    return f"{{{','.join(_uuid(name, each) for each in value)}}}"


def _json(name: str, value: object) -> str:
    try:
        if isinstance(value, Iterable) and not isinstance(
            value, str | bytes | bytearray | memoryview | Mapping
        ):
            # Item by item: one call would not let other threads run meanwhile.
            text = f"[{','.join(map(_dumps, value))}]"
        else:
            text = _dumps(value)
    except (ValueError, OverflowError, RecursionError):  # NaN, infinity, a circular reference, deep nesting
        text = None
    if text is None:
        raise _unsendable(name, "can't be written as JSON")
    return _encodable(name, text, nul="\\u0000" in text and bool(_ESCAPED_NUL.search(text)))


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    """Converts the values of memories that `json` can't write."""
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


WRITERS: Final[dict[str, Callable[[str, object], str | Reals]]] = {
    "uuid": _uuid,
    "text": _text,
    "boolean": _boolean,
    "integer": _integer,
    "double precision": _number,
    "jsonb": _json,
    "real[]": _vector,
    "text[]": _texts,
    "date": _date,
    "timestamptz": _moment,
    "uuid[]": _uuids,
    "interval": _span,
    "bytea": _bytes,
}
"""How an argument of each SQL type is written: as text, but for embeddings."""


# Reading answers.


def value(documents: list[Any]) -> Any:
    """Reads a value that has the same type in JSON and in Python."""
    return documents[0]


def nothing(documents: list[Any]) -> None:
    """Reads the answer of a function that returns none."""


def values(documents: list[Any]) -> list[Any]:
    """Reads values that have the same type in JSON and in Python."""
    return documents


def path(documents: list[Any]) -> tuple[str, ...]:
    """Reads one array of texts."""
    return tuple(documents[0])


def paths(documents: list[Any]) -> list[tuple[str, ...]]:
    """Reads arrays of texts."""
    return list(map(tuple, documents))


def document(documents: list[Any]) -> Document:
    """Reads one JSON object."""
    return Document(documents[0])


def documents(documents: list[Any]) -> list[Document]:
    """Reads JSON objects."""
    return [Document(each) for each in documents]


def identity(documents: list[Any]) -> UUID:
    """Reads an id."""
    return UUID(documents[0])


def identities(documents: list[Any]) -> list[UUID]:
    """Reads ids."""
    return list(map(UUID, documents))


def identity_if_any(documents: list[Any]) -> UUID | None:
    """Reads an id, or NULL."""
    return None if documents[0] is None else UUID(documents[0])


def row(kind: type[T]) -> Callable[[list[Any]], T]:
    """Reads one row as a dataclass of `memstore.models`."""
    return partial(_first, kind)


def rows(kind: type[T]) -> Callable[[list[Any]], list[T]]:
    """Reads rows as a dataclass of `memstore.models`."""
    return partial(_each, kind)


def recall(documents: list[Any]) -> Recall:
    """Reads a recall; of what it attaches, claims alone have a status."""
    (each,) = documents
    memories: list[Memory] = []
    claims: list[Memory] = []
    for memory in each["memories"]:
        (claims if "status" in memory else memories).append(_one(Memory, memory))
    return Recall(
        tuple(memories), each["dropped"], each["unembedded"], each["backend"], each["note"], tuple(claims)
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# By the field's name. The others have the same type in JSON.
_FIELDS: Final[dict[str, Callable[[Any], object]]] = {
    "id": UUID,
    "user_id": lru_cache(100)(UUID),  # an answer is mostly of one account
    "memory_id": UUID,
    "challenge_id": UUID,
    "memory": lambda document: _one(Memory, document),
    "item": lambda document: _one(Item, document),
    "namespace": tuple,
    "ttl_seconds": float,
    "expires_at": _time,
    # JSON writes 1.0 as 1.
    "score": float,
    "lexical_score": float,
    "semantic_score": float,
    "lexical_floor": float,
    "semantic_floor": float,
    "previous_share": float,
    "next_share": float,
    "speaker_share": float,
    "source_share": float,
    "time_share": float,
    "as_of": date.fromisoformat,
    "evidence_refs": tuple,
    "superseded_by_id": UUID,
    "superseded_at": _time,
    "inserted_at": _time,
    "last_used_at": _time,
    "revoked_at": _time,
    "actor": UUID,
    "scopes": tuple,
    "functions": tuple,
    "updated_at": _time,
    # Of a statistic a number, of an item an object.
    "value": lambda value: value if isinstance(value, dict) else float(value),
    "accounts": lambda documents: tuple(map(UUID, documents)),
    "lacking": tuple,
    "extra": tuple,
    "members_of": tuple,
    "beyond": tuple,
}


_Converter: TypeAlias = Callable[[Any], object]


@cache
def _fields_of(kind: type) -> tuple[Callable[[Any], tuple[Any, ...]], list[tuple[int, _Converter]]]:
    """Gives what takes a dataclass's fields from a document, and by place what converts them."""
    names = [each.name for each in fields(kind)]
    converters = [(place, _FIELDS[name]) for place, name in enumerate(names) if name in _FIELDS]
    return operator.itemgetter(*names), converters


def _one(kind: type[T], document: Any) -> T:
    take, converters = _fields_of(kind)  # type: ignore[arg-type]  # mypy finds a type[T] not hashable
    values = list(take(document))
    for place, convert in converters:
        if values[place] is not None:
            values[place] = convert(values[place])
    return kind(*values)


# Not lambdas, so that a call can be pickled.


def _first(kind: type[T], documents: list[Any]) -> T:
    return _one(kind, documents[0])


def _each(kind: type[T], documents: list[Any]) -> list[T]:
    return [_one(kind, document) for document in documents]
