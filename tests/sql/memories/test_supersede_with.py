"""supersede_with: both the actor's own, both live, in the account's own buckets, not the same."""

from __future__ import annotations

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
    steward_of,
    supersede,
)


def replace(db: psycopg.Connection, account: UUID, target: UUID | None, replacement: UUID | None) -> None:
    call_one(db, "supersede_with", actor=account, target=target, replacement=replacement)


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_the_replaced_memory_is_returned(db: psycopg.Connection, account: UUID) -> None:
    first, second = insert(db, account, "I use npm."), insert(db, account, "I use pnpm.", bucket="learned")
    memory = call_one(db, "supersede_with", actor=account, target=first["id"], replacement=second["id"])
    assert (memory["id"], memory["superseded_by_id"]) == (first["id"], second["id"])
    assert memory["superseded_at"] == memory["updated_at"] > second["inserted_at"]
    changed = ("superseded_by_id", "superseded_at", "updated_at")
    assert {**memory, **{name: first[name] for name in changed}} == first
    assert call_one(db, "get_memory", actor=account, id=second["id"]) == second
    assert live_count(db, account) == 1


def test_the_replacement_may_be_older(db: psycopg.Connection, account: UUID) -> None:
    older, newer = insert(db, account, "x")["id"], insert(db, account, "y")["id"]
    replace(db, account, newer, older)
    assert row_of(db, newer)["superseded_by_id"] == older


def test_a_merge(db: psycopg.Connection, account: UUID) -> None:
    *merged, kept = (insert(db, account, f"Memory {number}.")["id"] for number in range(4))
    for memory in merged:
        replace(db, account, memory, kept)
    history = call(db, "memory_history", actor=account, id=merged[0])
    assert [memory["id"] for memory in history] == [*merged, kept]
    assert live_count(db, account) == 1


def test_times_rise_along_a_chain_whatever_the_clock_says(db: psycopg.Connection, account: UUID) -> None:
    first, second, third = (
        raw_insert(db, account, f"Memory {number}.", inserted_at=f"{year}-01-01Z")
        for number, year in enumerate((2999, 2998, 2997))
    )
    replace(db, account, first, second)
    replace(db, account, second, third)
    assert row_of(db, first)["inserted_at"] <= row_of(db, first)["superseded_at"]
    assert row_of(db, first)["superseded_at"] < row_of(db, second)["superseded_at"]


@pytest.mark.parametrize("ceiling", [2, 0])
def test_it_needs_no_room(ceiling: int, db: psycopg.Connection, account: UUID) -> None:
    first, second = insert(db, account, "x")["id"], insert(db, account, "y")["id"]
    db.execute("select memstore.set_maximum_live_memories(%s, %s)", [account, ceiling])
    replace(db, account, first, second)
    assert live_count(db, account) == 1


def test_one_answer_for_whatever_is_wrong(db: psycopg.Connection, account: UUID) -> None:
    own, other_own = insert(db, account, "x")["id"], insert(db, account, "y")["id"]
    dead = insert(db, account, "z")["id"]
    supersede(db, account, dead, "z2")
    claims = [insert(db, account, body, **SYSTEM)["id"] for body in ("x", "x2")]
    foreign = insert(db, account_of(db, "other"), "x")["id"]
    before = rows(db, "select m from memstore.memories m order by id")
    for target, replacement in (
        (own, own),
        (own, dead),
        (dead, own),
        (own, claims[0]),
        (claims[0], own),
        (claims[0], claims[1]),
        (own, foreign),
        (foreign, own),
        (own, uuid4()),
        (uuid4(), own),
        (own, None),
        (None, own),
    ):
        with refused("not_supersedable", "target"):
            replace(db, account, target, replacement)
    assert rows(db, "select m from memstore.memories m order by id") == before
    replace(db, account, own, other_own)
    with refused("not_supersedable", "target"):
        replace(db, account, own, other_own)
    with refused("not_supersedable", "target"):
        replace(db, account, other_own, own)


def test_a_steward_has_no_other_rights(db: psycopg.Connection, account: UUID) -> None:
    steward = steward_of(db, "steward")
    claim, own_claim = insert(db, account, "x", **SYSTEM)["id"], insert(db, steward, "x", **SYSTEM)["id"]
    with refused("not_supersedable", "target"):
        replace(db, steward, claim, own_claim)
