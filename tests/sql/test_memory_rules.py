"""The shape of a memory, rule by rule: through the functions, by a plain INSERT and by COPY alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any
from uuid import UUID

import psycopg
import pytest

from .support import (
    EVIDENCE,
    SECRET,
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

USER: Mapping[str, Any] = {}
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
ASTRAL = "\N{GRINNING FACE}"
LANGUAGES = """
    simple arabic armenian basque catalan danish dutch english finnish french german greek hindi hungarian
    indonesian irish italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish
    tamil turkish yiddish
""".split()  # noqa: SIM905
OVER_A_MILLION = 1000000.0625  # the next real


@dataclass(frozen=True)
class Case:
    """A row, and the fields whose rules it breaks, in their order."""

    base: Mapping[str, Any]
    changes: Mapping[str, Any]
    broken: tuple[str, ...] = ()
    by_function: bool = True
    """False where a function would read it otherwise: it trims, and takes an empty text as an absent one."""

    @property
    def row(self) -> dict[str, Any]:
        return {"body": "It builds.", **self.base, **self.changes}

    def __str__(self) -> str:
        shown = ",".join(f"{name}={shorten(value)}" for name, value in self.changes.items())
        return f"{'system' if self.base else 'user'}-{shown}".encode("ascii", "backslashreplace").decode()


def shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) < 50 else f"{text[:30]}..{len(text)}"


def good(base: Mapping[str, Any], field: str, *values: object) -> Iterator[Case]:
    for item in values:
        yield Case(base, {field: item})


def bad(base: Mapping[str, Any], field: str, *values: object, by_function: bool = True) -> Iterator[Case]:
    for item in values:
        yield Case(base, {field: item}, (field,), by_function)


def embedded(*vectors: object, broken: tuple[str, ...] = ()) -> Iterator[Case]:
    for vector in vectors:
        yield Case(USER, {"embedding": vector, "embedding_model": "model"}, broken)


def evidence(**changes: Any) -> list[dict[str, object]]:
    return [{name: item for name, item in {**EVIDENCE, **changes}.items() if item is not ...}]


CASES = [
    *good(USER, "bucket", "user", "learned"),
    *bad(USER, "bucket", "users", "User", "private"),
    *bad(USER, "bucket", "", None, " user", by_function=False),
    *good(USER, "body", "x", "x" * 2000, ASTRAL * 2000, "e\u0301" * 1000, "\u200b", "\ufeff"),
    *bad(USER, "body", None, "", SPACES, *SPACES, "x" * 2001, ASTRAL * 2001),
    *bad(USER, "body", " " + "x" * 2000, by_function=False),
    *good(USER, "source_ref", None, "x", "x" * 200, ASTRAL * 200),
    *good(SYSTEM, "source_ref", "x"),
    *bad(USER, "source_ref", "x" * 201, ASTRAL * 201),
    *bad(USER, "source_ref", "", by_function=False),
    *good(USER, "language", *LANGUAGES),
    *bad(USER, "language", "estonian", "English", "pg_catalog.english", "en", "english_stem", "x" * 300),
    *bad(USER, "language", "", " english", by_function=False),
    *embedded([1], [0, 1e-6], [-1e-6], [1e6, -1e6], [1] * 16_000, [1, 1e-30]),
    *embedded([], [0], [0, -0.0], [9.9e-7, -9.9e-7], [1] * 16_001, broken=("embedding",)),
    *embedded([1, OVER_A_MILLION], [1, -OVER_A_MILLION], [1, 3e38], broken=("embedding",)),
    *embedded([1, None], [None], [[1, 2]], [[1], [2]], broken=("embedding",)),
    *embedded(*([1, float(x)] for x in ("nan", "inf", "-inf")), [float("nan")], broken=("embedding",)),
    *(Case(USER, {"embedding": [1], "embedding_model": name}) for name in ("x", "x" * 200)),
    Case(USER, {"embedding": [1], "embedding_model": "x" * 201}, ("embedding_model",)),
    Case(USER, {"embedding": [1], "embedding_model": ""}, ("embedding_model",)),
    Case(USER, {"embedding": [1]}, ("embedding_model",)),
    Case(USER, {"embedding_model": "model"}, ("embedding",)),
    Case(USER, {"embedding_model": "x" * 201}, ("embedding", "embedding_model")),
    *good(SYSTEM, "slug", "sys:x", "sys:" + "x" * 196, "sys:sys:", "sys: x"),
    *bad(SYSTEM, "slug", None, "", "sys:", "SYS:x", "x", "xsys:x", "sys:" + "x" * 197),
    *bad(SYSTEM, "slug", *("sys:" + space for space in SPACES)),
    *bad(USER, "slug", "sys:x"),
    *bad(USER, "slug", "", by_function=False),
    *good(SYSTEM, "entity", None, "x", "x" * 200, ASTRAL * 200),
    *bad(SYSTEM, "entity", "x" * 201),
    *bad(SYSTEM, "entity", "", by_function=False),
    *bad(USER, "entity", "x"),
    *bad(USER, "entity", "", by_function=False),
    *good(SYSTEM, "tier", "ledger", "glass"),
    *bad(SYSTEM, "tier", None, "", "gold", "Ledger"),
    *bad(USER, "tier", "ledger"),
    *good(SYSTEM, "as_of", "0001-01-01", "2026-02-28", "9999-12-31"),
    *bad(SYSTEM, "as_of", None, "infinity", "-infinity", "0001-12-31 BC", "10000-01-01"),
    *bad(USER, "as_of", "2026-01-02", "infinity"),
    *good(SYSTEM, "admission", "candidate", "admitted", "rejected"),
    *bad(SYSTEM, "admission", None, "", "suspended", "Admitted"),
    *bad(USER, "admission", "candidate"),
    *good(SYSTEM, "evidence_refs", *(evidence(kind=x) for x in ("receipt", "memory", "url"))),
    *good(SYSTEM, "evidence_refs", evidence(ref="x" * 2000), evidence(digest=ASTRAL * 200)),
    *good(SYSTEM, "evidence_refs", evidence(ref="\u200b"), [EVIDENCE] * 20),
    Case(SYSTEM, {"evidence_refs": evidence(note="other keys are no matter")}, by_function=False),
    *bad(SYSTEM, "evidence_refs", None, [], [EVIDENCE] * 21, [EVIDENCE] * 300, EVIDENCE, {}),
    *bad(SYSTEM, "evidence_refs", "null", '"x"', "7", [None], ["x"], [7], [[]], [[EVIDENCE]], [{}]),
    *bad(SYSTEM, "evidence_refs", [EVIDENCE, {}], [EVIDENCE, None], [{}, EVIDENCE]),
    *bad(SYSTEM, "evidence_refs", *(evidence(kind=x) for x in (..., None, "", "Url", "video", 1, ["url"]))),
    *bad(SYSTEM, "evidence_refs", *(evidence(ref=x) for x in (..., None, "", 7, True, ["x"], "x" * 2001))),
    *bad(SYSTEM, "evidence_refs", *(evidence(digest=x) for x in (..., None, "", 7, ["x"], "x" * 201))),
    *bad(SYSTEM, "evidence_refs", *(evidence(ref=space) for space in SPACES), evidence(digest=SPACES)),
    *bad(USER, "evidence_refs", [EVIDENCE], [], "null"),
    *(Case(SYSTEM, {"stance": x, "body": f"At {x}."}) for x in ("a", "use-pnpm-9", "7", "x" * 200)),
    *(
        Case(SYSTEM, {"stance": x, "body": f"At {x}."}, ("stance",))
        for x in ("", "A", "a b", "a_b", "-a", "a-", "a--b", "-", "é", "a\n", " a", "x" * 201)
    ),
    Case(SYSTEM, {"stance": "use-pnpm", "body": "Promoted."}, ("body",)),
    Case(USER, {"stance": "use-pnpm", "body": "At use-pnpm."}, ("stance",)),
    Case(USER, {"stance": "", "body": "x"}, ("stance",)),
    Case(USER, {"inserted_at": "2026-01-02 03:04:05Z", "superseded_at": "2026-01-02 03:04:05Z"}),
    Case(
        USER,
        {"inserted_at": "2026-01-02 03:04:05Z", "superseded_at": "2026-01-02 03:04:04.999999Z"},
        ("superseded_at",),
    ),
    Case(USER, {"superseded_by_id": str(UUID(int=9))}, ("superseded_at",)),
    *bad(USER, "superseded_at", "infinity", "-infinity", by_function=False),
    *bad(USER, "inserted_at", None, "infinity", "-infinity", by_function=False),
    *bad(USER, "updated_at", None, "infinity", "-infinity", by_function=False),
    Case(USER, {"body": SECRET + " " * 2000 + ".", "bucket": "x"}, ("bucket", "body")),
    Case(
        USER,
        {**SYSTEM, "bucket": "learned", "entity": "x"},
        ("slug", "entity", "tier", "as_of", "admission", "evidence_refs"),
    ),
    Case(
        SYSTEM,
        {
            **dict.fromkeys(("slug", "tier", "as_of", "admission", "evidence_refs")),
            **dict.fromkeys(("source_ref", "language", "embedding_model", "entity"), "x" * 201),
            "body": SECRET + "x" * 2000,
            "embedding": [0],
        },
        (
            *("body", "source_ref", "language", "embedding", "embedding_model"),
            *("slug", "entity", "tier", "as_of", "admission", "evidence_refs"),
        ),
    ),
]
HISTORY = {"stance", "superseded_at", "superseded_by_id", "inserted_at", "updated_at"}
FUNCTION_CASES = [case for case in CASES if case.by_function and not HISTORY & case.changes.keys()]
HISTORY_CASES = [case for case in CASES if case.by_function and HISTORY & case.changes.keys()]


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


def rule(field: str) -> str:
    return f"memories_{field}_shape"


def in_the_table(case: Case) -> str:
    """The rule that PostgreSQL names: the first one by name."""
    return min(map(rule, case.broken))


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
