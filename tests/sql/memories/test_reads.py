"""The reads: get_memory, list_memories, memory_history, memories_as_of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    raw_insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def listed(db: psycopg.Connection, account: UUID, **arguments: object) -> list[UUID]:
    return [memory["id"] for memory in call(db, "list_memories", actor=account, **arguments)]


def history(db: psycopg.Connection, account: UUID, memory: UUID | None) -> list[UUID]:
    return [memory["id"] for memory in call(db, "memory_history", actor=account, id=memory)]


def as_of(db: psycopg.Connection, account: UUID, moment: datetime | None) -> list[Any]:
    return [memory["body"] for memory in call(db, "memories_as_of", actor=account, moment=moment)]


# get_memory


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_get_live_and_superseded(db: psycopg.Connection, account: UUID) -> None:
    old = insert(db, account, "I use npm.")
    new = supersede(db, account, old["id"], "I use pnpm.")
    assert call_one(db, "get_memory", actor=account, id=new["id"]) == new
    found = call_one(db, "get_memory", actor=account, id=old["id"])
    assert (found["body"], found["superseded_by_id"]) == ("I use npm.", new["id"])
    claim = insert(db, account, "x", **SYSTEM)
    assert call_one(db, "get_memory", actor=account, id=claim["id"]) == claim


def test_one_answer_for_a_foreign_and_an_unknown_id(db: psycopg.Connection, account: UUID) -> None:
    other = account_of(db, "other")
    foreign, claim = insert(db, other, "x")["id"], insert(db, other, "x", **SYSTEM)["id"]
    answers = set()
    for memory in (foreign, claim, uuid4(), None):
        for function in ("get_memory", "memory_history"):
            with refused("memory_not_found", "id") as refusal:
                call(db, function, actor=account, id=memory)
            answers.add((refusal.value.diag.message_primary, refusal.value.diag.message_hint))
        if memory:
            with refused("memory_not_found", "id"):
                call(db, "list_memories", actor=account, after=memory)
    assert len(answers) == 1
    with refused("memory_not_found", "id"):
        call(db, "get_memory", actor=steward_of(db, "steward"), id=claim)


# list_memories


def test_list_is_newest_first_and_live(db: psycopg.Connection, account: UUID) -> None:
    first, second, third = (insert(db, account, f"Memory {number}.")["id"] for number in range(3))
    insert(db, account_of(db, "other"), "x")
    new = supersede(db, account, first, "Corrected.")["id"]
    assert listed(db, account) == [new, third, second]
    assert listed(db, account, include_superseded=True) == [new, third, second, first]
    assert listed(db, account, include_superseded=None) == [new, third, second]


def test_list_of_a_bucket(db: psycopg.Connection, account: UUID) -> None:
    by_bucket = {bucket: insert(db, account, "x", bucket=bucket)["id"] for bucket in ("user", "learned")}
    by_bucket["system"] = insert(db, account, "x", **SYSTEM)["id"]
    for bucket, memory in by_bucket.items():
        assert listed(db, account, bucket=bucket) == [memory]
    assert len(listed(db, account, bucket=None)) == 3
    for bucket in ("", "System", "other"):
        with refused("argument_invalid", "bucket"):
            listed(db, account, bucket=bucket)


def test_list_of_nothing(db: psycopg.Connection, account: UUID) -> None:
    assert listed(db, account) == []


@pytest.mark.parametrize("page_size", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("include_superseded", [False, True])
def test_pages_over_equal_times(
    page_size: int, include_superseded: bool, scratch: psycopg.Connection, holder: UUID
) -> None:
    for number in range(8):
        raw_insert(
            scratch,
            holder,
            id=uuid4(),
            inserted_at=NOON + timedelta(microseconds=number // 4),
            superseded_at=NOON + timedelta(1) if number % 3 == 0 else None,
        )
    everything = [
        memory
        for (memory,) in rows(
            scratch,
            "select id from memstore.memories where superseded_at is null or %s"
            " order by inserted_at desc, id desc",
            include_superseded,
        )
    ]
    pages: list[UUID] = []
    while page := listed(
        scratch,
        holder,
        include_superseded=include_superseded,
        page_size=page_size,
        after=pages[-1] if pages else None,
    ):
        assert len(page) <= page_size
        pages += page
    assert pages == everything


def test_a_page_continues_after_a_row_that_it_would_not_list(db: psycopg.Connection, account: UUID) -> None:
    first, second = insert(db, account, "x")["id"], insert(db, account, "y", bucket="learned")["id"]
    third = insert(db, account, "z")["id"]
    supersede(db, account, second, "y2")
    assert listed(db, account, after=second, bucket="user") == [first]
    assert third in listed(db, account)


def test_page_sizes(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 201)", [account])
    call(db, "insert_memories", actor=account, memories=[{"body": str(number)} for number in range(201)])
    assert len(listed(db, account)) == len(listed(db, account, page_size=None)) == 200
    assert len(listed(db, account, page_size=200)) == 200
    for page_size in (0, -1, 201):
        with refused("argument_invalid", "page_size"):
            listed(db, account, page_size=page_size)


# memory_history


def test_history_is_the_whole_chain_from_any_of_its_rows(db: psycopg.Connection, account: UUID) -> None:
    first, second = insert(db, account, "Memory 1.")["id"], insert(db, account, "Memory 2.")["id"]
    third = supersede(db, account, first, "Memory 3.")["id"]
    fourth = supersede(db, account, second, "Memory 4.")["id"]
    call(db, "supersede_with", actor=account, target=third, replacement=fourth)
    fifth = supersede(db, account, fourth, "Memory 5.")["id"]
    alone = insert(db, account, "Memory 6.")["id"]
    chain = [first, second, third, fourth, fifth]
    for memory in chain:
        assert history(db, account, memory) == chain
    assert history(db, account, alone) == [alone]


def test_history_breaks_where_the_last_row_was_deleted(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "Memory 1.")["id"]
    second = supersede(db, account, first, "Memory 2.")["id"]
    call(db, "delete_memory", actor=account, id=second)
    assert history(db, account, first) == [first]


def test_history_of_a_claim_crosses_accounts(db: psycopg.Connection, account: UUID) -> None:
    steward, other, stranger = steward_of(db, "s"), steward_of(db, "t"), account_of(db, "stranger")
    claim = insert(db, account, "x", **SYSTEM)["id"]
    second = supersede(db, steward, claim, "y", evidence_refs=[EVIDENCE])["id"]
    for reader in (account, steward, other):
        assert history(db, reader, claim if reader == account else second) == [claim, second]
    for memory in (claim, second):
        with refused("memory_not_found", "id"):
            history(db, stranger, memory)


def test_history_of_anothers_memory_is_not_for_stewards(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "x")["id"]
    with refused("memory_not_found", "id"):
        history(db, steward_of(db, "s"), memory)


# memories_as_of


def test_what_the_memory_held_at_a_moment(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "I use npm.")
    insert(db, account, "Deploys happen on Tuesdays.")
    new = supersede(db, account, first["id"], "I use pnpm.")
    insert(db, account_of(db, "other"), "x")
    tick = timedelta(microseconds=1)
    assert as_of(db, account, first["inserted_at"] - tick) == []
    assert as_of(db, account, first["inserted_at"]) == ["I use npm."]
    assert as_of(db, account, new["inserted_at"] - tick) == ["Deploys happen on Tuesdays.", "I use npm."]
    assert as_of(db, account, new["inserted_at"]) == ["I use pnpm.", "Deploys happen on Tuesdays."]
    assert len(as_of(db, account, datetime(9999, 12, 31, tzinfo=UTC))) == 2


def test_the_past_stays_where_a_correction_was_deleted(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "I use npm.")
    new = supersede(db, account, first["id"], "I use pnpm.")
    call(db, "delete_memory", actor=account, id=new["id"])
    assert as_of(db, account, first["inserted_at"]) == ["I use npm."]
    assert as_of(db, account, value(db, "select clock_timestamp()")) == []


def test_a_moment_is_needed(db: psycopg.Connection, account: UUID) -> None:
    with refused("argument_invalid", "moment"):
        as_of(db, account, None)
    insert(db, account, "x")
    assert rows(db, "select body from memstore.memories_as_of(%s, 'infinity')", account) == [("x",)]
    assert rows(db, "select body from memstore.memories_as_of(%s, '-infinity')", account) == []


def test_reads_write_nothing(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "x")["id"]
    before = row_of(db, memory)
    with db.transaction():
        db.execute("set transaction read only")
        assert listed(db, account) == history(db, account, memory) == [memory]
        call(db, "get_memory", actor=account, id=memory)
        call(db, "memories_as_of", actor=account, moment=NOON)
        call(db, "list_rules")
        call(db, "find_user", external_ref="account-1")
    assert row_of(db, memory) == before
