"""The header of each public function: its example gives the result that it shows, its arguments are right."""

from __future__ import annotations

import re

import psycopg
import pytest

from memstore import schema
from tests.generate import headers

FILES = sorted((path.parent.name, path.stem) for path in (schema.sql_dir() / "functions").glob("*/*.sql"))
NAMES = [name for _, name in FILES]
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


@pytest.fixture
def pages(scratch: psycopg.Connection) -> dict[str, headers.Page]:
    return {page.name: page for page in headers.pages(scratch)}


def test_each_function_is_listed_once(scratch: psycopg.Connection) -> None:
    """The list memstore.api is that of the files, by folder."""
    listed = scratch.execute("select folder, name from memstore.api order by folder, name").fetchall()
    assert listed == FILES


def test_only_the_operators_functions_are_the_owners(scratch: psycopg.Connection) -> None:
    assert scratch.execute("select distinct folder from memstore.api where owner_only").fetchall() == [
        ("operator",)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, pages: dict[str, headers.Page], db: psycopg.Connection) -> None:
    db.execute("set timezone = 'UTC'")
    db.execute(STORE.encode())
    sections = pages[name].sections
    assert last_result(db, sections["Example"]) == sections["Result"].split("\n")
    for role in re.findall(r"create role (\w+)", sections["Example"]):
        db.execute(f"drop owned by {role}; drop role {role}".encode())


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name: str, pages: dict[str, headers.Page], scratch: psycopg.Connection) -> None:
    arguments = scratch.execute(
        "select a.name, format_type(a.type, null) from pg_proc p,"
        " unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]) a (name, type)"
        " where p.pronamespace = 'memstore'::regnamespace and p.proname = %s",
        [name],
    ).fetchall()
    described = pages[name].arguments
    assert [(argument, kind) for argument, kind, _ in described] == [
        (argument, kind.replace("timestamp with time zone", "timestamptz")) for argument, kind in arguments
    ]
    assert all(words for _, _, words in described)


def test_each_says_what_it_returns_and_refuses(pages: dict[str, headers.Page]) -> None:
    for page in pages.values():
        assert {"Call", "Example", "Result", "Errors"} <= page.sections.keys(), page.name
        assert ("Returns" in page.sections) == ("returns void" not in page.sections["Call"]), page.name
        # One a line, behind which only a condition follows.
        lines = [line for line in page.sections["Errors"].splitlines() if not line.startswith(" ")]
        assert len(lines) == (len(page.errors) or lines.count("none")), page.name


def test_a_summary_is_a_sentence_and_the_functions_comment(db: psycopg.Connection) -> None:
    for name, summary, comment in db.execute(
        "select p.name, p.summary, obj_description(f.oid, 'pg_proc') from memstore.pages p"
        " join pg_proc f on f.proname = p.name and f.pronamespace = 'memstore'::regnamespace"
    ):
        assert summary[0].islower(), name
        assert summary.endswith("."), name
        assert comment == summary[0].upper() + summary[1:], name


def test_errors_are_those_that_there_are(pages: dict[str, headers.Page], db: psycopg.Connection) -> None:
    """What a header names is a refusal, a rule, or the rules of a table."""
    names = {name for (name,) in db.execute("select name from memstore.refusals")}
    names |= {name for (name,) in db.execute("select name from memstore.rules")}
    names |= {f"rules of {table}" for (table,) in db.execute("select table_name from memstore.rules")}
    for page in pages.values():
        assert {name for name, _ in page.errors} <= names, page.name
