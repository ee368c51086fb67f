"""How fast memstore is, by ratios to what PostgreSQL and others do in the same run.

    python -m tests.bench [--size small|large|huge] [--only FIGURE …] [--bindir DIRECTORY]

One line a figure: the two things in milliseconds, the median of their ratios over the rounds, its spread, the
same ratio of processor time, the target, and the rows and pages that each reads. A run of all figures leaves
this in SIZE.json beside this file, and the times against the size of the store in SIZE.svg. `small` takes two
minutes and shows that everything works; `large` is what the targets are about; `huge` adds a store of ten
million. All memories have embeddings of 384 numbers. With `--data-dir` the stores are kept for the next run,
and a run of some figures (`--only`) with `--json` replaces these in the file.

The server is a private one on a disk, with fsync, synchronous_commit and full_page_writes on, and
buffers that hold the data of a figure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from memstore.embedded import EmbeddedServerError
from tests.bench import plot, server
from tests.bench.figures import (
    SIZES,
    Bench,
    Figure,
    clients,
    governing,
    option,
    recalling,
    scaling,
    shapes,
    writing,
)
from tests.bench.measuring import Effort, Row

FIGURES: dict[str, Figure] = {
    figure.__name__: figure
    for figure in (
        writing.insert,
        writing.insert_8,
        writing.batch,
        recalling.recall,
        scaling.recall_scale,
        scaling.recall_anywhere,
        scaling.insert_scale,
        shapes.shapes,
        recalling.accounts,
        option.option,
        governing.claims,
        governing.admission,
        clients.client,
        clients.peers,
    )
}
HERE = Path(__file__).parent


def main() -> int:
    """Print the table as it comes; 0 where everything could be measured, whatever the figures are."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES), metavar="FIGURE")
    parser.add_argument("--bindir", type=Path, help="the programs of the PostgreSQL to use")
    parser.add_argument("--data-dir", type=Path, help="keep the server's data there, and use what is there")
    parser.add_argument("--json", type=Path, help="where the table goes too")
    parser.add_argument("--plot", type=Path, help="where the times against the size of the store go")
    parser.add_argument("--rounds", type=int, help="rounds of each figure")
    parser.add_argument("--seconds", type=float, help="seconds of each of its things in a round")
    options = parser.parse_args()
    if options.only == list(FIGURES):
        options.json = options.json or HERE / f"{options.size}.json"
        options.plot = options.plot or HERE / f"{options.size}.svg"
    size = SIZES[options.size]
    effort = Effort(options.rounds or size.effort.rounds, options.seconds or size.effort.seconds)
    size = replace(size, effort=effort)
    rows: list[Row] = []
    try:
        with (
            folder(options.data_dir) as place,
            server.running(place, options.bindir, size.shared_buffers) as measured,
        ):
            about = {
                "size": options.size,
                "postgresql": measured.version,
                "pgvector": measured.pgvector,
                "settings": measured.settings,
                "file_system": server.filesystem(place),
                "machine": f"{os.cpu_count()} processors, {platform.machine()}",
                "rounds": effort.rounds,
                "seconds": effort.seconds,
            }
            print(*(f"{name}: {value}" for name, value in about.items()), sep="\n", end="\n\n")
            print(LINE.format(*HEADINGS))
            bench = Bench(measured, size)
            for name in options.only:
                started = time.perf_counter()
                for row in FIGURES[name](bench):
                    print(line(row), flush=True)
                    rows.append(row)
                print(f"{'':14} {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
                _write(options, about, rows, bench)
            print("", json.dumps(bench.facts, indent=2), sep="\n")
    except EmbeddedServerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _write(options: argparse.Namespace, about: dict[str, object], rows: list[Row], bench: Bench) -> None:
    """Leave what has been measured so far, beside what a file has of other figures."""
    figures = [asdict(row) for row in rows]
    document = {"about": about, "figures": figures, "facts": bench.facts, "scale": bench.plot}
    if options.json and options.only != list(FIGURES) and options.json.exists():
        earlier = json.loads(options.json.read_text(encoding="utf-8"))
        kept = [row for row in earlier["figures"] if row["figure"] not in options.only]
        figures = sorted(kept + figures, key=lambda row: list(FIGURES).index(row["figure"]))
        facts = earlier["facts"] | bench.facts
        document = earlier | {"figures": figures, "facts": facts, "scale": earlier["scale"] | bench.plot}
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.plot and bench.plot:
        options.plot.write_text(plot.svg(bench.plot), encoding="utf-8")


HEADINGS = [
    "figure",
    "",
    "ms",
    "against",
    "ms",
    "of",
    "ratio",
    "spread",
    "cpu",
    "target",
    "",
    "rows",
    "pages",
]
LINE = "{:15} {:50} {:>9} {:52} {:>9} {:10} {:>7} {:>15} {:>7} {:>6} {:8} {:>19} {:>19}"


def line(row: Row) -> str:
    """A line of the table."""
    one, other = row.one, row.other
    return LINE.format(
        row.figure,
        one.what,
        one.milliseconds,
        other.what,
        other.milliseconds,
        row.of,
        row.ratio,
        f"{row.lowest}..{row.highest}",
        row.cpu or "",
        row.target or "",
        {True: "reached", False: "missed", None: ""}[row.reached],
        _both(one.rows, other.rows),
        _both(one.buffers, other.buffers),
    ).rstrip()


def _both(one: float | None, other: float | None) -> str:
    return "" if one is None or other is None else f"{one:g}; {other:g}"


@contextmanager
def folder(chosen: Path | None) -> Iterator[Path]:
    """The folder for the server's data; without a choice one on the disk that is gone afterwards."""
    if chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen.resolve()
        return
    disk = Path("/var/tmp")
    with tempfile.TemporaryDirectory(prefix="memstore-bench-", dir=disk if disk.is_dir() else None) as made:
        Path(made).chmod(0o755)
        yield Path(made)


if __name__ == "__main__":
    sys.exit(main())
