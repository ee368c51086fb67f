"""Plain command lines: read as typer reads them, with few modules; streams that the caller has closed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memstore.cli import interface, plain
from memstore.cli.application import SHARED
from memstore.cli.commands import memories
from memstore.cli.parameters import Argument
from tests.cli.running import COMMAND, PRIVATE, Run, complaints, remember
from tests.databases import LONG, SEEDS

RUNS = 3_000 if LONG else 600

VALUES = ["user", "x y", "", "-", "3", "0", "007", "-1", "1_0", "٣", "9" * 12, "--", "--json", "é", "a=b"]
TEXTS = ["Install the deps.", "", "-", "x", "recall", "--", "-v is loud", "--all", "é\nx", "=", "a=b"]


def command_line(chance: random.Random) -> list[str]:
    """One that is often right, and often nearly so."""
    command = chance.choice(list(memories.COMMANDS.values()))
    words: list[str] = []
    for each in command.parameters:
        if isinstance(each.described, Argument):
            words += chance.choices(TEXTS, k=1 if chance.random() < 0.9 else chance.randrange(3))
    options: list[list[str]] = []
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        option = chance.choice([*command.parameters, *SHARED])
        flag = option.flags[0] if chance.random() < 0.95 else option.flags[0][:-1]
        if option.kind is bool:
            options.append([flag])
        elif chance.random() < 0.5:
            options.append([flag, chance.choice(VALUES)])
        else:
            options.append([f"{flag}={chance.choice(VALUES)}"])
    rest = [[word] for word in words] + options
    chance.shuffle(rest)
    before: list[str] = []
    for option in SHARED:
        if chance.random() < 0.15:
            before += [option.flags[0]] if option.kind is bool else [option.flags[0], chance.choice(VALUES)]
    return [*before, command.name, *(word for group in rest for word in group)]


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_lines_are_read_as_typer_reads_them(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    seen: list[Any] = []

    def note(command: Any, before: Any, mine: Any, arguments: Any) -> None:
        given = {name: before[name] if value in (None, False) else value for name, value in mine.items()}
        seen.append((command.name, given, arguments))

    monkeypatch.setattr(plain, "run_command", note)
    monkeypatch.setattr(interface, "run_command", note)
    chance, read = random.Random(7 + seed), 0
    for _ in range(RUNS):
        line = command_line(chance)
        seen.clear()
        work = plain.read(line)
        if work is None:
            continue
        read += 1
        work()
        result = CliRunner().invoke(interface.app, line, prog_name="memstore")
        assert result.exit_code == 0, (line, result.output)
        first, second = seen
        assert first == second, line
    assert read > RUNS / 4


@pytest.mark.parametrize(
    "line",
    [
        ["recall", "npm"],
        ["recall", "--json", "npm", "--max", "3"],
        ["--account", "me", "remember", "I use pnpm.", "--bucket=learned"],
        ["list", "--limit", "2", "--all"],
        ["recall", "--", "-fix"],
        ["correct", "aaaa", "-"],
        ["mcp", "--account", "me", "--claims"],
    ],
)
def test_what_is_plain(line: list[str]) -> None:
    assert plain.read(line) is not None


@pytest.mark.parametrize(
    "line",
    [[], ["--help"], ["recall"], ["recall", "--help"], ["recall", "a", "b"], ["recall", "-fix"], ["stats"]],
)
def test_what_is_for_typer(line: list[str]) -> None:
    assert plain.read(line) is None


# What a plain recall may import, beside the standard library, by the first part of the name.
PACKAGES = {"memstore", "psycopg", "psycopg_binary", "psycopg_c", "typing_extensions"}
MODULES = {
    "memstore",
    *("memstore.api", "memstore.api.calls", "memstore.api.store"),
    *("memstore.cli", "memstore.cli.application", "memstore.cli.commands", "memstore.cli.commands.memories"),
    *("memstore.cli.errors", "memstore.cli.output", "memstore.cli.parameters", "memstore.cli.plain"),
    *("memstore.cli.session", "memstore.cli.streams"),
    *("memstore.compatibility", "memstore.connections", "memstore.connections.slots"),
    *("memstore.connections.sync", "memstore.embedded", "memstore.embedder", "memstore.embedders"),
    *("memstore.errors", "memstore.minilm", "memstore.models", "memstore.schema", "memstore.store"),
    "memstore.wire",
}
WATCH = (
    "import sys\nbefore = set(sys.modules)\nfrom memstore.cli import plain, streams\n"
    "import memstore.embedders\nmemstore.embedders.find_spec = lambda name: None\n"
    "code = plain.run(sys.argv[1:])\nprint(code, *sorted(set(sys.modules) - before))\n"
)


def test_what_a_recall_imports(run: Run, db_url: str) -> None:
    remember(run, "I use pnpm, not npm.")
    command = [sys.executable, "-c", WATCH, "recall", "Use npm.", "--database-url", db_url]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    note, loaded = result.stdout.splitlines()
    assert note.endswith("I use pnpm, not npm.")
    code, *names = loaded.split(" ")
    assert code == "0"
    own = {*sys.stdlib_module_names, "cython_runtime"}
    imported = {name for name in names if name.partition(".")[0] not in own and not name.startswith("_")}
    assert {name.partition(".")[0] for name in imported} <= PACKAGES
    assert {name for name in imported if name.partition(".")[0] == "memstore"} <= MODULES


# Streams.


def shell(db_url: str, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMSTORE_DATABASE_URL": db_url, "PYTHON": sys.executable, **env}
    script = f'memstore() {{ "$PYTHON" -c \'{COMMAND[2]}\' "$@"; }}\n{line}'
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("remember 'I use pnpm.'", 0),
        ("recall 'Use npm.'", 0),
        ("list --json", 0),
        ("list --account nobody", 1),
        ("stats", 0),
        ("--help", 0),
        ("rember", 2),
    ],
)
def test_closed_streams(run: Run, db_url: str, command: str, code: int, closed: str) -> None:
    remember(run, "I use npm.")
    whole = shell(db_url, f"memstore {command}")
    result = shell(db_url, f"memstore {command} {closed}")
    assert result.returncode == code == whole.returncode, result
    assert bool(result.stdout) == (">&-" not in closed.split() and bool(whole.stdout))
    assert "memstore: " not in result.stdout
    assert result.stderr == ("" if "2>&-" in closed.split() else whole.stderr)
    assert "Traceback" not in result.stdout + result.stderr


def test_an_export_to_a_closed_output(run: Run, db_url: str, tmp_path: Path) -> None:
    remember(run, "I use npm.")
    result = shell(db_url, "memstore export >&-")
    assert (result.returncode, result.stderr) == (1, "memstore: standard output: Bad file descriptor\n")


def test_an_export_names_the_users_file(run: Run, tmp_path: Path) -> None:
    remember(run, "I use npm.")
    missing = str(tmp_path / "missing" / "out.jsonl")
    assert complaints(run("export", missing, code=1)) == [f"{missing}: No such file or directory"]
    assert complaints(run("export", str(tmp_path), code=1)) == [f"{tmp_path}: Is a directory"]
    long = str(tmp_path / ("x" * 300))
    assert complaints(run("export", long, code=1)) == [f"{long}: File name too long"]


# Texts that begin with a hyphen.

HINT = "put -- before a text that begins with -."


@pytest.mark.parametrize(
    "line",
    [
        ["remember", "-v flag is loud"],
        ["recall", "-fix"],
        ["recall", "--fix"],
        ["recall", "-5 degrees"],
        ["remember", f"-{PRIVATE}"],
        ["remember", f"--{PRIVATE.replace(' ', '')}"],
        ["correct", "aaaa", "-x"],
        ["challenge", "aaaa", "-x"],
        ["propose", "-x"],
        ["remember", "--sourc", "x"],
    ],
)
def test_a_text_that_begins_with_a_hyphen(run: Run, line: list[str]) -> None:
    (said,) = complaints(run(*line, code=2))
    assert said.startswith("There is no such option")
    assert said.endswith(f"{HINT} See memstore {line[0]} --help.")
    assert PRIVATE.replace(" ", "") not in said
    assert ("--source" in said) == (line[1] == "--sourc")


def test_it_is_taken_after_two(run: Run) -> None:
    assert run("remember", "--", "-v flag is loud").stdout.endswith("\t-v flag is loud\n")
    assert run("recall", "--", "-fix").stdout.endswith("-v flag is loud\n")


def test_other_options_are_named(run: Run) -> None:
    assert complaints(run("list", "--zzz", code=2)) == ["No such option: --zzz. See memstore list --help."]


# Turns that PostgreSQL can't store.


@pytest.mark.parametrize("turn", [b"npm \0", b"npm \xff", b"npm \xed\xa0\xbd"])
def test_no_turn_fails_for_a_character(run: Run, db_url: str, turn: bytes) -> None:
    remember(run, "I use pnpm, not npm.")
    assert run("recall", "-", stdin=turn).stdout.endswith("I use pnpm, not npm.\n")
    if b"\0" not in turn:
        given = [*map(os.fsencode, COMMAND), b"recall", turn, b"--database-url", db_url.encode()]
        assert subprocess.run(given, capture_output=True, check=True).stdout.endswith(b"not npm.\n")
    else:
        assert "NUL" in run("remember", "-", stdin=turn, code=1).stderr
