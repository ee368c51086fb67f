"""Runs the tests against changed copies of this checkout: ``python -m tests.mutants --count 200 --seed 1``.

A change that the server or Python refuses to load isn't counted, and another is taken. What no test notices
is told, and fails, unless tests/mutants/equivalent.txt says why it changes nothing that can be seen.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.documents import ROOT
from tests.mutants.sites import SOURCES, Site, sites

_EQUIVALENT = Path(__file__).with_name("equivalent.txt")

# By the beginning of a path: where its tests are, the nearest first.
_TESTS = {
    "sql/functions/": ("tests/sql",),
    "sql/": ("tests/sql",),
    "migrations/": ("tests/sql",),
    "memstore/mcp_server/": ("tests/cli/test_mcp.py", "tests/serve/test_agents.py", "tests/cli"),
    "memstore/serve/": ("tests/serve",),
    "memstore/integrations/": ("tests/client", "tests/cli"),
    "memstore/embedded.py": ("tests/test_embedded.py", "tests/cli/test_private_server.py"),
    "memstore/schema.py": ("tests/test_schema.py", "tests/upgrades"),
    "memstore/": ("tests/client", "tests/cli/test_embedding.py"),
}


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


def _run(copy: Path, *command: str, minutes: float = 30) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *command], cwd=copy, env=environment, capture_output=True, timeout=60 * minutes
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _selections(copy: Path, site: Site) -> list[list[str]]:
    """What to run, one after the other: tests that name it, those of its area, all that aren't long."""
    stem = Path(site.path).stem
    places = next(places for begin, places in _TESTS.items() if site.path.startswith(begin))
    named = [
        str(path.relative_to(copy))
        for path in sorted((copy / "tests").rglob("test_*.py"))
        if re.search(rf"\b{stem}\b", path.read_text(encoding="utf-8")) and "peers" not in path.parts
    ]
    area = [place for place in places if (copy / place).exists()]
    quick = ["-m", "not long"]
    return [[*selected, *quick] for selected in (named[:12], area, ["tests"]) if selected]


def noticed(copy: Path, site: Site, workers: str) -> bool | None:
    """Whether a test fails with a change; None where the change can't be loaded."""
    path = copy / site.path
    source = path.read_text(encoding="utf-8")
    path.write_text(site.apply(source), encoding="utf-8")
    if site.kind != "python" and not _run(copy, "-m", "tests.generate", minutes=5):
        return None
    if site.kind == "python" and not _run(copy, "-m", "py_compile", site.path):
        return None
    return not all(
        _run(copy, "-m", "pytest", "-x", "-q", "-n", workers, "-p", "no:cacheprovider", *selected)
        for selected in _selections(copy, site)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--kind", choices=SOURCES, help="only of this kind of source")
    parser.add_argument("--in", dest="within", default="", help="only in paths that begin so")
    parser.add_argument("--workers", default="0", help="processes of a run of the tests")
    given = parser.parse_args()
    possible = [
        site for site in sites(ROOT) if given.kind in (None, site.kind) and site.path.startswith(given.within)
    ]
    known = _EQUIVALENT.read_text(encoding="utf-8") if _EQUIVALENT.exists() else ""
    counts: Counter[str] = Counter()
    for site in choose(possible, len(possible), given.seed):
        if counts["noticed"] + counts["equivalent"] + counts["unnoticed"] >= given.count:
            break
        began = time.monotonic()
        if f"{site}\n" in known:
            outcome = "equivalent"
        else:
            with tempfile.TemporaryDirectory(prefix="memstore-mutant-") as folder:
                Path(folder).chmod(0o755)
                copy = Path(folder, "copy")
                shutil.copytree(
                    ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__")
                )
                seen = noticed(copy, site, given.workers)
                outcome = {None: "refused", True: "noticed", False: "unnoticed"}[seen]
        counts[outcome] += 1
        print(f"{outcome:10} {time.monotonic() - began:4.0f} s  {site}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())), "of", len(possible))
    return 1 if counts["unnoticed"] else 0


if __name__ == "__main__":
    sys.exit(main())
