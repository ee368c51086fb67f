"""What scopes and a filter leave out is absent: all is as in an account that holds the other memories alone.

And of several memories with one body the best alone is eligible.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.ranking import START
from tests.sql.recall.test_large_accounts import large
from tests.sql.support import (
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    raw_copy,
    raw_insert,
    refused,
    rows,
    supersede,
    value,
)

Db = psycopg.Connection

WORDS = [
    "apple",
    "pear",
    "plum",
    "cherry",
    "grape",
    "lemon",
    "melon",
    "fig",
    "kiwi",
    "mango",
    "Anna:",
    "Ben:",
]
SCOPES = [None, None, "project:x", "project:y", "session:1"]
METADATA: list[dict[str, Any] | None] = [None, {"k": 1}, {"k": 2, "t": ["a"]}, {"t": ["a", "b"]}]
NARROW: list[tuple[list[str] | None, Any]] = [
    (None, None),
    (["project:x"], None),
    ([], None),
    (["none"], {"none": 1}),
    (["project:x", "session:1"], {"t": ["a"]}),
    (None, [{"k": 1}, {"k": 2}]),
    (None, {"k": 1}),
    (["project:y"], {}),
    (None, []),
]
MEMORIES = 40


def kept(memory: dict[str, Any], scopes: list[str] | None, filter: Any) -> bool:
    """Whether a memory is within them, as the rules say it."""
    metadata = memory["metadata"] or {}

    def has(wanted: dict[str, Any]) -> bool:
        return all(
            set(value) <= set(metadata.get(key, []))
            if isinstance(value, list)
            else metadata.get(key) == value
            for key, value in wanted.items()
        )

    alternatives = [filter] if isinstance(filter, dict) else filter
    return (scopes is None or memory["scope"] is None or memory["scope"] in scopes) and (
        alternatives is None or any(map(has, alternatives))
    )


def some(chance: Random) -> list[dict[str, Any]]:
    """Memories with few words, so that many share one body; each of another time, so that no id decides."""
    return [
        {
            "bucket": chance.choice(["user", "learned", "learned"]),
            "body": " ".join(chance.choices(WORDS, k=chance.randint(1, 3))),
            "source_ref": chance.choice([None, "a", "b"]),
            "language": chance.choice(["english", "english", "german"]),
            "scope": chance.choice(SCOPES),
            "metadata": chance.choice(METADATA),
            "embedding": [chance.uniform(-1, 1), chance.uniform(-1, 1)] if number % 3 else None,
            "embedding_model": "m" if number % 3 else None,
            "inserted_at": START + timedelta(minutes=number),
            "superseded_at": START + timedelta(days=1) if chance.random() < 0.1 else None,
        }
        for number in range(MEMORIES)
    ]


def give(db: Db, account: UUID, memories: list[dict[str, Any]]) -> None:
    if memories:
        raw_copy(db, [{"user_id": account, **memory} for memory in memories])


def told(
    db: Db, account: UUID, query: str, embedding: list[float] | None, scopes: Any = None, filter: Any = None
) -> tuple[Any, ...]:
    """What recall and rank_memories say, without ids."""
    narrow = (scopes, None if filter is None else Jsonb(filter))
    asked = (account, query, embedding, embedding and "m")
    ranked = rows(
        db,
        "select (memory).body, score, lexical_score, semantic_score, eligible"
        " from memstore.rank_memories(%s, %s, %s::real[], %s, %s::text[], %s)",
        *asked,
        *narrow,
    )
    recalled = [
        rows(
            db,
            "select jsonb_path_query_array(memories, '$[*].body'), dropped, unembedded, backend, note"
            " from memstore.recall(%s, %s, %s::real[], %s, %s, null, %s::text[], %s)",
            *asked,
            maximum,
            *narrow,
        )
        for maximum in (3, 60)
    ]
    return ranked, recalled


@pytest.fixture(params=["each memory is read", "indexes"])
def store(request: pytest.FixtureRequest, db: Db) -> Db:
    """A store in which recall by words reads each memory, or the operator's indexes."""
    db.execute("select memstore.configure(maximum_live_memories => 100000)")
    return request.getfixturevalue("large") if request.param == "indexes" else db


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 20))]
)
def test_what_is_narrowed_away_is_absent(store: Db, seed: int) -> None:
    chance = Random(seed)
    memories = some(chance)
    whole = account_of(store, "whole")
    give(store, whole, memories)
    differing = 0
    for number, (scopes, filter) in enumerate(NARROW):
        alone = account_of(store, f"alone-{number}")
        give(store, alone, [memory for memory in memories if kept(memory, scopes, filter)])
        everything = 0
        for query in (" ".join(chance.choices(WORDS, k=2)), "apple", "zebra", "Anna and the lemon"):
            for embedding in (None, [chance.uniform(-1, 1), 1.0]):
                expected = told(store, alone, query, embedding)
                answer = told(store, whole, query, embedding, scopes, filter)
                assert answer == expected, (scopes, filter, query, embedding)
                everything += len(expected[0])
                differing += expected != told(store, whole, query, embedding)
        assert everything or filter in ([], {"none": 1})
    assert differing > 20


def test_of_one_body_the_best_is_eligible(store: Db) -> None:
    """Of another source, scope or language it is another memory, but not another line of a note."""
    account = account_of(store, "a")
    for number, (body, bucket, source) in enumerate(
        [
            ("alpha", "learned", None),
            ("alpha", "user", "s"),
            ("alpha", "learned", "s"),
            ("beta", "user", None),
            ("beta", "user", "s"),
            ("gamma", "learned", None),
            ("gamma delta", "user", None),
        ]
    ):
        raw_insert(
            store,
            account,
            body,
            bucket=bucket,
            source_ref=source,
            language="english",
            inserted_at=START + timedelta(minutes=number),
        )
    for query, eligible in (("alpha", 3), ("gamma", 4), ("zebra", 3), ("beta alpha gamma", 4)):
        ranked = rows(
            store,
            "select (memory).body, bool_or(eligible), count(*) filter (where eligible) from"
            " memstore.rank_memories(%s, %s) group by 1",
            account,
            query,
        )
        assert {count for _, _, count in ranked} <= {0, 1}
        assert sum(count for _, _, count in ranked) == eligible
        recall = call_one(store, "recall", actor=account, query=query)
        bodies = [memory["body"] for memory in recall["memories"]]
        assert len(set(bodies)) == len(bodies) == eligible
        assert recall["dropped"] == 0
        for maximum in range(eligible):
            less = call_one(store, "recall", actor=account, query=query, maximum_attached=maximum)
            assert [memory["body"] for memory in less["memories"]] == bodies[:maximum]
            assert less["dropped"] == eligible - maximum


def test_the_one_that_is_shown_is_the_newest_of_the_best(store: Db) -> None:
    account = account_of(store, "a")
    ids = [
        raw_insert(store, account, "alpha", source_ref=str(n), inserted_at=START + timedelta(minutes=n % 3))
        for n in range(5)
    ]
    for query in ("alpha", "zebra"):
        (memory,) = call_one(store, "recall", actor=account, query=query)["memories"]
        assert UUID(memory["id"]) == ids[2]


def test_a_body_that_only_hashes_alike_is_another(store: Db, account: UUID) -> None:
    """A hash that everything shares, as a crafted body could: it hides nothing."""
    store.execute("create function memstore.one_hash(text, bigint) returns bigint immutable return 7")
    for (definition,) in rows(
        store,
        "select pg_get_functiondef(oid) from pg_proc where pronamespace = 'memstore'::regnamespace"
        " and prosrc ~ 'hashtextextended' and proname !~ 'memor(y|ies)s?$' or proname = 'best_memories'",
    ):
        store.execute(definition.replace("hashtextextended", "memstore.one_hash").encode())
    for body in ("alpha", "beta", "gamma"):
        raw_insert(store, account, body)
    raw_insert(store, account, "alpha", bucket="learned")
    assert value(store, "select has_twins from memstore.users where id = %s", account)
    for query in ("alpha", "zebra"):
        recall = call_one(store, "recall", actor=account, query=query)
        assert {memory["body"] for memory in recall["memories"]} == {"alpha", "beta", "gamma"}
        assert (len(recall["memories"]), recall["dropped"]) == (3, 0)


WRITES = {
    "no two": (["alpha", "beta"], False),
    "two": (["alpha", "beta", "alpha"], True),
}


@pytest.mark.parametrize("way", ["insert", "copy", "import", "correct"])
@pytest.mark.parametrize(("bodies", "expected"), WRITES.values(), ids=WRITES)
def test_an_account_says_whether_it_has_two_of_one_body(
    way: str, bodies: list[str], expected: bool, db: Db, account: UUID
) -> None:
    match way:
        case "insert":
            for body in bodies:
                raw_insert(db, account, body)
        case "copy":
            raw_copy(db, [{"user_id": account, "body": body} for body in bodies])
        case "import":
            call(db, "import_memories", user_id=account, memories=[{"body": body} for body in bodies])
        case _:
            for number, body in enumerate(bodies):
                supersede(db, account, insert(db, account, f"{number}")["id"], body)
    said = "select has_twins from memstore.users where id = %s"
    assert value(db, said, account) is expected
    assert not rows(db, "select from memstore.verify_store() where violations > 0")
    db.execute("update memstore.users set has_twins = false")
    broken = rows(db, "select invariant from memstore.verify_store() where violations > 0")
    assert broken == ([("twins",)] if expected else [])


def test_what_no_recall_attaches_is_none_of_two(db: Db, account: UUID) -> None:
    """Superseded memories, claims, and those of another account."""
    memory = insert(db, account, "alpha")["id"]
    supersede(db, account, memory, "alpha")
    for number in range(2):
        raw_insert(db, account, "alpha", **{**SYSTEM, "slug": f"sys:{number}"})
    insert(db, account_of(db, "other"), "alpha")
    assert rows(db, "select distinct has_twins from memstore.users") == [(False,)]


@pytest.mark.parametrize("function", ["recall", "rank_memories"])
def test_refusals(function: str, db: Db, account: UUID) -> None:
    for argument, given in (("filter", {"k": {"$in": [1]}}), ("filter", "7"), ("scopes", ["x"] * 101)):
        with refused("argument_invalid", argument):
            call(db, function, actor=account, query="alpha", **{argument: given})


def test_claims_ignore_both(db: Db, account: UUID) -> None:
    db.execute("select memstore.configure(system_recall_enabled => true)")
    steward = account_of(db, "steward")
    call(db, "set_steward", user_id=steward, steward=True)
    claim = insert(db, steward, "alpha", **SYSTEM)["id"]
    call(db, "record_admission", actor=steward, memory_id=claim, verdict="admitted", ground="Because.")
    insert(db, account, "alpha beta", scope="project:y")
    recall = call_one(db, "recall", actor=account, query="alpha", scopes=["project:x"], filter={"k": 1})
    assert [memory["id"] for memory in recall["memories"]] == [str(claim)]


__all__ = ["large"]
