"""How a figure is taken: two or more things in turn, round after round, and the ratios of one round.

What a machine does besides, it does to both, and a ratio of one round shows least of it. Processor time shows
less still, and what is counted, rows and pages, none.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Taken(NamedTuple):
    """What one operation took, in seconds.

    Attributes:
        wall: from its beginning to its end.
        cpu: of the processor; 0 where the system doesn't tell.
    """

    wall: float
    cpu: float


class Work(NamedTuple):
    """What one operation has the server do.

    Attributes:
        rows: that it reads from tables, directly and by indexes.
        buffers: pages that it reads, wherever they were.
    """

    rows: float
    buffers: float


@dataclass(frozen=True)
class Leg:
    """One of the things that are compared.

    Attributes:
        take: does it many times and says what one took.
        count: counts the work of one, where that can be.
    """

    take: Callable[[], Taken]
    count: Callable[[], Work | None] = lambda: None


@dataclass(frozen=True)
class Target:
    """What a ratio should be: of throughputs at least this, of times at most."""

    ratio: float

    def text(self, throughput: bool) -> str:
        return f"{'≥' if throughput else '≤'} {self.ratio:g}"

    def reached(self, ratio: float, throughput: bool) -> bool:
        return ratio >= self.ratio if throughput else ratio <= self.ratio


@dataclass(frozen=True)
class Side:
    """One of the two things of a figure; medians over the rounds.

    Attributes:
        what: what it is.
        milliseconds: of one operation.
        cpu: milliseconds of the processor: the server's, and where Python makes the calls, Python's own.
        rows, buffers: as in `Work`; None where they aren't counted.
    """

    what: str
    milliseconds: float
    cpu: float | None
    rows: float | None
    buffers: float | None


@dataclass(frozen=True)
class Row:
    """A figure: how one thing compares to another.

    Attributes:
        figure: the name by which `--only` finds it.
        one, other: the two.
        of: whether the ratio is one of "throughput" or of "time".
        ratio: the median over the rounds.
        lowest, highest: of the rounds.
        cpu: the same ratio of processor time.
        target: None where there is none.
        reached: whether the ratio is what the target wants; None without a target.
    """

    figure: str
    one: Side
    other: Side
    of: str
    ratio: float
    lowest: float
    highest: float
    cpu: float | None
    target: str | None
    reached: bool | None


@dataclass(frozen=True)
class Effort:
    """How much is measured: rounds, and about how many seconds of each leg in a round."""

    rounds: int
    seconds: float

    def in_turn(self, legs: dict[str, Leg]) -> Times:
        """Take all legs in turn, round after round; a round before them isn't counted."""
        for leg in legs.values():
            leg.take()
        taken: dict[str, list[Taken]] = {name: [] for name in legs}
        for _ in range(self.rounds):
            for name, leg in legs.items():
                taken[name].append(leg.take())
        counted = {name: leg.count() for name, leg in legs.items()}
        return Times(taken, {name: work for name, work in counted.items() if work})

    def compare(
        self, figure: str, legs: dict[str, Leg], *, target: Target | None = None, throughput: bool = False
    ) -> Row:
        """Take two in turn and compare the first to the second."""
        one, other = legs
        return self.in_turn(legs).row(figure, one, other, target=target, throughput=throughput)

    def repeated(self, operation: Callable[[], object], count: int | None = None) -> Leg:
        """A leg of one call after another, as many as are given or as the time allows; the median counts."""

        least, seconds = (5, self.seconds) if count is None else (count, 0)

        def take() -> Taken:
            taken: list[float] = []
            started, processor = time.perf_counter(), time.process_time()
            while len(taken) < least or time.perf_counter() - started < seconds:
                before = time.perf_counter()
                operation()
                taken.append(time.perf_counter() - before)
            return Taken(statistics.median(taken), (time.process_time() - processor) / len(taken))

        return Leg(take)


@dataclass(frozen=True)
class Times:
    """What was taken, by name: of time in the order of the rounds, and of work."""

    taken: dict[str, list[Taken]]
    work: dict[str, Work]

    def row(
        self, figure: str, one: str, other: str, *, target: Target | None = None, throughput: bool = False
    ) -> Row:
        """Compare two of them by the times, or by the throughputs, which are their inverses."""
        pairs = list(zip(self.taken[one], self.taken[other], strict=True))
        if throughput:
            pairs = [(second, first) for first, second in pairs]
        ratios = [first.wall / second.wall for first, second in pairs]
        cpus = [first.cpu / second.cpu for first, second in pairs if first.cpu and second.cpu]
        ratio = statistics.median(ratios)
        return Row(
            figure,
            self.side(one),
            self.side(other),
            "throughput" if throughput else "time",
            round(ratio, 3),
            round(min(ratios), 3),
            round(max(ratios), 3),
            round(statistics.median(cpus), 3) if cpus else None,
            target.text(throughput) if target else None,
            target.reached(ratio, throughput) if target else None,
        )

    def side(self, name: str) -> Side:
        cpu = statistics.median(taken.cpu for taken in self.taken[name])
        work = self.work.get(name)
        return Side(
            name,
            round(1000 * statistics.median(taken.wall for taken in self.taken[name]), 4),
            round(1000 * cpu, 4) or None,
            round(work.rows, 1) if work else None,
            round(work.buffers, 1) if work else None,
        )
