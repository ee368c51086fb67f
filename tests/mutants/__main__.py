"""Runs the tests against changed copies of this checkout: ``python -m tests.mutants --count 200 --seed 1``.

A change that the server or Python refuses to load is not counted, nor one of what a later migration has
replaced, and another is taken. Each is tried by the tests that are nearest to it (`Nearest`), --tests of
them, and with --all by all that are not long where these notice nothing. What no test notices is told, and
fails, unless tests/mutants/equivalent.txt says why it changes nothing that can be seen.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from memstore.embedded import EmbeddedServer
from tests.documents import ROOT
from tests.mutants.nearest import Nearest
from tests.mutants.prepare import UNSEEN
from tests.mutants.sites import SOURCES, Site, sites
from tests.servers import SETTINGS, server_folder

_EQUIVALENT = Path(__file__).with_name("equivalent.txt")
_COUNTED = ("noticed", "equivalent", "unnoticed")


def choose(all: list[Site], count: int, seed: int) -> list[Site]:
    """Takes changes in turn from each kind of source and each rule, so that none is left out."""
    chance = random.Random(seed)
    groups: dict[tuple[str, str], list[Site]] = {}
    for site in all:
        groups.setdefault((site.kind, site.rule), []).append(site)
    for group in groups.values():
        chance.shuffle(group)
    taken: list[Site] = []
    while groups and len(taken) < count:
        for key in list(groups):
            taken.append(groups[key].pop())
            if not groups[key]:
                del groups[key]
    return taken[:count]


class Worker:
    """A copy of the checkout and a server, for one change after the other."""

    def __init__(self, opened: ExitStack, nearest: Nearest, tests: int, all: bool) -> None:
        folder = opened.enter_context(server_folder("memstore-mutant-"))
        self._nearest = nearest
        self._count = tests
        self._all = all
        self._copy = folder / "copy"
        left = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__")
        shutil.copytree(ROOT, self._copy, ignore=left)
        self._data_dir = str(folder / "data")
        opened.enter_context(EmbeddedServer(Path(self._data_dir), settings=SETTINGS))
        self._forking = opened.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.mutants.forking"],
                cwd=self._copy,
                env={**os.environ, "PYTHONPATH": str(self._copy), "MEMSTORE_TEST_DATA_DIR": self._data_dir},
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        if self._run("tests.mutants.prepare", "original", self._data_dir):
            raise RuntimeError("this checkout can't be installed")

    def outcome(self, site: Site) -> tuple[str, str]:
        """What becomes of a change (refused, replaced, noticed, unnoticed), and the test that fails."""
        self._told = ""
        changed = self._copy / site.path
        generated = [self._copy / "sql/digest.sql", self._copy / "sql/internal/schema/expected_objects.sql"]
        before = {path: path.read_text(encoding="utf-8") for path in (changed, *generated)}
        changed.write_text(site.apply(before[changed]), encoding="utf-8")
        try:
            return self._noticed(site)
        finally:
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")

    def _noticed(self, site: Site) -> tuple[str, str]:
        prepared = self._run("tests.mutants.prepare", site.kind, self._data_dir, site.path)
        if prepared == UNSEEN:
            return "replaced", ""
        if prepared:
            return "refused", self._told.strip().rpartition("\n")[2]
        selections = [self._nearest.tests(site)[: self._count]]
        if not selections[0]:
            return "unnoticed", "no test is near"
        if self._all:
            selections.append(["tests"])
        for selected in selections:
            failed = self._run(
                "pytest", "-xq", "--tb=line", "-p", "no:cacheprovider", "-m", "not long", *selected
            )
            if failed is None:
                return "unnoticed", "in the time that was given"
            if failed < 0:
                raise RuntimeError("the tests were ended from outside")
            if failed not in (0, 5):
                told = [line for line in self._told.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return "noticed", "; ".join(told) or f"exit {failed}"
        return "unnoticed", ""

    def _run(self, module: str, *arguments: str, minutes: float = 1.5) -> int | None:
        """The exit code, None where it hangs."""
        output = self._copy.parent / "output"
        assert self._forking.stdin and self._forking.stdout
        self._forking.stdin.write(json.dumps([module, arguments, str(output)]) + "\n")
        self._forking.stdin.flush()
        child = int(self._forking.stdout.readline())
        timer = threading.Timer(60 * minutes, os.killpg, (child, signal.SIGKILL))
        timer.start()
        code = int(self._forking.stdout.readline())
        timer.cancel()
        self._told = output.read_text(encoding="utf-8", errors="replace")
        return None if code == -signal.SIGKILL else code


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--kind", choices=SOURCES, help="only of this kind of source")
    parser.add_argument("--in", dest="within", default="", help="only in paths that begin so")
    parser.add_argument("--only", default="", help="only changes whose description has this text")
    parser.add_argument("--tests", type=int, default=16, help="how many of the nearest tests")
    parser.add_argument("--all", action="store_true", help="then all tests that aren't long")
    parser.add_argument("--workers", type=int, default=1, help="how many changes at once")
    parser.add_argument("--log", type=Path, help="appends outcomes here, and leaves out what it has")
    given = parser.parse_args()
    done = given.log.read_text(encoding="utf-8") if given.log and given.log.exists() else ""
    possible = [
        site
        for site in sites(ROOT)
        if given.kind in (None, site.kind) and site.path.startswith(given.within) and given.only in str(site)
    ]
    known = _EQUIVALENT.read_text(encoding="utf-8") if _EQUIVALENT.exists() else ""
    chosen = iter([site for site in choose(possible, len(possible), given.seed) if f"  {site}\n" not in done])
    counts: Counter[str] = Counter()
    nearest = Nearest(ROOT)
    lock = threading.Lock()

    def following() -> Site | None:
        with lock:
            if sum(counts[each] for each in ("trying", *_COUNTED)) >= given.count:
                return None
            site = next(chosen, None)
            counts["trying"] += site is not None
            return site

    def work(worker: Worker) -> None:
        while site := following():
            began = time.monotonic()
            outcome, by = ("equivalent", "") if f"{site}\n" in known else worker.outcome(site)
            line = f"{outcome:10} {time.monotonic() - began:4.0f} s  {site}\n"
            with lock:
                counts["trying"] -= 1
                counts[outcome] += 1
                print(f"{line}    {by[:200]}", flush=True)
                if given.log:
                    with given.log.open("a", encoding="utf-8") as log:
                        log.write(f"{line}    line {site.line} {by[:200]}\n")

    with ExitStack() as opened:
        workers = [Worker(opened, nearest, given.tests, given.all) for _ in range(given.workers)]
        with ThreadPoolExecutor(given.workers) as pool:
            list(pool.map(work, workers))
    del counts["trying"]
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())), "of", len(possible))
    return 1 if counts["unnoticed"] else 0


if __name__ == "__main__":
    sys.exit(main())
