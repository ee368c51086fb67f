"""set_embedding: gives, replaces and takes away, and holds the dimensions of a model."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    SECRET,
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)


def embed(
    db: psycopg.Connection, account: UUID, memory: UUID | None, embedding: object, model: str | None
) -> dict[str, object]:
    return call_one(db, "set_embedding", actor=account, id=memory, embedding=embedding, embedding_model=model)


def models(db: psycopg.Connection) -> list[tuple[str, int]]:
    return rows(db, "select name, dimensions from memstore.embedding_models order by name")


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def memory(db: psycopg.Connection, account: UUID) -> UUID:
    result: UUID = insert(db, account, SECRET)["id"]
    return result


def test_give_replace_take_away(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    before = row_of(db, memory)
    given = embed(db, account, memory, [1, 2], " old ")
    assert given["embedding_model"] == "old"
    stored = row_of(db, memory)
    assert stored["embedding"] == [1, 2]
    assert stored["updated_at"] > before["updated_at"]
    changed = ("embedding", "embedding_model", "updated_at")
    assert {**stored, **{name: before[name] for name in changed}} == before
    embed(db, account, memory, [3, 4, 5], "new")
    assert (row_of(db, memory)["embedding"], models(db)) == ([3, 4, 5], [("new", 3)])
    for blank in (None, "", " "):
        assert embed(db, account, memory, None, blank)["embedding_model"] is None
        assert (row_of(db, memory)["embedding"], models(db)) == (None, [])


def test_a_superseded_memory_and_a_claim(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    supersede(db, account, memory, "x")
    assert embed(db, account, memory, [1, 2], "model")["embedding_model"] == "model"
    claim = insert(db, account, "x", **SYSTEM)["id"]
    assert embed(db, account, claim, [1, 2], "model")["embedding_model"] == "model"


def test_one_number_of_dimensions(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    insert(db, account_of(db, "other"), "x", embedding=[1, 2], embedding_model="model")
    with refused("embedding_dimensions_differ", "embedding"):
        embed(db, account, memory, [1, 2, 3], "model")
    assert row_of(db, memory)["embedding"] is None


def test_the_only_embedding_of_a_model_may_change_its_width(
    db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    embed(db, account, memory, [1, 2], "model")
    embed(db, account, memory, None, None)
    embed(db, account, memory, [1, 2, 3], "model")
    assert models(db) == [("model", 3)]


@pytest.mark.parametrize(
    ("embedding", "model", "field"),
    [
        ([], "model", "embedding"),
        ([0, 0], "model", "embedding"),
        ([1, None], "model", "embedding"),
        ([[1, 2]], "model", "embedding"),
        ([float("nan")], "model", "embedding"),
        ([float("inf")], "model", "embedding"),
        (None, "model", "embedding"),
        ([1, 2], None, "embedding_model"),
        ([1, 2], " ", "embedding_model"),
        ([1, 2], "x" * 201, "embedding_model"),
    ],
    ids=str,
)
def test_the_rules(
    embedding: object, model: str | None, field: str, db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    embed(db, account, memory, [7], "before")
    with refused(f"memories_{field}_shape", field):
        embed(db, account, memory, embedding, model)
    assert (row_of(db, memory)["embedding"], models(db)) == ([7], [("before", 1)])


def test_one_answer_for_a_foreign_and_an_unknown_id(db: psycopg.Connection, account: UUID) -> None:
    other = account_of(db, "other")
    foreign, claim = insert(db, other, "x")["id"], insert(db, other, "x", **SYSTEM)["id"]
    for actor in (account, steward_of(db, "steward")):
        for memory in (foreign, claim, uuid4(), None):
            with refused("memory_not_found", "id"):
                embed(db, actor, memory, [1, 2], "model")
    assert models(db) == []


@pytest.mark.parametrize(
    "change",
    [
        "delete from memstore.memories",
        "update memstore.memories set embedding = null, embedding_model = null",
    ],
)
def test_many_embeddings_go_in_one_reading_of_their_index(
    change: str, db: psycopg.Connection, account: UUID
) -> None:
    """What the statement took out is still in the index while it runs: it must not be read for each row."""
    number = 500
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=number + 1)
    db.execute(
        "insert into memstore.memories (user_id, body, embedding, embedding_model)"
        " select %s, 'x', '{1}', 'model' from generate_series(1, %s)",
        [account, number],
    )
    for plan in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "material"):  # as in a large store
        db.execute(f"set enable_{plan} = off".encode())
    with db.transaction():
        db.execute(change.encode())
        read = value(
            db,
            "select pg_stat_get_xact_tuples_returned('memstore.memories_embedding_model_idx'::regclass)",
        )
    assert read < 10 * number
    assert not rows(db, "select from memstore.embedding_models")
