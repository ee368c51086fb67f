"""rebuild_words: lexemes of other dictionaries are made again, also those that system recall reads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
import pytest

from memstore import schema
from tests.sql.support import SYSTEM, account_of, call, call_one, insert, refused, rows, steward_of, value

if TYPE_CHECKING:
    from collections.abc import Iterator

STALE = "where violations > 0 and invariant <> 'guards'"
BROKEN = f"select invariant, violations from memstore.verify_store() {STALE}"
# A stemmer that turns each word round.
OTHER = """
create or replace function memstore.lexemes(language text, content text) returns text[]
language sql immutable strict parallel safe
as $$ select array(select distinct reverse(w) from string_to_table(lower(content), ' ') w) $$;
create or replace function memstore.lexeme_set(language text, content text) returns text[]
language sql immutable strict parallel safe return memstore.lexemes(language, content);
"""


@contextmanager
def other_dictionaries(db: psycopg.Connection) -> Iterator[None]:
    """As an earlier PostgreSQL made lexemes."""
    functions = ("lexemes(text, text)", "lexeme_set(text, text)")
    ours = [value(db, f"select pg_get_functiondef('memstore.{each}'::regprocedure)") for each in functions]
    db.execute(OTHER)
    db.execute("select memstore.record_words()")
    yield
    for each in ours:
        db.execute(each.encode())


def steward_with_recall(db: psycopg.Connection) -> UUID:
    call(db, "configure", system_recall_enabled=True)
    return steward_of(db, "s")


def claim(db: psycopg.Connection, steward: UUID, body: str) -> UUID:
    written: UUID = insert(db, steward, body, **SYSTEM)["id"]
    admit(db, steward, written)
    return written


def admit(db: psycopg.Connection, steward: UUID, memory: UUID) -> None:
    call(db, "record_admission", actor=steward, memory_id=memory, verdict="admitted", ground="Yes.")


@pytest.fixture
def store(db: psycopg.Connection) -> psycopg.Connection:
    """Five memories and three admitted claims, one of them superseded, whose lexemes are another server's."""
    with other_dictionaries(db):
        account = account_of(db, "1")
        steward = steward_with_recall(db)
        for number in range(5):
            insert(db, account, f"Streets number {number} added")
        for body in ("Streets were added", "Bridges were added"):
            claim(db, steward, body)
        old = claim(db, steward, "Old")
        call(
            db,
            "supersede_memory",
            actor=steward,
            target=old,
            body="New",
            evidence_refs=SYSTEM["evidence_refs"],
        )
    return db


def walk(db: psycopg.Connection, page_size: int = 3) -> tuple[int, int]:
    """All pages, and how many memories were read and rebuilt."""
    read = rebuilt = 0
    after = None
    while True:
        page = call_one(db, "rebuild_words", page_size=page_size, after=after)
        read, rebuilt, after = read + page["read"], rebuilt + page["rebuilt"], page["last"]
        if after is None:
            return read, rebuilt


def found(db: psycopg.Connection, query: str) -> list[str]:
    ranked = "select (memory).body from memstore.rank_claims(memstore.find_user('1'), %s) order by 1"
    return [body for (body,) in rows(db, ranked, query)]


def test_everything_is_right_afterwards(store: psycopg.Connection) -> None:
    whole = "select to_jsonb(m) - 'search_vector' from memstore.memories m order by id"
    before = rows(store, whole)
    assert {name for name, _ in rows(store, BROKEN)} == {"search_vectors"}
    assert found(store, "streets bridges added") == []
    assert not value(store, "select memstore.words_are_current()")

    assert walk(store) == (9, 9)
    assert rows(store, BROKEN) == []
    assert found(store, "streets") == ["Streets were added"]
    assert found(store, "bridges") == ["Bridges were added"]
    assert value(store, "select memstore.words_are_current()")
    assert rows(store, whole) == before
    assert walk(store) == (9, 0)


def test_the_projection_alone(store: psycopg.Connection) -> None:
    """As a restore leaves it, which computes generated columns and copies the projection."""
    store.execute("update memstore.memories set body = body")
    assert {name for name, _ in rows(store, BROKEN)} == {"admitted_claims", "claim_words"}
    assert walk(store) == (9, 2)
    assert rows(store, BROKEN) == []
    assert found(store, "bridges") == ["Bridges were added"]


def test_it_is_recorded_at_the_end(store: psycopg.Connection) -> None:
    page = call_one(store, "rebuild_words", page_size=9)
    assert page["read"] == 9
    assert not value(store, "select memstore.words_are_current()")
    assert call_one(store, "rebuild_words", page_size=9, after=page["last"]) == {
        "last": None,
        "read": 0,
        "rebuilt": 0,
    }
    assert value(store, "select memstore.words_are_current()")


@pytest.mark.parametrize("page_size", [0, -1, 10_001])
def test_page_size(scratch: psycopg.Connection, page_size: int) -> None:
    with refused("argument_invalid", "page_size"):
        call(scratch, "rebuild_words", page_size=page_size)


def test_a_claim_that_is_rejected_before_its_page(store: psycopg.Connection) -> None:
    store.execute("update memstore.memories set body = body")
    steward = value(store, "select memstore.find_user('s')")
    ((memory,),) = rows(store, "select id from memstore.memories where body like 'Bridges%%'")
    call(store, "record_admission", actor=steward, memory_id=memory, verdict="rejected", ground="No.")
    assert found(store, "bridg bridge bridges") == []
    walk(store)
    assert rows(store, BROKEN) == []


@pytest.mark.parametrize("first", ["rebuilt", "admitted"])
def test_beside_an_admission(
    first: str, db: psycopg.Connection, connect: Callable[..., psycopg.Connection]
) -> None:
    """Whoever comes second sees what the first one wrote."""
    with other_dictionaries(db):
        account_of(db, "1")
        steward = steward_with_recall(db)
        memory = insert(db, steward, "Streets were added", **SYSTEM)["id"]
    one, other = connect(autocommit=False), connect()
    one.execute("set lock_timeout = 0")
    steps: dict[str, Callable[[psycopg.Connection], object]] = {
        "rebuilt": walk,
        "admitted": lambda connection: admit(connection, steward, memory),
    }
    second = steps["admitted" if first == "rebuilt" else "rebuilt"]
    steps[first](one)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(second, other)
        waits = (
            "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
        while not rows(db, waits) and not running.done():
            pass
        one.commit()
        running.result(60)
    assert rows(db, BROKEN) == []
    assert found(db, "added streets") == ["Streets were added"]


def test_a_load_tells(store: psycopg.Connection, db_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """It doesn't where there are no memories, or where all are right."""
    schema.migrate(db_url)
    (told,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert "lexemes" in told
    assert "memstore rebuild-words" in told
    caplog.clear()
    walk(store)
    schema.migrate(db_url)
    assert not caplog.records
    store.execute("delete from memstore.deployment where name = 'words'")
    store.execute("delete from memstore.memories")
    schema.migrate(db_url)
    assert not caplog.records
    assert value(store, "select memstore.words_are_current()")


def test_the_probe(scratch: psycopg.Connection) -> None:
    """It depends on the dictionaries alone, and on those of each language."""
    probe = value(scratch, "select memstore.probe_words()")
    scratch.execute("set local lc_messages = 'C'; set local timezone = 'Asia/Kolkata'")
    scratch.execute("set local default_text_search_config = 'pg_catalog.german'")
    assert value(scratch, "select memstore.probe_words()") == probe
    words = "the added happily möglichkeiten kinderen"
    ours = value(scratch, "select pg_get_functiondef('memstore.lexemes(text, text)'::regprocedure)")
    assert words.split()[0] in value(
        scratch, "select prosrc from pg_proc where oid = 'memstore.probe_words()'::regprocedure"
    )
    for language in value(scratch, "select memstore.languages()"):
        changed = ours.replace(
            "v_text text := lexemes.content;",
            f"v_text text := case language when '{language}' then 'x' else lexemes.content end;",
        )
        assert changed != ours
        scratch.execute(changed.encode())
        assert value(scratch, "select memstore.probe_words()") != probe
