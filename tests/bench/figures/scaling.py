"""The same calls in larger stores."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import WAYS, turns_of
from tests.bench.figures.writing import EMBEDDED, FUNCTION, function, variables
from tests.bench.measuring import Leg, Row, Target

# Of a million: what holds for the next size too is more than was asked.
_TARGET = Target(1.15)


def recall_scale(bench: Bench) -> Iterator[Row]:
    """Ten accounts of each store: recall of what is in use, whatever else there is."""
    accounts = [data.account(number) for number in range(10)]
    legs = _recalls(bench, "", dict.fromkeys(bench.size.stores, accounts))
    yield from _compared(bench, "recall_scale", legs)


def recall_anywhere(bench: Bench) -> Iterator[Row]:
    """A hundred accounts from all over each store, of which a processor's caches hold less."""
    accounts = {}
    for size in bench.size.stores:
        number = size // load.LIVE
        accounts[size] = [data.account(place * number // 100 % number) for place in range(100)]
    yield from _compared(bench, "recall_anywhere", _recalls(bench, " anywhere", accounts), None)


def insert_scale(bench: Bench) -> Iterator[Row]:
    """One connection that writes."""
    legs = {
        name: {
            size: bench.pgbench.leg(
                bench.store(size), [function(embedded=name == EMBEDDED)], variables=variables()
            )
            for size in bench.size.stores
        }
        for name in (FUNCTION, EMBEDDED)
    }
    yield from _compared(bench, "insert_scale", legs)
    for size in bench.size.stores:
        load.tidy(bench.store(size))


def _recalls(bench: Bench, note: str, accounts: dict[int, list[UUID]]) -> dict[str, dict[int, Leg]]:
    return {
        name + note: {
            size: turns_of(bench, bench.store(size), statement, owners) for size, owners in accounts.items()
        }
        for name, statement in WAYS.items()
    }


def _compared(
    bench: Bench, figure: str, legs: dict[str, dict[int, Leg]], target: Target | None = _TARGET
) -> Iterator[Row]:
    named = {(what, size): f"{what}, store of {size:,}" for what, by_size in legs.items() for size in by_size}
    times = bench.effort.in_turn({name: legs[what][size] for (what, size), name in named.items()})
    for what, by_size in legs.items():
        smallest, *larger = by_size
        bench.plot[what] = [(size, times.side(named[what, size]).milliseconds) for size in by_size]
        for size in larger:
            yield times.row(figure, named[what, size], named[what, smallest], target=target)
