"""What a memory may hold: rows at the border of each rule, with the rules that they break."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memstore import Store
from tests.sql.support import EVIDENCE, SECRET, SYSTEM

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
    Case(SYSTEM, {"stance": "use-pnpm", "body": "Promoted."}, ("stance",)),
    Case(USER, {"stance": "use-pnpm", "body": "At use-pnpm."}, ("stance",)),
    Case(USER, {"stance": "", "body": "x"}, ("stance",)),
    *good(USER, "scope", None, "x", "x" * 200, ASTRAL * 200, "project:x"),
    *bad(USER, "scope", "x" * 201, ASTRAL * 201),
    *bad(USER, "scope", "", by_function=False),
    *bad(SYSTEM, "scope", "x"),
    *bad(SYSTEM, "scope", "", by_function=False),
    *good(
        USER, "metadata", None, {"k": None}, {"": ""}, {"a": {"$b": 1}}, {"a$": [1, 1.0]}, {"k": "x" * 3991}
    ),
    *good(SYSTEM, "metadata", {"k": 1}),
    *bad(USER, "metadata", "null", "[]", '"x"', "7", [{"k": 1}], {"$k": 1}, {"k": 1, "$": 2}),
    *bad(USER, "metadata", {"k": "x" * 3992}, {"k": ASTRAL * 3992}),
    *bad(USER, "metadata", {}, by_function=False),
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
ARGUMENTS = set(inspect.signature(Store.insert_memory).parameters)
FUNCTION_CASES = [case for case in CASES if case.by_function and case.changes.keys() <= ARGUMENTS]
HISTORY_CASES = [case for case in CASES if case.by_function and not case.changes.keys() <= ARGUMENTS]


def rule(field: str) -> str:
    return f"memories_{field}_shape"


def in_the_table(case: Case) -> str:
    """The rule that PostgreSQL names: the first one by name."""
    return min(map(rule, case.broken))
