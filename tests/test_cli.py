"""The command: its output for people, pipes and programs, its errors, and the private server behind it."""

from __future__ import annotations

import json
import os
import pty
import pwd
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner, Result

from memstore.cli.commands import app
from memstore.cli.output import printable
from tests.conftest import Server
from tests.databases import empty_database

Db = psycopg.Connection[Any]

PRIVATE = "private words"
COMMAND = [sys.executable, "-c", "from memstore.cli import main; main()"]
VARIABLES = ("MEMSTORE_DATABASE_URL", "DATABASE_URL", "MEMSTORE_ACCOUNT", "MEMSTORE_DATA_DIR")
UNREACHABLE = "host=127.0.0.1 port=1 dbname=memstore"
ESCAPES = "red \x1b[31m\u202etext\x9b1m\nnext\tline"


class Run(Protocol):
    def __call__(self, *arguments: str, stdin: str | bytes = "", code: int = 0) -> Result: ...


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def invoke(*arguments: str, stdin: str | bytes = "", code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="memstore")
    assert result.exit_code == code, (result.output, result.exception)
    assert PRIVATE not in result.stderr
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def run(db_url: str) -> Run:
    """Runs the command in this process, on the test's database."""

    def run_here(*arguments: str, stdin: str | bytes = "", code: int = 0) -> Result:
        return invoke("--database-url", db_url, *arguments, stdin=stdin, code=code)

    return run_here


def documents(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def complaints(result: Result) -> list[str]:
    lines = result.stderr.splitlines()
    assert all(line.startswith("memstore: ") for line in lines)
    return [line.removeprefix("memstore: ") for line in lines]


def remember(run: Run, *arguments: str) -> str:
    return str(documents(run("remember", "--json", *arguments))[0]["id"])


# Remembering, correcting, forgetting.


def test_remember_prints_id_and_body(run: Run, db: Db) -> None:
    id, body = run("remember", "I use pnpm, not npm.").stdout.rstrip("\n").split("\t")
    assert body == "I use pnpm, not npm."
    row = db.execute(
        "select m.id::text, m.bucket, u.external_ref from memstore.memories m"
        " join memstore.users u on u.id = m.user_id"
    ).fetchone()
    assert row == (id, "user", "default")


def test_remember_with_all_options(run: Run) -> None:
    id = str(uuid4())
    options = ["--bucket", "learned", "--source", "build 7", "--language", "german", "--id", id, "--json"]
    (memory,) = documents(run("remember", *options, "Häuser sind gebaut."))
    assert memory["id"] == id
    assert (memory["bucket"], memory["source_ref"], memory["language"]) == ("learned", "build 7", "german")
    assert documents(run("remember", "Häuser sind gebaut.", *options)) == [memory]


def test_remember_from_standard_input(run: Run) -> None:
    (memory,) = documents(run("remember", "-", "--json", stdin="\ufeffI use pnpm,\nnot npm.\n"))
    assert memory["body"] == "I use pnpm,\nnot npm."
    assert complaints(run("remember", "-", stdin=b"\xff\xfe", code=2)) == ["standard input isn't UTF-8"]


def test_a_body_that_begins_with_a_hyphen(run: Run) -> None:
    assert run("remember", "--", "--force is never used.").stdout.endswith("\t--force is never used.\n")


def test_correct_supersedes(run: Run) -> None:
    old = remember(run, "--source", "chat", "I use npm.")
    (new,) = documents(run("correct", old, "I use pnpm.", "--json"))
    assert (new["body"], new["source_ref"]) == ("I use pnpm.", "chat")
    (shown,) = documents(run("show", old, "--json"))
    assert shown["superseded_by_id"] == new["id"]
    assert "cannot be superseded" in run("correct", old, PRIVATE, code=1).stderr
    again = documents(run("correct", new["id"], "-", "--source", "", "--json", stdin="I use bun."))
    assert (again[0]["body"], again[0]["source_ref"]) == ("I use bun.", None)


def test_forget_deletes(run: Run) -> None:
    id = remember(run, "I use npm.")
    assert run("forget", id).stdout == f"{id}\tI use npm.\n"
    assert run("list", "--all").stdout == ""
    assert complaints(run("forget", id, code=1)) == [
        "The account has no such memory. See memstore list --all."
    ]


def test_an_id_by_its_beginning(run: Run) -> None:
    for end in ("a", "b"):
        remember(run, "--id", f"aaaabbbb-0000-4000-8000-00000000000{end}", end)
    remember(run, "--id", "aaaacccc-0000-4000-8000-000000000000", "c")
    assert "body\tc\n" in run("show", "AAAAC").stdout
    assert complaints(run("show", "aaaa", code=1)) == ["The ids of 3 memories begin so. Give more of the id."]
    assert "no such memory" in run("show", "bbbb", code=1).stderr
    for short in ("", "aaa"):
        assert "first 4 characters" in run("forget", short, code=2).stderr
    assert len(run("list").stdout.splitlines()) == 3


# Reading.


def test_list_is_tab_separated_and_newest_first(run: Run) -> None:
    old = remember(run, "one")
    new = remember(run, "two", "--bucket", "learned")
    newest = json.loads(run("correct", old, "one, corrected", "--json").stdout)["id"]
    rows = [line.split("\t") for line in run("list").stdout.splitlines()]
    assert [(id, bucket, state, body) for id, bucket, _, state, body in rows] == [
        (newest, "user", "live", "one, corrected"),
        (new, "learned", "live", "two"),
    ]
    assert [line.split("\t")[3] for line in run("list", "--all").stdout.splitlines()] == [
        "live",
        "live",
        "superseded",
    ]
    assert run("list", "--bucket", "learned").stdout.split("\t")[0] == new
    assert complaints(run("list", "--bucket", "other", code=1)) == [
        "bucket: The argument is not of the form that the function takes. See --help."
    ]


def test_list_reads_all_pages_and_says_when_it_stops(run: Run, db: Db) -> None:
    db.execute("select memstore.configure(maximum_live_memories => 1000)")
    lines = "".join(f'{{"body": "memory {n}"}}\n' for n in range(450))
    run("import", "-", stdin=lines)
    assert [m["body"] for m in documents(run("list", "--json"))] == [
        f"memory {n}" for n in range(449, -1, -1)
    ]
    some = run("list", "--limit", "3", "--json")
    last = documents(some)[-1]
    assert complaints(some) == [f"There are more: go on with --after {last['id']}"]
    rest = run("list", "--after", last["id"], "--limit", "447", "--json")
    assert len(documents(rest)) == 447
    assert rest.stderr == ""
    run("list", "--limit", "0", code=2)


def test_show_prints_what_is_there(run: Run) -> None:
    id = remember(run, "I use pnpm.")
    shown = dict(line.split("\t", 1) for line in run("show", id).stdout.splitlines())
    assert (shown["id"], shown["body"], shown["promoted"]) == (id, "I use pnpm.", "false")
    assert "source_ref" not in shown


def test_history_is_oldest_first(run: Run) -> None:
    id = remember(run, "one")
    run("correct", id, "two")
    assert [line.split("\t")[3:] for line in run("history", id[:8]).stdout.splitlines()] == [
        ["superseded", "one"],
        ["live", "two"],
    ]
    assert [memory["body"] for memory in documents(run("history", id, "--json"))] == ["one", "two"]


def test_recall_prints_the_note_and_no_more(run: Run) -> None:
    remember(run, "I use pnpm, not npm.")
    remember(run, "--bucket=learned", "The tower is tall.")
    remember(run, ESCAPES)
    note = run("recall", "install with npm").stdout
    assert note == (
        "[From memory: user, just now] I use pnpm, not npm.\n"
        "[From memory: user, just now] red  [31m text 1m next line\n"
    )
    assert run("recall", "-", stdin="install with npm\n").stdout == note
    (answer,) = documents(run("recall", "install with npm", "--max", "1", "--json"))
    assert [memory["body"] for memory in answer["memories"]] == ["I use pnpm, not npm."]
    assert (answer["dropped"], answer["backend"]) == (1, "lexical")
    assert answer["note"].startswith(note.partition("\n")[0])
    nothing = run("recall", "npm", "--characters", "0").stdout
    assert nothing.startswith("[From memory: 2 more left out; at most 8 memories and 0 characters")
    assert run("recall", "  ").stdout == ""
    assert "maximum_attached: " in run("recall", "npm", "--max", "-1", code=1).stderr


def test_reading_an_account_that_is_not_there(run: Run, db: Db) -> None:
    assert run("list").output == run("recall", "npm").output == ""
    assert documents(run("recall", "npm", "--json"))[0]["note"] is None
    assert "no such memory" in run("show", str(uuid4()), code=1).stderr
    for command in (["list"], ["recall", "npm"], ["show", "aaaa"], ["history", "aaaa"], ["forget", "aaaa"]):
        assert complaints(run(*command, "--account", "other", code=1)) == ["There is no account other."]
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)


def test_accounts_are_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    id = remember(run, "one")
    remember(run, "two", "--account", "other")
    assert run("--account", "other", "list").stdout.endswith("\ttwo\n")
    monkeypatch.setenv("MEMSTORE_ACCOUNT", "other")
    assert run("list").stdout.endswith("\ttwo\n")
    assert "no such memory" in run("show", id, code=1).stderr
    assert run("list", "--account", "default").stdout.endswith("\tone\n")


# What terminals are spared.


def test_printable() -> None:
    assert printable("straße 李明 🙂 \\n") == "straße 李明 🙂 \\n"
    assert printable(ESCAPES) == r"red \x1b[31m\u202etext\x9b1m\nnext\tline"


def test_no_output_has_control_characters(run: Run) -> None:
    id = remember(run, ESCAPES)
    for command in (["list"], ["show", id], ["history", id], ["list", "--json"], ["forget", id]):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", run(*command).stdout)
    (memory,) = documents(run("remember", ESCAPES, "--json"))
    assert memory["body"] == ESCAPES
    assert "account \\x1b[0m." in run("list", "--account", "\x1b[0m", code=1).stderr


def at_terminal(db_url: str, *arguments: str) -> str:
    """Runs the command with a terminal as its output, and gives what it wrote there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, "--database-url", db_url, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    written = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            written += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode().replace("\r\n", "\n")


def test_a_table_at_a_terminal(run: Run, db_url: str) -> None:
    body = "[bold]not bold[/bold] :smile: \x1b[31mnot red and quite long for one line of sixty columns"
    id = remember(run, body)
    shown = at_terminal(db_url, "list")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    head, row, *_ = (line.split(maxsplit=5) for line in plain.splitlines())
    assert head == ["id", "bucket", "written", "state", "body"]
    assert row[:5] == [id[:8], "user", "just", "now", "live"]
    assert "[bold]not" in plain
    assert "\x1b[31m" not in shown
    assert "columns" in plain


def test_a_terminal_is_told_why_nothing_is_printed(db_url: str) -> None:
    assert at_terminal(db_url, "list") == "There are no memories.\n"


def test_the_progress_of_an_import_at_a_terminal(run: Run, db_url: str, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_text('{"body": "one"}\n{"body": "two"}\n')
    shown = at_terminal(db_url, "import", str(file))
    assert "32/32 bytes" in shown
    assert re.search(r"imported +2", shown)


# Import.

GOOD = '{"body": "one", "id": "00000000-0000-4000-8000-00000000000a"}'


def test_import_and_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    second = {
        "body": "Häuser",
        "bucket": "learned",
        "source_ref": "build 7",
        "language": "german",
        "id": str(uuid4()),
    }
    file.write_bytes(b"\xef\xbb\xbf" + f"{GOOD}\r\n\n  \n{json.dumps(second)}".encode())
    assert run("import", str(file)).stdout == "imported\t2\nalready_there\t0\n"
    assert [memory["body"] for memory in documents(run("list", "--json"))] == ["Häuser", "one"]
    assert documents(run("import", str(file), "--json")) == [{"imported": 0, "already_there": 2}]
    assert run("import", "-", stdin="").stdout == "imported\t0\nalready_there\t0\n"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"body": "private words"', "The line isn't JSON: Expecting ',' delimiter, at character 25."),
        ("private words", "The line isn't JSON: Expecting value, at character 1."),
        (b'{"body": "private words\xff"}', "The line isn't UTF-8: see byte 24."),
        ("[" * 100_000, "The line can't be read: it is nested too deep, or a number in it is too long."),
        ('"private words"', "The line isn't an object whose keys are arguments of insert_memory."),
        ('{"private words": 1}', "The line isn't an object whose keys are arguments of insert_memory."),
        ('{"body": 1}', "body: The argument is not of the form that the function takes. See --help."),
        (
            '{"body": "private words", "bucket": "mine"}',
            "The bucket is user, learned or system.",
        ),
        ('{"body": "private words\\u0000"}', "memories holds a NUL character, which PostgreSQL can't store."),
        ('{"body": "private words", "embedding": [NaN]}', "memories can't be written as JSON."),
        (
            '{"body": "private words", "id": "00000000-0000-4000-8000-00000000000a"}',
            "The id is taken. Repeat a call with the same content, or leave the id out.",
        ),
    ],
)
def test_import_names_the_line(run: Run, line: str | bytes, complaint: str) -> None:
    run("import", "-", stdin=GOOD)
    bad = line if isinstance(line, bytes) else line.encode()
    stdin = b"\n".join(
        [b'{"body": "kept"}', b"", b'{"body": "kept too"}', b'{"body": "not kept"}', bad, b"..."]
    )
    result = run("import", "-", "--batch", "2", stdin=stdin, code=1)
    assert complaints(result) == [
        f"line 5: {complaint}",
        "Nothing of that batch is kept. Before it, 2 memories were imported.",
    ]
    assert [memory["body"] for memory in documents(run("list", "--json"))] == ["kept too", "kept", "one"]


def test_import_names_all_broken_rules(run: Run) -> None:
    stdin = '{"body": "one"}\n{"body": "", "bucket": "mine"}'
    first, second, _ = complaints(run("import", "-", stdin=stdin, code=1))
    assert first.startswith("line 2: The bucket is ")
    assert second.startswith("line 2: The body has 1 to 2,000 characters")


def test_import_beyond_the_ceiling(run: Run) -> None:
    run("configure", "maximum_live_memories=3")
    lines = "".join(f'{{"body": "memory {n}", "id": "{UUID(int=n)}"}}\n' for n in range(1, 6))
    refused, count = complaints(run("import", "-", "--batch", "2", stdin=lines, code=1))
    assert refused.startswith("lines 3 to 4: ")
    assert "memstore configure --account NAME maximum_live_memories=NUMBER" in refused
    assert "2 memories were imported" in count
    run("configure", "--account", "default", "maximum_live_memories=5")
    assert documents(run("import", "-", "--json", stdin=lines)) == [{"imported": 3, "already_there": 2}]


def test_import_of_no_file(run: Run) -> None:
    assert "No such file" in run("import", "no-such-file", code=2).stderr


# The operator's commands.


def test_migrate_says_what_it_applied(server: Server) -> None:
    with empty_database(server) as url:
        assert complaints(invoke("list", "--database-url", url, code=1)) == [
            "The database has no memstore schema. Run memstore migrate; where the schema is newer than this"
            " client, install a newer pg-memstore."
        ]
        result = invoke("verify", "--database-url", url, code=1)
        assert "off\tmigrations\tnot applied: 0001-deployment" in result.stdout
        applied = invoke("migrate", "--database-url", url).stdout.splitlines()
        assert applied[0] == "applied 0001-deployment"
        assert applied[-1] == "The database is up to date."
        assert documents(invoke("migrate", "--database-url", url, "--json")) == [{"applied": []}]
        invoke("verify", "--database-url", url)


def test_verify(run: Run, db: Db) -> None:
    checks = [line.split("\t") for line in run("verify").stdout.splitlines()]
    assert [(check[0], check[1]) for check in checks] == [
        ("ok", name) for name in ("server", "encoding", "migrations", "functions", "calls")
    ]
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)
    assert all(check["ok"] for check in documents(run("verify", "--json")))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            "update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'",
            "off\tfunctions\tanother version\tRun memstore migrate.",
        ),
        (
            "update memstore.deployment set checksum = repeat('0', 64) where name = '0002-text'",
            "off\tmigrations\tapplied from another file: 0002-text\t"
            "Restore the files: a migration that was applied never changes.",
        ),
        (
            "insert into memstore.deployment values ('9999-later')",
            "off\tmigrations\tnot in this package: 9999-later\tInstall a newer pg-memstore.",
        ),
        (
            "select memstore.configure(maximum_attached => 0)",
            "off\tcalls\twrote, recalled, and took back 0 memory\tSee the settings: memstore settings.",
        ),
        (
            "drop function memstore.insert_memory",
            "off\tcalls\t",
        ),
    ],
)
def test_verify_finds(run: Run, db: Db, change: str, line: str) -> None:
    db.execute(change.encode())
    assert line in run("verify", code=1).stdout


def test_an_application_may_verify_its_calls(run: Run, db: Db, db_url: str) -> None:
    role = f"application_{uuid4().hex}"
    db.execute(f"create role {role} login".encode())
    try:
        db.execute("select memstore.grant_api(%s)", [role])
        url = make_conninfo(db_url, options=f"-c role={role}")
        lines = invoke("verify", "--database-url", url, code=1).stdout.splitlines()
        assert "off\tmigrations\tthis role may not read what is installed\tVerify as the owner." in lines
        assert "ok\tcalls\twrote, recalled, and took back 1 memory\t" in lines
        for command in ("accounts", "settings"):
            assert "permission denied" in invoke(command, "--database-url", url, code=1).stderr
    finally:
        db.execute("select memstore.revoke_api(%s)", [role])
        db.execute(f"drop role {role}".encode())


def test_accounts(run: Run, db: Db) -> None:
    remember(run, "one", "--account", "b")
    remember(run, "two", "--account", "a")
    db.execute("select memstore.set_steward(memstore.find_user('a'), true)")
    rows = [line.split("\t") for line in run("accounts").stdout.splitlines()]
    assert [(row[0], row[2], row[3]) for row in rows] == [("a", "1/200", "steward"), ("b", "1/200", "")]
    (first, _) = documents(run("accounts", "--json"))
    assert (first["external_ref"], first["live_memories"], first["maximum_live_memories"]) == ("a", 1, 200)


def test_settings_and_configure(run: Run) -> None:
    (before,) = documents(run("settings", "--json"))
    assert before["maximum_attached"] == 8
    changed = run("configure", "maximum_attached=6", "lexical_floor=0.25", "system_recall_enabled=on")
    assert "maximum_attached\t6\n" in changed.stdout
    (after,) = documents(run("settings", "--json"))
    assert after == {**before, "maximum_attached": 6, "lexical_floor": 0.25, "system_recall_enabled": True}
    assert complaints(run("configure", "lexical_floor=2", "semantic_floor=3", code=1)) == [
        "The lexical floor is between 0 and 1.",
        "The semantic floor is between 0 and 1.",
    ]
    assert complaints(run("configure", "maximum_attached=-1", code=1)) == [
        "The number of attached memories is 0 or more."
    ]
    for wrong in ("floor=1", "maximum_attached", "maximum_attached=many", "system_recall_enabled=maybe"):
        assert len(complaints(run("configure", wrong, code=2))) == 1
    run("configure", code=2)


def test_the_ceiling_of_one_account(run: Run) -> None:
    (account,) = documents(run("configure", "--account", "a", "maximum_live_memories=1", "--json"))
    assert (account["external_ref"], account["maximum_live_memories"]) == ("a", 1)
    remember(run, "one", "--account", "a")
    refused = run("remember", PRIVATE, "--account", "a", code=1)
    assert "memstore configure --account NAME maximum_live_memories=NUMBER" in refused.stderr
    run("configure", "--account", "a", "maximum_attached=1", code=2)


def test_demo_runs_what_it_shows_and_erases_it(run: Run, db: Db) -> None:
    remember(run, "mine")
    shown = run("demo").stdout
    assert "$ memstore --account demo-" in shown
    assert "from memstore.insert_memory(memstore.find_user('demo-" in shown
    assert "    [From memory: user, just now] I use pnpm, not npm.\n" in shown
    steps = documents(run("demo", "--json"))
    assert all(step["sql"] and step["rows"] for step in steps)
    assert steps[-1]["rows"] == [{"memories_erased": 3}]
    assert db.execute("select body from memstore.memories").fetchall() == [("mine",)]
    assert db.execute("select external_ref from memstore.users").fetchall() == [("default",)]


def test_demo_erases_what_it_made_when_it_fails(run: Run, db: Db) -> None:
    db.execute("drop function memstore.memory_history")
    run("demo", code=1)
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)


# Errors.


def test_all_broken_rules_are_told_and_never_the_body(run: Run) -> None:
    lines = complaints(run("remember", PRIVATE * 200, "--bucket", "mine", "--language", "no", code=1))
    assert [line.split()[1] for line in lines] == ["bucket", "body", "language"]
    assert complaints(run("remember", " ", code=1))[0].startswith("The body has 1 to 2,000 characters")
    assert complaints(run("remember", PRIVATE, "--id", "x", code=1)) == ["id is no UUID."]
    assert complaints(run("remember", f"{PRIVATE}\0", code=1)) == [
        "body holds a NUL character, which PostgreSQL can't store."
    ]
    id = remember(run, "one")
    assert "is taken" in run("remember", PRIVATE, "--id", id, code=1).stderr


def test_a_store_out_of_reach() -> None:
    for command in (["list"], ["recall", "npm"], ["remember", PRIVATE], ["migrate"], ["verify"], ["demo"]):
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


@pytest.mark.parametrize(
    "arguments", [["rember"], ["remember"], ["list", "--al"], ["--nope"], ["import", "-", "--batch", "x"]]
)
def test_usage(arguments: list[str]) -> None:
    assert len(complaints(invoke(*arguments, code=2))) == 1


def test_help_and_version() -> None:
    assert re.fullmatch(r"memstore \d+\.\d+\.\d+\n", invoke("--version").stdout)
    shown = invoke("--help").stdout
    assert invoke().stdout == shown
    commands = re.findall(r"^  (\w+)   ", shown[shown.index("Commands:") :], re.MULTILINE)
    assert "remember" in commands
    for command in commands:
        assert f"\n    memstore {command}" in invoke(command, "--help").stdout.replace(
            "| memstore", "\n    memstore"
        )


def test_a_missing_extra_is_one_line() -> None:
    program = "import sys; sys.modules['typer'] = None\nfrom memstore.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stderr == "memstore: the command needs more packages: pip install 'pg-memstore[cli]'\n"
    assert result.returncode == 1


def test_the_library_needs_neither_typer_nor_rich() -> None:
    program = "import sys, memstore; sys.exit(bool({'typer', 'rich', 'click'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


# As a process of its own.


def start(db_url: str, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--database-url", db_url, *arguments],
        stdin=settings.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
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
    process = start(db_url, "import", "-", stdin=subprocess.PIPE)
    with psycopg.connect(db_url, autocommit=True) as connection:
        # The account is made before standard input is read.
        wait_until(lambda: connection.execute("select count(*) from memstore.users").fetchone() == (1,))
    process.send_signal(signal.SIGINT)
    assert process.communicate() == ("", "")
    assert process.returncode == 130


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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


# The private server.


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other accounts can reach, with a space and a letter beyond ASCII in its name."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30
    path = Path(tempfile.mkdtemp(prefix="memstore test ü ", dir=memory if roomy else None))
    path.chmod(stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH)
    yield path
    shutil.rmtree(path)


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
    query = ["psql", "--", "-Atc", "select id from memstore.memories"]
    assert privately(place, *query, **settings).stdout == f"{id}\n"
    # Left behind by an older version: brought up to date without being told to.
    older = "update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'"
    privately(place, "psql", "--", "-c", older, **settings)
    assert "ok\tfunctions\t" in privately(place, "verify", **settings).stdout


def test_a_private_server_that_cannot_be(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "other").touch()
    result = privately(place, "list")
    assert (result.returncode, result.stdout) == (3, "")
    assert re.fullmatch(r"memstore: .* holds other data: choose another directory\n", result.stderr)
