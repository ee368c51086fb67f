"""What an account holds already is written no second time, but with an id of its own or by plain SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    live_count,
    raw_insert,
    refused,
    row_of,
    rows,
    supersede,
    value,
)

Db = psycopg.Connection
Write = Callable[..., dict[str, Any]]

WHOLE: dict[str, Any] = {
    "body": "I use pnpm, not npm.",
    "bucket": "learned",
    "source_ref": "run 7",
    "language": "german",
    "scope": "project:x",
    "metadata": {"k": [1, {"l": None}]},
}


@pytest.fixture
def db(undone: Db) -> Db:
    return undone


@pytest.fixture(params=["insert_memory", "insert_memories"])
def write(request: pytest.FixtureRequest, db: Db, account: UUID) -> Write:
    """Writes one memory of the account, and gives the row."""

    def one(actor: UUID = account, **fields: Any) -> dict[str, Any]:
        if request.param == "insert_memory":
            return insert(db, actor, **fields)
        item = {name: str(each) if isinstance(each, UUID) else each for name, each in fields.items()}
        return call_one(db, "insert_memories", actor=actor, memories=[item])

    return one


@pytest.mark.parametrize("fields", [{"body": "x"}, WHOLE, {"body": "x", **SYSTEM}], ids=["x", "all", "claim"])
def test_the_row_that_is_there_is_returned(
    write: Write, fields: dict[str, Any], db: Db, account: UUID
) -> None:
    first = write(**fields)
    assert write(**fields) == first
    assert write(**{**fields, "body": f"\t{fields['body']} "}, id=None) == first
    assert live_count(db, account) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"body": "I use pnpm, not npm"},
        {"body": "i use pnpm, not npm."},
        {"bucket": "user"},
        {"source_ref": None},
        {"source_ref": "run 8"},
        {"language": "english"},
        {"scope": None},
        {"scope": "project:X"},
        {"metadata": {}},
        {"metadata": {"k": [1, {}]}},
    ],
    ids=str,
)
def test_other_content_is_another_memory(write: Write, other: dict[str, Any], db: Db, account: UUID) -> None:
    assert write(**WHOLE)["id"] != write(**{**WHOLE, **other})["id"]
    assert live_count(db, account) == 2


def test_a_claim_of_another_day_is_another_claim(write: Write, db: Db, account: UUID) -> None:
    claim = {"body": "x", **SYSTEM}
    assert write(**claim)["id"] != write(**{**claim, "as_of": "2026-01-03"})["id"]
    assert live_count(db, account) == 2


def test_an_id_that_is_given_is_another_memory(write: Write, db: Db, account: UUID) -> None:
    first, given = write(body="x")["id"], uuid4()
    for _ in range(2):
        assert write(body="x", id=given)["id"] == given
    assert write(body="x")["id"] == first
    assert live_count(db, account) == 2


def test_another_accounts_memory_is_none_of_ones_own(write: Write, db: Db, account: UUID) -> None:
    other = account_of(db, "other")
    assert write(body="x")["user_id"] == account
    assert write(actor=other, body="x")["user_id"] == other


def test_what_was_superseded_or_deleted_may_come_back(write: Write, db: Db, account: UUID) -> None:
    first = write(body="x")
    supersede(db, account, first["id"], "y")
    second = write(body="x")
    assert second["id"] != first["id"]
    call(db, "delete_memory", actor=account, id=second["id"])
    assert write(body="x")["id"] not in (first["id"], second["id"])


def test_corrections_are_written_as_they_are(write: Write, db: Db, account: UUID) -> None:
    first, second = write(body="x"), write(body="y")
    third = supersede(db, account, second["id"], "x")
    assert third["id"] != first["id"]
    assert write(body="x")["id"] == first["id"]  # the oldest


def test_the_table_takes_what_it_is_given(write: Write, db: Db, account: UUID) -> None:
    """A repeated fact is legitimate: a plain INSERT and an import write it again."""
    first = write(body="x")
    again = raw_insert(db, account, "x")
    (imported,) = call(db, "import_memories", user_id=account, memories=[{"body": "x"}])
    assert len({first["id"], again, imported["id"]}) == live_count(db, account) == 3
    assert write(body="x") == first


def test_at_the_ceiling_it_needs_no_room(write: Write, db: Db, account: UUID) -> None:
    first = write(body="x")
    db.execute("select memstore.set_maximum_live_memories(%s, 1)", [account])
    assert write(body="x") == first
    with refused("quota_reached"):
        write(body="y")


def test_a_broken_rule_is_refused_all_the_same(write: Write) -> None:
    write(body="x")
    with refused("memories_embedding_shape", "embedding"):
        write(body="x", embedding=[0.0], embedding_model="m")


def test_an_embedding_is_not_lost(write: Write, db: Db) -> None:
    """The row that is there gets it where it has none, and keeps the one that it has."""
    first = write(body="x")
    second = write(body="x", embedding=[1, 2], embedding_model="m")
    assert second == first | {"embedding_model": "m", "updated_at": second["updated_at"]}
    assert second["updated_at"] > first["updated_at"]
    for numbers, model in (([3, 4], "m"), ([3, 4], "n"), ([5], "m"), (None, None)):
        assert write(body="x", embedding=numbers, embedding_model=model) == second
    assert row_of(db, first["id"])["embedding"] == [1, 2]
    assert rows(db, "select name, dimensions from memstore.embedding_models") == [("m", 2)]
    call(db, "set_embedding", actor=first["user_id"], id=first["id"], embedding=None, embedding_model=None)
    call(db, "register_embedding_model", name="k", dimensions=2)
    with refused("embedding_dimensions_differ", "embedding"):
        write(body="x", embedding=[5], embedding_model="k")


def test_items_of_a_batch_are_written_as_one_after_another(db: Db, account: UUID) -> None:
    stored = insert(db, account, "stored")["id"]
    gone = insert(db, account, "gone", id=UUID(int=1))["id"]
    supersede(db, account, gone, "changed")
    items: list[dict[str, Any]] = [
        {"body": "new"},
        {"body": "stored", "id": str(UUID(int=2))},
        {"body": "stored"},
        {"body": "new", "embedding": [1], "embedding_model": "m"},
        {"body": "new", "scope": "s"},
        {"body": "named", "id": str(UUID(int=3))},
        {"body": "named"},
        {"body": "gone", "id": str(gone)},
        {"body": "gone"},
        {"body": "gone", "embedding": [2], "embedding_model": "m"},
    ]
    written = call(db, "insert_memories", actor=account, memories=items)
    ids = [memory["id"] for memory in written]
    assert [memory["body"] for memory in written] == [item["body"] for item in items]
    assert ids == [
        ids[0],
        UUID(int=2),
        stored,
        ids[0],
        ids[4],
        UUID(int=3),
        UUID(int=3),
        gone,
        ids[8],
        ids[8],
    ]
    assert len({*ids, stored}) == 7
    assert {memory["id"]: memory["embedding_model"] for memory in written if memory["embedding_model"]} == {
        ids[0]: "m",
        ids[8]: "m",
    }
    one_by_one = account_of(db, "one by one")
    for item in items:
        own = {} if "id" not in item else {"id": UUID(int=UUID(item["id"]).int + 100)}
        if item.get("id") == str(gone):
            supersede(db, one_by_one, insert(db, one_by_one, **{**item, **own})["id"], "changed")
        insert(db, one_by_one, **{**item, **own})
    content = (
        "select body, scope, embedding, superseded_at is null from memstore.memories where user_id = %s"
        " and body <> 'changed' order by 1, 2, 4, 3"
    )
    insert(db, one_by_one, "stored", id=uuid4())
    assert rows(db, content, account) == rows(db, content, one_by_one)


def test_a_batch_says_which_item_has_other_dimensions(db: Db, account: UUID) -> None:
    insert(db, account, "x")
    call(db, "register_embedding_model", name="m", dimensions=2)
    items = [{"body": "y"}, {"body": "x", "embedding": [1], "embedding_model": "m"}]
    with refused("embedding_dimensions_differ", "embedding") as refusal:
        call(db, "insert_memories", actor=account, memories=items)
    assert (refusal.value.diag.message_primary or "").startswith("Item 2: ")


def test_bodies_are_compared_and_not_their_hashes(db: Db, account: UUID) -> None:
    """A hash that everything shares, as a crafted body could."""
    definitions = rows(
        db,
        "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'memstore'::regnamespace"
        " and proname in ('insert_row', 'write_memory', 'find_twins')",
    )
    for (definition,) in definitions:
        assert "hashtextextended" in definition
        db.execute(definition.replace("hashtextextended", "memstore.one_hash").encode())
    db.execute("create function memstore.one_hash(text, bigint) returns bigint immutable return 7")
    first = insert(db, account, "x")["id"]
    second = insert(db, account, "y")["id"]
    third, fourth, fifth = call(
        db, "insert_memories", actor=account, memories=[{"body": body} for body in ("z", "x", "y")]
    )
    assert len({first, second, third["id"]}) == 3
    assert (fourth["id"], fifth["id"], insert(db, account, "z")["id"]) == (first, second, third["id"])


def test_many_of_one_body(db: Db, account: UUID) -> None:
    """Each of another source; a batch of them again writes none, and each one is found."""
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=10_000)
    items = [{"body": "x", "source_ref": f"run {number}"} for number in range(2_000)]
    first = call(db, "insert_memories", actor=account, memories=items)
    assert call(db, "insert_memories", actor=account, memories=items[::-1]) == first[::-1]
    assert live_count(db, account) == 2_000


def test_the_index_keeps_no_statistics(db: Db, account: UUID) -> None:
    call(db, "insert_memories", actor=account, memories=[{"body": f"Memory {n}."} for n in range(100)])
    db.execute("analyze memstore.memories")
    kept = value(
        db,
        "select count(*) from pg_statistic where starelid = 'memstore.memories_account_body_idx'::regclass",
    )
    assert kept == 0
