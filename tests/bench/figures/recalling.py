"""recall against the fastest statement that gives the same answer, and against itself in other accounts."""

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
    embedded: bool = False,
    settings: str = "",
) -> Leg:
    """A leg of this statement for each of these accounts, with a turn for each."""
    turns = data.Texts("turns").turns(len(accounts))
    variables = {"model": data.MODEL}
    scripts = []
    for number, (owner, turn) in enumerate(zip(accounts, turns, strict=True)):
        variables |= {f"actor{number}": str(owner), f"turn{number}": turn}
        if embedded:
            variables[f"embedding{number}"] = data.array(data.vector(turn))
        scripts.append(re.sub(r"(?<!:):(actor|turn|embedding)\b", rf":\g<1>{number}", statement))
    return bench.pgbench.leg(conninfo, scripts, variables=variables, settings=settings)


def recall(bench: Bench) -> Iterator[Row]:
    """Accounts of 200, by words."""
    conninfo = bench.store()
    accounts = [data.account(number) for number in range(_TURNS)]
    _see_that_answers_are_equal(conninfo, accounts)
    times = bench.effort.in_turn(
        {
            "recall": turns_of(bench, conninfo, FUNCTION, accounts),
            "hand-written statement": turns_of(bench, conninfo, HAND_WRITTEN, accounts, settings=GENERIC),
            "fetch of the live rows": turns_of(bench, conninfo, FETCH, accounts, settings=GENERIC),
        }
    )
    yield times.row("recall", "recall", "hand-written statement", target=Target(1.25))
    yield times.row("recall", "recall", "fetch of the live rows")


def hybrid(bench: Bench) -> Iterator[Row]:
    """An account of 200 with embeddings: a turn with one against a turn without."""
    conninfo = bench.accounts()
    accounts = [load.EMBEDDED] * _TURNS
    legs = {
        f"recall, hybrid{'' if bench.server.pgvector else ', without pgvector'}": turns_of(
            bench, conninfo, HYBRID, accounts, embedded=True
        ),
        "recall, lexical, the same account": turns_of(bench, conninfo, FUNCTION, accounts),
    }
    target = Target(2) if bench.server.pgvector else None
    yield bench.effort.compare("hybrid", legs, target=target)


def accounts(bench: Bench) -> Iterator[Row]:
    """Larger accounts against the smallest."""
    conninfo = bench.accounts()
    sizes = bench.size.accounts
    legs = {
        f"recall, account of {size:,}": turns_of(bench, conninfo, FUNCTION, [load.sized(size)] * _TURNS)
        for size in sizes
    }
    smallest, *larger = legs
    times = bench.effort.in_turn(legs)
    for what, size in zip(larger, sizes[1:], strict=True):
        yield times.row("accounts", what, smallest, target=None if size == 100_000 else Target(10))

    # The largest again, with the operator's indexes.
    indexed = bench.accounts("accounts_indexed")
    bench.server.index_words(indexed)
    legs = {
        f"recall, account of {size:,}, words indexed": turns_of(
            bench, indexed, FUNCTION, [load.sized(size)] * _TURNS
        )
        for size in (sizes[0], sizes[-1])
    }
    smallest, largest = legs
    yield bench.effort.in_turn(legs).row("accounts", largest, smallest, target=Target(30))


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
