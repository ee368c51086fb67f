"""One function a file, named after it; and every function's body is valid as the catalog has it."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from memstore import schema

from .support import rows

SQL = schema.sql_dir()
FILES = sorted(
    path for folder in ("internal", "triggers", "functions") for path in (SQL / folder).rglob("*.sql")
)
# Written by the functions of internal/schema that are called compile_….
COMPILED = re.compile(
    r"\w+_(obey|broken)|to_memory|trimmed|insert_rows?|same_content|content_of|correction_of"
    r"|embedding_is_usable|(item_)?similarities|score_memories|score_all_memories|score_indexed_memories"
    r"|nearest_claims|my_\w+"
)


def name_of(path: Path) -> str:
    return path.relative_to(SQL).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_has_the_function_of_its_name(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # What a body writes stands between dollar quotes of its own.
    text = re.sub(r"(\$\w*\$)\n.*?\n\1", "", text, flags=re.DOTALL)
    created = re.findall(r"^create or replace (\w+) (?:memstore\.)?(\w+)", text, re.MULTILINE)
    assert [name for kind, name in created if kind == "function"] == [path.stem]
    others = {kind for kind, _ in created} - {"function"}
    assert others <= ({"trigger"} if path.parent.name == "triggers" else set())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_backslash_is_one_in_every_session(path: Path) -> None:
    """A session may say that in plain strings it is an escape; a body is read when it is called."""
    code = re.sub(r"/\*.*?\*/|--[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if any("\\" in text for text in re.findall(r"(?<!\w)'(?:[^']|'')*'", code)):
        assert "\nset standard_conforming_strings = on\n" in code


def test_a_function_is_of_a_file_a_migration_or_compiled(db: psycopg.Connection) -> None:
    migrations = "".join(path.read_text(encoding="utf-8") for path in schema.migration_files())
    migrated = set(re.findall(r"^create (?:or replace )?function memstore\.(\w+)", migrations, re.MULTILINE))
    there = {
        name
        for (name,) in rows(
            db, "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
        )
    }
    files = {path.stem for path in FILES}
    assert len(files) == len(FILES)
    assert there >= files
    assert {name for name in there - files - migrated if not COMPILED.fullmatch(name)} == set()


def test_a_trigger_is_of_the_file_of_its_function(db: psycopg.Connection) -> None:
    """An error's context names the function, and so the file."""
    triggers = {path.stem for path in FILES if path.parent.name == "triggers"}
    functions = "select distinct tgfoid::regproc::text from pg_trigger where not tgisinternal"
    assert {name.removeprefix("memstore.") for (name,) in rows(db, functions)} == triggers


def test_every_body_is_valid(db: psycopg.Connection) -> None:
    """The loaders don't check bodies, since a function may name one that loads later."""
    definitions = rows(
        db,
        "select p.oid::regprocedure::text, pg_get_functiondef(p.oid) from pg_proc p"
        " where p.pronamespace = 'memstore'::regnamespace",
    )
    with db.transaction(force_rollback=True):
        db.execute("set local check_function_bodies = on")
        db.execute("set local search_path = pg_catalog, pg_temp")
        for name, definition in definitions:
            try:
                db.execute(definition.encode())
            except psycopg.Error as error:
                pytest.fail(f"{name}: {error}")
