"""explain_recall says of each memory what recall does, and nothing else."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from tests.sql.support import account_of, call, call_one, insert, refused, rows


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def account(db: psycopg.Connection) -> UUID:
    return account_of(db, "holder")


def outcomes(db: psycopg.Connection, account: UUID, query: str, **given: object) -> dict[str, str]:
    found = call(db, "explain_recall", actor=account, query=query, **given)
    query_of_body = "select (r).body from (select %s::memstore.memory as r) q"
    return {rows(db, query_of_body, row["memory"])[0][0]: row["outcome"] for row in found}


def test_each_outcome(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "The port is 8003.")
    insert(db, account, "The port was " + "x" * 300)
    insert(db, account, "The port of call", bucket="learned")
    insert(db, account, "Cats", bucket="learned")
    insert(db, account, "Tea")
    given = {"maximum_attached": 3, "maximum_attached_characters": 60}
    assert outcomes(db, account, "Which port?", **given) == {
        "The port is 8003.": "attached",
        "The port of call": "attached",
        "The port was " + "x" * 300: "size",
        "Tea": "count",
        "Cats": "floor",
    }


def test_a_duplicate(db: psycopg.Connection, account: UUID) -> None:
    for id in (1, 2):
        insert(db, account, "The port is 8003.", id=UUID(int=id, version=4))
    found = call(db, "explain_recall", actor=account, query="port")
    assert [row["outcome"] for row in found] == ["attached", "duplicate"]


@pytest.mark.parametrize("maximum", [0, 1, 5, None])
@pytest.mark.parametrize("characters", [0, 25, 80, None])
@pytest.mark.parametrize("query", ["deploys on port 3", "", "nothing of the kind"])
def test_what_is_attached_and_dropped_is_recalls(
    db: psycopg.Connection, account: UUID, maximum: int | None, characters: int | None, query: str
) -> None:
    for number in range(12):
        bucket = "learned" if number % 3 else "user"
        body = f"Port {number} deploys {'x' * number * 3}" if number % 2 else f"Tea {number}"
        insert(db, account, body, bucket=bucket)
    bounds = {"maximum_attached": maximum, "maximum_attached_characters": characters}
    recalled = call_one(db, "recall", actor=account, query=query, **bounds)
    told = outcomes(db, account, query, **bounds)
    assert [body for body, each in told.items() if each == "attached"] == [
        memory["body"] for memory in recalled["memories"]
    ]
    assert sum(each in ("count", "size") for each in told.values()) == recalled["dropped"]


def test_bounds_and_refusals(db: psycopg.Connection, account: UUID) -> None:
    for number in range(3):
        insert(db, account, f"Port {number}", scope="project:x" if number else None)
    assert len(call(db, "explain_recall", actor=account, query="port", page_size=2)) == 2
    assert len(call(db, "explain_recall", actor=account, query="port", scopes=[])) == 1
    assert call(db, "explain_recall", actor=account_of(db, "other"), query="port") == []
    for given, field in (({"page_size": 201}, "page_size"), ({"maximum_attached": -1}, "maximum_attached")):
        with refused("argument_invalid", field):
            call(db, "explain_recall", actor=account, query="port", **given)
    with refused("actor_unknown"):
        call(db, "explain_recall", actor=None, query="port")
