"""Scope and metadata: what memories a read for scopes or a filter has, and what a correction inherits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    insert,
    raw_insert,
    refused,
    row_of,
    supersede,
)

Db = psycopg.Connection

MEMORIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "x": {"scope": "project:x"},
    "y": {"scope": "project:y", "metadata": {"k": 1}},
    "X": {"scope": "project:X", "metadata": {"k": 1, "l": [1, 2], "m": {"n": "a", "o": "b"}}},
    "k2": {"metadata": {"k": 2, "l": [3]}},
    "null": {"metadata": {"k": None}},
    "claim": {**SYSTEM, "metadata": {"k": 1}},
}
SCOPES: list[tuple[Any, str]] = [
    (None, "plain x y X k2 null claim"),
    ([], "plain k2 null claim"),
    (["project:x"], "plain x k2 null claim"),
    ([" project:x\t", "project:x"], "plain x k2 null claim"),
    (["project:x", "project:X", "none"], "plain x X k2 null claim"),
    (["project"], "plain k2 null claim"),
    (["", None], "plain k2 null claim"),
    ([f"s{number}" for number in range(99)] + ["project:y"], "plain y k2 null claim"),
]
FILTERS: list[tuple[Any, str]] = [
    ({}, "plain x y X k2 null claim"),
    ([{}], "plain x y X k2 null claim"),
    ([{"k": 7}, {}], "plain x y X k2 null claim"),
    ([], ""),
    ({"k": 1}, "y X claim"),
    ({"k": 1.0}, "y X claim"),
    ({"k": "1"}, ""),
    ({"k": None}, "null"),
    ({"k": 1, "l": [2]}, "X"),
    ({"m": {"n": "a"}}, "X"),
    ({"m": {}}, "X"),
    ({"m": {"n": "b"}}, ""),
    ([{"k": 2}, {"m": {}}], "X k2"),
    ([{"none": 1}] * 99 + [{"l": [3]}], "k2"),
]
BOTH: list[tuple[Any, Any, str]] = [
    (["project:y"], {"k": 1}, "y claim"),
    ([], [{"k": 1}, {"k": 2}], "k2 claim"),
]


@pytest.fixture
def db(undone: Db) -> Db:
    return undone


def told(memories: list[dict[str, Any]]) -> str:
    return " ".join(memory["body"] for memory in memories[::-1])


@pytest.mark.parametrize(
    ("scopes", "filter", "expected"),
    [
        *((scopes, None, expected) for scopes, expected in SCOPES),
        *((None, filter, expected) for filter, expected in FILTERS),
        *BOTH,
    ],
)
def test_reads(scopes: Any, filter: Any, expected: str, db: Db, account: UUID) -> None:
    for number, (body, fields) in enumerate(MEMORIES.items()):
        raw_insert(db, account, body, **fields, inserted_at=datetime(2026, 1, 1 + number, tzinfo=UTC))
    narrow: dict[str, Any] = {"actor": account, "scopes": scopes, "filter": filter}
    assert told(call(db, "list_memories", **narrow)) == expected
    assert told(call(db, "memories_as_of", moment=datetime(2026, 2, 1, tzinfo=UTC), **narrow)) == expected
    claims = call(db, "list_memories", bucket="system", **narrow)
    assert told(claims) == " ".join(word for word in expected.split() if word == "claim")


def test_pages_are_of_what_is_left(db: Db, account: UUID) -> None:
    for number in range(9):
        insert(db, account, f"{number}", scope=["a", "b", None][number % 3])
    first = call(db, "list_memories", actor=account, scopes=["a"], page_size=4)
    rest = call(db, "list_memories", actor=account, scopes=["a"], page_size=4, after=first[-1]["id"])
    assert (told(first), told(rest)) == ("3 5 6 8", "0 2")
    outside = call(db, "list_memories", actor=account, scopes=["b"])[0]["id"]
    assert told(call(db, "list_memories", actor=account, scopes=["a"], after=outside)) == "0 2 3 5 6"


REFUSED: list[tuple[str, Any, str]] = [
    ("scopes", [f"s{number}" for number in range(101)], "100 scopes"),
    *(("filter", filter, "object") for filter in ("null", "7", '"k"', "true", [7], [{"k": 1}, [{"k": 1}]])),
    ("filter", [{"k": 1}] * 101, "at most 100 objects"),
    *(
        ("filter", filter, "no operators")
        for filter in (
            {"$or": [{"k": 1}]},
            {"k": {"$gte": 1}},
            {"k": 1, "l": [{"m": [[{"$in": [1]}]]}]},
            [{"k": 1}, {"$": 1}],
            [{}, {"k": {"$ne": 1}}],
        )
    ),
]


@pytest.mark.parametrize(("argument", "given", "reason"), REFUSED, ids=str)
@pytest.mark.parametrize("function", ["list_memories", "memories_as_of"])
def test_what_no_read_understands_is_refused(
    function: str, argument: str, given: Any, reason: str, db: Db, account: UUID
) -> None:
    """By name: a filter that is ignored would answer with what was not asked for."""
    more = {"moment": datetime(2026, 2, 1, tzinfo=UTC)} if function == "memories_as_of" else {}
    with refused("argument_invalid", argument) as refusal:
        call(db, function, actor=account, **{argument: given}, **more)
    assert reason in (refusal.value.diag.message_primary or "")


def test_a_dollar_within_a_key_is_none_of_an_operators(db: Db, account: UUID) -> None:
    insert(db, account, "x", metadata={"a$b": "$c", "d": {"$e": 1}})
    assert told(call(db, "list_memories", actor=account, filter={"a$b": "$c", "d": {}})) == "x"


def has_operator(given: Any) -> bool:
    if isinstance(given, dict):
        return any(key.startswith("$") or has_operator(value) for key, value in given.items())
    return isinstance(given, list) and any(map(has_operator, given))


def random_json(chance: Random, depth: int) -> Any:
    text = "".join(chance.choices('$$"\\:{}[], kä\n', k=chance.randrange(6)))
    if depth == 0 or chance.random() < 0.3:
        return chance.choice([text, text, 1, None, True])
    parts = [random_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    if chance.random() < 0.4:
        return parts
    return {"".join(chance.choices('$"\\: {k', k=chance.randrange(4))): part for part in parts}


def test_which_keys_are_operators(db: Db) -> None:
    """Whatever quotes, colons and braces there are in keys and values."""
    chance = Random("keys")
    refused_ones = 0
    for _ in range(600):
        given = {"k": random_json(chance, 4)}
        expected = has_operator(given)
        refused_ones += expected
        try:
            db.execute("select memstore.read_filter(%s::jsonb)", [json.dumps(given)])
        except psycopg.Error as error:
            assert error.diag.constraint_name == "argument_invalid"
            assert expected, given
        else:
            assert not expected, given
    assert 60 < refused_ones < 540


def test_a_filter_of_many_levels(db: Db, account: UUID) -> None:
    """A path that visits all keys took seconds for it."""
    db.execute("set statement_timeout = '2s'")
    for operator, levels in (("k", 5000), ("$k", 5000)):
        given = '{"a":' * levels + f'{{"{operator}": 1}}' + "}" * levels
        statement = "select count(*) from memstore.list_memories(%s, filter => %s::jsonb)"
        if operator == "k":
            assert db.execute(statement, [account, given]).fetchone() == (0,)
        else:
            with refused("argument_invalid", "filter"):
                db.execute(statement, [account, given])


@pytest.fixture
def scoped(db: Db, account: UUID) -> UUID:
    memory: UUID = insert(db, account, "x", scope="project:x", metadata={"k": 1})["id"]
    return memory


@pytest.mark.parametrize(
    ("given", "scope", "metadata"),
    [
        ({}, "project:x", {"k": 1}),
        ({"scope": None, "metadata": None}, "project:x", {"k": 1}),
        ({"scope": "", "metadata": {}}, None, None),
        ({"scope": " \t"}, None, {"k": 1}),
        ({"scope": " project:y", "metadata": {"l": 2}}, "project:y", {"l": 2}),
    ],
    ids=str,
)
def test_a_correction_inherits_what_it_does_not_say(
    given: dict[str, Any], scope: Any, metadata: Any, db: Db, account: UUID, scoped: UUID
) -> None:
    id = UUID(int=7)
    new = supersede(db, account, scoped, "y", id=id, **given)
    assert (new["scope"], new["metadata"]) == (scope, metadata)
    assert (row_of(db, id)["scope"], row_of(db, id)["metadata"]) == (scope, metadata)
    assert supersede(db, account, scoped, "y", id=id, **given) == new
    with refused("not_supersedable"):
        supersede(db, account, scoped, "y", id=id, **{**given, "metadata": {"m": 3}})
    with refused("not_supersedable"):
        supersede(db, account, scoped, "y", id=id, **{**given, "scope": "project:z"})


def test_a_claims_correction_has_its_metadata_and_no_scope(db: Db, account: UUID) -> None:
    claim = insert(db, account, "x", **SYSTEM, metadata={"k": 1})["id"]
    with refused("memories_scope_shape", "scope"):
        supersede(db, account, claim, "y", evidence_refs=[EVIDENCE], scope="project:x")
    new = supersede(db, account, claim, "y", evidence_refs=[EVIDENCE])
    assert new["metadata"] == {"k": 1}
    call(db, "set_steward", user_id=account, steward=True)
    moved = call(
        db, "promote_memory", actor=account, target=new["id"], stance="use-y", evidence_refs=[EVIDENCE]
    )
    assert moved[0]["metadata"] is None


@pytest.mark.parametrize("function", ["insert_memory", "insert_memories"])
def test_empty_ones_are_absent(function: str, db: Db, account: UUID) -> None:
    empty: dict[str, Any] = {"body": "x", "scope": " ", "metadata": {}}
    arguments = {"memories": [empty]} if function == "insert_memories" else empty
    (memory,) = call(db, function, actor=account, **arguments)
    assert (memory["scope"], memory["metadata"]) == (None, None)
    absent: dict[str, Any] = {"body": "x", "scope": None, "metadata": None}
    arguments = {"memories": [absent]} if function == "insert_memories" else absent
    assert call(db, function, actor=account, **arguments) == [memory]


def test_an_account_of_ones_own(db: Db, account: UUID, scoped: UUID) -> None:
    """Neither a scope nor metadata lead to another account."""
    other = account_of(db, "other")
    insert(db, other, "y", scope="project:x", metadata={"k": 1, "user_id": str(account)})
    narrow: dict[str, Any] = {"scopes": ["project:x"], "filter": {"k": 1}}
    assert told(call(db, "list_memories", actor=account, **narrow)) == "x"
    assert told(call(db, "list_memories", actor=other, **narrow)) == "y"
