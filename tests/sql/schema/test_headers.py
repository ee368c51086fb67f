"""The header of each public function: its example gives the result that it shows, its arguments are right."""

from __future__ import annotations

import re

import psycopg
import pytest

from memstore import schema
from tests.generate import headers

PAGES = headers.pages()
STORE = (schema.sql_dir() / "examples" / "store.sql").read_text(encoding="utf-8")


def last_result(db: psycopg.Connection, statements: str) -> list[str]:
    """The rows of the last statement, as ``psql -At`` prints them."""
    cursor = db.execute(statements.encode())
    while cursor.nextset():
        pass
    result = cursor.pgresult
    assert result
    return [
        "|".join((result.get_value(row, column) or b"").decode() for column in range(result.nfields))
        for row in range(result.ntuples)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_example(page: headers.Page, db: psycopg.Connection) -> None:
    db.execute("set timezone = 'UTC'")
    db.execute(STORE.encode())
    assert last_result(db, page.example) == page.result.split("\n")
    for role in re.findall(r"create role (\w+)", page.example):
        db.execute(f"drop owned by {role}; drop role {role}".encode())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_arguments(page: headers.Page, scratch: psycopg.Connection) -> None:
    arguments = scratch.execute(
        "select a.name, format_type(a.type, null) from pg_proc p,"
        " unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]) a (name, type)"
        " where p.pronamespace = 'memstore'::regnamespace and p.proname = %s",
        [page.name],
    ).fetchall()
    assert [(name, kind) for name, kind, _ in page.arguments] == [
        (name, kind.replace("timestamp with time zone", "timestamptz")) for name, kind in arguments
    ]
    assert all(words for _, _, words in page.arguments)


def test_each_says_what_it_returns_and_refuses() -> None:
    for page in PAGES:
        assert "Errors" in page.sections, page.name
        assert ("Returns" in page.sections) == ("returns void" not in page.signature), page.name


def test_errors_are_those_that_there_are(db: psycopg.Connection) -> None:
    """What a header names like a refusal or a rule is one."""
    names = {name for (name,) in db.execute("select name from memstore.refusals")}
    rules = {name for (name,) in db.execute("select name from memstore.rules")}
    for page in PAGES:
        found = {name for name, _ in page.errors if not name.startswith("rules of ")}
        assert found <= names | rules, page.name


def test_each_public_function_has_a_file(db: psycopg.Connection) -> None:
    api = {row[0] for row in db.execute("select name from memstore.api_functions")}
    assert api == {page.name for page in PAGES if page.area != "operator"}
