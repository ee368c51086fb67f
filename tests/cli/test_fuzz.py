"""Bad input to the command: it does its work, or says why not in lines of its own, and shows no text."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from memstore.cli.interface import app
from tests.databases import LONG, SEEDS
from tests.sql.support import SECRET, SYSTEM, account_of, insert, rows, steward_of
from tests.sql.texts import TEXTS

RUNS = 4_000 if LONG else 150

# What takes another database, starts a program, or has nothing to go wrong.
LEFT_OUT = {"migrate", "psql", "demo", "serve", "web"}
COMMANDS: dict[str, Any] = {
    name: command for name, command in vars(get_command(app))["commands"].items() if name not in LEFT_OUT
}
# Options whose values are for `text`.
TEXT_OF = {"text", "ground", "turn"}
EVIDENCE = [
    "url:https://example.org@sha256:0a",
    "url:x",
    ":@",
    "url:a@b@c",
    "rumour:x@y",
    "{",
    "{}",
    '{"kind": "url", "ref": "r", "digest": "d"}',
    '{"kind": NaN}',
    '{"kind": "url", "ref": 1e999, "digest": null}',
    '{"a": ' + "9" * 5_000 + "}",
    '{"a":' * 20_000,
    '{"kind": "url", "ref": ' + "[" * 900 + "]" * 900 + "}",
    '{"kind": "\\ud800"}',
    '{"kind": "\\u0000"}',
]
NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "200",
    "201",
    "2147483648",
    "9" * 400,
    "9" * 5_000,
    "1e3",
    "NaN",
    "x",
    "",
    "\u0661",
]
SETTINGS = ["maximum_attached", "lexical_floor", "system_recall_enabled", "maximum_live_memories", "x", ""]
LINES = [
    b"",
    b" \t",
    b"{}",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b'{"body": "It builds."}',
    b'{"body": "It builds.", "bucket": "learned", "source_ref": "run 1"}',
    b'{"body": "It builds.", "id": "00000000-0000-4000-8000-00000000000a"}',
    b'{"body": "Otherwise.", "id": "00000000-0000-4000-8000-00000000000a"}',
    b'{"body": "It builds.", "embedding": [1, 2], "embedding_model": "two"}',
    b'{"body": "It builds.", "embedding": [1e999], "embedding_model": "two"}',
    b'{"body": "It builds.", "embedding": [1' + b"0" * 400 + b'], "embedding_model": "two"}',
    b'{"body": "It builds.", "body": 1}',
    b'{"body": null}',
    b'{"body": ' + b"9" * 5_000 + b"}",
    b'{"body": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"body": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    b'{"body": "' + b"x" * 3_000_000 + b'"}',
    b'{"body": "\\u0000"}',
    b'{"body": "\\udc80"}',
    b'{"body": "\xff"}',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",
    b"\x00",
    *(line.replace(b"words", SECRET.encode()) for line in (b'{"body": "words"', b'{"words": 1}', b'"words"')),
    *(
        line.replace(b"words", SECRET.encode())
        for line in (
            b'{"body": "words\\u0000"}',
            b'{"body": "words", "as_of": "words"}',
            b'{"body": ["words"]}',
        )
    ),
]
STREAMS = [
    b"",
    b"-",
    b"\xff\xfe",
    SECRET.encode() + b"\xff",
    b"\xef\xbb\xbfIt builds.",
    b"\x00",
    b"x" * 3_000_000,
]


class Fuzz:
    """Draws command lines, and judges what comes of them."""

    def __init__(self, db: psycopg.Connection, url: str, folder: Path, seed: int) -> None:
        self.db, self.url, self.folder = db, url, folder
        self.random = random.Random(5 + seed)
        self.refresh()

    def refresh(self) -> None:
        """Makes accounts and memories, and looks whether the store is sound."""
        account, steward = account_of(self.db, "a"), steward_of(self.db, "steward")
        self.db.execute("select memstore.configure(200, 8, 2000, 0, 0.3, 0, 0, true, 40)")
        self.db.execute("update memstore.users set maximum_live_memories = live_memories + 30")
        mine, claim = insert(self.db, account, SECRET)["id"], insert(self.db, steward, SECRET, **SYSTEM)["id"]
        challenge = "select id from memstore.challenge_memory(%s, %s, %s)"
        ((record,),) = rows(self.db, challenge, account, claim, SECRET)
        self.ids = [str(each) for each in (mine, claim, record)]
        assert rows(self.db, "select invariant from memstore.verify_store() where violations > 0") == []

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def value(self, name: str) -> str:
        choice = self.random.choice
        odd = self.random.random() < 0.25
        match name:
            case _ if name in TEXT_OF:
                return self.text() if odd else choice([SECRET, f"--{SECRET} is", "It builds.", "-"])
            case "file":
                return choice(["-", "-", str(self.folder), str(self.folder / "absent"), self.import_file()])
            case "evidence":
                return choice(EVIDENCE)
            case "changes":
                return f"{choice(SETTINGS)}={choice([*NUMBERS, '0.5', 'on'])}"
            case "model":
                return choice(["x", ":", "x:", "..x:y", "os:path", "os:no", "\x00:x", "memstore.nothing:x"])
            case "limit" | "batch" | "maximum" | "characters":
                return choice(NUMBERS)
            case "as_of":
                return choice(
                    ["2026-01-02", "0001-01-01", "9999-12-31", "0000-01-01", "10000-01-01", "x", ""]
                )
            case "account" | "name":
                # An account's name is told; a text is none.
                return choice([each for each in TEXTS if each != SECRET]) if odd else choice(["a", "steward"])
            case "id" | "target" | "after" | "challenge" | "new_id":
                id = choice(self.ids)
                return self.text() if odd else choice([id, id, id[:8], id[:3], id.upper()])
            case "bucket" | "tier" | "status":
                return choice(["user", "learned", "system", "glass", "candidate"])
        return self.text() if odd else choice(["simple", "sys:build", "use-pnpm", "run 1"])

    def import_file(self) -> str:
        path = self.folder / "memories.jsonl"
        path.write_bytes(self.lines())
        return str(path)

    def lines(self) -> bytes:
        return self.random.choice([b"\n", b"\r\n"]).join(
            self.random.choice(LINES) for _ in range(self.random.randint(0, 4))
        )

    def draw(self, number: int) -> tuple[list[str], bytes]:
        """A command line, and what is on standard input."""
        name = sorted(COMMANDS)[number % len(COMMANDS)]
        argv, arguments = ["--database-url", self.url, name], []
        if self.random.random() < 0.9:
            argv += ["--account", self.value("account")]
        for parameter in COMMANDS[name].params:
            if parameter.name in ("database_url", "account", "help"):
                continue
            if parameter.param_type_name == "argument":
                arguments += [self.value(parameter.name)] * (1 if self.random.random() < 0.97 else 2)
            elif self.random.random() < 0.4:
                argv.append(self.random.choice(parameter.opts))
                argv += [] if parameter.is_flag else [self.value(parameter.name)]
        if self.random.random() < 0.9:
            argv.append("--")
        stdin = self.lines() if name == "import" else self.random.choice(STREAMS)
        return [*argv, *arguments], stdin

    def fault(self, result: Result) -> str | None:
        """What is wrong with a run."""
        if result.exit_code not in (0, 1, 2) or not isinstance(result.exception, SystemExit | None):
            return f"ends with {result.exit_code}: {type(result.exception).__name__} {result.exception}"
        if SECRET in result.stderr:
            return f"shows a text: {result.stderr}"
        if strange := [
            line for line in result.stderr.split("\n") if not line.startswith("memstore: ") and line
        ]:
            return f"complains {strange}"
        if bool(result.exit_code) and not result.stderr:
            return f"ends with {result.exit_code} and says nothing"
        if "can't be reached" in result.stderr or ("need" in result.stderr and "migrate" in result.stderr):
            return f"complains {result.stderr}"
        return None


@pytest.mark.long
@pytest.mark.usefixtures("unlogged")
@pytest.mark.parametrize("seed", SEEDS)
def test_every_parameter(
    db: psycopg.Connection, db_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=10s")
    fuzz = Fuzz(db, db_url, tmp_path, seed)
    assert len(COMMANDS) >= 20
    faults: dict[str, str] = {}
    codes = dict.fromkeys((0, 1, 2), 0)
    for number in range(RUNS):
        if number % 50 == 49:
            fuzz.refresh()
        argv, stdin = fuzz.draw(number)
        result = CliRunner().invoke(app, argv, input=stdin, prog_name="memstore")
        codes[result.exit_code] = codes.get(result.exit_code, 0) + 1
        if fault := fuzz.fault(result):
            faults.setdefault(
                f"{argv[2]} {fault}"[:60], f"{argv[2]} {fault[:1500]} {ascii(argv[3:])[:300]} {stdin[:100]!r}"
            )
    assert not faults, "\n".join(faults.values())
    assert min(codes.values()) > RUNS // 10, codes
    fuzz.refresh()
