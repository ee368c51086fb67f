"""What the tests of the command share: how it is run, and how its output is read."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import psycopg
import pytest
from typer.testing import CliRunner, Result

from memstore.cli import session
from memstore.cli.interface import app

Db = psycopg.Connection[Any]

PRIVATE = "private words"
COMMAND = [sys.executable, "-c", "from memstore.cli import main; main()"]
ESCAPES = "red \x1b[31m\u202etext\x9b1m\nnext\tline"


class Run(Protocol):
    def __call__(self, *arguments: str, stdin: str | bytes = "", code: int = 0) -> Result: ...


def invoke(*arguments: str, stdin: str | bytes = "", code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="memstore")
    assert result.exit_code == code, (result.output, result.exception)
    assert PRIVATE not in result.stderr
    assert "Traceback" not in result.output
    return result


def on_database(db_url: str) -> Run:
    """Runs the command in this process, on that database."""

    def run_here(*arguments: str, stdin: str | bytes = "", code: int = 0) -> Result:
        return invoke("--database-url", db_url, *arguments, stdin=stdin, code=code)

    return run_here


def isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away what the environment says to the command, and the ready embedder."""
    for name in ("MEMSTORE_DATABASE_URL", "DATABASE_URL", "MEMSTORE_ACCOUNT", "MEMSTORE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "ready", lambda: None)


def documents(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def complaints(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    assert all(line.startswith("memstore: ") for line in lines)
    return [line.removeprefix("memstore: ") for line in lines]


def remember(run: Run, *arguments: str) -> str:
    return str(documents(run("remember", "--json", *arguments))[0]["id"])


def at_terminal(
    db_url: str, *arguments: str, columns: int = 60, code: int = 0, answer: str | None = None
) -> str:
    """Runs the command at a terminal, where a question is answered so, and gives what it wrote there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, "--database-url", db_url, *arguments],
        stdin=subprocess.DEVNULL if answer is None else theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    if answer is not None:
        os.write(ours, answer.encode())
    written = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            written += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait() == code, written
    return written.decode().replace("\r\n", "\n")


def start(db_url: str, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--database-url", db_url, *arguments],
        stdin=settings.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


class Server:
    """A server with lines in place of a client."""

    def __init__(self, *arguments: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
        )
        client = {"name": "test", "version": "1"}
        parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.send({"id": 0, "method": "initialize", "params": parameters})
        assert self.receive()["result"]["serverInfo"]["name"] == "memstore"
        self.send({"method": "notifications/initialized"})

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def call(self, id: int | str, tool: str, **arguments: object) -> None:
        self.send({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})

    def receive(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def end(self, how: signal.Signals | None) -> tuple[int, str]:
        if how:
            self.process.send_signal(how)
        else:
            assert self.process.stdin
            self.process.stdin.close()
        assert self.process.stderr
        said = self.process.stderr.read().decode()
        return self.process.wait(30), said


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
