"""The reference, sql/README.md, has a place for everything, and its links lead somewhere."""

from __future__ import annotations

import re

import psycopg
import pytest

from memstore import schema

README = (schema.sql_dir() / "README.md").read_text(encoding="utf-8")


def test_each_function_has_a_place() -> None:
    functions = sorted(path.stem for path in (schema.sql_dir() / "functions").rglob("*.sql"))
    for pattern in (r"^\| \[`(\w+)`\]\(#\1\) \| ", r"^### \[(\w+)\]\(functions/\w+/\1\.sql\)$"):
        assert sorted(re.findall(pattern, README, re.MULTILINE)) == functions


def test_links() -> None:
    """To files that there are, and to headings as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", README, re.MULTILINE)
    anchors = {re.sub(r"\]\(.*?\)|[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
    for target in re.findall(r"\]\((\S+?)\)", README):
        if target.startswith("#"):
            assert target[1:] in anchors
        else:
            assert (schema.sql_dir() / target).is_file(), target


def test_refusals(db: psycopg.Connection) -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| `MS\d+` \| (.+?) \| .+ \|$", README, re.MULTILINE))
    for name, message in db.execute("select name, message from memstore.refusals"):
        assert listed.pop(name) == message
    # What is raised before there is anything of memstore in the database.
    assert listed.keys() == {"encoding_unsupported", "version_unsupported", "yoyo_locked", "owner_differs"}


def test_rules(db: psycopg.Connection) -> None:
    listed = re.findall(r"^\| `(\w+_shape)` \| (.+) \|$", README.partition("\n## Rules\n")[2], re.MULTILINE)
    rows = db.execute(
        "select name, message from memstore.rules"
        " where field <> 'singleton' and table_name not in ('deployment', 'claim_counter')"
    )
    assert sorted(listed) == sorted(rows.fetchall())


class TestDiagram:
    DIAGRAM = re.findall(r"^```mermaid\nerDiagram\n(.*?)```$", README, re.DOTALL | re.MULTILINE)[0]
    TABLES = "r.relnamespace = 'memstore'::regnamespace and r.relkind = 'r' and r.relname !~ 'yoyo'"

    @pytest.fixture
    def drawn(self) -> set[tuple[str, str, str, str]]:
        """Table, column, type and marks."""
        return {
            (table, name, kind, marks)
            for table, columns in re.findall(r"^    (\w+) \{\n(.*?)^    \}$", self.DIAGRAM, re.DOTALL | re.M)
            for kind, name, marks in re.findall(r"^        (\S+) (\w+) ?(.*)$", columns, re.MULTILINE)
        }

    def test_columns(self, drawn: set[tuple[str, ...]], db: psycopg.Connection) -> None:
        columns = db.execute(
            "select r.relname::text, a.attname::text, t.typname::text, a.attndims from pg_class r"
            " join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped"
            f" join pg_type t on t.oid = a.atttypid where {self.TABLES}".encode()
        ).fetchall()
        types = {"bool": "boolean", "int4": "integer", "int8": "bigint", "_float4": "real[]"}
        assert {(table, name, kind) for table, name, kind, _ in drawn} == {
            (table, name, types.get(kind, kind)) for table, name, kind, _ in columns
        }

    @pytest.mark.parametrize(("mark", "kind"), [("PK", "p"), ("FK", "f")])
    def test_keys(self, mark: str, kind: str, drawn: set[tuple[str, ...]], db: psycopg.Connection) -> None:
        keys = db.execute(
            "select r.relname::text, a.attname::text from pg_constraint c"
            " join pg_class r on r.oid = c.conrelid"
            " join pg_attribute a on a.attrelid = r.oid and a.attnum = any (c.conkey)"
            f" where c.contype = '{kind}' and {self.TABLES}".encode()
        ).fetchall()
        assert {(table, name) for table, name, _, marks in drawn if mark in marks} == set(keys)

    def test_relationships(self, db: psycopg.Connection) -> None:
        drawn = re.findall(r"^    (\w+) ([|o]{2})--o\{ (\w+) : \"(.+)\"$", self.DIAGRAM, re.MULTILINE)
        keys = db.execute(
            "select f.relname::text, r.relname::text, c.conname::text from pg_constraint c"
            " join pg_class r on r.oid = c.conrelid join pg_class f on f.oid = c.confrelid"
            f" where c.contype = 'f' and {self.TABLES}".encode()
        ).fetchall()
        # A foreign key is named after the column that says which row.
        assert sorted(
            (parent, f"{child}_{columns.split(', ')[0]}_fkey") for parent, _, child, columns in drawn
        ) == (sorted((parent, name) for parent, _, name in keys))
        assert {(child, columns) for _, end, child, columns in drawn if end == "||"} == {
            ("memories", "user_id"),
            ("memory_admissions", "user_id"),
            ("memory_admissions", "memory_id"),
        }
