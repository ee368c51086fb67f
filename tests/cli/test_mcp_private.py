"""`memstore mcp` on the private database: before it is up, after it was killed, when the client leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from memstore.embedded import EmbeddedServer, find_binaries
from tests.cli.running import Server, wait_until

pytestmark = pytest.mark.long

NAMED = {"MEMSTORE_DATABASE_URL": "", "DATABASE_URL": ""}


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the private server's account can reach."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    path = Path(tempfile.mkdtemp(prefix="memstore-mcp-", dir=memory if roomy else None))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def running(place: Path) -> list[str]:
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(place) in line]


def env_of(place: Path, **more: str) -> dict[str, str]:
    return {**NAMED, "MEMSTORE_DATA_DIR": str(place / "data"), **more}


def bodies(place: Path) -> list[str]:
    with EmbeddedServer(place / "data") as server, psycopg.connect(server.url) as connection:
        return [body for (body,) in connection.execute("select body from memstore.memories order by body")]


def postmaster(place: Path) -> int:
    return int((place / "data" / "cluster" / "postmaster.pid").read_text().split()[0])


def slow_binaries(place: Path, **seconds: float) -> str:
    """Programs that wait before they start."""
    real = find_binaries()
    if os.geteuid() == 0 and real.is_relative_to(sys.prefix):  # which root's server may not reach
        debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not debian:
            pytest.skip("needs programs that the server's account can run")
        real = debian[-1]
    folder = place / "bin"
    folder.mkdir(mode=0o755)
    for name in ("initdb", "postgres", "psql"):
        program = folder / name
        wait = seconds.get(name, 0)
        version = f'[ "$1" = --version ] || sleep {wait}; ' if wait else ""
        program.write_text(f'#!/bin/sh\n{version}exec "{real / name}" "$@"\n')
        program.chmod(0o755)
    return str(folder)


def remembered(answer: dict[str, Any]) -> str:
    return str(answer["result"]["structuredContent"]["body"])


def test_servers_share_the_private_database(place: Path) -> None:
    env = {"MEMSTORE_DATA_DIR": str(place / "data")}
    for name in ("MEMSTORE_DATABASE_URL", "DATABASE_URL"):
        env[name] = ""
    # Both at once, and nothing is there yet.
    with anyio.from_thread.start_blocking_portal() as portal:
        starting = [portal.start_task_soon(anyio.to_thread.run_sync, lambda: Server(**env)) for _ in range(2)]
        one, two = (start.result() for start in starting)
    wait_until(lambda: running(place) != [])
    one.call(1, "remember", body="I use pnpm, not npm.")
    assert one.receive()["id"] == 1
    two.call(1, "recall", query="Install the deps.")
    answer = two.receive()["result"]
    assert answer["content"][0]["text"] == "[From memory: user, just now] I use pnpm, not npm."
    assert one.end(signal.SIGTERM) == (143, "")
    two.call(2, "list")
    assert len(two.receive()["result"]["structuredContent"]["memories"]) == 1
    assert two.end(None) == (0, "")
    assert running(place) == []
    three = Server("--account", "other", **env)
    three.call(1, "list")
    assert three.receive()["result"]["structuredContent"] == {"memories": []}
    three.end(signal.SIGKILL)
    wait_until(lambda: running(place) == [])


def test_the_tools_are_there_before_the_database(place: Path) -> None:
    env = env_of(place, MEMSTORE_PG_BINDIR=slow_binaries(place, initdb=5))
    server = Server(**env)
    server.send({"id": 1, "method": "tools/list"})
    tools = {tool["name"]: tool for tool in server.receive()["result"]["tools"]}
    assert not (place / "data" / "cluster").exists()
    assert "The body has 1 to 2,000 characters" in json.dumps(tools["remember"]["inputSchema"])
    server.call(2, "remember", body="Early.")
    server.send({"id": 3, "method": "ping"})
    assert server.receive()["id"] == 3
    assert remembered(server.receive()) == "Early."
    assert server.end(None) == (0, "")


def test_a_client_that_writes_and_leaves(place: Path) -> None:
    """What was read before the end of the input is done and answered, though the database has to be made."""
    server = Server(**env_of(place))
    for number in range(5):
        server.call(number + 1, "remember", body=f"memory {number}")
    assert server.process.stdin
    server.process.stdin.close()
    assert server.process.stdout
    answers = [json.loads(line) for line in server.process.stdout]
    assert sorted(map(remembered, answers)) == [f"memory {number}" for number in range(5)]
    assert server.process.wait(30) == 0
    assert bodies(place) == [f"memory {number}" for number in range(5)]


def test_a_client_that_leaves_at_once(place: Path) -> None:
    env = env_of(place, MEMSTORE_PG_BINDIR=slow_binaries(place, initdb=20))
    started = time.monotonic()
    server = Server(**env)
    assert server.end(None) == (0, "")
    assert time.monotonic() - started < 20
    wait_until(lambda: running(place) == [])


def test_a_database_that_cannot_be_made(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "other").touch()
    server = Server(**env_of(place))
    server.call(1, "remember", body="x")
    result = server.receive()["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith("store_unavailable: The store can't be reached: ")
    assert "holds other data" in result["content"][0]["text"]
    server.call(2, "recall", query="x")
    assert server.receive()["result"]["structuredContent"]["backend"] == "unavailable"
    server.end(None)


def test_a_killed_server_comes_back(place: Path) -> None:
    """For all open sessions at once: they share one new server, and what was acknowledged is there."""
    env = env_of(place)
    sessions = [Server(**env) for _ in range(3)]
    written = []
    for number in range(3):
        for session in sessions:
            session.call(1, "remember", body=f"round {number} of {session.process.pid}")
        for session in sessions:
            written.append(remembered(session.receive()))
        os.kill(postmaster(place), signal.SIGKILL)
    for session in sessions:
        session.call(2, "list")
        memories = session.receive()["result"]["structuredContent"]["memories"]
        assert sorted(memory["body"] for memory in memories) == sorted(written)
    assert len({line.split(" -D ")[0] for line in running(place) if "/postgres -D" in line}) <= 2
    for session in sessions:
        assert session.end(None)[0] == 0
    assert bodies(place) == sorted(written)


def test_calls_during_a_kill_are_answered_once(place: Path) -> None:
    session = Server(**env_of(place))
    session.call(1, "remember", body="first")
    session.receive()
    for number in range(2, 62):
        session.call(number, "remember", body=f"memory {number}")
        if number == 30:
            os.kill(postmaster(place), signal.SIGKILL)
    answers = [session.receive() for _ in range(60)]
    assert sorted(answer["id"] for answer in answers) == list(range(2, 62))
    assert {remembered(answer) for answer in answers} == {f"memory {number}" for number in range(2, 62)}
    assert session.end(None)[0] == 0
    assert bodies(place) == sorted(["first", *(f"memory {number}" for number in range(2, 62))])


@pytest.mark.long
def test_a_recovery_that_takes_long(place: Path) -> None:
    session = Server(**env_of(place, MEMSTORE_PG_BINDIR=slow_binaries(place, postgres=30)))
    session.call(1, "remember", body="kept")
    session.receive()
    os.kill(postmaster(place), signal.SIGKILL)
    wait_until(lambda: not EmbeddedServer(place / "data").is_up())  # until then old connections may answer
    session.call(2, "list")
    started = time.monotonic()
    assert len(session.receive()["result"]["structuredContent"]["memories"]) == 1
    assert time.monotonic() - started > 29
    assert session.end(None)[0] == 0
