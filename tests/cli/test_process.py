"""The command as a process of its own: its errors, its exit codes, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.cli.running import COMMAND, PRIVATE, Db, Run, complaints, invoke, remember, start, wait_until

UNREACHABLE = "host=127.0.0.1 port=1 dbname=memstore"


def test_all_broken_rules_are_told_and_never_the_body(run: Run) -> None:
    lines = complaints(run("remember", PRIVATE * 200, "--bucket", "mine", "--language", "no", code=1))
    assert [line.split()[1] for line in lines] == ["bucket", "body", "language"]
    assert complaints(run("remember", " ", code=1))[0].startswith("The body has 1 to 2,000 characters")
    assert complaints(run("remember", PRIVATE, "--id", "x", code=1)) == ["id is no UUID."]
    assert complaints(run("remember", f"{PRIVATE}\0", code=1)) == [
        "body holds a NUL character, which PostgreSQL can't store."
    ]
    too_many = "there are too many arguments; a text of several words goes in quotes"
    assert complaints(run("remember", "some", PRIVATE, code=2)) == [too_many]
    option = "There is no such option; put -- before a text that begins with -. See memstore remember --help."
    assert complaints(run("remember", code=2)) == ["Missing argument 'TEXT'. See memstore remember --help."]
    assert complaints(run("remember", f"--{PRIVATE}", code=2)) == [option]
    id = remember(run, "one")
    assert "is taken" in run("remember", PRIVATE, "--id", id, code=1).stderr


def test_a_store_out_of_reach() -> None:
    for command in (
        ["list"],
        ["recall", "npm"],
        ["remember", PRIVATE],
        ["claims"],
        ["challenge", "aaaa", PRIVATE],
        ["records", "aaaa"],
        ["steward", "default"],
        ["migrate"],
        ["verify"],
        ["demo"],
    ):
        (line,) = complaints(invoke("--database-url", UNREACHABLE, *command, code=3))
        assert "Connection refused" in line


def test_where_the_database_is_named(db_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", UNREACHABLE)
    invoke("list", code=3)
    monkeypatch.setenv("MEMSTORE_DATABASE_URL", db_url)
    invoke("list")
    invoke("list", "--database-url", UNREACHABLE, code=3)
    invoke("--database-url", UNREACHABLE, "list", "--database-url", db_url)
    monkeypatch.setenv("MEMSTORE_DATABASE_URL", "mysql://user:secret@host/db?x=%zz")
    (line,) = complaints(invoke("list", code=2))
    assert line == "MEMSTORE_DATABASE_URL: the connection string isn't one that libpq reads"


def test_the_database_of_another_application(db_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(db_url, autocommit=True) as connection:
        connection.execute("drop database if exists another_application")
        connection.execute("create database another_application template template0")
        try:
            monkeypatch.setenv("DATABASE_URL", make_conninfo(db_url, dbname="another_application"))
            for command in (["list"], ["recall", "npm"], ["remember", PRIVATE], ["settings"]):
                (line,) = complaints(invoke(*command, code=1))
                assert line.startswith(
                    "$DATABASE_URL names the database another_application, which has no mem"
                )
                assert "--database-url private" in line
        finally:
            connection.execute("drop database another_application")


@pytest.mark.parametrize(
    "arguments", [["rember"], ["remember"], ["list", "--al"], ["--nope"], ["import", "-", "--batch", "x"]]
)
def test_usage(arguments: list[str]) -> None:
    assert len(complaints(invoke(*arguments, code=2))) == 1


def test_help_and_version() -> None:
    assert re.fullmatch(r"memstore \d+\.\d+\.\d+(\.dev\d+)?\n", invoke("--version").stdout)
    shown = invoke("--help").stdout
    assert invoke().stdout == shown
    groups = re.findall(r"^(\w+):\n", shown, re.MULTILINE)
    assert groups == ["Options", "Memories", "Agents", "HTTP", "Claims", "Operator"]
    commands = re.findall(r"^  (\w+)   ", shown[shown.index("Memories:") :], re.MULTILINE)
    assert "remember" in commands
    for command in commands:
        assert f"\n    memstore {command}" in invoke(command, "--help").stdout.replace(
            "| memstore", "\n    memstore"
        )


def test_a_reader_that_leaves(run: Run, db: Db, db_url: str) -> None:
    db.execute("select memstore.configure(maximum_live_memories => 2000)")
    run("import", "-", stdin="".join(f'{{"body": "{"x" * 1900}{n}"}}\n' for n in range(500)))
    process = start(db_url, "list")
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == ""


def test_ctrl_c_is_quiet(db_url: str) -> None:
    # A shell starts a background process with the signal ignored, and so would the test's own children.
    process = start(
        db_url,
        "import",
        "-",
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin
    process.stdin.write('{"body": "one"}\n')
    process.stdin.flush()
    with psycopg.connect(db_url, autocommit=True) as connection:
        # The account is made when the first line is read; the batch waits for more.
        wait_until(lambda: connection.execute("select count(*) from memstore.users").fetchone() == (1,))
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "")
    assert process.returncode == 130


def test_output_that_cannot_be_written(run: Run, db_url: str) -> None:
    remember(run, "Häuser")
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "--database-url", db_url, "list"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (1, "memstore: No space left on device\n")
    narrow = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ascii_only = subprocess.run(command, capture_output=True, env=narrow)
    assert (ascii_only.returncode, ascii_only.stdout[-11:]) == (0, b"\tH\\xe4user\n")


@pytest.fixture
def psql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program named psql that tells how it was called."""
    program = tmp_path / "psql"
    program.write_text('#!/bin/sh\necho "$PGPASSWORD" "$@"\n[ "$3" = wait ] && exec sleep 30\nexit 5\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return program


def test_psql_gets_its_arguments_and_gives_its_exit_code(psql: Path, db_url: str) -> None:
    secret = str(conninfo_to_dict(db_url).get("password", "secret"))
    url = make_conninfo(db_url, password=secret)
    process = start(url, "psql", "-Atc", "select 1", "--", "--help")
    out, err = process.communicate()
    assert (process.returncode, err) == (5, "")
    assert out.startswith(f"{secret} ")
    assert out.endswith(" -Atc select 1 --help\n")
    assert secret not in out.removeprefix(secret)


def test_psql_handles_ctrl_c_itself(psql: Path, db_url: str) -> None:
    process = start(db_url, "psql", "--", "-x", "wait", start_new_session=True)
    assert process.stdout
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)  # to the parent alone
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
