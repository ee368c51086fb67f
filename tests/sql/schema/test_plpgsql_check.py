"""What plpgsql_check says of every PL/pgSQL function, where the server has that extension."""

from __future__ import annotations

import psycopg
import pytest

from tests.databases import skip_without
from tests.sql.support import rows, value

# By function, the start of what is said. Everything else that is found is a fault.
ACCEPTED: dict[str, tuple[str, ...]] = {
    # Statements put together from the catalog's own quoted names, or from the function's own texts.
    "compile_columns": ("text type variable is not sanitized",),
    "compile_own_api": ("text type variable is not sanitized",),
    "compile_scores": ("text type variable is not sanitized",),
    "drop_code": ("text type variable is not sanitized",),
    "grant_bundle": ("text type variable is not sanitized",),
    "grant_functions": ("text type variable is not sanitized",),
    "revoke_public": ("text type variable is not sanitized",),
    # The second of two columns, set field by field and read as a whole.
    "read_memories": ('composite OUT variable "candidate" is not single argument',),
    "read_item_embeddings": ('composite OUT variable "embedding" is not single argument',),
    # Of a migration that was applied. The conversions are of literals, under a pinned search path.
    "lexemes": (
        'target type is different type than source type: cast "text" value to "text[]" type',
        'target type is different type than source type: cast "text" value to "regdictionary" type',
    ),
}

FUNCTIONS = """
from pg_proc p
join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
where p.pronamespace = 'memstore'::regnamespace
"""
# A trigger's function is checked with each table that it is for, and with the names that its triggers give
# to a statement's rows.
FINDINGS = """
select p.proname::text, coalesce(t.tgrelid::regclass::text, ''),
  concat_ws(': ', c.message, c.detail), concat_ws(' ', c.level, c.sqlstate, 'line', c.lineno)
from pg_proc p
join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join (
  select tgfoid, tgrelid, max(tgoldtable) as old_rows, max(tgnewtable) as new_rows
  from pg_trigger
  where not tgisinternal
  group by tgfoid, tgrelid
) t on t.tgfoid = p.oid
cross join plpgsql_check_function_tb(
  p.oid, coalesce(t.tgrelid, 0), oldtable => t.old_rows, newtable => t.new_rows,
  fatal_errors => false, all_warnings => true, use_incomment_options => false
) c
where p.pronamespace = 'memstore'::regnamespace
order by p.oid::regprocedure::text, 2, c.lineno
"""


@pytest.fixture
def checked(db: psycopg.Connection) -> psycopg.Connection:
    """The owner's connection, with the extension; the test is skipped where it can't be had."""
    if not rows(db, "select from pg_available_extensions where name = 'plpgsql_check'"):
        skip_without("plpgsql_check")
    try:
        db.execute("create extension plpgsql_check")
    except psycopg.errors.InsufficientPrivilege:
        pytest.skip("plpgsql_check is the superuser's to create")
    return db


def faults(db: psycopg.Connection) -> list[str]:
    """What is found and not accepted, a line each."""
    return [
        f"{function} {table} ({where}): {said}"
        for function, table, said, where in rows(db, FINDINGS)
        if not said.startswith(ACCEPTED.get(function, ()))
    ]


def test_no_function_has_a_fault(checked: psycopg.Connection) -> None:
    assert value(checked, f"select count(*) {FUNCTIONS}") > 50
    assert not faults(checked)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("perform m.nobody from memstore.memories m;", "column m.nobody does not exist"),
        ("perform memstore.nothing();", "function memstore.nothing() does not exist"),
        ("declare v_unused integer; begin end;", 'unused variable "v_unused"'),
        ("declare v_id uuid; begin v_id := actor; end;", 'cast "text" value to "uuid" type'),
        ("execute actor;", "is not sanitized"),
    ],
)
def test_a_fault_is_found(body: str, found: str, checked: psycopg.Connection) -> None:
    checked.execute(
        "create function memstore.planted(actor text) returns void language plpgsql"
        f" as $$begin {body} end$$".encode()
    )
    assert [said for said in faults(checked) if said.startswith("planted ") and found in said]


def test_a_fault_of_a_trigger_is_found(checked: psycopg.Connection) -> None:
    checked.execute(
        "create function memstore.planted() returns trigger language plpgsql as $$begin"
        " perform o.nobody from old_rows o; perform n.id from new_rows n; return null; end$$"
    )
    checked.execute(
        "create trigger planted after update on memstore.memories referencing old table as old_rows"
        " new table as new_rows for each statement execute function memstore.planted()"
    )
    (fault,) = [said for said in faults(checked) if said.startswith("planted ")]
    assert fault.startswith("planted memstore.memories ")
    assert "column o.nobody does not exist" in fault
