"""Recall with the shared claims in it, and a steward's verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from tests.bench import load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import FUNCTION, HYBRID, turns_of
from tests.bench.measuring import Leg, Row, Target

# Nothing in it is rare.
_COMMON = "Do you like to use the test server for our project, or do you want to work with the team?"
_ADMISSION = "select * from memstore.record_admission(:steward, :claim{}, 'admitted', 'Checked again.')"


def claims(bench: Bench) -> Iterator[Row]:
    """Recall with the flag on against the flag off, by words, by words that all claims have, and hybrid."""
    count = bench.size.claims[1]
    conninfo = bench.claims(count)
    accounts = [load.CLAIM_READER] * 8
    note = f", {count:,} claims"
    common = bench.pgbench.leg(
        conninfo, [FUNCTION], variables={"actor": str(load.CLAIM_READER), "turn": _COMMON}
    )
    kinds = {
        "recall" + note: (turns_of(bench, conninfo, FUNCTION, accounts), Target(10)),
        "recall, common words" + note: (common, None),
    }
    if bench.server.pgvector:
        kinds["recall, hybrid" + note] = (turns_of(bench, conninfo, HYBRID, accounts, embedded=True), None)
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def switched(on: bool, leg: Leg) -> Leg:
            def measured() -> float:
                connection.execute("select memstore.configure(system_recall_enabled => %s)", [on])
                return leg()

            return measured

        for name, (leg, target) in kinds.items():
            legs = {f"{name}, flag on": switched(True, leg), f"{name}, flag off": switched(False, leg)}
            yield bench.effort.compare("claims", legs, target=target)


def admission(bench: Bench) -> Iterator[Row]:
    """A verdict more, in a store of many claims against one of few."""
    chosen = range(1, 40, 5)
    variables = {"steward": str(load.STEWARD)} | {
        f"claim{number}": str(load.claim(number)) for number in chosen
    }
    few, many = (
        (
            f"record_admission, {count:,} claims",
            bench.pgbench.leg(
                bench.claims(count), [_ADMISSION.format(number) for number in chosen], variables=variables
            ),
        )
        for count in bench.size.claims
    )
    legs = dict([many, few])
    yield bench.effort.compare("admission", legs, target=Target(1.5))
