"""The code of earlier commits, where git has it: what a database may have been installed with."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from memstore import schema

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Release:
    """A commit whose migrations are today's, as far as they go."""

    commit: str
    migration: str
    """The newest one of that commit."""

    @property
    def version(self) -> int:
        return int(self.migration[:4])

    def __str__(self) -> str:
        return f"{self.migration}-{self.commit[:7]}"

    def unpack(self, folder: Path) -> None:
        parts = ("memstore", "sql", "migrations", "pyproject.toml")
        with ZipFile(BytesIO(_git("archive", "--format=zip", self.commit, *parts))) as files:
            files.extractall(folder)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout


def _migrations(commit: str) -> dict[str, str]:
    """The migrations' names and what git calls their contents."""
    listed = _git("ls-tree", "-r", commit, "migrations/").decode().splitlines()
    blobs = {Path(name).name: entry.split()[2] for entry, name in (line.split("\t") for line in listed)}
    return {
        name: blob
        for name, blob in sorted(blobs.items())
        if name[:1].isdigit() and name.endswith(".sql") and not name.endswith(".rollback.sql")
    }


def no_history() -> str | None:
    """Why the earlier commits aren't at hand, if they aren't."""
    try:
        asked = _git("rev-parse", "--show-toplevel", "--is-shallow-repository").decode().splitlines()
    except OSError as error:
        return f"git: {error.strerror}"
    except subprocess.CalledProcessError as error:
        return str(error.stderr.decode().strip().splitlines()[0])
    if Path(asked[0]).resolve() != ROOT.resolve():
        return "this is no clone"
    return "this clone is shallow: git fetch --unshallow" if asked[1] == "true" else None


NO_HISTORY = no_history()


def releases() -> list[Release]:
    """Of each migration the first and the last commit at which it was the newest, oldest first.

    HEAD only where today's is newer. Empty without the history.
    """
    if NO_HISTORY:
        return []
    changed = _git("log", "--first-parent", "--format=%H", "--", "migrations").decode().split()
    changed.reverse()
    head = _git("rev-parse", "HEAD").decode().strip()
    lasts = [_git("rev-parse", f"{commit}^").decode().strip() for commit in changed[1:]] + [head]
    files = schema.migration_files()
    today = {path.name: _git("hash-object", str(path)).decode().strip() for path in files}
    found: dict[str, Release] = {}
    for pair in zip(changed, lasts, strict=True):
        there = _migrations(pair[0])
        if there and there.items() <= today.items():
            for commit in pair:
                found[commit] = Release(commit, Path(max(there)).stem)
    if _migrations(head) == today:
        found.pop(head, None)
    return list(found.values())


RELEASES = releases() if os.environ.get("MEMSTORE_LONG") else releases()[-2:]


def run_python(code: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script with the package of that folder."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(code)},
        cwd=code,
        capture_output=True,
        text=True,
        timeout=120,
    )
