"""sql/internal/README.md: its tables of triggers are the catalog's, and what it names exists."""

from __future__ import annotations

import re

import psycopg

from memstore import schema
from tests.sql.support import rows

README = (schema.sql_dir() / "internal" / "README.md").read_text(encoding="utf-8")
TABLES = {
    title: [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()[2:]]
    for title, lines in re.findall(r"^(On [^|]+?):\n\n((?:\|.*\n)+)", README, re.MULTILINE)
}
TRIGGERS = """
    select c.relname::text,
      concat_ws(' ', case when t.tgtype & 2 > 0 then 'before' else 'after' end,
        case when t.tgtype & 1 > 0 then 'row' else 'statement' end),
      concat_ws(', ', case when t.tgtype & 4 > 0 then 'insert' end,
        case when t.tgtype & 8 > 0 then 'delete' end, case when t.tgtype & 16 > 0 then 'update' end,
        case when t.tgtype & 32 > 0 then 'truncate' end),
      t.tgname::text, p.proname::text
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    join pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = 'memstore'::regnamespace
    and not t.tgisinternal
"""
FIRES = ["before row", "before statement", "after row", "after statement"]


def bare(cell: str) -> str:
    return cell.strip("`")


def test_triggers(db: psycopg.Connection) -> None:
    found = sorted(rows(db, TRIGGERS), key=lambda row: (FIRES.index(row[1]), row[3].encode()))
    listed = []
    for title, lines in TABLES.items():
        if table := re.fullmatch(r"On `(\w+)`", title):
            told = [
                (table[1], fires, on, bare(name), bare(function)) for fires, on, name, function, _ in lines
            ]
            assert told == [row for row in found if row[0] == table[1]], "in the order in which they fire"
        else:
            told = [(bare(table), "before row", "insert", bare(name), bare(f)) for table, name, f, _ in lines]
        listed += told
    assert sorted(listed) == sorted(found)


def test_foreign_keys_fire_between(db: psycopg.Connection) -> None:
    keys = {
        name
        for (name,) in rows(
            db,
            "select tgname::text from pg_trigger"
            " where tgrelid = 'memstore.memories'::regclass and tgisinternal and tgtype & 1 > 0",
        )
    }
    assert keys
    assert all("Memories_embedding_update" < name < "memories_chain_insert" for name in keys)


def test_triggers_of_a_restore(db: psycopg.Connection) -> None:
    (others,) = [lines for title, lines in TABLES.items() if not title.startswith("On `")]
    conditions = dict(
        rows(
            db,
            "select tgname::text, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal"
            " and tgrelid in (select oid from pg_class where relnamespace = 'memstore'::regnamespace)",
        )
    )
    for _, name, _, _ in others:
        assert "is_restore()" in conditions[bare(name)]
        assert "NOT memstore.is_restore" not in conditions[bare(name)]


def test_names(db: psycopg.Connection) -> None:
    """What is set as code is a function, a table, a view, a trigger, a column or a refusal."""
    known = {
        name
        for (name,) in rows(
            db,
            "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
            " union select relname::text from pg_class where relnamespace = 'memstore'::regnamespace"
            " union select attname::text from pg_attribute a join pg_class c on c.oid = a.attrelid"
            "   where c.relnamespace = 'memstore'::regnamespace"
            " union select tgname::text from pg_trigger"
            " union select name from memstore.refusals"
            " union select unnest(array['check_function_bodies', 'admitted'])",
        )
    }
    named = {re.split(r"[.(]", name)[-1] for name in re.findall(r"`([\w.]+)`", README)}
    assert named <= known, named - known


def test_links() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (schema.sql_dir() / "internal" / target).exists(), target
