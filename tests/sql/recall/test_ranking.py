"""rank_memories, recall and rank_claims say what the definition of the ranking says, on random accounts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.databases import skip_without
from tests.sql.support import SYSTEM, account_of, raw_copy, raw_insert, rows, value

DEFINITION = Path(__file__).with_name("ranking_definition.sql")

_TEXT = """
install pnpm npm deps pet cat dog grandmother adopt Caroline Melanie trip Paris Berlin cooking run running
runs house garden blue green the of école Straße haus katze läuft привет мир собака 東京 上海 工作 maison
deploy server crash log error budget meeting friday don't C++ package.json
"""
WORDS = _TEXT.split()
LANGUAGES = ["english"] * 5 + ["german", "simple", "russian"]
SOURCES = [None, None, "a", "b", "c", "A", "a ", "école"]
MODELS = {"eight": 8, "six": 6}

LONG_TURN = " ".join(f"{word} z{number}" for number, word in enumerate(WORDS * 2))
"""Of more than 64 words."""
BLANK_TURNS = ["", " \n\u3000", "?!", "the of", "zebra", LONG_TURN]
DEFAULTS: dict[str, float] = {
    "lexical_floor": 0,
    "semantic_floor": 0.3,
    "previous_share": 0.6,
    "next_share": 0.4,
    "speaker_share": 0.4,
    "source_share": 0.3,
    "user_floor": 0,
    "score_share": 0,
    "time_share": 0.4,
}
SETTINGS: list[dict[str, float]] = [
    {},
    {"user_floor": 0.2, "score_share": 0.4},
    {"previous_share": 0.7, "next_share": 0.2, "lexical_floor": 0.1, "source_share": 1, "user_floor": 0.5},
    {"previous_share": 0, "next_share": 0, "speaker_share": 1},
    {"previous_share": 0.5, "next_share": 0.1, "speaker_share": 0, "source_share": 0},
    {"previous_share": 0, "next_share": 0.9, "semantic_floor": 0.6, "lexical_floor": 0.3, "speaker_share": 0},
    {"previous_share": 1, "next_share": 1, "semantic_floor": 0, "source_share": 0, "score_share": 0.9},
    {"previous_share": 1e-6, "next_share": 1e-9, "semantic_floor": 0, "speaker_share": 1e-6},
    {"time_share": 1, "source_share": 1},
    {"time_share": 0},
]
BOUNDS = [(8, 2000), (0, 2000), (3, 60), (40, 2**31 - 1), (200, 700), (201, 2**31 - 1), (500, 9000)]

_LABELS = r"""
Caroline:|caroline (work):|CAROLINE'S :|École: |école du parc: |Straße: |The dog: |the: |a:|мир:|и:|
Мир и собака: |東京: |上海 工作:|der Hund:|Haus und Hof: |Haus und Hof Nr. 5: |house of green: |
dog run cat  :|dog  run cat:|C++: |package.json: |2026-01-05: |2026-01-06: |don't:|[dog]: |:|: |::|
 dog: |:dog: |run:run|Melanie\tdog: |
"""
LABELS = ["", "", "Caroline: ", "Melanie: ", *_LABELS.replace("\n", "").replace("\\t", "\t").split("|")]
LABELS += ["dog " + "x" * 36 + end for end in (": ", "y: ", " z: ")]
"""Such as a turn can name, with stop words, of many words, and of 42 characters or more."""

MONTHS = ["01", "01", "03", "05", "12"]
_TIMES = "in January|in 2026|May|in May|in may|since March 2026 or 1999|march|december|JANUARY|in 20260"
TIMES = ["", "", *_TIMES.split("|"), "2025-2026", ". May I"]
"""What names a time, and what looks like it."""

MEMORIES = [0, 1, 3, 30, 90, 240]
CLAIMS = 40


def embedding(chance: Random, width: int) -> list[float]:
    return [round(chance.uniform(-1, 1), 3) for _ in range(width)]


def body(chance: Random) -> str:
    return chance.choice(LABELS) + " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))


def memory(chance: Random, account: UUID) -> dict[str, Any]:
    """A row of the account; times are few, so that many are equal."""
    moment = f"2026-{chance.choice(MONTHS)}-{chance.randint(1, 9):02} 00:00:00+00"
    model = chance.choice([None, None, "eight", "eight", "six"])
    return {
        "user_id": account,
        "bucket": chance.choice(["user", "user", "learned"]),
        "body": body(chance),
        "source_ref": chance.choice(SOURCES),
        "language": chance.choice(LANGUAGES),
        "embedding": model and embedding(chance, MODELS[model]),
        "embedding_model": model,
        "inserted_at": moment,
        "superseded_at": "2027-02-01 00:00:00+00" if chance.random() < 0.1 else None,
    }


def claim(chance: Random, author: UUID, number: int) -> dict[str, Any]:
    row = {**memory(chance, author), **SYSTEM, "slug": f"sys:{number}", "source_ref": None}
    return {**row, "superseded_at": None, "evidence_refs": Jsonb(SYSTEM["evidence_refs"])}


def queries(chance: Random) -> Iterator[tuple[str, list[float] | None, str | None]]:
    """Turns with their embedding and its model: of both, of none, and such as no memory could have."""
    while True:
        turn = " ".join(chance.choices(WORDS, k=chance.randint(1, 7)))
        if chance.random() < 0.2:
            turn = chance.choice(BLANK_TURNS)
        elif time := chance.choice(TIMES):
            turn = f"{turn} {time}" if chance.random() < 0.7 else f"{time} {turn}"
        model, width = chance.choice([*MODELS.items(), ("eight", 6), ("unknown", 8)])
        yield chance.choice(
            [
                (turn, None, None),
                (turn, None, None),
                (turn, embedding(chance, width), model),
                (turn, embedding(chance, width), f" {model}\t"),
                (turn, embedding(chance, width), None),
                (turn, embedding(chance, width), " "),
                (turn, [0.0] * width, model),
                (turn, [float("nan")] * width, model),
                (turn, [1e30] * width, model),
                (turn, [], model),
            ]
        )


@pytest.fixture(params=["pgvector", "plain", "dropped"])
def store(request: pytest.FixtureRequest, db: psycopg.Connection) -> psycopg.Connection:
    """A store that compares embeddings through pgvector, without it, or without it again."""
    if request.param != "plain":
        if not value(db, "select count(*) from pg_available_extensions where name = 'vector'"):
            skip_without("pgvector")
        db.execute("create extension vector schema public")
        db.execute("select memstore.compile_scores()")
        if request.param == "dropped":
            db.execute("drop extension vector")
    db.execute(DEFINITION.read_bytes())
    db.execute("reset search_path; set jit = off")
    return db


def fill(db: psycopg.Connection, chance: Random) -> list[UUID]:
    """The accounts of a store, each with another number of memories, and admitted claims of three of them."""
    db.execute("select memstore.configure(maximum_live_memories => 1000, system_recall_enabled => true)")
    accounts = [account_of(db, f"account-{number}") for number in range(2 * len(MEMORIES))]
    memories = [
        memory(chance, account)
        for account, size in zip(accounts, MEMORIES * 2, strict=True)
        for _ in range(size)
    ]
    chance.shuffle(memories)
    raw_copy(db, memories + [claim(chance, accounts[number % 3], number) for number in range(CLAIMS)])
    rows(
        db,
        "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
        " select id, user_id, 'admission', 'admitted', 'yes' from memstore.memories where bucket = 'system'",
    )
    return accounts


@pytest.mark.parametrize(
    ("seed", "turns"),
    [(1, 64), pytest.param(2, 600, marks=pytest.mark.long)],
    ids=["few", "many"],
)
def test_ranking_is_the_definition(store: psycopg.Connection, seed: int, turns: int) -> None:
    db, chance = store, Random(seed)
    accounts = fill(db, chance)
    found = 0
    for number, (turn, numbers, model) in zip(range(turns), queries(chance), strict=False):
        if number % (turns // len(SETTINGS)) == 0:
            chosen = {**DEFAULTS, **SETTINGS[number // (turns // len(SETTINGS)) % len(SETTINGS)]}
            arguments = ", ".join(f"{name} => {setting}" for name, setting in chosen.items())
            db.execute(f"select memstore.configure({arguments})".encode())
        if number == turns // 2:
            db.execute("vacuum analyze")
        query = (chance.choice(accounts), turn, numbers, model)
        for function in ("rank_memories", "rank_claims"):
            answers = (
                rows(db, f"select r.* from {schema}.{function}(%s, %s, %s::real[], %s) r", *query)
                for schema in ("definition", "memstore")
            )
            expected, answer = answers
            assert answer == expected, (function, query)
            found += len(answer)
        for bounds in chance.sample(BOUNDS, 3):
            # In one statement, so that the ages in the notes are of one moment.
            ((expected, answer),) = rows(
                db,
                "select to_jsonb(d), to_jsonb(r) from definition.recall(%s, %s, %s::real[], %s, %s, %s) d,"
                " memstore.recall(%s, %s, %s::real[], %s, %s, %s) r",
                *(*query, *bounds) * 2,
            )
            assert answer == expected, (query, bounds)
    assert found > 10 * turns


def test_pgvector_that_is_added_later_is_used(db: psycopg.Connection) -> None:
    """Once the code is loaded again."""
    compared = (
        "select count(*) from pg_proc where pronamespace = 'memstore'::regnamespace"
        " and proname !~ '^(compile|objects)' and prosrc ~ '<=>'"
    )
    if not value(db, "select count(*) from pg_available_extensions where name = 'vector'"):
        skip_without("pgvector")
    db.execute("create schema \"Extensions 'of' others\"")
    db.execute("create extension vector schema \"Extensions 'of' others\"")
    assert value(db, compared) == 0
    db.execute("select memstore.compile_scores()")
    assert value(db, compared) == 3
    account = account_of(db, "account-1")
    for numbers, model in (([1, 0], "m"), ([0, 1], "m"), ([1], "n")):
        raw_insert(db, account, "x", embedding=numbers, embedding_model=model)
    scores = rows(db, "select semantic_score from memstore.rank_memories(%s, 'x', '{2, 0}', 'm')", account)
    assert scores == [(1,), (None,), (0,)]
