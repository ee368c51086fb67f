"""delete_memory: the row is gone, and its predecessors stay superseded."""

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
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
)


def delete(db: psycopg.Connection, account: UUID, memory: UUID | None) -> dict[str, object]:
    return call_one(db, "delete_memory", actor=account, id=memory)


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def chain(db: psycopg.Connection, account: UUID) -> list[UUID]:
    """Two merged memories, what they were merged into, and its correction."""
    first, second = insert(db, account, "Memory 1.")["id"], insert(db, account, "Memory 2.")["id"]
    third = supersede(db, account, first, "Memory 3.")["id"]
    call(db, "supersede_with", actor=account, target=second, replacement=third)
    return [first, second, third, supersede(db, account, third, "Memory 4.")["id"]]


def pointers(db: psycopg.Connection, memories: list[UUID]) -> list[UUID | None]:
    return [row_of(db, memory)["superseded_by_id"] for memory in memories]


def test_the_memory_as_it_was_is_returned(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "I use npm.", source_ref="run 7")
    assert delete(db, account, memory["id"]) == memory
    assert not rows(db, "select from memstore.memories")
    assert live_count(db, account) == 0


def test_predecessors_point_at_what_the_deleted_row_pointed_at(
    db: psycopg.Connection, account: UUID, chain: list[UUID]
) -> None:
    first, second, third, fourth = chain
    times = [row_of(db, memory)["superseded_at"] for memory in (first, second)]
    deleted = delete(db, account, third)
    assert (deleted["body"], deleted["superseded_by_id"]) == ("Memory 3.", fourth)
    assert pointers(db, [first, second, fourth]) == [fourth, fourth, None]
    assert [row_of(db, memory)["superseded_at"] for memory in (first, second)] == times
    assert live_count(db, account) == 1


def test_predecessors_of_a_live_row_point_at_nothing_and_stay_superseded(
    db: psycopg.Connection, account: UUID, chain: list[UUID]
) -> None:
    first, second, third, fourth = chain
    delete(db, account, fourth)
    assert pointers(db, [first, second, third]) == [third, third, None]
    assert row_of(db, third)["superseded_at"] is not None
    delete(db, account, third)
    assert pointers(db, [first, second]) == [None, None]
    assert not call(db, "list_memories", actor=account)
    assert live_count(db, account) == 0


def test_the_first_row_of_a_chain(db: psycopg.Connection, account: UUID, chain: list[UUID]) -> None:
    first, second, third, fourth = chain
    delete(db, account, first)
    assert pointers(db, [second, third, fourth]) == [third, fourth, None]


def test_a_whole_chain_row_by_row(db: psycopg.Connection, account: UUID, chain: list[UUID]) -> None:
    for memory in (chain[2], chain[0], chain[3], chain[1]):
        delete(db, account, memory)
    assert not rows(db, "select from memstore.memories")


def test_one_answer_for_a_foreign_and_an_unknown_id(db: psycopg.Connection, account: UUID) -> None:
    other = account_of(db, "other")
    foreign, claim = insert(db, other, "x")["id"], insert(db, other, "x", **SYSTEM)["id"]
    answers = set()
    for memory in (foreign, claim, uuid4(), None):
        with refused("memory_not_found", "id") as refusal:
            delete(db, account, memory)
        answers.add((refusal.value.diag.message_primary, refusal.value.diag.message_hint))
    assert len(answers) == 1
    assert live_count(db, other) == 2


def test_twice(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "x")["id"]
    delete(db, account, memory)
    with refused("memory_not_found", "id"):
        delete(db, account, memory)


def test_a_steward_has_no_other_rights(db: psycopg.Connection, account: UUID) -> None:
    claim = insert(db, account, "x", **SYSTEM)["id"]
    with refused("memory_not_found", "id"):
        delete(db, steward_of(db, "steward"), claim)


def test_an_author_deletes_a_claim_between_others(db: psycopg.Connection, account: UUID) -> None:
    """A claim's predecessor belongs to another account, and moves on all the same."""
    steward, second_steward = steward_of(db, "steward"), steward_of(db, "second steward")
    claim = insert(db, account, "x", **SYSTEM)["id"]
    evidence = SYSTEM["evidence_refs"]
    middle = supersede(db, steward, claim, "y", evidence_refs=evidence)["id"]
    last = supersede(db, second_steward, middle, "z", evidence_refs=evidence)["id"]
    delete(db, steward, middle)
    assert pointers(db, [claim, last]) == [last, None]
    assert [live_count(db, owner) for owner in (account, steward, second_steward)] == [0, 0, 1]


def test_the_last_embedding_of_a_model_takes_its_name_along(db: psycopg.Connection, account: UUID) -> None:
    first, second = (
        insert(db, account, body, embedding=[1, 2], embedding_model="model")["id"] for body in "xy"
    )
    delete(db, account, first)
    assert rows(db, "select name from memstore.embedding_models") == [("model",)]
    delete(db, account, second)
    assert not rows(db, "select from memstore.embedding_models")
    insert(db, account, "x", embedding=[1, 2, 3], embedding_model="model")
