"""Refusals that say what to do: which argument may be what, what superseded a memory, whose an id is not."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import SECRET, account_of, call, insert, refused, steward_of, supersede


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_every_refused_argument_has_its_own_sentence(db: psycopg.Connection) -> None:
    # refuse_argument is the one place that says it; what else raises argument_invalid brings a message.
    sources: dict[str, str] = dict(
        db.execute(
            "select proname::text, prosrc from pg_proc where pronamespace = 'memstore'::regnamespace"
        ).fetchall()
    )
    bare = re.compile(r"refuse\(\s*'argument_invalid',\s*('\w+'|\w+)(,\s*'Item ' \|\| v_item)?\s*\)")
    assert [name for name, source in sources.items() if bare.search(source)] == []


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("list_memories", {"page_size": 201}, "`page_size` must be 1 to 200."),
        ("list_memories", {"bucket": SECRET}, "`bucket` must be user, learned or system."),
        ("export_memories", {"page_size": 0}, "`page_size` must be 1 to 10000."),
        ("memories_as_of", {"moment": None}, "`moment` must be a time."),
        ("find_ids", {"prefix": "a", "kind": SECRET}, "`kind` must be memory, claim or challenge."),
        ("recall", {"query": SECRET, "maximum_attached": -1}, "`maximum_attached` must be 0 or more."),
        ("insert_memories", {"memories": {}}, "`memories` must be an array of objects."),
        ("insert_memories", {"memories": [7]}, "Item 1: Each item must be an object."),
        (
            "insert_memories",
            {"memories": [{"body": "x"}, {"body": "x", "as_of": SECRET}]},
            "Item 2: `as_of` must be a date such as 2026-12-31.",
        ),
        (
            "insert_memories",
            {"memories": [{"body": "x", "embedding": SECRET}]},
            "Item 1: `embedding` must be an array of numbers.",
        ),
        ("insert_memories", {"memories": [{"body": 7}]}, "Item 1: `body` must be a string."),
        ("insert_memories", {"memories": [{"id": SECRET}]}, "Item 1: `id` must be a UUID."),
    ],
    ids=str,
)
def test_which_argument_may_be_what(
    function: str, arguments: dict[str, Any], message: str, db: psycopg.Connection, account: UUID
) -> None:
    given = {key: json.dumps(value) if key == "memories" else value for key, value in arguments.items()}
    with refused("argument_invalid") as refusal:
        call(db, function, actor=account, **given)
    assert refusal.value.diag.message_primary == message


def test_an_unknown_key_is_told_the_known_ones(db: psycopg.Connection, account: UUID) -> None:
    with refused("argument_invalid", "memories") as refusal:
        call(db, "insert_memories", actor=account, memories=json.dumps([{"body": "x", SECRET: 1}]))
    said = refusal.value.diag.message_primary or ""
    assert said.startswith("Item 1: Each key must be one of: admission, as_of, body, bucket, ")
    assert "stance" not in said


def test_the_page_of_a_role_that_is_not_there(db: psycopg.Connection) -> None:
    for function in ("grant_api", "revoke_api"):
        with refused("argument_invalid", "role") as refusal:
            db.execute(f"select memstore.{function}('no_such_role')")
        assert refusal.value.diag.message_primary == "`role` must be the name of a role that exists."


def test_what_superseded_it(db: psycopg.Connection, account: UUID) -> None:
    old, other = insert(db, account, "one")["id"], insert(db, account, "other")["id"]
    new = supersede(db, account, old, "two")["id"]
    for function, arguments in (
        ("supersede_memory", {"target": old, "body": "three"}),
        ("supersede_with", {"target": old, "replacement": other}),
    ):
        with refused("not_supersedable", "target") as refusal:
            call(db, function, actor=account, **arguments)
        assert refusal.value.diag.message_hint == (
            f"It was superseded by {new}: correct that one, or the newest of its history."
        )


def test_another_accounts_memory_tells_no_successor(db: psycopg.Connection, account: UUID) -> None:
    old = insert(db, account, "one")["id"]
    supersede(db, account, old, "two")
    stranger = account_of(db, "stranger")
    hints = set()
    for target in (old, uuid4()):
        with refused("not_supersedable", "target") as refusal:
            call(db, "supersede_memory", actor=stranger, target=target, body="three")
        hints.add(refusal.value.diag.message_hint)
    assert len(hints) == 1
    assert "superseded by" not in (hints.pop() or "")


def test_an_id_that_is_anothers(db: psycopg.Connection, account: UUID) -> None:
    mine = insert(db, account, "mine")["id"]
    other = account_of(db, "other")
    target = insert(db, other, "old")["id"]
    for function, arguments in (
        ("insert_memory", {"body": "x", "id": mine}),
        ("supersede_memory", {"target": target, "body": "x", "id": mine}),
        ("insert_memories", {"memories": json.dumps([{"body": "x", "id": str(mine)}])}),
    ):
        with refused("id_taken", "id") as refusal:
            call(db, function, actor=other, **arguments)
        diag = refusal.value.diag
        assert (diag.message_primary or "").endswith("The id is taken by a memory of another account.")
        assert "one account" in (diag.message_hint or "")
        assert str(account) not in str(refusal.value)
    with refused("id_taken", "id") as refusal:
        call(db, "insert_memory", actor=account, body="x", id=mine)
    assert refusal.value.diag.message_primary == "The id is taken."


def test_a_steward_is_told_too(db: psycopg.Connection) -> None:
    steward = steward_of(db, "steward")
    old = insert(db, steward, "one")["id"]
    new = supersede(db, steward, old, "two")["id"]
    with refused("not_supersedable") as refusal:
        call(db, "supersede_memory", actor=steward, target=old, body="three")
    assert str(new) in (refusal.value.diag.message_hint or "")
