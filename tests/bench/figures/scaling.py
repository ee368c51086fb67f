"""The same calls in larger stores."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import FUNCTION, turns_of
from tests.bench.figures.writing import function, variables
from tests.bench.measuring import Leg, Row, Target

# Of a million: what holds for the next size too is more than was asked.
_TARGET = Target(1.15)


def recall_scale(bench: Bench) -> Iterator[Row]:
    """Ten accounts of each store: recall of what is in use, whatever else there is."""
    accounts = [data.account(number) for number in range(10)]
    legs = {size: turns_of(bench, bench.store(size), FUNCTION, accounts) for size in bench.size.stores}
    yield from _compared(bench, "recall_scale", "recall", legs)


def recall_anywhere(bench: Bench) -> Iterator[Row]:
    """A hundred accounts from all over each store, of which a processor's caches hold less."""
    legs = {}
    for size in bench.size.stores:
        number = size // load.LIVE
        accounts = [data.account(place * number // 100 % number) for place in range(100)]
        legs[size] = turns_of(bench, bench.store(size), FUNCTION, accounts)
    yield from _compared(bench, "recall_anywhere", "recall anywhere", legs, None)


def insert_scale(bench: Bench) -> Iterator[Row]:
    """One connection that writes."""
    legs = {
        size: bench.pgbench.leg(bench.store(size), [function()], variables=variables())
        for size in bench.size.stores
    }
    yield from _compared(bench, "insert_scale", "insert_memory", legs)
    for size in bench.size.stores:
        load.tidy(bench.store(size))


def _compared(
    bench: Bench, figure: str, what: str, legs: dict[int, Leg], target: Target | None = _TARGET
) -> Iterator[Row]:
    named = {f"{what}, store of {size:,}": leg for size, leg in legs.items()}
    times = bench.effort.in_turn(named)
    bench.plot[what] = [(size, times.milliseconds(name)) for size, name in zip(legs, named, strict=True)]
    smallest, *larger = named
    for name in larger:
        yield times.row(figure, name, smallest, target=target)
