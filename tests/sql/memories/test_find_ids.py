"""find_ids: the ids that begin so, as a range of the primary key."""

from __future__ import annotations

import json
from uuid import UUID

import psycopg

from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    insert,
    refused,
    rows,
    steward_of,
    supersede,
    value,
)

ID = "aaaabbbb-cccc-4ddd-8eee-ffff0000000{}"


def rows_read(db: psycopg.Connection) -> int:
    """By this session, until PostgreSQL passes the count on."""
    query = "select pg_stat_get_xact_tuples_%s('memstore.memories'::regclass)"
    return sum(int(value(db, query.replace("%s", how))) for how in ("returned", "fetched"))


def found(db: psycopg.Connection, account: UUID | None, prefix: str | None, **more: object) -> list[str]:
    return [str(row["find_ids"]) for row in call(db, "find_ids", actor=account, prefix=prefix, **more)]


def test_every_prefix_of_an_id(db: psycopg.Connection, account: UUID) -> None:
    for end in "19":
        insert(db, account, "x", id=ID.format(end))
    insert(db, account, "x", id="aaaabbbc-0000-4000-8000-000000000000")
    insert(db, account_of(db, "other"), "x", id=ID.format("5"))
    both, first = [ID.format("1"), ID.format("9")], ID.format("1")
    for length in range(len(first) + 1):
        expected = both if length > 7 else [*both, "aaaabbbc-0000-4000-8000-000000000000"]
        expected = [first] if length == len(first) else expected
        assert found(db, account, first[:length]) == expected, length
        assert found(db, account, first[:length].upper()) == expected
    assert found(db, account, "aaaa", page_size=2) == both


def test_what_begins_no_id(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x", id=ID.format("1"))
    for prefix in ("aaaabbbbc", "-", "aaaa-", "aaaag", "aaaa%", " aaaa", "ａ", ID.format("1") + "0", None):
        assert found(db, account, prefix) == [], prefix


def test_memories_are_the_accounts_own(db: psycopg.Connection, account: UUID) -> None:
    old = insert(db, account, "x")["id"]
    new = supersede(db, account, old, "y")["id"]
    claim = insert(db, account, "z", **SYSTEM)["id"]
    assert found(db, account, "") == sorted(map(str, (old, new, claim)))
    assert found(db, steward_of(db, "steward"), "") == []


def test_claims_are_for_their_author_and_for_stewards(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x")
    old = insert(db, account, "x", **SYSTEM)["id"]
    new = supersede(db, account, old, "y", evidence_refs=[EVIDENCE])["id"]
    steward = steward_of(db, "steward")
    own = insert(db, steward, "x", **SYSTEM)["id"]
    pointer = call(
        db, "promote_memory", actor=steward, target=own, stance="a-stance", evidence_refs=[EVIDENCE]
    )[0]["id"]
    assert found(db, account, "", kind="claim") == sorted(map(str, (old, new)))
    assert found(db, steward, "", kind="claim") == sorted(map(str, (new, own, pointer)))
    assert found(db, account_of(db, "other"), "", kind="claim") == []


def test_challenges_are_for_stewards(db: psycopg.Connection, account: UUID) -> None:
    claims = [insert(db, account, body, **SYSTEM)["id"] for body in "abc"]
    steward = steward_of(db, "steward")
    challenges = [
        call(db, "challenge_memory", actor=account, memory_id=claim, ground="No.")[0]["id"]
        for claim in claims
    ]
    call(db, "refute_challenge", actor=steward, challenge_id=challenges[0], ground="Yes.")
    supersede(db, account, claims[1], "y", evidence_refs=[EVIDENCE])
    assert found(db, steward, "", kind="challenge") == [str(challenges[2])]
    with refused("steward_required", "actor"):
        found(db, account, "", kind="challenge")


def test_refusals(db: psycopg.Connection, account: UUID) -> None:
    with refused("actor_unknown", "actor"):
        found(db, None, "aaaa")
    with refused("argument_invalid", "kind"):
        found(db, account, "aaaa", kind="record")
    for size in (0, 201):
        with refused("argument_invalid", "page_size"):
            found(db, account, "aaaa", page_size=size)


def test_it_reads_a_range_of_a_large_account(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 100000)", [account])
    items = json.dumps([{"body": str(number)} for number in range(5000)])
    db.execute("select count(*) from memstore.insert_memories(%s, %s::jsonb)", [account, items])
    (some,) = rows(db, "select id from memstore.memories order by id limit 1 offset 2500")
    db.execute("vacuum memstore.memories")
    for statistics in (False, True):
        if statistics:
            db.execute("analyze memstore.memories")
        before = rows_read(db)
        assert found(db, account, str(some[0])[:8]) == [str(some[0])]
        assert rows_read(db) - before < 5
