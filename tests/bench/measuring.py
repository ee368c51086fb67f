"""How a figure is taken: two or more things in turn, round after round, and the ratios of one round.

What a machine does besides, it does to both, and a ratio of one round shows least of it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.server import Server

Leg = Callable[[], float]
"""Does one thing many times and returns how long one took, in seconds."""

# Transactions of a new connection that aren't counted: the first compile the functions, and PostgreSQL plans
# five times before it keeps a plan.
_WARM_UP = 10


@dataclass(frozen=True)
class Target:
    """What a ratio should be: of throughputs at least this, of times at most."""

    ratio: float

    def text(self, throughput: bool) -> str:
        return f"{'≥' if throughput else '≤'} {self.ratio:g}"

    def reached(self, ratio: float, throughput: bool) -> bool:
        return ratio >= self.ratio if throughput else ratio <= self.ratio


@dataclass(frozen=True)
class Row:
    """A figure: how one thing compares to another.

    Attributes:
        figure: the name by which `--only` finds it.
        what, against: the two things.
        of: whether the ratio is one of "throughput" or of "time".
        ratio: the median over the rounds.
        lowest, highest: of the rounds.
        milliseconds, milliseconds_against: of one operation of each, medians over the rounds.
        target: None where there is none.
        reached: whether the ratio is what the target wants; None without a target.
    """

    figure: str
    what: str
    against: str
    of: str
    ratio: float
    lowest: float
    highest: float
    milliseconds: float
    milliseconds_against: float
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
            leg()
        taken: dict[str, list[float]] = {name: [] for name in legs}
        for _ in range(self.rounds):
            for name, leg in legs.items():
                taken[name].append(leg())
        return Times(taken)

    def compare(
        self, figure: str, legs: dict[str, Leg], *, target: Target | None = None, throughput: bool = False
    ) -> Row:
        """Take two in turn and compare the first to the second."""
        what, against = legs
        return self.in_turn(legs).row(figure, what, against, target=target, throughput=throughput)

    def repeated(self, operation: Callable[[], object], count: int | None = None) -> Leg:
        """A leg of one call after another, as many as are given or as the time allows; the median counts."""

        least, seconds = (5, self.seconds) if count is None else (count, 0)

        def leg() -> float:
            taken: list[float] = []
            started = time.perf_counter()
            while len(taken) < least or time.perf_counter() - started < seconds:
                before = time.perf_counter()
                operation()
                taken.append(time.perf_counter() - before)
            return statistics.median(taken)

        return leg


@dataclass(frozen=True)
class Times:
    """Seconds of one operation, by what it was, in the order of the rounds."""

    taken: dict[str, list[float]]

    def row(
        self, figure: str, what: str, against: str, *, target: Target | None = None, throughput: bool = False
    ) -> Row:
        """Compare two of them by the times, or by the throughputs, which are their inverses."""
        pairs = zip(self.taken[what], self.taken[against], strict=True)
        if throughput:
            ratios = [other / one for one, other in pairs]
        else:
            ratios = [one / other for one, other in pairs]
        ratio = statistics.median(ratios)
        return Row(
            figure,
            what,
            against,
            "throughput" if throughput else "time",
            round(ratio, 3),
            round(min(ratios), 3),
            round(max(ratios), 3),
            self.milliseconds(what),
            self.milliseconds(against),
            target.text(throughput) if target else None,
            target.reached(ratio, throughput) if target else None,
        )

    def milliseconds(self, name: str) -> float:
        return round(1000 * statistics.median(self.taken[name]), 4)


class Pgbench:
    """Makes legs of pgbench: prepared statements, and the time of each transaction from its log."""

    def __init__(self, server: Server, effort: Effort) -> None:
        self._server = server
        self._effort = effort

    def leg(
        self,
        conninfo: str,
        scripts: Sequence[str],
        *,
        variables: dict[str, str] | None = None,
        clients: int = 1,
        settings: str = "",
        mean: bool = False,
    ) -> Leg:
        """A leg of these scripts, of which each transaction takes one at random.

        Args:
            conninfo: of the database.
            scripts: pgbench's; a `:name` in them is a bound parameter.
            variables: the values of these.
            clients: how many connections.
            settings: the server's, for these connections, as in PGOPTIONS.
            mean: the mean counts, as it does for throughput, and not the median.
        """
        counted = uncounted = 0

        def run(count: int, skipped: int) -> list[float]:
            with tempfile.TemporaryDirectory(prefix="memstore-bench-") as folder:
                command = [str(self._server.binaries / "pgbench"), "--no-vacuum", "--protocol=prepared"]
                command += [f"--client={clients}", f"--jobs={min(clients, os.cpu_count() or 1)}"]
                command += [f"--transactions={skipped + count}", "--log", f"--log-prefix={folder}/log"]
                for number, script in enumerate(scripts):
                    Path(folder, f"{number}.sql").write_text(script, encoding="utf-8")
                    command.append(f"--file={folder}/{number}.sql")
                command += [f"--define={name}={value}" for name, value in (variables or {}).items()]
                command.append(conninfo)
                environment = {**os.environ, "PGOPTIONS": settings}
                result = subprocess.run(command, capture_output=True, text=True, env=environment)
                if result.returncode:
                    raise RuntimeError(result.stderr)
                return list(_logged(Path(folder).glob("log*"), skipped))

        def leg() -> float:
            nonlocal counted, uncounted
            if not counted:
                possible = int(self._effort.seconds / max(min(run(5, 0)), 1e-6))  # a clock may stand still
                counted, uncounted = max(possible, 5), max(min(possible, _WARM_UP), 1)
            taken = run(counted, uncounted)
            return statistics.fmean(taken) if mean else statistics.median(taken)

        return leg


def _logged(logs: Iterable[Path], skipped: int) -> Iterable[float]:
    """The seconds of each transaction, without the first so many of each client."""
    seen: Counter[str] = Counter()
    for log in logs:
        for line in log.read_text(encoding="ascii").splitlines():
            client, _, microseconds, *_ = line.split()
            seen[client] += 1
            if seen[client] > skipped:
                yield int(microseconds) / 1e6
