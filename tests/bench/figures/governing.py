"""Recall with the shared claims in it, and a steward's verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import psycopg

from tests.bench import load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import FUNCTION, WAYS, turns_of
from tests.bench.measuring import Leg, Row, Taken, Target, Work

# Nothing in it is rare.
_COMMON = "Do you like to use the test server for our project, or do you want to work with the team?"
_ADMISSION = "select * from memstore.record_admission(:steward, :claim{}, 'admitted', 'Checked again.')"


def claims(bench: Bench) -> Iterator[Row]:
    """Recall with the flag on against the flag off, by words, by words that all claims have, and hybrid."""
    count = bench.size.claims[1]
    conninfo = bench.claims(count)
    accounts = [load.CLAIM_READER] * 8
    kinds: dict[str, Callable[[], Leg]] = {
        f"{name}, {count:,} claims": partial(turns_of, bench, conninfo, statement, accounts)
        for name, statement in WAYS.items()
    }
    kinds[f"recall, common words, {count:,} claims"] = partial(
        turns_of, bench, conninfo, FUNCTION, accounts[:1], turns=[_COMMON]
    )
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def switched(on: bool, leg: Leg) -> Leg:
            def switch() -> None:
                connection.execute("select memstore.configure(system_recall_enabled => %s)", [on])

            def take() -> Taken:
                switch()
                return leg.take()

            def count() -> Work | None:
                switch()
                return leg.count()

            return Leg(take, count)

        for name, make in kinds.items():
            both = {f"{name}, flag on": switched(True, make()), f"{name}, flag off": switched(False, make())}
            target = None if "common" in name or not bench.server.pgvector else Target(10)
            yield bench.effort.compare("claims", both, target=target)


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
    yield bench.effort.compare("admission", dict([many, few]), target=Target(1.5))
