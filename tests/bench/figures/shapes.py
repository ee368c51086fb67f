"""Stores whose statistics mislead: recall of an account of 200 in each, against that in an ordinary store."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench import load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import WAYS, turns_of
from tests.bench.measuring import Row

_READER = load.sized(load.LIVE)
_TURNS = 8


def shapes(bench: Bench) -> Iterator[Row]:
    """Skewed stores, one without statistics, and one whose statistics are of its beginning."""
    count = bench.size.single
    ordinary = "an ordinary store"
    conninfos = {
        ordinary: bench.accounts(),
        f"{count:,} accounts of one memory": bench.server.store(
            "shape_single", lambda conninfo: load.single(conninfo, count, _READER)
        ),
        "no statistics": bench.server.store(
            "shape_unanalyzed", lambda conninfo: load.unanalyzed(conninfo, count, _READER), settled=False
        ),
        "stale statistics": bench.server.store(
            "shape_stale", lambda conninfo: load.stale(conninfo, count, _READER), settled=False
        ),
    }
    times = bench.effort.in_turn(
        {
            f"{name}, {shape}": turns_of(bench, conninfo, statement, [_READER] * _TURNS)
            for name, statement in WAYS.items()
            for shape, conninfo in conninfos.items()
        }
    )
    for name in WAYS:
        for shape in conninfos:
            if shape != ordinary:
                yield times.row("shapes", f"{name}, {shape}", f"{name}, {ordinary}")
