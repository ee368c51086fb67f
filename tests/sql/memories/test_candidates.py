"""users.candidates: what recall can attach of an account, by language, whatever wrote it."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.racing import at_once
from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    insert,
    raw_copy,
    raw_insert,
    refused,
    rows,
    steward_of,
    supersede,
    value,
)

Counts = dict[str, list[int]]


def kept(db: psycopg.Connection, account: UUID) -> Counts:
    """What the account keeps, which is what its rows have."""
    result: Counts = value(db, "select candidates from memstore.users where id = %s", account)
    counted = rows(
        db,
        "select language, count(*), count(*) filter (where bucket = 'user') from memstore.memories"
        " where user_id = %s and superseded_at is null and bucket in ('user', 'learned') group by language",
        account,
    )
    assert result == {language: [memories, of_user] for language, memories, of_user in counted}
    languages, counts, of_user, has_twins = rows(
        db, "select * from memstore.count_candidates(%s, null, null)", account
    )[0]
    assert dict(zip(languages or [], counts or [], strict=True)) == {
        name: pair[0] for name, pair in result.items()
    }
    assert of_user == sum(pair[1] for pair in result.values())
    again = (
        "select count(*) - count(distinct body) from memstore.memories"
        " where user_id = %s and superseded_at is null and bucket in ('user', 'learned')"
    )
    assert has_twins or not value(db, again, account)
    return result


def test_nothing(scratch: psycopg.Connection, holder: UUID) -> None:
    assert kept(scratch, holder) == {}
    assert rows(scratch, "select * from memstore.count_candidates(%s, null, null)", uuid4()) == [
        (None, None, 0, None)
    ]


def test_a_new_account_has_none(scratch: psycopg.Connection) -> None:
    """Also where a plain INSERT says otherwise."""
    account = value(
        scratch,
        "insert into memstore.users (candidates) values ('{\"english\": [7, 7]}') returning id",
    )
    assert kept(scratch, account) == {}


def test_each_language_and_bucket(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "one")
    insert(scratch, holder, "two", bucket="learned")
    insert(scratch, holder, "drei", language="german", bucket="learned")
    raw_insert(scratch, holder, "quatre", language="french")
    assert kept(scratch, holder) == {"english": [2, 1], "german": [1, 0], "french": [1, 1]}


def test_many_in_one_statement(scratch: psycopg.Connection, holder: UUID) -> None:
    call(
        scratch,
        "insert_memories",
        actor=holder,
        memories=[
            {"body": str(number), "language": language, "bucket": bucket}
            for number in range(3)
            for language in ("english", "german")
            for bucket in ("user", "learned")
        ],
    )
    assert kept(scratch, holder) == {"english": [6, 3], "german": [6, 3]}
    others = [account_of(scratch, name) for name in "abc"]
    rows(
        scratch,
        "insert into memstore.memories (user_id, body, language, bucket)"
        " select a.id, n::text, (memstore.languages())[1 + n %% 4], (array['user', 'learned'])[1 + n %% 2]"
        " from unnest(%s::uuid[]) a (id), generate_series(1, 9) n",
        [holder, *others],
    )
    assert {sum(pair[0] for pair in kept(scratch, other).values()) for other in others} == {9}
    kept(scratch, holder)
    rows(scratch, "delete from memstore.memories where body::integer %% 2 = 0 and user_id = any (%s)", others)
    for other in others:
        kept(scratch, other)


def test_copy(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_copy(
        scratch,
        [{"user_id": holder, "body": "x", "language": name} for name in ("english", "german", "german")],
    )
    assert kept(scratch, holder) == {"english": [1, 1], "german": [2, 2]}


def test_corrections(scratch: psycopg.Connection, holder: UUID) -> None:
    first = insert(scratch, holder, "one")["id"]
    second = supersede(scratch, holder, first, "uno", language="italian", bucket="learned")["id"]
    assert kept(scratch, holder) == {"italian": [1, 0]}
    third = insert(scratch, holder, "two")["id"]
    call(scratch, "supersede_with", actor=holder, target=second, replacement=third)
    assert kept(scratch, holder) == {"english": [1, 1]}
    call(scratch, "set_embedding", actor=holder, id=third, embedding=[1.0], embedding_model="m")
    assert kept(scratch, holder) == {"english": [1, 1]}
    rows(
        scratch,
        "update memstore.memories set superseded_by_id = %s, superseded_at = clock_timestamp() where id = %s",
        raw_insert(scratch, holder, "three", language="german"),
        third,
    )
    assert kept(scratch, holder) == {"german": [1, 1]}


def test_deletions(scratch: psycopg.Connection, holder: UUID) -> None:
    first = insert(scratch, holder, "one")["id"]
    second = supersede(scratch, holder, first, "two")["id"]
    call(scratch, "delete_memory", actor=holder, id=first)
    assert kept(scratch, holder) == {"english": [1, 1]}
    call(scratch, "delete_memory", actor=holder, id=second)
    assert kept(scratch, holder) == {}


def test_claims_are_none(scratch: psycopg.Connection) -> None:
    steward = steward_of(scratch, "steward")
    claim = insert(scratch, steward, "claim", **SYSTEM)["id"]
    insert(scratch, steward, "mine")
    assert kept(scratch, steward) == {"english": [1, 1]}
    call(scratch, "promote_memory", actor=steward, target=claim, stance="use-pnpm", evidence_refs=[EVIDENCE])
    assert kept(scratch, steward) == {"english": [1, 1]}
    assert value(scratch, "select live_memories from memstore.users where id = %s", steward) == 1
    rows(scratch, "delete from memstore.memories where user_id = %s", steward)
    assert kept(scratch, steward) == {}


def test_an_import_with_its_history(scratch: psycopg.Connection, holder: UUID) -> None:
    first, second = uuid4(), uuid4()
    times = {
        "inserted_at": "2026-01-01T00:00:00Z",
        "superseded_at": "2026-01-02T00:00:00Z",
        "superseded_by_id": str(second),
    }
    rows(
        scratch,
        "select * from memstore.import_memories(%s, %s)",
        holder,
        Jsonb(
            [
                {"id": str(first), "body": "old", **times},
                {"id": str(second), "body": "new", "inserted_at": times["superseded_at"]},
                {"body": "neu", "language": "german", "bucket": "learned"},
            ]
        ),
    )
    assert kept(scratch, holder) == {"english": [1, 1], "german": [1, 0]}


def test_a_refused_statement_counts_nothing(scratch: psycopg.Connection, holder: UUID) -> None:
    call(scratch, "set_maximum_live_memories", user_id=holder, maximum_live_memories=2)
    with refused("quota_reached"), scratch.transaction():
        call(
            scratch,
            "insert_memories",
            actor=holder,
            memories=[{"body": "1"}, {"body": "2", "language": "german"}, {"body": "3"}],
        )
    assert kept(scratch, holder) == {}
    with refused("quota_reached") as caught, scratch.transaction():
        rows(
            scratch,
            "insert into memstore.memories (user_id, body, language) select %s, l, l"
            " from unnest('{english,german,french,greek}'::text[]) l",
            holder,
        )
    assert str(caught.value).startswith("Only 2 of 4 fit: ")


def test_an_erased_account(scratch: psycopg.Connection, holder: UUID) -> None:
    steward = steward_of(scratch, "steward")
    claim = insert(scratch, steward, "claim", **SYSTEM)["id"]
    insert(scratch, holder, "one")
    call(scratch, "challenge_memory", actor=holder, memory_id=claim, ground="No.")
    call(scratch, "delete_user", actor=holder)
    assert kept(scratch, holder) == {}


def test_no_statistics(db: psycopg.Connection) -> None:
    assert (
        value(
            db,
            "select attstattarget from pg_attribute"
            " where attrelid = 'memstore.users'::regclass and attname = 'candidates'",
        )
        == 0
    )


@pytest.mark.parametrize("seed", range(3))
def test_writers_at_once(connect: Callable[..., psycopg.Connection], seed: int) -> None:
    """Inserts, corrections and deletions of one account, in several languages."""
    with connect() as db:
        account = account_of(db, "shared")
        ids = [insert(db, account, str(number))["id"] for number in range(20)]

        def work(number: int) -> Callable[[psycopg.Connection], object]:
            chosen = random.Random(seed * 10 + number)

            def run(connection: psycopg.Connection) -> None:
                for _ in range(8):
                    language = chosen.choice(["english", "german", "french"])
                    with_target = chosen.choice(ids)
                    try:
                        match chosen.randrange(4):
                            case 0:
                                insert(connection, account, "x", language=language)
                            case 1:
                                raw_insert(connection, account, "x", language=language, bucket="learned")
                            case 2:
                                supersede(connection, account, with_target, "y", language=language)
                            case _:
                                call(connection, "delete_memory", actor=account, id=with_target)
                    except psycopg.Error as error:
                        if error.diag.constraint_name not in ("not_supersedable", "memory_not_found"):
                            raise

            return run

        assert at_once(connect, *map(work, range(6))) == [None] * 6
        assert sum(pair[0] for pair in kept(db, account).values()) > 0
        assert rows(db, "select invariant from memstore.verify_store() where violations > 0") == []
