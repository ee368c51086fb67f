"""The header of each public function: its example gives the result that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from memstore import schema

FILES = sorted((schema.sql_dir() / "functions").glob("*/*.sql"))
HEADER = re.compile(
    r"\A/\*\n(?P<name>\w+): .+?\n\nExample:\n(?P<example>.+?)\nResult:(?P<result>.*?)\n\n.*?^\*/$",
    re.DOTALL | re.MULTILINE,
)


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example(path: Path, db: psycopg.Connection) -> None:
    header = HEADER.match(path.read_text(encoding="utf-8"))
    assert header, "a file opens with its name, an example, and the result"
    assert header["name"] == path.stem
    db.execute("set timezone = 'UTC'")
    db.execute("select memstore.create_user(external_ref => 'account-1')")
    db.execute(
        "select memstore.insert_memory(memstore.find_user('account-1'), 'I use pnpm, not npm.',"
        " id => '00000000-0000-4000-8000-000000000001')"
    )
    db.execute("select memstore.set_steward(memstore.create_user(external_ref => 'steward-1'), true)")
    db.execute(
        "select memstore.insert_memory(memstore.find_user('steward-1'),"
        " 'pnpm is the faster package manager.', 'system',"
        " slug => 'sys:pnpm', tier => 'glass', as_of => '2026-08-25', admission => 'candidate',"
        """ evidence_refs => '[{"kind": "receipt", "ref": "run 7", "digest": "sha256:00"}]',"""
        " id => '00000000-0000-4000-8000-0000000000c1')"
    )
    db.execute(
        "select memstore.record_admission(memstore.find_user('steward-1'),"
        " '00000000-0000-4000-8000-0000000000c1', 'admitted', 'The receipt checks out.')"
    )
    for role in re.findall(r"create role (\w+)", header["example"]):
        db.execute(f"drop role if exists {role}")
    assert last_result(db, header["example"]) == (
        header["result"].strip("\n ").replace("\n  ", "\n").split("\n")
    )


def test_each_public_function_has_a_file(db: psycopg.Connection) -> None:
    api = {row[0] for row in db.execute("select name from memstore.api_functions")}
    assert api == {path.stem for path in FILES if path.parent.name != "operator"}
