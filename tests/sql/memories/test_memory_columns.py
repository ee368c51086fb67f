"""A column that a migration adds is under all the rules of the others without being named again.

The migration of these tests adds a column with its rule, an attribute of what is returned, and an argument of
insert_memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.databases import empty_database
from tests.servers import Server
from tests.sql.support import (
    account_of,
    call,
    call_one,
    insert,
    live_count,
    places,
    raw_insert,
    refused,
    row_of,
    rows,
    supersede,
    value,
)

Db = psycopg.Connection

TOPIC = "tangerine"
MIGRATION = """
alter table memstore.memories add column topic text
constraint memories_topic_shape check (topic is null or pg_catalog.char_length(topic) between 1 and 20);
alter table memstore.memories alter column topic set statistics 0;
comment on constraint memories_topic_shape on memstore.memories is 'A topic has 1 to 20 characters.';
alter type memstore.memory add attribute topic text;
"""
COMPILE = "select memstore.compile_rules('memories'); select memstore.compile_columns();"


def add_argument(db: Db) -> None:
    """The same for insert_memory as its file, with one more argument."""
    signature, definition = rows(
        db,
        "select oid::regprocedure::text, pg_get_functiondef(oid) from pg_proc"
        " where proname = 'insert_memory' and pronamespace = 'memstore'::regnamespace",
    )[0]
    for old, new in (
        (
            "metadata jsonb DEFAULT NULL::jsonb)",
            "metadata jsonb DEFAULT NULL::jsonb, topic text DEFAULT NULL)",
        ),
        (
            "v_given.id := insert_memory.id;",
            "v_given.id := insert_memory.id; v_given.topic := insert_memory.topic;",
        ),
    ):
        assert definition.count(old) == 1
        definition = definition.replace(old, new)
    db.execute(f"drop function {signature}; {definition}".encode())


@pytest.fixture(scope="module")
def migrated(server: Server, installed: str) -> Iterator[str]:
    """A store that has been migrated while it held a memory."""
    with empty_database(server, like=installed) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as db:
            insert(db, account_of(db, "holder"), "It was there before.", id=UUID(int=1))
            db.execute(MIGRATION.encode())
            add_argument(db)
            db.execute(COMPILE.encode())
        yield conninfo


@pytest.fixture
def store(server: Server, migrated: str) -> Iterator[Db]:
    with empty_database(server, like=migrated) as conninfo, psycopg.connect(conninfo, autocommit=True) as db:
        yield db


@pytest.fixture
def other(server: Server, migrated: str) -> Iterator[Db]:
    """Another store."""
    with empty_database(server, like=migrated) as conninfo, psycopg.connect(conninfo, autocommit=True) as db:
        yield db


@pytest.fixture
def actor(store: Db) -> UUID:
    return account_of(store, "holder")


def test_it_is_written_and_returned(store: Db, actor: UUID) -> None:
    memory = insert(store, actor, "One.", topic=TOPIC)
    (item,) = call(store, "insert_memories", actor=actor, memories=[{"body": "Two.", "topic": TOPIC}])
    for written in (memory, item):
        assert written["topic"] == row_of(store, written["id"])["topic"] == TOPIC
        assert call_one(store, "get_memory", actor=actor, id=written["id"]) == written
    told = {each["body"]: each["topic"] for each in call(store, "list_memories", actor=actor)}
    assert told == {"It was there before.": None, "One.": TOPIC, "Two.": TOPIC}
    recalled: list[dict[str, Any]] = call_one(store, "recall", actor=actor, query="One")["memories"]
    assert {each["body"]: each["topic"] for each in recalled} == told


def test_it_never_changes(store: Db, actor: UUID) -> None:
    memory = insert(store, actor, "One.", topic=TOPIC)["id"]
    for stored, change in ((memory, "'other'"), (memory, "null"), (UUID(int=1), "'other'")):
        with refused("memory_is_immutable", "topic"):
            store.execute(f"update memstore.memories set topic = {change} where id = '{stored}'".encode())
    store.execute("update memstore.memories set topic = topic, embedding = '{1}', embedding_model = 'm'")


def test_its_rule_holds(store: Db, actor: UUID) -> None:
    long = "x" * 21
    rule = {"name": "memories_topic_shape", "field": "topic", "message": "A topic has 1 to 20 characters."}
    with refused("memories_topic_shape"):
        raw_insert(store, actor, topic=long)
    with refused("memories_topic_shape", "topic"):
        insert(store, actor, "x", topic=long)
    with refused("memories_topic_shape", "topic"):
        call(store, "insert_memories", actor=actor, memories=[{"body": "x", "topic": long}])
    assert call(store, "memory_violations", memory={"body": "x", "topic": long}) == [rule]
    assert rule.items() <= call(store, "list_rules")[-1].items()


@pytest.mark.parametrize("function", ["insert_memory", "insert_memories"])
def test_a_retry_compares_it(function: str, store: Db, actor: UUID) -> None:
    def write(**more: object) -> dict[str, Any]:
        memory = {"body": "One.", "id": str(UUID(int=7)), **more}
        arguments: dict[str, Any] = {"memories": [memory]} if function == "insert_memories" else memory
        return call_one(store, function, actor=actor, **arguments)

    first = write(topic=TOPIC)
    assert write(topic=TOPIC) == first
    for more in ({"topic": "other"}, {}):
        with refused("id_taken", "id"):
            write(**more)


def test_a_correction_carries_it(store: Db, actor: UUID) -> None:
    memory = insert(store, actor, "One.", topic=TOPIC)["id"]
    new = supersede(store, actor, memory, "Two.", id=UUID(int=7))
    assert new["topic"] == row_of(store, UUID(int=7))["topic"] == TOPIC
    assert supersede(store, actor, memory, "Two.", id=UUID(int=7)) == new
    history = call(store, "memory_history", actor=actor, id=memory)
    assert [each["topic"] for each in history] == [TOPIC, TOPIC]


def test_an_export_brings_it_to_another_store(store: Db, actor: UUID, other: Db) -> None:
    memory = insert(store, actor, "One.", topic=TOPIC)["id"]
    supersede(store, actor, memory, "Two.")
    exported = [line for (line,) in rows(store, "select memstore.export_memories(%s)", actor)]
    assert [line.get("topic") for line in exported] == [TOPIC, None, TOPIC]
    newcomer = account_of(other, "newcomer")
    other.execute("delete from memstore.memories")
    imported = call(other, "import_memories", user_id=newcomer, memories=exported)
    assert [each["topic"] for each in imported] == [TOPIC, None, TOPIC]
    assert [line for (line,) in rows(other, "select memstore.export_memories(%s)", newcomer)] == exported
    content = "select to_jsonb(m) - 'user_id' from memstore.memories m order by id"
    assert rows(other, content) == rows(store, content)
    assert call(other, "import_memories", user_id=newcomer, memories=exported) == imported
    changed = json.loads(json.dumps(exported).replace(TOPIC, "other"))
    with refused("id_taken", "id"):
        call(other, "import_memories", user_id=newcomer, memories=changed)


def test_erasure_takes_it(store: Db, actor: UUID) -> None:
    for number in range(30):
        insert(store, actor, f"One {number}.", topic=TOPIC)
    store.execute("analyze")
    assert places(store, TOPIC) == {"memstore.memories"}
    call(store, "delete_user", actor=actor)
    store.execute("analyze")
    assert places(store, TOPIC) == set()


def test_the_store_is_sound(store: Db, actor: UUID) -> None:
    supersede(store, actor, insert(store, actor, "One.", topic=TOPIC)["id"], "Two.")
    # The column itself is told as guards.
    broken = "select invariant from memstore.verify_store() where violations > 0 and invariant <> 'guards'"
    assert rows(store, broken) == []
    assert live_count(store, actor) == 2


def test_only_what_is_named_changes_or_is_left_behind(store: Db) -> None:
    """Of the table's columns this one is none of those that memory_columns names, and is under every rule."""
    rules = "select fixed, compared, inherited from memstore.memory_columns where name = 'topic'"
    assert rows(store, rules) == [(True, True, True)]
    trigger = value(store, "select pg_get_triggerdef(oid) from pg_trigger where tgname = 'memories_fixed'")
    assert "new.topic" in trigger
