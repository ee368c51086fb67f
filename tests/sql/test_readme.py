"""sql/README.md lists what there is: the functions by their headers, the refusals, and the rules."""

from __future__ import annotations

import psycopg

from memstore import schema

README = (schema.sql_dir() / "README.md").read_text(encoding="utf-8").splitlines()


def test_functions() -> None:
    listed = [line for line in README if line.startswith("| [`")]
    expected = []
    for path in sorted((schema.sql_dir() / "functions").glob("*/*.sql")):
        name, _, what = path.read_text(encoding="utf-8").splitlines()[1].partition(": ")
        expected.append(f"| [`{name}`](functions/{path.parent.name}/{path.name}) | {what} |")
    assert sorted(listed) == sorted(expected)


def test_refusals(db: psycopg.Connection) -> None:
    listed = [line for line in README if "` | `MS" in line]
    rows = db.execute("select name, sqlstate, message from memstore.refusals order by sqlstate")
    assert listed == [f"| `{name}` | `{state}` | {message} |" for name, state, message in rows]


def test_rules(db: psycopg.Connection) -> None:
    listed = [line for line in README if "_shape` | " in line]
    rows = db.execute(
        "select name, message from memstore.rules"
        " where field <> 'singleton' and table_name not in ('deployment', 'claim_counter')"
    )
    assert sorted(listed) == sorted(f"| `{name}` | {message} |" for name, message in rows)
