"""Refusals: their names, what they carry, and what they never carry."""

import asyncio
import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors as driver

from memstore import (
    AccessDenied,
    ActorUnknown,
    AsyncStore,
    IdTaken,
    InvalidMemory,
    InvalidValue,
    MemoryNotFound,
    MemstoreError,
    NotSupersedable,
    QuotaReached,
    Store,
    Violation,
    errors,
    wire,
)
from memstore.api import calls

Db = psycopg.Connection[Any]

BODY = "private words"
EVIDENCE = {"kind": "url", "ref": "https://example.com", "digest": "sha256:0"}
UNSTORABLE = {"NUL": f"{BODY}\0", "surrogate": f"{BODY}\ud800", "pair": f"{BODY}\ud83d\ude00"}


def refusal(action: Callable[[], object]) -> MemstoreError:
    with pytest.raises(MemstoreError) as caught:
        action()
    return caught.value


def shown(error: BaseException) -> str:
    """All that a log can show of an exception, but for the source lines."""
    text = traceback.TracebackException.from_exception(error)
    for each in (text, text.__cause__, text.__context__):
        if each is not None:
            each.stack.clear()
    logged = logging.Formatter().formatException((type(error), error, None))
    return "".join([*text.format(chain=True), repr(error), str(error), repr(vars(error)), logged])


# The map.


def test_refusals_are_the_databases(db: Db) -> None:
    listed = {name for (name,) in db.execute("select name from memstore.refusals")}
    assert set(errors.REFUSALS) == listed


def test_constraints_are_the_databases(db: Db) -> None:
    """Check constraints need no entry: their names and sentences come with the refusal."""
    listed = db.execute(
        "select conname from pg_constraint"
        " where connamespace = 'memstore'::regnamespace and contype in ('p', 'u', 'f', 'x')"
        " and conrelid::regclass::text not like '%yoyo%'"
    )
    assert set(errors.CONSTRAINTS) == {name for (name,) in listed}


def test_every_class_has_a_use() -> None:
    used = {*errors.REFUSALS.values(), *(kind for kind, _ in errors.CONSTRAINTS.values())}
    used |= {errors.AccessDenied, errors.SchemaOutdated, errors.StoreUnavailable}
    used |= {errors.ConnectionInherited, errors.StoreOverloaded}
    assert used == {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, MemstoreError)
    }


# What a refusal carries.


def test_a_refusal(db: Db, account: UUID) -> None:
    error = refusal(lambda: Store(db).get_memory(account, uuid4()))
    assert type(error) is MemoryNotFound
    assert (error.name, error.field, error.sqlstate) == ("memory_not_found", "id", "MS002")
    assert error.message == str(error) == "The account has no such memory."
    assert error.hint
    assert error.violations == ()


def test_refusals_by_class(db: Db, account: UUID) -> None:
    store = Store(db)
    first = store.insert_memory(account, "One.", id=uuid4())
    db.execute("update memstore.users set maximum_live_memories = 1")
    for kind, action in {
        ActorUnknown: lambda: store.list_memories(uuid4()),
        MemoryNotFound: lambda: store.delete_memory(account, uuid4()),
        NotSupersedable: lambda: store.supersede_memory(account, uuid4(), "Two."),
        IdTaken: lambda: store.insert_memory(account, "Two.", id=first.id),
        QuotaReached: lambda: store.insert_memory(account, "Two."),
        InvalidValue: lambda: store.list_memories(account, page_size=0),
        InvalidMemory: lambda: store.insert_memory(account, " "),
    }.items():
        assert type(refusal(action)) is kind


def test_all_broken_rules(db: Db, account: UUID) -> None:
    store = Store(db)
    error = refusal(
        lambda: store.insert_memory(account, BODY, bucket="nobody's", tier="gold", source_ref="x" * 201)
    )
    assert type(error) is InvalidMemory
    assert {each.field for each in error.violations} == {"bucket", "tier", "source_ref"}
    first = error.violations[0]
    assert (error.name, error.field, error.message, error.sqlstate) == (
        first.name,
        first.field,
        first.message,
        "23514",
    )
    listed = {(each.name, each.field, each.message) for each in store.list_rules()}
    assert {(each.name, each.field, each.message) for each in error.violations} <= listed
    assert store.memory_violations({"body": BODY, "tier": "gold"}) == [
        each for each in error.violations if each.field == "tier"
    ]


def test_a_batch_names_the_item(db: Db, account: UUID) -> None:
    store = Store(db)
    error = refusal(lambda: store.insert_memories(account, [{"body": "One."}, {"body": " "}]))
    assert (type(error), error.name) == (InvalidMemory, "memories_body_shape")
    assert "2" in error.message
    error = refusal(lambda: store.insert_memories(account, [{"body": "One.", "owner": str(uuid4())}]))
    assert (type(error), error.name) == (InvalidValue, "argument_invalid")
    assert not store.list_memories(account)


def test_accounts_and_numbers(db: Db, account: UUID) -> None:
    store = Store(db)
    error = refusal(lambda: store.create_user(external_ref=""))
    assert (type(error), error.name, error.field) == (
        InvalidValue,
        "users_external_ref_shape",
        "external_ref",
    )
    for numbers in ([float("nan")], [float("inf")], [1e300], [], [0.0]):
        error = refusal(lambda: store.insert_memory(account, BODY, embedding=numbers, embedding_model="m"))  # noqa: B023
        assert (type(error), error.name) == (InvalidMemory, "memories_embedding_shape")


def test_access_is_denied_by_name(db: Db, account: UUID) -> None:
    with db.transaction(force_rollback=True):
        db.execute("create role memstore_stranger")
        db.execute("set local role memstore_stranger")
        error = refusal(lambda: Store(db).list_memories(account))
    assert (type(error), error.name, error.sqlstate) == (AccessDenied, "access_denied", "42501")


@pytest.mark.parametrize(
    "error",
    [
        MemstoreError("Words."),
        InvalidMemory(
            "Words.", name="n", field="f", sqlstate="23514", hint="h", violations=(Violation("n", "f", "m"),)
        ),
    ],
)
def test_errors_are_values(error: MemstoreError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


# What it never carries.


def test_no_text_in_a_refusal(db: Db, account: UUID) -> None:
    store = Store(db)
    memory = store.insert_memory(account, "One.", id=uuid4())
    db.execute("set log_parameter_max_length_on_error to -1")  # PostgreSQL adds the parameters to its errors
    long = BODY * 200
    for action in (
        lambda: store.insert_memory(account, long),
        lambda: store.insert_memory(account, BODY, bucket=BODY),
        lambda: store.insert_memory(account, BODY, id=memory.id),
        lambda: store.insert_memory(BODY, BODY),
        lambda: store.insert_memories(account, [{"body": long}]),
        lambda: store.insert_memories(account, [{"body": BODY, BODY: 1}]),
        lambda: store.insert_memories(account, [{"body": BODY, "id": BODY}]),
        lambda: store.supersede_memory(account, uuid4(), BODY),
        lambda: store.recall(account, BODY, maximum_attached=-1),
        lambda: store.recall(account, BODY, maximum_attached=10**20),
        *(lambda text=text: store.insert_memory(account, text) for text in UNSTORABLE.values()),
        *(lambda text=text: store.insert_memories(account, [{"body": text}]) for text in UNSTORABLE.values()),
    ):
        error = refusal(action)
        assert BODY not in shown(error)
        assert error.__cause__ is None
        assert error.__context__ is None


def test_no_text_of_a_row_that_the_table_refuses(db: Db, account: UUID) -> None:
    """PostgreSQL's own detail shows the row."""
    db.execute("alter table memstore.memories add constraint memories_new check (body <> 'private words')")
    error = refusal(lambda: Store(db).insert_memory(account, BODY))
    assert (type(error), error.name, error.violations) == (InvalidMemory, "memories_new", ())
    assert BODY not in shown(error)


def test_conflicts_stay_the_drivers(db: Db, account: UUID) -> None:
    db.execute(
        "create function memstore.conflict() returns trigger language plpgsql as"
        " $$begin raise exception using errcode = '40001', message = 'conflict', detail = new.body; end$$"
    )
    db.execute(
        "create trigger conflict before insert on memstore.memories"
        " for each row execute function memstore.conflict()"
    )
    with pytest.raises(driver.SerializationFailure) as caught:
        Store(db).insert_memory(account, BODY)
    assert caught.value.sqlstate == "40001"
    assert str(caught.value) == "conflict"
    assert BODY not in shown(caught.value)


# What can't be sent.

SAMPLES: dict[str, object] = {
    "uuid": uuid4(),
    "text": "text",
    "boolean": True,
    "integer": 1,
    "double precision": 0.5,
    "real[]": [1.0],
    "text[]": ["text"],
    "jsonb": [],
    "date": date(2026, 8, 25),
    "timestamptz": datetime(2026, 8, 25, tzinfo=UTC),
    "uuid[]": [uuid4()],
    "interval": timedelta(days=1),
    "bytea": b"bytes",
}
CALLS: dict[str, wire.Function[Any]] = {
    name: value for name, value in vars(calls).items() if isinstance(value, wire.Function)
}


TEXTS = [
    (name, argument)
    for name, call in CALLS.items()
    for argument, kind in call.arguments.items()
    if kind in ("text", "text[]", "jsonb") and argument != "query"
]
TURNS = [name for name, call in CALLS.items() if call.embeds == "query"]


def refused_argument(name: str, argument: str, value: object) -> InvalidValue:
    given = {each: SAMPLES[kind] for each, kind in CALLS[name].arguments.items()} | {argument: value}
    with pytest.raises(InvalidValue) as caught:
        CALLS[name](**given)
    assert caught.value.field == argument
    assert caught.value.__context__ is None
    assert BODY not in shown(caught.value)
    return caught.value


@pytest.mark.parametrize("text", UNSTORABLE.values(), ids=UNSTORABLE.keys())
@pytest.mark.parametrize(("name", "argument"), TEXTS)
def test_text_that_cannot_be_stored(name: str, argument: str, text: str) -> None:
    values: list[object] = [text]
    if CALLS[name].arguments[argument] == "jsonb":
        values = [[{"body": text}], {"evidence_refs": [{"ref": text}]}, [{text: 1}], [[("a", text)]]]
    if CALLS[name].arguments[argument] == "text[]":
        values = [[text], ("text", text)]
    for value in values:
        assert refused_argument(name, argument, value).name == "text_not_storable"


def test_a_text_is_not_several() -> None:
    """Its characters would be the scopes."""
    for value in ("project:x", b"project:x", {"project:x": 1}, 7):
        with pytest.raises(TypeError, match="scopes must be several texts"):
            CALLS["recall"](actor=uuid4(), query="a turn", scopes=value)


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_that_cannot_be_stored_goes_on(name: str) -> None:
    """JavaScript leaves half an emoji where it cuts a string."""
    for given, sent in {
        f"{BODY}\ud83d": f"{BODY}\ufffd",
        f"\ude00{BODY}\ud83d\ud83d": f"\ufffd{BODY}\ufffd\ufffd",
        f"{BODY}\0": f"{BODY}\ufffd",
        f"{BODY}\ud83d\ude00\0\ud83d": f"{BODY}😀\ufffd\ufffd",
        f"{BODY} 😀": f"{BODY} 😀",
    }.items():
        call = CALLS[name](actor=uuid4(), query=given)
        assert call.parameters["query"] == sent
        assert call.texts() == ([sent] if call.embeds else [])


def test_a_turn_with_half_an_emoji_recalls(db: Db, db_url: str, account: UUID) -> None:
    store = Store(db)
    memory = store.insert_memory(account, "I use pnpm.")

    async def body() -> None:
        async with AsyncStore(db_url) as asynchronous:
            for turn in ("pnpm \ud83d", "pnpm\0", "\ud83dpnpm"):
                assert (await asynchronous.recall(account, turn, strict=True)).memories == (memory,)
                assert store.recall(account, turn, strict=True).memories == (memory,)

    asyncio.run(body())
    for text in ("pnpm \ud83d", "pnpm\0"):
        with pytest.raises(InvalidMemory) as caught:
            store.insert_memory(account, text)
        assert caught.value.name == "text_not_storable"


def test_text_that_only_looks_so(db: Db, account: UUID) -> None:
    store = Store(db)
    for body in (r"\u0000", r"\\u0000", "\\", r"\ud800", "😀", "\x01\x7f", "a\u2028b"):
        assert store.insert_memory(account, body).body == body
        (memory,) = store.insert_memories(account, [{"body": body}])
        assert memory.body == body


def test_the_kind_tells_what_it_is_about(db: Db, account: UUID) -> None:
    store = Store(db)
    assert type(refusal(lambda: store.insert_memory(account, "a\0"))) is InvalidMemory
    assert type(refusal(lambda: store.find_user("a\0"))) is InvalidValue

    async def body() -> None:
        await AsyncStore("dbname=unused").find_user("a\0")

    assert refusal(lambda: asyncio.run(body())).field == "external_ref"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_json(value: float) -> None:
    error = refused_argument("insert_memory", "evidence_refs", [{"ref": value}])
    assert error.name == "value_malformed"


def test_malformed_values() -> None:
    assert refused_argument("get_memory", "actor", BODY).name == "value_malformed"
    assert refused_argument("memories_as_of", "moment", datetime(2026, 8, 25)).name == "value_malformed"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("actor", 5),
        ("body", 5),
        ("body", b"private words"),
        ("embedding", ["private words"]),
        ("embedding", [[1.0]]),
        ("embedding", "private words"),
        ("embedding", 5),
        ("as_of", "private words"),
        ("evidence_refs", [object()]),
        ("evidence_refs", [{"ref": b"private words"}]),
    ],
)
def test_wrong_types(argument: str, value: object) -> None:
    given: Mapping[str, Any] = {"actor": uuid4(), "body": BODY} | {argument: value}
    with pytest.raises(TypeError) as caught:
        calls.insert_memory(**given)
    assert BODY not in shown(caught.value)


def test_what_json_takes(db: Db, account: UUID) -> None:
    (memory,) = Store(db).insert_memories(
        account,
        (
            {
                "id": identity,
                "body": "A claim.",
                "bucket": "system",
                "slug": "sys:claim",
                "tier": "glass",
                "as_of": date(2026, 8, 25),
                "admission": "candidate",
                "evidence_refs": (EVIDENCE,),
                "embedding": (1.0, 0.5),
                "embedding_model": "m",
            }
            for identity in [uuid4()]
        ),
    )
    assert (memory.as_of, memory.evidence_refs) == (date(2026, 8, 25), (EVIDENCE,))
    again = Store(db).supersede_memory(account, memory.id, "Another.", evidence_refs=memory.evidence_refs)
    assert again.evidence_refs == memory.evidence_refs
    assert json.dumps(again.evidence_refs)
