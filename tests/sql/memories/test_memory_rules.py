"""The shape of a memory, rule by rule: through the functions, by a plain INSERT and by COPY alike."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.cases import CASES, FUNCTION_CASES, HISTORY_CASES, LANGUAGES, Case, in_the_table, rule
from tests.sql.support import (
    SYSTEM,
    call,
    insert,
    raw_copy,
    raw_insert,
    refused,
    row_of,
    rows,
    value,
)


def as_json(case: Case) -> dict[str, Any] | None:
    """The row as JSON, where JSON has it."""
    row = case.row
    if isinstance(row.get("evidence_refs"), str):
        row["evidence_refs"] = json.loads(row["evidence_refs"])
        if row["evidence_refs"] is None:
            return None  # an absent one, in JSON
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", row.get("as_of") or "2026-01-02"):
        return None
    numbers = [0 if number is None else number for number in row.get("embedding") or []]
    return row if all(isinstance(number, int | float) and isfinite(number) for number in numbers) else None


JSON_CASES = [case for case in FUNCTION_CASES if as_json(case)]


def stated(db: psycopg.Connection, fields: tuple[str, ...]) -> list[dict[str, str]]:
    """What list_rules says of these fields."""
    return [
        {name: item[name] for name in ("name", "field", "message")}
        for item in call(db, "list_rules")
        if item["field"] in fields
    ]


def detail(refusal: pytest.ExceptionInfo[psycopg.Error]) -> list[dict[str, str]]:
    result: list[dict[str, str]] = json.loads(refusal.value.diag.message_detail or "")
    return result


@pytest.mark.parametrize("case", CASES, ids=str)
def test_plain_insert(case: Case, scratch: psycopg.Connection, holder: UUID) -> None:
    if not case.broken:
        assert raw_insert(scratch, holder, **case.row)
        return
    with refused(in_the_table(case)), scratch.transaction():
        raw_insert(scratch, holder, **case.row)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_copy(case: Case, scratch: psycopg.Connection, holder: UUID) -> None:
    row = {"user_id": holder, **case.row}
    if not case.broken:
        raw_copy(scratch, [row])
        return
    with refused(in_the_table(case)), scratch.transaction():
        raw_copy(scratch, [row])


@pytest.mark.parametrize("case", FUNCTION_CASES, ids=str)
def test_insert_memory(case: Case, scratch: psycopg.Connection, holder: UUID) -> None:
    if not case.broken:
        written = row_of(scratch, insert(scratch, holder, **case.row)["id"])
        expected = row_of(scratch, raw_insert(scratch, holder, **case.row))
        for column in ("id", "inserted_at", "updated_at"):
            del written[column], expected[column]
        assert written == expected
        return
    with refused(rule(case.broken[0]), case.broken[0]) as refusal, scratch.transaction():
        insert(scratch, holder, **case.row)
    assert detail(refusal) == stated(scratch, case.broken)
    assert refusal.value.diag.message_primary == detail(refusal)[0]["message"]
    assert not rows(scratch, "select from memstore.memories")


@pytest.mark.parametrize("case", JSON_CASES, ids=str)
def test_insert_memories(case: Case, scratch: psycopg.Connection, holder: UUID) -> None:
    items = [{"body": "The first item is in order."}, as_json(case)]
    if not case.broken:
        assert len(call(scratch, "insert_memories", actor=holder, memories=items)) == 2
        return
    with refused(rule(case.broken[0]), case.broken[0]) as refusal, scratch.transaction():
        call(scratch, "insert_memories", actor=holder, memories=items)
    assert detail(refusal) == stated(scratch, case.broken)
    assert refusal.value.diag.message_primary == f"Item 2: {detail(refusal)[0]['message']}"
    assert not rows(scratch, "select from memstore.memories")


@pytest.mark.parametrize("case", JSON_CASES, ids=str)
def test_memory_violations(case: Case, scratch: psycopg.Connection) -> None:
    assert call(scratch, "memory_violations", memory=as_json(case)) == stated(scratch, case.broken)


@pytest.mark.parametrize("case", HISTORY_CASES, ids=str)
def test_import_memories(case: Case, scratch: psycopg.Connection, holder: UUID) -> None:
    if not case.broken:
        assert len(call(scratch, "import_memories", user_id=holder, memories=[case.row])) == 1
        return
    with refused(rule(case.broken[0]), case.broken[0]) as refusal, scratch.transaction():
        call(scratch, "import_memories", user_id=holder, memories=[case.row])
    assert detail(refusal) == stated(scratch, case.broken)


@pytest.mark.parametrize(
    "memory",
    [None, "[]", '"x"', "7", "null", '{"text": "x"}', '{"body": 7}', '{"actor": "x"}', '{"stance": "x"}'],
)
def test_memory_violations_refuses_other_json(memory: str | None, scratch: psycopg.Connection) -> None:
    with refused("argument_invalid"), scratch.transaction():
        call(scratch, "memory_violations", memory=memory)


def test_a_memory_belongs_to_an_account(scratch: psycopg.Connection) -> None:
    with refused("memories_user_id_shape"), scratch.transaction():
        scratch.execute("insert into memstore.memories (body, language) values ('x', 'english')")
    with refused("memories_user_id_fkey"), scratch.transaction():
        raw_insert(scratch, UUID(int=1), language="english")


def test_a_tombstone_is_promoted(scratch: psycopg.Connection, holder: UUID) -> None:
    claim = raw_insert(scratch, holder, **SYSTEM)
    tombstone = raw_insert(scratch, holder, "At use-pnpm.", **SYSTEM, stance="use-pnpm")
    assert [row_of(scratch, memory)["promoted"] for memory in (claim, tombstone)] == [False, True]
    for generated in ({"promoted": True}, {"search_vector": "'x'"}):
        with pytest.raises(psycopg.errors.GeneratedAlways), scratch.transaction():
            raw_insert(scratch, holder, **generated)


def test_defaults(scratch: psycopg.Connection, holder: UUID) -> None:
    memory = row_of(scratch, raw_insert(scratch, holder))
    assert (memory["bucket"], memory["language"], memory["promoted"]) == ("user", "english", False)
    assert memory["inserted_at"] and memory["updated_at"] and memory["superseded_at"] is None
    dane = value(scratch, "select memstore.create_user(language => 'danish')")
    assert row_of(scratch, raw_insert(scratch, dane))["language"] == "danish"


def test_the_cases_try_every_rule_from_both_sides(scratch: psycopg.Connection) -> None:
    fields = {item["field"] for item in call(scratch, "list_rules")} - {"user_id"}
    assert {field for case in CASES for field in case.broken} == fields
    assert {field for case in CASES if not case.broken for field in case.changes} >= fields - {"updated_at"}


def test_list_rules_states_each_constraint(scratch: psycopg.Connection) -> None:
    listed = call(scratch, "list_rules")
    assert all(item["message"] and item["definition"] for item in listed)
    constraints = rows(
        scratch,
        "select conname from pg_constraint where conrelid = 'memstore.memories'::regclass and contype = 'c'",
    )
    assert sorted(item["name"] for item in listed) == sorted(name for (name,) in constraints)


def test_languages_are_those_of_every_supported_version(scratch: psycopg.Connection) -> None:
    assert sorted(value(scratch, "select memstore.languages()")) == sorted(LANGUAGES)
    assert set(LANGUAGES) <= {name for (name,) in rows(scratch, "select cfgname from pg_ts_config")}
