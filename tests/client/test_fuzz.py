"""Bad input to both clients: whatever an argument is, a call succeeds, is refused by name, or a TypeError."""

from __future__ import annotations

import asyncio
import collections
import inspect
import random
import traceback
from array import array
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memstore import AsyncStore, MemstoreError, Store, errors
from memstore.api.store import Functions
from tests.databases import LONG, SEEDS
from tests.sql.support import EVIDENCE, SECRET, SYSTEM, account_of, rows, steward_of
from tests.sql.texts import TEXTS

CALLS = 40_000 if LONG else 1_200

METHODS = {
    name: tuple(inspect.signature(method).parameters.values())[1:]
    for name, method in vars(Functions).items()
    if inspect.isfunction(method) and name != "run"
}


class Label(StrEnum):
    """A text that is not only one."""

    BUCKET = "learned"


class Loud:
    """Shows its text wherever somebody prints it."""

    def __repr__(self) -> str:
        return SECRET

    def __hash__(self) -> int:
        return 1


def nested(depth: int, *, mapping: bool = False) -> Any:
    value: Any = SECRET
    for _ in range(depth):
        value = {SECRET: value} if mapping else [value]
    return value


def circle() -> Any:
    value: list[Any] = [SECRET]
    value.append(value)
    return value


def generator(*items: Any) -> Iterator[Any]:
    yield from items


# Made for each use: a generator is used up.
ODD: list[Callable[[], Any]] = [
    *(
        lambda: 0,
        lambda: -1,
        lambda: True,
        lambda: 2**31,
        lambda: 2**63,
        lambda: 10**400,
        lambda: -(10**5000),
        lambda: 0.5,
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: -0.0,
        lambda: 5e-324,
        lambda: 1j,
        lambda: Decimal("1e-500"),
        lambda: Decimal("1e999999"),
        lambda: Decimal("sNaN"),
        lambda: Fraction(10**400, 3),
        lambda: np.float32(0.1),
        lambda: np.int64(3),
        lambda: np.array([0.5, 1.5]),
        lambda: np.array([[0.5], [1.5]]),
        lambda: np.array(1.5),
        lambda: np.array(["x", SECRET]),
        lambda: np.array([SECRET], dtype=object),
        lambda: np.float64("nan"),
    ),
    *(
        lambda: b"\xff\x00",
        lambda: SECRET.encode(),
        lambda: bytearray(b"12"),
        lambda: memoryview(b"12"),
        lambda: array("d", [1, 2]),
        lambda: Label.BUCKET,
        lambda: Loud(),
        lambda: {Loud()},
        lambda: {Loud(): 1},
        lambda: object,
        lambda: len,
        lambda: ...,
    ),
    *(
        lambda: [],
        lambda: {},
        lambda: set(),
        lambda: [1.0, "x"],
        lambda: [SECRET],
        lambda: [True, False],
        lambda: [None],
        lambda: [10**400],
        lambda: [1e39],
        lambda: [float("nan"), 1],
        lambda: [1.0] * 16_001,
        lambda: generator(1, 2.5),
        lambda: generator(SECRET),
        lambda: range(3),
        lambda: {1: 2},
        lambda: {1: 2, "1": 3},
        lambda: {None: True, 1.5: [], (1, 2): 3},
        lambda: {(1, 2): SECRET},
        lambda: {float("nan"): 1},
        lambda: {"\x00": 1},
        lambda: {"\ud800": SECRET},
        lambda: {"body": SECRET + "\x00"},
        lambda: [{"body": SECRET + "\\u0000"}],
        lambda: [{"body": SECRET + "\udfff"}],
        lambda: collections.ChainMap({"body": "x"}),
        lambda: collections.UserDict(body="x"),
        lambda: collections.UserList([1.0, 2.0]),
        lambda: collections.UserString("x"),
        lambda: collections.deque([1.0]),
    ),
    *(
        lambda: nested(100),
        lambda: nested(10_000),
        lambda: nested(10_000, mapping=True),
        lambda: nested(900, mapping=True),
        circle,
        lambda: [{"body": nested(5_000)}],
        lambda: [{"body": "x", "evidence_refs": nested(500)}],
        lambda: [{"body": "x"}] * 10_001,
        lambda: [[]] * 10_000,
        lambda: [{"body": f"It is number {number}."} for number in range(300)],
        lambda: [{"body": SECRET, "x" * 100_000: 1}],
        lambda: ({"body": str(number)} for number in range(3)),
    ),
    *(
        lambda: date.min,
        lambda: date.max,
        lambda: datetime.min,
        lambda: datetime.max,
        lambda: datetime.max.replace(tzinfo=UTC),
        lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
        lambda: datetime(2026, 1, 2, tzinfo=timezone(timedelta(seconds=30, microseconds=5))),
        lambda: datetime(2026, 1, 2, tzinfo=UTC),
        lambda: timedelta(1),
        lambda: UUID(int=0),
        lambda: UUID(int=2**128 - 1),
        lambda: "urn:uuid:" + "1" * 32,
        lambda: "{" + "1" * 32 + "}",
        lambda: "\u0661" * 32,
        lambda: "0x" + "_" * 30,
        lambda: "1-" * 31 + "1",
    ),
]


class Fuzz:
    """Draws calls, and judges what comes of them."""

    def __init__(self, db: psycopg.Connection, seed: int) -> None:
        self.db = db
        self.random = random.Random(2 * seed + 7)
        self.names = {
            name
            for (name,) in rows(
                db, "select name from memstore.refusals union select name from memstore.rules"
            )
        } | {*errors.CONSTRAINTS, errors.TEXT_NOT_STORABLE, errors.VALUE_MALFORMED}
        self.outcomes = dict.fromkeys(("done", "refused", "type"), 0)
        self.faults: dict[str, str] = {}
        self.refresh()

    def refresh(self) -> None:
        """Makes what was erased again."""
        self.db.execute("select memstore.configure(200, 8, 2000, 0, 0.3, 0, 0, true, 40)")
        accounts = [account_of(self.db, ref) for ref in ("a", "ab", "%")]
        self.actors = [*accounts, steward_of(self.db, "steward")]
        # Full now and then.
        self.db.execute(
            "update memstore.users set maximum_live_memories = live_memories + 100 where erased_at is null"
        )
        store = Store(self.db)
        claim = store.insert_memory(self.actors[0], SECRET, **{**SYSTEM, "as_of": date(2026, 1, 2)})
        store.insert_memories(self.actors[1], [{"body": SECRET}, {"body": "It builds.", "bucket": "learned"}])
        store.challenge_memory(self.actors[2], claim.id, SECRET, evidence_refs=[EVIDENCE])
        self.ids: list[Any] = [
            id
            for (id,) in rows(
                self.db,
                "(select id from memstore.memories order by inserted_at desc limit 20) union all"
                " (select id from memstore.memory_admissions order by inserted_at desc limit 5)",
            )
        ]

    def check(self) -> None:
        assert rows(self.db, "select invariant from memstore.verify_store() where violations > 0") == []

    def usual(self, name: str) -> Any:
        """A value such as the argument wants, or nearly."""
        choice = self.random.choice
        match name:
            case "actor" | "user_id":
                return choice(self.actors)
            case "id" | "target" | "replacement" | "memory_id" | "challenge_id" | "after":
                return choice([*self.ids, *map(str, self.ids)])
            case "embedding":
                return choice([[1.0, 2.0], (1, 2), np.array([0.5, 1.5], dtype=np.float32), [0.0], [1e-7]])
            case "evidence_refs":
                return choice([[EVIDENCE], [EVIDENCE] * 20, [EVIDENCE | {"ref": self.odd()}], [self.odd()]])
            case "memories":
                return [self.memory() for _ in range(self.random.randint(0, 4))]
            case "memory":
                return self.memory()
            case "as_of":
                return date(2026, 1, 2)
            case "moment":
                return datetime.now(UTC)
            case "bucket" | "tier" | "admission" | "verdict" | "status":
                return choice(["user", "learned", "system", "ledger", "candidate", "admitted", "rejected"])
            case "slug" | "stance" | "language" | "role":
                return choice(["sys:build", "use-pnpm", "simple", "german"])
            case "embedding_model" | "external_ref" | "name":
                return choice(["two", "m", "a", "ab"])
            case "steward" | "include_superseded" | "system_recall_enabled" | "strict":
                return choice([True, False])
            case _ if "maximum" in name or name in ("page_size", "dimensions"):
                return choice([0, 1, 2, 8, 200])
            case _ if name.endswith(("floor", "share")):
                return choice([0, 0.5, 1])
        return choice(["It builds.", "What builds?", SECRET])

    def odd(self) -> Any:
        if self.random.random() < 0.4:
            return self.random.choice(TEXTS)
        return self.random.choice(ODD)()

    def memory(self) -> Any:
        item: dict[Any, Any] = {"body": "It builds."}
        if self.random.random() < 0.3:
            item |= SYSTEM
        keys = [
            "body",
            "bucket",
            "embedding",
            "embedding_model",
            "evidence_refs",
            "as_of",
            "id",
            "language",
            "slug",
            "tier",
            "source_ref",
            "inserted_at",
            "superseded_at",
            "superseded_by_id",
            "x",
        ]
        for key in self.random.sample(keys, self.random.randint(0, 2)):
            item[key] = self.usual(key) if self.random.random() < 0.5 else self.odd()
        return item

    def draw(self, number: int) -> tuple[str, dict[str, Any]]:
        """A method and its arguments."""
        name = sorted(METHODS)[number % len(METHODS)]
        given = {}
        for parameter in METHODS[name]:
            if parameter.default is not parameter.empty and self.random.random() < 0.6:
                continue
            # `strict` isn't sent.
            usual = self.random.random() < {"actor": 0.95, "user_id": 0.95, "strict": 1}.get(
                parameter.name, 0.6
            )
            given[parameter.name] = self.usual(parameter.name) if usual else self.odd()
        return name, given

    def judge(self, name: str, given: dict[str, Any], error: BaseException | None) -> None:
        fault = None
        if error is None:
            self.outcomes["done"] += 1
        elif isinstance(error, MemstoreError):
            self.outcomes["refused"] += 1
            if error.name not in self.names:
                fault = f"is named {error.name}: {error}"
        elif isinstance(error, TypeError):
            self.outcomes["type"] += 1
        else:
            fault = f"fails as {type(error).__name__}: {error}"
        if error is not None and SECRET in shown(error):
            fault = f"shows a text: {shown(error)}"
        if fault:
            kinds = {
                each: f"{type(value).__name__} {value!r:.80}"
                if isinstance(value, str | UUID)
                else type(value).__name__
                for each, value in given.items()
            }
            self.faults.setdefault(f"{name} {fault}"[:100], f"{name} {fault[-900:]} {kinds}")

    def conclude(self) -> None:
        assert not self.faults, "\n".join(self.faults.values())
        assert min(self.outcomes.values()) > CALLS // 12, self.outcomes
        self.check()


def shown(error: BaseException | None) -> str:
    """All that a program may log of an exception, also of the ones behind it, but for lines of source."""
    said = ""
    while error is not None:
        said += "".join(traceback.format_exception_only(error)) + repr(error) + ascii(error.args)
        said += repr(vars(error))
        error = error.__context__
    return said


@pytest.fixture
def fuzz(db: psycopg.Connection, seed: int) -> Fuzz:
    assert len(METHODS) >= 35
    return Fuzz(db, seed)


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    seed: int = request.param
    return seed


@pytest.mark.usefixtures("unlogged")
def test_store(fuzz: Fuzz, connect: Callable[..., psycopg.Connection]) -> None:
    store = Store(connect(options="-c statement_timeout=10s"))
    for number in range(CALLS // 2):
        if number % 100 == 0:
            fuzz.refresh()
        if number % (1_000 if LONG else 100) == 0:
            fuzz.check()
        name, given = fuzz.draw(number)
        error: BaseException | None = None
        try:
            getattr(store, name)(**given)
        except Exception as caught:
            error = caught
        fuzz.judge(name, given, error)
    fuzz.conclude()


@pytest.mark.usefixtures("unlogged")
def test_async_store(fuzz: Fuzz, db_url: str, seed: int) -> None:
    async def work() -> None:
        url = make_conninfo(db_url, options="-c statement_timeout=10s")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            store = AsyncStore(connection)
            for number in range(CALLS // 2):
                if number % 100 == 0:
                    fuzz.refresh()
                if number % (1_000 if LONG else 100) == 0:
                    fuzz.check()
                name, given = fuzz.draw(number)
                error: BaseException | None = None
                try:
                    await getattr(store, name)(**given)
                except Exception as caught:
                    error = caught
                fuzz.judge(name, given, error)

    fuzz.random.seed(2 * seed + 8)
    asyncio.run(work())
    fuzz.conclude()
