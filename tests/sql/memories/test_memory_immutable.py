"""What never changes of a memory, the pointers of a chain, and the counts, held against the owner too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    adapted,
    call_one,
    insert,
    live_count,
    placeholder,
    raw_copy,
    raw_insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)

START = datetime(2026, 1, 2, tzinfo=UTC)
POINT = "update memstore.memories set superseded_by_id = %s, superseded_at = clock_timestamp() where id = %s"


KEYS = {"id", "user_id", "bucket", "language", "inserted_at"}
"""Columns that no stored row lacks, whatever an INSERT says."""


def update(db: psycopg.Connection, memory: UUID, column: str, content: object) -> None:
    """A plain UPDATE of one column as the owner."""
    query = sql.SQL("update memstore.memories set {} = {} where id = %(stored)s").format(
        sql.Identifier(column), placeholder(column)
    )
    db.execute(query, {"stored": memory, column: adapted(column, content)})


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def past(account: UUID, memory: int, by: int | None = None, when: int | None = None) -> dict[str, Any]:
    """A row that was written in the minute of its number, and superseded in another."""
    return {
        "user_id": account,
        "bucket": "user",
        "id": UUID(int=memory),
        "body": f"Memory {memory}.",
        "inserted_at": at(memory),
        "updated_at": at(memory),
        "superseded_by_id": by and UUID(int=by),
        "superseded_at": when and at(when),
    }


def chain(db: psycopg.Connection) -> list[tuple[int, int | None, bool]]:
    return [
        (memory.int, by and by.int, live)
        for memory, by, live in rows(
            db, "select id, superseded_by_id, superseded_at is null from memstore.memories order by id"
        )
    ]


@pytest.fixture
def pair(scratch: psycopg.Connection, holder: UUID) -> tuple[UUID, UUID]:
    """Two live memories."""
    return raw_insert(scratch, holder, "First."), raw_insert(scratch, holder, "Second.")


MUTABLE = {"embedding", "embedding_model", "superseded_by_id", "superseded_at", "updated_at"}
"""What an UPDATE may change, within the rules of the chain; of whatever else there is, nothing."""


def contents(db: psycopg.Connection, number: int) -> dict[str, Any]:
    """A value of its type for each column that is written, another one by each number."""
    account = account_of(db, f"account-{number}")
    of_type: dict[str, object] = {
        "uuid": UUID(int=number),
        "text": f"text {number}",
        "date": date(2026, 1, number),
        "timestamp with time zone": at(number),
        "jsonb": {"number": number},
        "real[]": [number, 1],
        "boolean": number > 1,
        "integer": number,
    }
    # Those that are keys, or decide what the triggers do.
    of_column = {
        "user_id": account,
        "bucket": ["user", "learned"][number - 1],
        "language": ["english", "danish"][number - 1],
        "embedding_model": "model",
        "superseded_by_id": None,
        "superseded_at": None,
    }
    written = rows(
        db,
        "select attname, format_type(atttypid, atttypmod) from pg_attribute"
        " where attrelid = 'memstore.memories'::regclass and attnum > 0 and not attisdropped"
        " and attgenerated = ''",
    )
    return {name: of_column.get(name, of_type.get(type)) for name, type in written}


def store(db: psycopg.Connection, columns: dict[str, Any]) -> UUID:
    """A plain INSERT of these."""
    return raw_insert(db, columns["user_id"], **{k: v for k, v in columns.items() if k != "user_id"})


@pytest.fixture
def unruled(scratch: psycopg.Connection) -> psycopg.Connection:
    """Without the rules of what a field may hold, so that nothing else refuses a change."""
    for (name,) in rows(
        scratch,
        "select conname from pg_constraint where conrelid = 'memstore.memories'::regclass and contype = 'c'",
    ):
        scratch.execute(f"alter table memstore.memories drop constraint {name}".encode())
    return scratch


def test_a_fixed_column_never_changes(unruled: psycopg.Connection) -> None:
    """Whatever columns there are: to another value, to none, and from none."""
    first, second = contents(unruled, 1), contents(unruled, 2)
    fixed = sorted(first.keys() - MUTABLE)
    full = store(unruled, first)
    empty = store(unruled, first | {"id": UUID(int=3)} | dict.fromkeys(set(fixed) - KEYS))
    for column in fixed:
        tries = [(full, second[column])]
        if column not in KEYS:
            tries += [(full, None), (empty, first[column])]
        for memory, content in tries:
            with refused("memory_is_immutable", column), unruled.transaction():
                update(unruled, memory, column, content)
        update(unruled, full, column, first[column])


def test_what_an_update_may_change(unruled: psycopg.Connection) -> None:
    first, second = contents(unruled, 1), contents(unruled, 2)
    memory = store(unruled, first)
    replacement = raw_insert(unruled, first["user_id"])
    for column in MUTABLE - {"superseded_by_id", "superseded_at"}:
        update(unruled, memory, column, second[column])
    unruled.execute(POINT, [replacement, memory])
    listed = "select name from memstore.memory_columns where not fixed and not generated"
    assert {name for (name,) in rows(unruled, listed)} == MUTABLE


@pytest.mark.parametrize("body", ["It does not build.", "It builds. ", "it builds."])
def test_a_body_never_changes(body: str, scratch: psycopg.Connection, holder: UUID) -> None:
    memory = raw_insert(scratch, holder, "It builds.")
    with refused("memory_is_immutable", "body"), scratch.transaction():
        update(scratch, memory, "body", body)


def test_embedding_and_updated_at_may_change(scratch: psycopg.Connection, holder: UUID) -> None:
    memory = raw_insert(scratch, holder, embedding=[1, 2], embedding_model="old")
    raw_insert(scratch, holder, embedding=[1, 2, 3], embedding_model="known")
    scratch.execute(
        "update memstore.memories set embedding = '{1,2,3}', embedding_model = 'known', updated_at = %s"
        " where id = %s",
        [at(1), memory],
    )
    stored = row_of(scratch, memory)
    assert (stored["embedding"], stored["embedding_model"], stored["updated_at"]) == (
        [1, 2, 3],
        "known",
        at(1),
    )
    with refused("embedding_dimensions_differ", "embedding"), scratch.transaction():
        scratch.execute("update memstore.memories set embedding = '{1,2}' where id = %s", [memory])
    with refused("memories_embedding_shape"), scratch.transaction():
        scratch.execute("update memstore.memories set embedding = null where id = %s", [memory])
    scratch.execute(
        "update memstore.memories set embedding = null, embedding_model = null where id = %s", [memory]
    )
    assert rows(scratch, "select name from memstore.embedding_models") == [("known",)]


def test_an_update_may_bring_in_a_model(scratch: psycopg.Connection, holder: UUID) -> None:
    memory = raw_insert(scratch, holder)
    scratch.execute(
        "update memstore.memories set embedding = '{1,2}', embedding_model = 'new' where id = %s", [memory]
    )
    assert rows(scratch, "select name, dimensions from memstore.embedding_models") == [("new", 2)]


def test_a_pointer_to_a_live_row_of_the_account(
    scratch: psycopg.Connection, holder: UUID, pair: tuple[UUID, UUID]
) -> None:
    first, second = pair
    scratch.execute(POINT, [second, first])
    assert row_of(scratch, first)["superseded_by_id"] == second
    assert live_count(scratch, holder) == 1
    with refused("not_supersedable", "superseded_by_id"), scratch.transaction():
        scratch.execute(POINT, [first, second])  # a dead row; it would be a loop


def test_a_pointer_to_itself(scratch: psycopg.Connection, pair: tuple[UUID, UUID]) -> None:
    with refused("not_supersedable", "superseded_by_id"), scratch.transaction():
        scratch.execute(POINT, [pair[0], pair[0]])


def test_a_pointer_to_nothing(scratch: psycopg.Connection, pair: tuple[UUID, UUID]) -> None:
    with refused("memories_superseded_by_id_fkey"), scratch.transaction():
        scratch.execute(POINT, [uuid4(), pair[0]])


def test_a_pointer_to_another_account(scratch: psycopg.Connection, pair: tuple[UUID, UUID]) -> None:
    foreign = raw_insert(scratch, account_of(scratch, "other"))
    with refused("not_supersedable", "superseded_by_id"), scratch.transaction():
        scratch.execute(POINT, [foreign, pair[0]])


def test_a_pointer_across_the_border_of_system(
    scratch: psycopg.Connection, holder: UUID, pair: tuple[UUID, UUID]
) -> None:
    claim = raw_insert(scratch, holder, **SYSTEM)
    for target, memory in ((claim, pair[0]), (pair[0], claim)):
        with refused("not_supersedable", "superseded_by_id"), scratch.transaction():
            scratch.execute(POINT, [target, memory])
    foreign = raw_insert(scratch, account_of(scratch, "other"), **SYSTEM)
    scratch.execute(POINT, [foreign, claim])  # within it, across accounts


def test_two_rows_pointed_at_each_other_in_one_statement(
    scratch: psycopg.Connection, pair: tuple[UUID, UUID]
) -> None:
    with refused("not_supersedable", "superseded_by_id"), scratch.transaction():
        scratch.execute(
            "update memstore.memories m set superseded_by_id = o.id, superseded_at = clock_timestamp()"
            " from memstore.memories o where o.id <> m.id"
        )


def test_a_pointer_without_its_time(scratch: psycopg.Connection, pair: tuple[UUID, UUID]) -> None:
    with refused("memories_superseded_at_shape"), scratch.transaction():
        scratch.execute("update memstore.memories set superseded_by_id = %s where id = %s", pair)


def test_a_time_without_a_pointer(scratch: psycopg.Connection, pair: tuple[UUID, UUID]) -> None:
    with refused("memory_is_immutable", "superseded_at"), scratch.transaction():
        scratch.execute(
            "update memstore.memories set superseded_at = clock_timestamp() where id = %s", pair[:1]
        )


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("superseded_by_id = null", "memory_is_immutable"),
        ("superseded_by_id = null, superseded_at = null", "memory_is_immutable"),
        ("superseded_at = superseded_at + interval '1 s'", "memory_is_immutable"),
        ("superseded_by_id = '00000000-0000-0000-0000-000000000003'", "memory_is_immutable"),
        ("superseded_by_id = id", "memory_is_immutable"),
        ("superseded_by_id = '00000000-0000-0000-0000-000000000099'", "memories_superseded_by_id_fkey"),
    ],
)
def test_a_pointer_that_is_set_stays(
    change: str, refusal: str, scratch: psycopg.Connection, holder: UUID
) -> None:
    raw_copy(scratch, [past(holder, 1, 2, 2), past(holder, 2), past(holder, 3)])
    with refused(refusal), scratch.transaction():
        scratch.execute(f"update memstore.memories set {change} where body = 'Memory 1.'".encode())


def test_a_pointer_may_move_on_to_its_targets_replacement(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_copy(scratch, [past(holder, 1, 2, 2), past(holder, 2, 3, 3), past(holder, 3)])
    move = "update memstore.memories set superseded_by_id = %s where id = %s"
    scratch.execute(move, [UUID(int=3), UUID(int=1)])
    assert chain(scratch) == [(1, 3, False), (2, 3, False), (3, None, True)]
    with refused("memory_is_immutable"), scratch.transaction():
        scratch.execute(move, [UUID(int=2), UUID(int=1)])


def test_a_row_whose_replacement_is_gone_stays_superseded(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_copy(scratch, [past(holder, 1, 2, 2), past(holder, 2), past(holder, 3)])
    scratch.execute("delete from memstore.memories where id = %s", [UUID(int=2)])
    assert chain(scratch) == [(1, None, False), (3, None, True)]
    for change in (
        "superseded_at = null",
        "superseded_at = clock_timestamp()",
        "superseded_by_id = '00000000-0000-0000-0000-000000000003'",
        "superseded_by_id = '00000000-0000-0000-0000-000000000003', superseded_at = clock_timestamp()",
    ):
        with pytest.raises(psycopg.Error) as refusal, scratch.transaction():
            scratch.execute(f"update memstore.memories set {change} where body = 'Memory 1.'".encode())
        assert refusal.value.diag.constraint_name in ("memory_is_immutable", "not_supersedable"), change


@pytest.mark.parametrize("order", [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1), (3, 1, 5, 2, 4)])
def test_copy_of_a_history(order: tuple[int, ...], scratch: psycopg.Connection, holder: UUID) -> None:
    history = {
        1: past(holder, 1, 3, 3),  # a chain, 1 -> 3 -> 4
        2: past(holder, 2, 4, 6),  # a merge, with its replacement written before
        3: past(holder, 3, 4, 4),
        4: past(holder, 4),
        5: past(holder, 5, None, 7),  # its replacement was deleted
    }
    raw_copy(scratch, [history[memory] for memory in order])
    assert chain(scratch) == [
        (1, 3, False),
        (2, 4, False),
        (3, 4, False),
        (4, None, True),
        (5, None, False),
    ]
    assert live_count(scratch, holder) == 1


History = Callable[[UUID, UUID], list[dict[str, Any]]]


@pytest.mark.parametrize(
    ("history", "refusal"),
    [
        (lambda a, _: [past(a, 1, 1, 1)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 3), past(a, 2, 1, 3)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 3), past(a, 2, 1, 4)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 4), past(a, 2, 3, 5), past(a, 3, 1, 6)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 5), past(a, 2, 3, 4), past(a, 3)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 4), past(a, 2, None, 4)], "not_supersedable"),
        (lambda a, b: [past(a, 1, 2, 2), past(b, 2)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 2), {**past(a, 2), **SYSTEM}], "not_supersedable"),
        (lambda a, _: [{**past(a, 1, 2, 2), **SYSTEM}, past(a, 2)], "not_supersedable"),
        (lambda a, _: [past(a, 1, 2, 2)], "memories_superseded_by_id_fkey"),
    ],
    ids=[
        "itself",
        "loop of two at once",
        "loop of two",
        "loop of three",
        "dead by then",
        "dead just then",
        "another account's",
        "into system",
        "out of system",
        "nothing there",
    ],
)
def test_copy_of_a_history_that_cannot_have_been(
    history: History, refusal: str, scratch: psycopg.Connection, holder: UUID
) -> None:
    with refused(refusal), scratch.transaction():
        raw_copy(scratch, history(holder, account_of(scratch, "other")))
    assert not chain(scratch)


def test_a_history_that_an_update_wrote_can_be_copied_out_and_in(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    raw_copy(scratch, [past(holder, 1), past(holder, 2), past(holder, 3)])
    point = "update memstore.memories set superseded_by_id = %s, superseded_at = %s where id = %s"
    scratch.execute(point, [UUID(int=2), at(9), UUID(int=1)])
    with refused("not_supersedable"), scratch.transaction():
        scratch.execute(point, [UUID(int=3), at(8), UUID(int=2)])  # dead before its own predecessor was


def test_a_claims_history_crosses_accounts(scratch: psycopg.Connection, holder: UUID) -> None:
    other = account_of(scratch, "other")
    raw_copy(scratch, [{**past(holder, 1, 2, 2), **SYSTEM}, {**past(other, 2), **SYSTEM}])
    assert (live_count(scratch, holder), live_count(scratch, other)) == (0, 1)


def test_delete_clears_pointers_and_counts(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_copy(scratch, [past(holder, 1, 3, 3), past(holder, 2, 3, 4), past(holder, 3, 4, 5), past(holder, 4)])
    scratch.execute("delete from memstore.memories where id = %s", [UUID(int=3)])
    assert chain(scratch) == [(1, None, False), (2, None, False), (4, None, True)]
    assert live_count(scratch, holder) == 1
    scratch.execute("delete from memstore.memories")
    assert live_count(scratch, holder) == 0


def test_deleting_a_whole_chain_in_one_statement(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_copy(scratch, [past(holder, 1, 2, 2), past(holder, 2, 3, 3), past(holder, 3), past(holder, 4)])
    scratch.execute("delete from memstore.memories where body <> 'Memory 4.'")
    assert chain(scratch) == [(4, None, True)]
    assert live_count(scratch, holder) == 1


@pytest.mark.parametrize("tables", ["memstore.memories", "memstore.users"])
def test_truncate_is_refused_since_it_would_take_records(
    tables: str, scratch: psycopg.Connection, holder: UUID
) -> None:
    raw_insert(scratch, holder)
    with pytest.raises(psycopg.errors.FeatureNotSupported), scratch.transaction():
        scratch.execute(f"truncate {tables}".encode())
    with refused("record_is_immutable", sqlstate="MS011"), scratch.transaction():
        scratch.execute(f"truncate {tables} cascade".encode())
    assert live_count(scratch, holder) == 1


def test_plain_inserts_and_copy_are_counted_and_held_below_the_ceiling(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    other = account_of(scratch, "other")
    scratch.execute("select memstore.set_maximum_live_memories(%s, 3)", [holder])
    raw_insert(scratch, holder)
    raw_copy(scratch, [{"user_id": account, "body": "x"} for account in (holder, other, other)])
    assert (live_count(scratch, holder), live_count(scratch, other)) == (2, 2)
    with refused("quota_reached", "actor"), scratch.transaction():
        raw_copy(scratch, [{"user_id": account, "body": "x"} for account in (holder, other, holder)])
    assert (live_count(scratch, holder), live_count(scratch, other)) == (2, 2)
    raw_insert(scratch, holder)
    with refused("quota_reached", "actor"), scratch.transaction():
        raw_insert(scratch, holder)
    with refused("quota_reached", "actor"), scratch.transaction():
        raw_insert(scratch, holder, **SYSTEM)


def test_superseded_rows_and_tombstones_are_not_counted(scratch: psycopg.Connection, holder: UUID) -> None:
    scratch.execute("select memstore.set_maximum_live_memories(%s, 0)", [holder])
    raw_insert(scratch, holder, superseded_at="2999-01-01Z")
    raw_insert(scratch, holder, "At use-pnpm.", **SYSTEM, stance="use-pnpm")
    assert live_count(scratch, holder) == 0


def test_a_new_past_makes_no_room(scratch: psycopg.Connection, holder: UUID) -> None:
    """A correction adds no live row; a row that comes with its own predecessor does."""
    scratch.execute("select memstore.set_maximum_live_memories(%s, 0)", [holder])
    with refused("quota_reached", "actor"), scratch.transaction():
        raw_copy(scratch, [past(holder, 1, 2, 2), past(holder, 2)])


def test_a_plain_correction_at_the_ceiling(scratch: psycopg.Connection, holder: UUID) -> None:
    memory = raw_insert(scratch, holder)
    scratch.execute("select memstore.set_maximum_live_memories(%s, 0)", [holder])
    correction = (
        "with retired as (update memstore.memories set superseded_by_id = %(new)s,"
        " superseded_at = clock_timestamp() where id = %(old)s)"
        " insert into memstore.memories (id, user_id, body) values (%(new)s, %(account)s, 'x')"
    )
    names = {"account": holder, "old": memory, "new": UUID(int=2)}
    with refused("quota_reached", "actor"), scratch.transaction():
        scratch.execute(f"{correction}, (gen_random_uuid(), %(account)s, 'one more')".encode(), names)
    scratch.execute(correction.encode(), names)
    assert live_count(scratch, holder) == 1


def test_a_tombstones_correction_needs_room(scratch: psycopg.Connection) -> None:
    """It replaces a row that isn't counted by one that is."""
    steward = steward_of(scratch, "steward")
    tombstone = raw_insert(scratch, steward, "At use-pnpm.", **SYSTEM, stance="use-pnpm")
    scratch.execute("select memstore.set_maximum_live_memories(%s, 0)", [steward])
    with refused("quota_reached", "actor"), scratch.transaction():
        supersede(scratch, steward, tombstone, "It builds.", evidence_refs=[EVIDENCE])


def test_an_account_starts_at_no_memories(scratch: psycopg.Connection) -> None:
    account = value(scratch, "insert into memstore.users (live_memories) values (7) returning id")
    assert live_count(scratch, account) == 0


def test_no_statistics_are_kept_of_texts(db: psycopg.Connection, account: UUID) -> None:
    for number in range(30):
        insert(db, account, "Always the same text.", source_ref="The same source.", id=UUID(int=number + 1))
    call_one(db, "set_embedding", actor=account, id=UUID(int=1), embedding=[1], embedding_model="model")
    db.execute("analyze memstore.memories")
    db.execute("analyze memstore.users")
    kept = set(rows(db, "select tablename, attname from pg_stats where schemaname = 'memstore'"))
    assert ("users", "external_ref") not in kept
    assert ("memories", "bucket") in kept
    # Of each column that may hold a text, also one without a value here.
    sampled = rows(
        db,
        "select attname from pg_attribute where attrelid = 'memstore.memories'::regclass and attnum > 0"
        " and atttypid = any (array['text', 'jsonb', 'real[]', 'tsvector']::regtype[])"
        " and coalesce(attstattarget, -1) <> 0",
    )
    assert {name for (name,) in sampled} == {"bucket", "language", "tier", "admission"}
