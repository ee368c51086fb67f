"""Legs of pgbench: statements that the server prepares once, without a client's work in the times."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.bench.measuring import Effort, Leg, Taken, Work
from tests.bench.server import Server

# Transactions of a new connection that aren't counted: the first compile the functions, and PostgreSQL plans
# five times before it keeps a plan.
_WARM_UP = 10
_READ = """
select sum(t.seq_tup_read + coalesce(t.idx_tup_fetch, 0))
from pg_stat_xact_all_tables t
where t.schemaname = 'memstore'
"""


@dataclass(frozen=True)
class Pgbench:
    """Makes legs: prepared statements, the time of each transaction from pgbench's log."""

    server: Server
    effort: Effort

    def leg(
        self,
        conninfo: str,
        scripts: Sequence[str],
        *,
        variables: Mapping[str, str] | None = None,
        clients: int = 1,
        settings: str = "",
        mean: bool = False,
    ) -> Leg:
        """A leg of these scripts, of which each transaction takes one at random.

        Args:
            conninfo: of the database.
            scripts: pgbench's; a `:name` in them is a bound parameter. Where they have one statement, behind
                lines of `\\set`, the work is counted too.
            variables: the values of these, also of what is set, for the counting.
            clients: how many connections.
            settings: the server's, for these connections, as in PGOPTIONS.
            mean: the mean counts, as it does for throughput, and not the median.
        """
        given = dict(variables or {})
        counted = uncounted = 0
        first = 0.0  # of the processor: connecting, compiling, planning, and one transaction of each client

        def run(count: int, skipped: int) -> list[float]:
            with tempfile.TemporaryDirectory(prefix="memstore-bench-") as folder:
                command = [str(self.server.binaries / "pgbench"), "--no-vacuum", "--protocol=prepared"]
                command += [f"--client={clients}", f"--jobs={min(clients, os.cpu_count() or 1)}"]
                command += [f"--transactions={skipped + count}", "--log", f"--log-prefix={folder}/log"]
                for number, script in enumerate(scripts):
                    Path(folder, f"{number}.sql").write_text(script, encoding="utf-8")
                    command.append(f"--file={folder}/{number}.sql")
                command += [f"--define={name}={value}" for name, value in given.items()]
                command.append(conninfo)
                environment = {**os.environ, "PGOPTIONS": settings}
                result = subprocess.run(command, capture_output=True, text=True, env=environment)
                if result.returncode:
                    raise RuntimeError(result.stderr)
                return list(_logged(Path(folder).glob("log*"), skipped))

        def used(count: int, skipped: int) -> tuple[list[float], float]:
            with self.server.processor() as seconds:
                taken = run(count, skipped)
            return taken, seconds[0]

        def take() -> Taken:
            nonlocal counted, uncounted, first
            if not counted:
                usual = min(filter(None, run(5, 0)), default=0.0)  # a clock may stand still
                possible = int(self.effort.seconds / max(usual, 1e-4))
                counted, uncounted = max(possible, 5), max(min(possible, _WARM_UP), 1)
                first = min(used(1, 0)[1] for _ in range(3))
            taken, processor = used(counted, uncounted)
            return Taken(
                statistics.fmean(taken) if mean else statistics.median(taken),
                max(processor - first, 0) / (counted + uncounted - 1) / clients,
            )

        statements = [re.sub(r"^\\set .*\n", "", script) for script in scripts]
        plain = not any(statement.startswith("\\") for statement in statements)
        return Leg(take, _counter(conninfo, statements, given, settings)) if plain else Leg(take)


def _counter(
    conninfo: str, texts: Sequence[str], variables: Mapping[str, str], settings: str
) -> Callable[[], Work]:
    names = "|".join(variables)
    statements = [re.sub(rf"(?<!:):({names})\b", r"%(\1)s", text).encode() for text in texts]

    def count() -> Work:
        found = []
        with psycopg.connect(conninfo, autocommit=True, options=settings, prepare_threshold=0) as connection:
            for _ in range(_WARM_UP):
                with connection.transaction(force_rollback=True):
                    connection.execute(statements[0], variables)
            for statement in statements:
                with connection.transaction(force_rollback=True):
                    ((before,),) = connection.execute(_READ).fetchall()
                    explain = b"explain (analyze, buffers, timing off, format json) " + statement
                    ((explained,),) = connection.execute(explain, variables).fetchall()
                    ((after,),) = connection.execute(_READ).fetchall()
                plan = explained[0]["Plan"]
                found.append((after - before, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]))
        return Work(*(statistics.fmean(numbers) for numbers in zip(*found, strict=True)))

    return count


def _logged(logs: Iterable[Path], skipped: int) -> Iterable[float]:
    """The seconds of each transaction, without the first so many of each client."""
    seen: Counter[str] = Counter()
    for log in logs:
        for line in log.read_text(encoding="ascii").splitlines():
            client, _, microseconds, *_ = line.split()
            seen[client] += 1
            if seen[client] > skipped:
                yield int(microseconds) / 1e6
