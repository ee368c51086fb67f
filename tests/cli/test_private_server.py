"""The private server behind the command."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstore.embedders import ready
from tests.cli.running import COMMAND
from tests.servers import server_folder

pytestmark = pytest.mark.long
QUIET = "select user_floor, score_share from memstore.settings"


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other accounts can reach, with a space and a letter beyond ASCII in its name."""
    with server_folder("memstore test ü ") as folder:
        yield folder


def privately(place: Path, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMSTORE_DATA_DIR": str(place / "data")}
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=environment, timeout=120, **settings
    )


def users() -> list[Any]:
    """This process's account, and an ordinary one where this is root's."""
    return ["this account", *(["nobody"] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("who", users())
def test_right_after_installing(place: Path, who: str) -> None:
    settings: dict[str, Any] = {}
    if who == "nobody":
        nobody = pwd.getpwnam(who)
        settings = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
        try:
            subprocess.run(
                [sys.executable, "-c", "import memstore"], check=True, capture_output=True, **settings
            )
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("nobody can't read this environment")
        os.chown(place, nobody.pw_uid, nobody.pw_gid)

    first = privately(place, "remember", "I use pnpm, not npm.", **settings)
    assert (first.returncode, first.stderr) == (0, "")
    id, body = first.stdout.rstrip("\n").split("\t")
    assert body == "I use pnpm, not npm."
    assert privately(place, "recall", "Install the deps.", **settings).stdout == (
        "[From memory: user, just now] I use pnpm, not npm.\n"
    )
    assert privately(place, "psql", "--", "-Atc", QUIET, **settings).stdout == "0.2|0.4\n"
    if ready():
        assert privately(place, "recall", "Hello!", **settings).stdout == ""
    privately(place, "configure", "user_floor=0", "score_share=0.1", **settings)
    query = ["psql", "--", "-Atc", "select id from memstore.memories"]
    assert privately(place, *query, **settings).stdout == f"{id}\n"
    # Left behind by an older version: brought up to date without being told to.
    older = "update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'"
    privately(place, "psql", "--", "-c", older, **settings)
    assert privately(place, "psql", "--", "-Atc", QUIET, **settings).stdout == "0|0.1\n"
    assert "ok\tfunctions\t" in privately(place, "verify", **settings).stdout


def test_a_private_server_that_cannot_be(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "other").touch()
    result = privately(place, "list")
    assert (result.returncode, result.stdout) == (3, "")
    assert re.fullmatch(r"memstore: .* holds other data: choose another directory\n", result.stderr)


VECTOR = """
    select exists (select from pg_extension where extname = 'vector'),
      exists (select from pg_available_extensions where name = 'vector'),
      exists (
        select from pg_proc
        where pronamespace = 'memstore'::regnamespace and prosrc like '%operator(public.<=>)%'
      )
"""


def vector(place: Path) -> list[bool]:
    """Whether pgvector is in the database, whether the server has it, and whether the code uses it."""
    result = privately(place, "psql", "--", "-XAtc", VECTOR)
    return [part == "t" for part in result.stdout.strip().split("|")]


def test_pgvector_where_the_server_has_it(place: Path) -> None:
    privately(place, "remember", "I use pnpm, not npm.")
    there, possible, used = vector(place)
    assert there == possible == used
    if not possible:
        pytest.skip("the server has no pgvector")
    # A store from before.
    privately(place, "psql", "--", "-c", "drop extension vector", "-c", "select memstore.compile_scores()")
    assert vector(place) == [True, True, True]
    # A server that has lost it.
    for name in ("vector.control", "vector.so"):
        for file in (place / "data").glob(f"binaries-*/**/{name}"):
            file.unlink()
    if list((place / "data").glob("binaries-*")):
        assert vector(place)[:2] == [False, False]
        assert privately(place, "recall", "Install the deps.").stdout.endswith("I use pnpm, not npm.\n")
        assert privately(place, "verify").returncode == 0


@pytest.mark.long
def test_many_first_commands_at_once(place: Path) -> None:
    """More than the server has connections for, if each had those of a migration."""
    environment = {**os.environ, "MEMSTORE_DATA_DIR": str(place / "data")}
    commands = [
        subprocess.Popen(
            [*COMMAND, "remember", f"memory {number}"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(50)
    ]
    said = [command.communicate()[1] for command in commands]
    assert [command.returncode for command in commands] == [0] * 50, set(said)
    assert len(privately(place, "list").stdout.splitlines()) == 50


def test_a_forgotten_text_is_in_no_file(place: Path) -> None:
    privately(place, "remember", "I use pnpm, not npm.")
    id = privately(place, "remember", "zyzzyva").stdout.split("\t")[0]
    privately(place, "forget", id)
    with (place / "data" / "server.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the server has stopped
    files = [path for path in (place / "data" / "cluster").rglob("*") if path.is_file()]
    assert not [path for path in files if b"zyzzyva" in path.read_bytes()]
    assert privately(place, "list").stdout.endswith("\tI use pnpm, not npm.\n")


@pytest.mark.parametrize("where", ["migrate", "_set_settings"])
def test_the_first_command_dies_before_the_settings_are_set(place: Path, where: str) -> None:
    """The next one sets them, once, and not over the user's."""
    module = "memstore.schema" if where == "migrate" else "memstore.cli.session"
    dies = (
        f"import os, sys, {module} as module; work = module.{where}\n"
        f"def {where}(*arguments): work(*arguments); os._exit(9)\n"
        f"module.{where} = {where}; sys.argv[1:] = ['list']\n"
        "from memstore.cli import main; main()"
    )
    environment = {**os.environ, "MEMSTORE_DATA_DIR": str(place / "data")}
    first = subprocess.run([sys.executable, "-c", dies], env=environment, timeout=120, check=False)
    assert first.returncode == 9
    assert privately(place, "psql", "--", "-XAtc", QUIET).stdout == "0.2|0.4\n"
    privately(place, "configure", "user_floor=0", "score_share=0")
    assert privately(place, "psql", "--", "-XAtc", QUIET).stdout == "0|0\n"
    # As if the operator had been there in between.
    privately(place, "configure", "score_share=0.1")
    unset = "alter database memstore set memstore.settings = 'unset'"
    privately(place, "psql", "--", "-XAtc", unset)
    assert privately(place, "psql", "--", "-XAtc", QUIET).stdout == "0|0.1\n"
    left = "select current_setting('memstore.settings', true) = 'unset'"
    assert privately(place, "psql", "--", "-XAtc", left).stdout.strip() in ("", "f")
