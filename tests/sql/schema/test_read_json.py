"""read_json: no text of an argument that is no JSON reaches the caller's error or the server's log."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.sql.support import SECRET, account_of, refused, rows, value

READ = "select memstore.read_json(%s)"
NOT_STORABLE = [
    f'[{{"body": "{SECRET} \\u0000"}}]',
    f'[{{"body": "{SECRET} \\ud800"}}]',
    f'[{{"body": "\\udc00 {SECRET}"}}]',
    f'[{{"body": "{SECRET}"',
    f'{{"{SECRET}": 1e999999}}',
    f'{{"{SECRET}": {"[" * 100_000}',
    SECRET,
    "",
]


@pytest.mark.parametrize("text", NOT_STORABLE, ids=range(len(NOT_STORABLE)))
@pytest.mark.usefixtures("unlogged")
def test_what_is_no_json_is_not_quoted(text: str, db: psycopg.Connection) -> None:
    with refused("argument_invalid", "content") as caught:
        rows(db, READ, text)
    assert SECRET not in str(caught.value)


@pytest.mark.usefixtures("unlogged")
def test_in_a_call(db: psycopg.Connection) -> None:
    """The parameter is a text, whatever type a driver gives it."""
    account = account_of(db, "a")
    call = "select body from memstore.insert_memories(%s, memstore.read_json(%s))"
    with refused("argument_invalid", "content"):
        rows(db, call, account, NOT_STORABLE[0])
    assert rows(db, call, account, json.dumps([{"body": "x"}])) == [("x",)]


@pytest.mark.parametrize("text", ['{"a": [1, "\\u00e9", null]}', "null", '"x"', None])
def test_what_is_json(text: str | None, db: psycopg.Connection) -> None:
    assert value(db, READ, text) == (None if text is None else json.loads(text))
