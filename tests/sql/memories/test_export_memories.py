"""What an account owns leaves the database, and comes into another one as it was."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    insert,
    live_count,
    raw_insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)

Db = psycopg.Connection

# Smallest, largest, and without a short decimal.
REALS = [1e-45, -1.1754944e-38, 1e-30, 0.1, 1 / 3, 524288.03125, 999999.94, -1e6, 1.0000001]


@pytest.fixture
def other(another_url: str) -> Iterator[Db]:
    """Another store."""
    with psycopg.connect(another_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def full(db: Db, account: UUID) -> UUID:
    """An account with all that an account can own."""
    older = insert(db, account, "Older, and merged into.")["id"]
    first = insert(db, account, "Memory 1.", source_ref="run 7", embedding=REALS, embedding_model="reals")
    second = supersede(db, account, first["id"], "Memory 2.", language="danish", bucket="learned")
    call(db, "supersede_with", actor=account, target=second["id"], replacement=older)
    merged = insert(db, account, "上海 \N{GRINNING FACE} \"'\\ \x1b\u202e\n\ttext", bucket="learned")
    call(db, "supersede_with", actor=account, target=merged["id"], replacement=older)
    orphan = insert(db, account, "Memory 4.")["id"]
    gone = supersede(db, account, orphan, "Memory 5.")["id"]
    call(db, "delete_memory", actor=account, id=gone)
    raw_insert(db, account, "Of long ago.", inserted_at="0001-01-02 00:00:00.000001+00")
    claim = insert(db, account, "x", **SYSTEM, entity="npm")["id"]
    supersede(db, account, claim, "y", evidence_refs=[EVIDENCE])
    call(db, "set_steward", user_id=account, steward=True)
    moved = insert(db, account, "z", **SYSTEM)["id"]
    call(db, "promote_memory", actor=account, target=moved, stance="use-z", evidence_refs=[EVIDENCE])
    call(db, "record_admission", actor=account, memory_id=claim, verdict="admitted", ground="Seen.")
    return account


def export(db: Db, account: UUID, page_size: int = 10_000) -> list[str]:
    """All pages, as text."""
    lines: list[str] = []
    after = None
    while True:
        page = rows(
            db,
            "select e::text, (e ->> 'id')::uuid from memstore.export_memories(%s, %s, %s) e",
            account,
            page_size,
            after,
        )
        lines += [line for line, _ in page]
        if len(page) < page_size:
            return lines
        after = page[-1][1]


def import_lines(db: Db, account: UUID, lines: list[str], size: int = 10_000) -> None:
    for start in range(0, len(lines), size):
        batch = f"[{','.join(lines[start : start + size])}]"
        db.execute("select count(*) from memstore.import_memories(%s, %s::jsonb)", [account, batch])


def stored(db: Db, account: UUID) -> list[Any]:
    """The rows as they are, with their embeddings' bits."""
    return rows(
        db,
        "select to_jsonb(m) - '{user_id,embedding}'::text[], array_send(embedding)"
        " from memstore.memories m where user_id = %s order by id",
        account,
    )


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_a_round_trip(size: int, db: Db, full: UUID, other: Db) -> None:
    lines = export(db, full)
    assert len(lines) == value(db, "select count(*) from memstore.memories") == 10
    # Any settings there, and batches that no line's pointer fits into.
    other.execute("set timezone = 'America/St_Johns'")
    other.execute("set datestyle = 'German'")
    other.execute("set extra_float_digits = -15")
    account = account_of(other, "account-1")
    import_lines(other, account, lines, size)
    assert export(other, account) == lines
    for connection in (db, other):
        connection.execute("set timezone = 'UTC'")
        connection.execute("set datestyle = 'ISO'")
        connection.execute("set extra_float_digits = 1")
    assert stored(other, account) == stored(db, full)
    assert live_count(other, account) == live_count(db, full)
    assert value(other, "select sum(violations) from memstore.verify_store()") == 0
    import_lines(other, account, lines, size)
    assert export(other, account) == lines


def test_embeddings_are_the_same_bits(db: Db, full: UUID, other: Db) -> None:
    account = account_of(other, "account-1")
    import_lines(other, account, export(db, full))
    (sent,) = rows(db, "select embedding from memstore.memories where embedding_model = 'reals'")
    (come,) = rows(other, "select embedding from memstore.memories where embedding_model = 'reals'")
    bits = struct.pack(f"{len(REALS)}f", *REALS)
    assert struct.pack(f"{len(REALS)}f", *sent[0]) == struct.pack(f"{len(REALS)}f", *come[0]) == bits


@pytest.mark.parametrize("page_size", [1, 2, 5])
def test_pages(page_size: int, db: Db, full: UUID) -> None:
    assert export(db, full, page_size) == export(db, full)


def test_what_replaced_a_memory_comes_first(db: Db, full: UUID) -> None:
    seen: set[str] = set()
    for line in map(json.loads, export(db, full)):
        assert line.get("superseded_by_id") in {None, *seen}
        seen.add(line["id"])


def test_any_session_exports_the_same_text(db: Db, full: UUID) -> None:
    lines = export(db, full)
    for setting in ("timezone = 'Asia/Kolkata'", "datestyle = 'SQL, DMY'", "extra_float_digits = -15"):
        db.execute(f"set {setting}".encode())
        assert export(db, full) == lines


def test_another_accounts_replacement_is_left_out(db: Db, account: UUID, other: Db) -> None:
    steward = steward_of(db, "steward")
    claim = insert(db, account, "x", **SYSTEM)["id"]
    replacement = supersede(db, steward, claim, "y", evidence_refs=[EVIDENCE])["id"]
    assert row_of(db, claim)["superseded_by_id"] == replacement
    (line,) = map(json.loads, export(db, account))
    assert "superseded_by_id" not in line
    assert line["superseded_at"]
    (theirs,) = map(json.loads, export(db, steward))
    assert theirs["id"] == str(replacement)

    copy = account_of(other, "account-1")
    import_lines(other, copy, export(db, account))
    assert export(other, copy) == export(db, account)
    assert live_count(other, copy) == 0


def test_only_the_account_is_exported(db: Db, full: UUID) -> None:
    stranger = account_of(db, "stranger")
    theirs = insert(db, stranger, "Theirs.")["id"]
    assert not any("Theirs." in line for line in export(db, full))
    assert [json.loads(line)["id"] for line in export(db, stranger)] == [str(theirs)]
    with refused("memory_not_found"):
        call(db, "export_memories", actor=full, after=theirs)


def test_a_line_has_what_import_takes_and_no_owner(db: Db, full: UUID) -> None:
    keys = {key for line in map(json.loads, export(db, full)) for key in line}
    filled = {
        name
        for (name,) in rows(
            db,
            "select distinct f.key from memstore.memories m, jsonb_each(jsonb_strip_nulls(to_jsonb(m))) f"
            " join pg_attribute a on a.attrelid = 'memstore.memories'::regclass and a.attname = f.key"
            " where m.user_id = %s and a.attgenerated = ''",
            full,
        )
    }
    assert keys == filled - {"user_id"}
    assert {"body", "embedding", "superseded_by_id", "evidence_refs", "stance"} < keys


@pytest.mark.parametrize("page_size", [0, 10_001, -1])
def test_the_size_of_a_page(page_size: int, db: Db, account: UUID) -> None:
    with refused("argument_invalid", "page_size"):
        call(db, "export_memories", actor=account, page_size=page_size)


@pytest.mark.parametrize("function", ["export_memories", "export_account"])
def test_an_account_that_is_not_there(function: str, db: Db, account: UUID) -> None:
    call(db, "delete_user", actor=account)
    for actor in (account, uuid4(), None):
        with refused("actor_unknown", "actor"):
            call(db, function, actor=actor)


def test_the_first_line(db: Db, full: UUID) -> None:
    assert value(db, "select memstore.export_account(%s)", full) == {
        "export": 2,
        "language": "english",
        "memories": 10,
        "live_memories": live_count(db, full),
        "items": 0,
    }
    danish = value(db, "select memstore.create_user(language => 'danish')")
    assert value(db, "select memstore.export_account(%s)", danish)["language"] == "danish"
