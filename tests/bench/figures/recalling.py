"""recall against the fastest statement that gives the same answer, and against itself in larger accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.measuring import Leg, Row, Target

FUNCTION = "select * from memstore.recall(:actor, :turn)"
HYBRID = "select * from memstore.recall(:actor, :turn, :embedding, :model)"
# By which a turn is recalled, by name: beside each other in every figure.
WAYS = {"recall": FUNCTION, "recall, hybrid": HYBRID}
HAND_WRITTEN = re.sub(
    r"^\s*--.*\n",
    "",
    Path(__file__).parents[1].joinpath("handwritten.sql").read_text(encoding="utf-8"),
    flags=re.M,
)
# What every way of recalling has to read.
FETCH = """
select m.id, m.bucket, m.body, m.source_ref, m.language, m.inserted_at, m.search_vector
from memstore.memories m
where m.user_id = :actor
and m.superseded_at is null
and m.bucket in ('user', 'learned')
"""
# A plan for all parameters: somebody who writes the statement by hand doesn't plan it at each turn.
GENERIC = "-c plan_cache_mode=force_generic_plan"

_TURNS = 8


def turns_of(
    bench: Bench,
    conninfo: str,
    statement: str,
    accounts: list[UUID],
    *,
    turns: list[str] | None = None,
    settings: str = "",
) -> Leg:
    """A leg of this statement for each of these accounts, with a turn for each."""
    turns = turns or data.Texts("turns").turns(len(accounts))
    variables = {"model": data.MODEL} if ":model" in statement else {}
    scripts = []
    for number, (owner, turn) in enumerate(zip(accounts, turns, strict=True)):
        variables |= {f"actor{number}": str(owner), f"turn{number}": turn}
        if ":embedding" in statement:
            variables[f"embedding{number}"] = data.array(data.vector(turn))
        scripts.append(re.sub(r"(?<!:):(actor|turn|embedding)\b", rf":\g<1>{number}", statement))
    return bench.pgbench.leg(conninfo, scripts, variables=variables, settings=settings)


def recall(bench: Bench) -> Iterator[Row]:
    """Accounts of 200, by words, and by words and meaning."""
    conninfo = bench.store()
    accounts = [data.account(number) for number in range(_TURNS)]
    _see_that_answers_are_equal(conninfo, accounts)
    legs = {name: turns_of(bench, conninfo, statement, accounts) for name, statement in WAYS.items()}
    by_hand, fetch = "hand-written statement", "fetch of the live rows"
    legs[by_hand] = turns_of(bench, conninfo, HAND_WRITTEN, accounts, settings=GENERIC)
    legs[fetch] = turns_of(bench, conninfo, FETCH, accounts, settings=GENERIC)
    times = bench.effort.in_turn(legs)
    words, hybrid = WAYS
    meaning = Target(2.5) if bench.server.pgvector else None
    yield times.row("recall", words, by_hand, target=Target(2))
    yield times.row("recall", hybrid, by_hand, target=meaning)
    yield times.row("recall", hybrid, words)
    yield times.row("recall", words, fetch)


def accounts(bench: Bench) -> Iterator[Row]:
    """Larger accounts against the smallest."""
    conninfo = bench.accounts()
    smallest, *larger = bench.size.accounts
    legs = {
        f"{name}, account of {size:,}": turns_of(bench, conninfo, statement, [load.sized(size)] * _TURNS)
        for name, statement in WAYS.items()
        for size in bench.size.accounts
    }
    times = bench.effort.in_turn(legs)
    for name in WAYS:
        for size in larger:
            yield times.row(
                "accounts",
                f"{name}, account of {size:,}",
                f"{name}, account of {smallest:,}",
                target=None if size == 100_000 else Target(10),
            )


def _see_that_answers_are_equal(conninfo: str, accounts: list[UUID]) -> None:
    function, hand_written = (
        re.sub(r"(?<!:):(actor|turn)\b", r"%(\1)s", text) for text in (FUNCTION, HAND_WRITTEN)
    )
    with psycopg.connect(conninfo) as connection:
        for owner in accounts:
            for turn in data.Texts(owner).turns(20):
                values = {"actor": owner, "turn": turn}
                ours, theirs = (
                    connection.execute(text.encode(), values).fetchall() for text in (function, hand_written)
                )
                if ours != theirs:
                    raise RuntimeError(f"recall and the hand-written statement differ on {turn!r}")
