"""The recipes import what other stores hold, as they stand in their files, and tell what they leave out."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from memstore import embedded, schema
from tests.sql.support import SECRET, account_of, insert, rows, value

Db = psycopg.Connection

RECIPES = schema.sql_dir() / "recipes"

# The tables as mem0ai 2.2 (vector_stores/pgvector.py) and langgraph-checkpoint-postgres 3.2 (its
# store/postgres/base.py) make them, without their indexes for search.
MEM0 = "create table {table} (id uuid primary key, vector vector({dimensions}), payload jsonb)"
LANGGRAPH = """
create table if not exists store (
    prefix text not null,
    key text not null,
    value jsonb not null,
    created_at timestamp with time zone default current_timestamp,
    updated_at timestamp with time zone default current_timestamp,
    primary key (prefix, key)
);
alter table store
add column if not exists expires_at timestamp with time zone,
add column if not exists ttl_minutes int;
"""
LANGGRAPH_VECTORS = """
create table if not exists store_vectors (
    prefix text not null,
    key text not null,
    field_name text not null,
    embedding vector(2),
    created_at timestamp with time zone default current_timestamp,
    updated_at timestamp with time zone default current_timestamp,
    primary key (prefix, key, field_name),
    foreign key (prefix, key) references store(prefix, key) on delete cascade
);
"""
CREATED, UPDATED = "2025-03-04T05:06:07.000008+00:00", "2025-04-04T05:06:07-07:00"


@pytest.fixture
def vectors(db: Db) -> Db:
    """A database that has pgvector."""
    if not rows(db, "select from pg_available_extensions where name = 'vector'"):
        pytest.skip("no pgvector")
    db.execute("create extension vector")
    return db


def run(db_url: str, recipe: str, *, code: int = 0, **variables: str) -> str:
    """Runs a recipe with psql; what it says shows no text of a row's."""
    psql = str(embedded.find_binaries() / "psql")
    given = [f"--set={name}={content}" for name, content in variables.items()]
    result = subprocess.run(
        [psql, "-XqAt", *given, "-f", str(RECIPES / recipe), db_url], capture_output=True, text=True
    )
    assert result.returncode == code, result.stderr
    assert SECRET not in result.stdout + result.stderr
    return result.stdout


def section(said: str, title: str) -> list[list[str]]:
    """The rows of one of the reports."""
    block = said.split(f"{title}\n")[1]
    lines = re.split(r"\n?^[A-Z].*:$", block, maxsplit=1, flags=re.MULTILINE)[0].splitlines()
    return [line.split("|") for line in lines if "|" in line]


def stored(db: Db) -> dict[str, dict[str, Any]]:
    """What memstore holds, by body."""
    return {
        row["body"]: row
        for (row,) in rows(
            db,
            "select to_jsonb(m) || jsonb_build_object('account', u.external_ref)"
            " from memstore.memories m join memstore.users u on u.id = m.user_id",
        )
    }


def add_mem0(
    db: Db, payload: dict[str, Any] | None, vector: str | None = "[0.1,-2]", id: UUID | None = None
) -> str:
    id = id or uuid4()
    db.execute("insert into mem0 values (%s, %s, %s)", [id, vector, payload and json.dumps(payload)])
    return str(id)


def test_mem0(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute(MEM0.format(table="mem0", dimensions=2).encode())
    common = {"user_id": "alice", "hash": "0c", "created_at": CREATED, "updated_at": UPDATED}
    one = add_mem0(
        db, {**common, "data": " Likes pnpm.\n", "text_lemmatized": "like pnpm", "run_id": "run 7"}
    )
    add_mem0(db, {**common, "data": "x" * 2000, "user_id": "bob", "category": "a", "actor_id": "b"})
    add_mem0(db, {"user_id": "bob", "data": "Of no time.", "expiration_date": "2999-01-01"}, None)
    add_mem0(db, {**common, "data": "Unusable vector.", "expiration_date": "never"}, "[0,0]")
    misfits = {
        add_mem0(db, {**common, "data": SECRET + "x" * 2000}): ["alice", "body: The body has 1 to 2,000"],
        add_mem0(db, {**common, "data": " "}): ["alice", "body: The body has 1 to 2,000"],
        add_mem0(db, {**common}): ["alice", "body: The body has 1 to 2,000"],
        add_mem0(db, None): ["", "It belongs to no account."],
        add_mem0(db, {"agent_id": "a", "data": SECRET}): ["", "It belongs to no account."],
        add_mem0(db, {**common, "data": SECRET, "user_id": "u" * 201}): [
            "u" * 201,
            "The application's id has",
        ],
        add_mem0(db, {**common, "data": SECRET, "created_at": "yesterday"}): [
            "alice",
            "inserted_at: `inserted_at` must be a time",
        ],
        add_mem0(db, {**common, "data": SECRET, "run_id": "r" * 201}): [
            "alice",
            "source_ref: The source has",
        ],
        add_mem0(db, {**common, "data": SECRET, "expiration_date": "2020-01-01"}): [
            "alice",
            "It has expired",
        ],
    }
    taken = insert(db, account_of(db, "other"), "Another's.")["id"]
    misfits[add_mem0(db, {**common, "data": SECRET}, id=taken)] = [
        "alice",
        "id: The id is taken by a memory of another account.",
    ]

    said = run(db_url, "mem0.sql", model="two", dry_run="on")
    assert "Rolled back" in said
    assert stored(db).keys() == {"Another's."}

    said = run(db_url, "mem0.sql", model="two")
    left = {origin: rest for origin, *rest in section(said, "What was left out, and why:")}
    assert left.keys() == misfits.keys()
    for origin, (account, why) in misfits.items():
        assert left[origin][0] == account
        assert left[origin][1].startswith(why), left[origin]
    assert section(said, "What became of the rows:") == [
        ["imported", "3", "2"],
        ["imported without its embedding", "1", "1"],
        ["left out", "10", "2"],
    ]
    found = stored(db)
    assert found.keys() == {"Another's.", "Likes pnpm.", "x" * 2000, "Of no time.", "Unusable vector."}
    likes = found["Likes pnpm."]
    assert (likes["id"], likes["account"], likes["bucket"]) == (one, "alice", "learned")
    assert likes["source_ref"] == "mem0 public.mem0, run 7"
    assert (likes["embedding"], likes["embedding_model"]) == ([0.1, -2], "two")
    assert likes["inserted_at"] == "2025-03-04T05:06:07.000008+00:00"
    assert likes["updated_at"] == "2025-04-04T12:06:07+00:00"
    assert {body[:20]: row["metadata"] for body, row in found.items() if row["metadata"]} == {
        "x" * 20: {"category": "a", "actor_id": "b"},
        "Of no time.": {"expiration_date": "2999-01-01"},
        "Unusable vector.": {"expiration_date": "never"},
    }
    assert found["x" * 2000]["account"] == found["Of no time."]["account"] == "bob"
    assert found["Unusable vector."]["embedding"] is found["Of no time."]["embedding_model"] is None

    db.execute('update mem0 set payload = payload || \'{"data": "Changed since."}\' where id = %s', [one])
    said = run(db_url, "mem0.sql", model="two", bucket="learned")
    assert section(said, "What became of the rows:") == [
        ["already there", "3", "2"],
        ["left out", "11", "2"],
    ]
    assert [one, "alice", "id: The id is taken."] in section(said, "What was left out, and why:")
    assert stored(db) == found
    assert value(db, "select sum(violations) from memstore.verify_store()") == 0


def test_mem0_of_another_name_and_more_than_a_new_account_may_hold(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute("create schema mem")
    db.execute(MEM0.format(table='mem."My memories"', dimensions=1).encode())
    db.execute("select memstore.configure(maximum_live_memories => 3)")
    db.execute(
        "insert into mem.\"My memories\" select gen_random_uuid(), '[1]',"
        " jsonb_build_object('user_id', case when i > 2 then 'many' else 'few' end, 'data', 'Memory ' || i)"
        " from generate_series(1, 12) i"
    )
    said = run(db_url, "mem0.sql", schema="mem", table="My memories", bucket="user")
    assert section(said, "What became of the rows:") == [["imported", "12", "2"]]
    assert section(said, "Accounts that hold more than new ones may:") == [["many", "10", "10"]]
    assert rows(
        db, "select external_ref, live_memories, maximum_live_memories from memstore.users order by 1"
    ) == [("few", 2, 3), ("many", 10, 10)]
    assert {row["bucket"] for row in stored(db).values()} == {"user"}
    assert {row["embedding"] for row in stored(db).values()} == {None}


def add_item(db: Db, prefix: str, key: str, item: dict[str, Any], expires_at: str | None = None) -> None:
    db.execute(
        "insert into store (prefix, key, value, created_at, updated_at, expires_at)"
        " values (%s, %s, %s, %s, %s, %s)",
        [prefix, key, json.dumps(item), CREATED, UPDATED, expires_at],
    )


def test_langgraph(db: Db, db_url: str) -> None:
    db.execute(LANGGRAPH.encode())
    id, shared = str(uuid4()), str(uuid4())
    add_item(db, "memories.alice", id, {"kind": "Memory", "content": {"content": "Of LangMem."}})
    add_item(db, "memories.alice.facts", "pnpm", {"text": "A text.", "rating": 5, "data": 7})
    add_item(db, "memories.bob", shared, {"data": "Some data."}, "2999-01-01")
    add_item(db, "memories.alice", shared, {"memory": "A memory."})
    add_item(db, "memories.alice.facts", "a.b", {"text": "Its name"})
    add_item(db, "memories.alice.facts.a", "b", {"text": "is another's."})
    add_item(db, "memories.bob", "long", {"content": SECRET + "x" * 2000})
    add_item(db, "memories.bob", "none", {"food": SECRET})
    add_item(db, "memories.bob", "number", {"text": 7})
    add_item(db, "memories.bob", "past", {"text": SECRET}, "2020-01-01")
    add_item(db, "memories", "nobody", {"text": SECRET})
    add_item(db, "alice.memories", "other", {"text": SECRET})

    said = run(db_url, "langgraph_memories.sql")
    assert section(said, "What became of the rows:") == [["imported", "6", "2"], ["left out", "6", "1"]]
    assert [[origin, why[:30]] for origin, _, why in section(said, "What was left out, and why:")] == [
        ["alice.memories.other", "It belongs to no account."],
        ["memories.bob.long", "body: The body has 1 to 2,000 "],
        ["memories.bob.none", "Its value has no text where on"],
        ["memories.bob.number", "Its value has no text where on"],
        ["memories.bob.past", "It has expired in LangGraph."],
        ["memories.nobody", "It belongs to no account."],
    ]

    found = stored(db)
    assert {body: row["account"] for body, row in found.items()} == {
        "Of LangMem.": "alice",
        "A text.": "alice",
        "Some data.": "bob",
        "A memory.": "alice",
        "Its name": "alice",
        "is another's.": "alice",
    }
    assert {body: row["metadata"] for body, row in found.items() if row["metadata"]} == {
        "Of LangMem.": {"kind": "Memory"},
        "A text.": {"rating": 5, "data": 7},
    }
    assert found["Of LangMem."]["id"] == id
    assert shared not in {row["id"] for row in found.values()}
    assert {row["inserted_at"] for row in found.values()} == {"2025-03-04T05:06:07.000008+00:00"}
    assert {row["updated_at"] for row in found.values()} == {"2025-04-04T12:06:07+00:00"}
    assert section(run(db_url, "langgraph_memories.sql"), "What became of the rows:")[0] == [
        "already there",
        "6",
        "2",
    ]
    assert stored(db) == found

    said = run(db_url, "langgraph_memories.sql", account=r"^(\w+)\.memories$", text="{text}")
    assert section(said, "What became of the rows:") == [["imported", "1", "1"], ["left out", "11", "0"]]
    assert stored(db)[SECRET]["account"] == "alice"


def test_langgraph_with_embeddings(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute((LANGGRAPH + LANGGRAPH_VECTORS).encode())
    for key in ("one", "two", "three"):
        add_item(db, "memories.alice", key, {"text": key})
    db.execute(
        "insert into store_vectors (prefix, key, field_name, embedding) values"
        " ('memories.alice', 'one', 'text', '[0.1,1e-7]'), ('memories.alice', 'two', 'text', '[3,4]'),"
        " ('memories.alice', 'two', '$', '[5,6]')"
    )
    run(db_url, "langgraph_memories.sql", model="two", dry_run="on", field="text")
    run(db_url, "langgraph_memories.sql", model="two")
    assert {body: row["embedding"] for body, row in stored(db).items()} == {
        "one": [0.1, 1e-7],
        "two": None,
        "three": None,
    }
    db.execute("select memstore.delete_user(memstore.find_user('alice'))")
    run(db_url, "langgraph_memories.sql", model="two", field="$")
    assert {body: row["embedding"] for body, row in stored(db).items()} == {
        "one": None,
        "two": [5, 6],
        "three": None,
    }


def items(db: Db) -> dict[str, str]:
    """The ids of what is stored, by body."""
    return {body: row["id"] for body, row in stored(db).items()}


DELETED = "What was deleted at the source since, and is still here:"
OUTCOME = "What became of the rows:"


@pytest.mark.parametrize("first", ["memories.alice", "memories.bob"])
def test_a_key_that_another_namespace_has_too(db: Db, db_url: str, first: str) -> None:
    db.execute(LANGGRAPH.encode())
    key = str(uuid4())
    add_item(db, first, key, {"text": "first"})
    run(db_url, "langgraph_memories.sql")
    assert items(db) == {"first": key}

    add_item(db, "memories.alice.facts", key.upper(), {"text": "second"})
    db.execute("update store set created_at = created_at + interval '1 s' where prefix like '%facts'")
    said = run(db_url, "langgraph_memories.sql")
    assert section(said, OUTCOME) == [["already there", "1", "1"], ["imported", "1", "1"]]
    both = items(db)
    assert both["first"] == key != both["second"]

    # The other way round: the second's id was made, and stays so when the key is its own.
    db.execute("delete from store where prefix = %s", [first])
    said = run(db_url, "langgraph_memories.sql")
    assert section(said, OUTCOME) == [["already there", "1", "1"]]
    assert section(said, DELETED) == [[key, first.removeprefix("memories.")]]
    assert items(db) == both


def test_what_was_deleted_since(vectors: Db, db_url: str) -> None:
    db = vectors
    for table in ("mem0", "other"):
        db.execute(MEM0.format(table=table, dimensions=2).encode())
    ids = [add_mem0(db, {"user_id": "alice", "data": f"Memory {i}.", "run_id": "7"}) for i in range(4)]
    insert(db, account_of(db, "alice"), "My own.", source_ref="mem0")
    run(db_url, "mem0.sql")
    run(db_url, "mem0.sql", table="other")
    alice = account_of(db, "alice")
    db.execute("select memstore.delete_memory(%s, %s)", [alice, ids[2]])
    db.execute("select memstore.supersede_memory(%s, %s, 'Corrected.', source_ref => '')", [alice, ids[3]])
    db.execute("delete from mem0 where id = any (%s::uuid[])", [ids[1:]])
    assert section(run(db_url, "mem0.sql"), DELETED) == [[ids[1], "alice"]]
    assert section(run(db_url, "mem0.sql", table="other"), DELETED) == []


def test_metadata_that_break_a_rule(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute(MEM0.format(table="mem0", dimensions=2).encode())
    insert(db, account_of(db, "other"), "Of three.", embedding=[1, 2, 3], embedding_model="two")
    ids = [
        add_mem0(db, {"user_id": "alice", "data": "One.", "$set": 1, "kept": None}, None),
        add_mem0(db, {"user_id": "alice", "data": "Two.", "long": "x" * 4000}),
        add_mem0(db, {"user_id": "alice", "data": "Three.", "null": None, "list": [{"a": None}]}, None),
    ]
    outcome = section(run(db_url, "mem0.sql", model="two"), OUTCOME)
    assert outcome == [
        ["imported", "1", "1"],
        ["imported without its embedding and its metadata", "1", "1"],
        ["imported without its metadata", "1", "1"],
    ]
    found = {row["id"]: row["metadata"] for row in stored(db).values() if row["account"] == "alice"}
    assert found == {ids[0]: None, ids[1]: None, ids[2]: {"null": None, "list": [{"a": None}]}}
    assert section(run(db_url, "mem0.sql", model="two"), OUTCOME)[0] == ["already there", "3", "1"]


def test_what_an_earlier_version_imported_has_no_metadata(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute(MEM0.format(table="mem0", dimensions=2).encode())
    id = add_mem0(db, {"user_id": "alice", "data": "One.", "category": "a"}, None)
    insert(db, account_of(db, "alice"), "One.", bucket="learned", id=id)
    assert section(run(db_url, "mem0.sql"), OUTCOME) == [["already there", "1", "1"]]
    assert stored(db)["One."]["metadata"] is None


def test_what_was_imported_without_a_source_is_not_taken_for_changed(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute(MEM0.format(table="mem0", dimensions=2).encode())
    id = add_mem0(db, {"user_id": "alice", "data": "One."})
    insert(db, account_of(db, "alice"), "One.", bucket="learned", id=id)
    said = run(db_url, "mem0.sql")
    assert section(said, OUTCOME) == [["already there", "1", "1"]]


@pytest.mark.parametrize("broken", [0, 1])
def test_batches(db: Db, db_url: str, broken: int) -> None:
    """One call for 1,000 rows, and for a misfit as many as halvings leave."""
    db.execute(LANGGRAPH.encode())
    db.execute(
        "insert into store select 'memories.alice', 'key ' || i, jsonb_build_object('text',"
        " case when i = 1234 and %s then repeat('x', 2001) else 'Memory ' || i end)"
        " from generate_series(1, 2500) i",
        [broken > 0],
    )
    db.execute(
        sql.SQL("alter database {} set track_functions = 'all'").format(sql.Identifier(db.info.dbname))
    )
    said = run(db_url, "langgraph_memories.sql")
    outcome = dict(row[:2] for row in section(said, OUTCOME))
    assert outcome == {"imported": str(2500 - broken)} | ({"left out": "1"} if broken else {})
    assert value(db, "select live_memories from memstore.users") == 2500 - broken
    calls = "select calls from pg_stat_user_functions where funcname = 'import_memories'"
    assert value(db, calls) <= 3 + broken * 2 * 10


def test_a_batch_whose_embeddings_are_all_refused(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute(MEM0.format(table="mem0", dimensions=2).encode())
    account = account_of(db, "other")
    insert(db, account, "Of three.", embedding=[1, 2, 3], embedding_model="two")
    db.execute(
        "insert into mem0 select gen_random_uuid(), '[1,2]',"
        " jsonb_build_object('user_id', 'alice', 'data', 'M ' || i) from generate_series(1, 300) i"
    )
    said = run(db_url, "mem0.sql", model="two")
    assert section(said, OUTCOME) == [["imported without its embedding", "300", "1"]]


def test_embeddings_of_bits(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute((LANGGRAPH + LANGGRAPH_VECTORS.replace("vector(2)", "bit(3)")).encode())
    add_item(db, "memories.alice", "one", {"text": "one"})
    db.execute("insert into store_vectors values ('memories.alice', 'one', 'text', '011')")
    said = run(db_url, "langgraph_memories.sql", model="bits")
    assert section(said, "Embeddings that memstore has no form for:") == [["bit", "1"]]
    assert {body: row["embedding"] for body, row in stored(db).items()} == {"one": None}


def stored_items(db: Db) -> dict[tuple[str, str], dict[str, Any]]:
    """What memstore holds as items, by namespace and key."""
    return {
        (".".join(row["namespace"]), row["key"]): row
        for (row,) in rows(
            db,
            "select to_jsonb(i) || jsonb_build_object('account', u.external_ref, 'embeddings', array("
            " select e.field || ' ' || e.embedding_model || ' ' || e.embedding::text"
            " from memstore.item_embeddings e where e.item_id = i.id order by 1))"
            " from memstore.items i join memstore.users u on u.id = i.user_id",
        )
    }


HERE_ALONE = "What is here alone, since it was deleted at the source or put here:"


def test_langgraph_to_items(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute((LANGGRAPH + LANGGRAPH_VECTORS).encode())
    id = str(uuid4())
    add_item(db, "alice.facts", id, {"text": "One.", "null": None, "list": [{"a": None}]})
    add_item(db, "bob.facts", id, {"text": "Another's."})
    add_item(db, "alice.facts.a", "b", {"n": 7})
    add_item(db, "alice.facts", "a.b", {"n": 8}, "2999-01-01")
    add_item(db, "alice", "lives", {}, "2999-01-01")
    db.execute("update store set ttl_minutes = 90 where key = 'lives'")
    db.execute(
        "insert into store_vectors (prefix, key, field_name, embedding) values"
        " ('alice.facts', 'a.b', 'text', '[0.1,1e-7]'), ('alice.facts', 'a.b', '$.0', '[3,4]'),"
        " ('alice.facts.a', 'b', '$', '[0,0]')"
    )
    add_item(db, "alice", "past", {"text": SECRET}, "2020-01-01")
    add_item(db, "alice", "k" * 2001, {"text": SECRET})
    add_item(db, "", "none", {"text": SECRET})
    db.execute("insert into store values ('alice', 'list', '[1]'), ('alice', 'null', 'null')")

    assert "Rolled back" in run(db_url, "langgraph.sql", account_segment="0", dry_run="on")
    assert stored_items(db) == {}
    said = run(db_url, "langgraph.sql", account_segment="0", model="two")
    assert section(said, OUTCOME) == [
        ["imported", "4", "2"],
        ["imported without its embedding", "1", "1"],
        ["left out", "5", "1"],
    ]
    assert [why[:20] for _, _, why in sorted(section(said, "What was left out, and why:"))] == [
        "It belongs to no acc",
        "key: A key has at le",
        "value: A value is an",
        "value: It is null.",
        "It has expired in La",
    ]
    found = stored_items(db)
    assert {path: row["account"] for path, row in found.items()} == {
        ("alice.facts", id): "alice",
        ("bob.facts", id): "bob",
        ("alice.facts.a", "b"): "alice",
        ("alice.facts", "a.b"): "alice",
        ("alice", "lives"): "alice",
    }
    assert found["alice.facts", id]["value"] == {"text": "One.", "null": None, "list": [{"a": None}]}
    assert {row["inserted_at"] for row in found.values()} == {"2025-03-04T05:06:07.000008+00:00"}
    assert {row["updated_at"] for row in found.values()} == {"2025-04-04T12:06:07+00:00"}
    assert found["alice", "lives"]["ttl_seconds"] == 5400
    assert found["alice", "lives"]["expires_at"] == "2999-01-01T00:00:00+00:00"
    assert found["alice.facts", "a.b"]["ttl_seconds"] == 3155760000
    assert found["alice.facts", "a.b"]["embeddings"] == ["$.0 two {3,4}", "text two {0.1,1e-07}"]
    assert found["alice.facts.a", "b"]["embeddings"] == []
    assert value(db, "select sum(violations) from memstore.verify_store()") == 0

    # Run again: what was put or renewed at the source is brought, what was put here stays.
    bob = account_of(db, "bob")
    db.execute(
        "select memstore.put_items(%s, %s)",
        [bob, json.dumps([{"namespace": ["bob", "facts"], "key": id, "value": {"text": "Here."}}])],
    )
    db.execute("update store set value = '{}', updated_at = updated_at + interval '1 s' where key = 'b'")
    db.execute("update store set expires_at = '3000-01-01' where key = 'lives'")
    db.execute("delete from store where key = 'a.b'")
    said = run(db_url, "langgraph.sql", account_segment="0", model="two")
    assert section(said, OUTCOME)[:2] == [["already there", "2", "2"], ["imported again", "1", "1"]]
    assert [row[:2] for row in section(said, HERE_ALONE)] == [["alice", "alice.facts.a.b"]]
    again = stored_items(db)
    assert again["bob.facts", id]["value"] == {"text": "Here."}
    assert again["alice.facts.a", "b"]["value"] == {}
    assert again["alice", "lives"]["expires_at"] == "3000-01-01T00:00:00+00:00"
    assert again["alice.facts", "a.b"] == found["alice.facts", "a.b"]
    assert again.keys() == found.keys()


def test_langgraph_to_items_of_one_account(db: Db, db_url: str) -> None:
    db.execute(LANGGRAPH.encode())
    db.execute("select memstore.configure(maximum_items => 3)")
    for number in range(5):
        add_item(db, f"user{number}.facts", "k", {"n": number})
    said = run(db_url, "langgraph.sql", account="app")
    assert section(said, OUTCOME) == [["imported", "5", "1"]]
    assert section(said, "Accounts that hold more than others may:") == [["app", "5", "5"]]
    assert section(run(db_url, "langgraph.sql", account="app"), OUTCOME) == [["already there", "5", "1"]]
    assert section(said, HERE_ALONE) == []
    for given in ({}, {"account": "app", "account_segment": "0"}):
        run(db_url, "langgraph.sql", code=3, **given)


def test_batches_of_items(vectors: Db, db_url: str) -> None:
    db = vectors
    db.execute((LANGGRAPH + LANGGRAPH_VECTORS.replace("vector(2)", "bit(3)")).encode())
    db.execute(
        "insert into store select 'alice.facts', 'key ' || i,"
        " case when i = 1234 then '[]' else '{}'::jsonb end"
        " from generate_series(1, 2500) i"
    )
    db.execute("insert into store_vectors values ('alice.facts', 'key 1', 'text', '011')")
    db.execute(
        sql.SQL("alter database {} set track_functions = 'all'").format(sql.Identifier(db.info.dbname))
    )
    said = run(db_url, "langgraph.sql", account_segment="0", model="bits")
    assert section(said, OUTCOME) == [["imported", "2499", "1"], ["left out", "1", "1"]]
    assert section(said, "Embeddings that memstore has no form for:") == [["bit", "1"]]
    calls = "select calls from pg_stat_user_functions where funcname = 'import_items'"
    assert value(db, calls) <= 3 + 2 * 10


def test_a_recipe_without_its_table_leaves_nothing(db: Db, db_url: str) -> None:
    for recipe in ("mem0.sql", "langgraph_memories.sql", "langgraph.sql"):
        run(db_url, recipe, code=3, **({"account": "app"} if recipe == "langgraph.sql" else {}))
    assert not rows(db, "select from memstore.users")


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.sql")), ids=lambda path: path.stem)
def test_each_variable_is_documented(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    header = "\n".join(line for line in text.splitlines() if line.startswith("--"))
    for name in re.findall(r"^\\if :\{\?(\w+)\}", text, re.MULTILINE):
        assert re.search(rf"^--   {name}=", header, re.MULTILINE), name
