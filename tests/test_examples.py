"""sql/examples, as a newcomer runs them: psql, a shell script, and a Node program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from memstore import schema
from tests.databases import program

pytestmark = pytest.mark.long

EXAMPLES = schema.sql_dir() / "examples"

# What breaks careless quoting: of shells, of psql, of SQL, and of JavaScript.
HOSTILE = [
    'it\'s "quoted" `uname` $(uname) $HOME ${HOME} %s %% !! ~ * ?',
    "'; drop schema memstore cascade; --",
    "line\nbreak\r\n\ttab \\n \\ \\' \\\\",
    "\\q",
    "\\! uname\n\\echo x",
    ":text :'text' :\"account\" ::uuid",
    "$$ $text$ $1 $2 /* -- */",
    "-- a comment",
    "-v ON_ERROR_STOP=0",
    "--version",
    "=",
    "SQL\n.\n\\.",
    "é 李明在上海工作 Straße \U0001f600 e\u0301 \u202eabc",
    "x" * 2000,
]


@pytest.fixture
def environment(db: psycopg.Connection) -> dict[str, str]:
    """Of a program that finds the database, and PostgreSQL's programs, by it."""
    info = db.info
    found = {
        "PATH": f"{Path(program('psql')).parent}:{os.environ['PATH']}",
        "PGHOST": info.host,
        "PGPORT": str(info.port),
        "PGUSER": info.user,
        "PGDATABASE": info.dbname,
        "PGPASSWORD": info.password,
    }
    return {**os.environ, **{key: value for key, value in found.items() if value}}


def bodies(db: psycopg.Connection, account: str) -> list[str]:
    query = "select body from memstore.memories where user_id = memstore.find_user(%s) order by inserted_at"
    return [body for (body,) in db.execute(query, [account])]


def run_into_a_conflict(
    command: Sequence[str | Path],
    environment: dict[str, str],
    db: psycopg.Connection,
    db_url: str,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Under REPEATABLE READ, it waits for a transaction that changes the account, and then can't go on."""
    db.execute("select memstore.create_user(external_ref => 'customer-7')")
    options = {"PGOPTIONS": "-c default_transaction_isolation=repeatable\\ read"}
    with psycopg.connect(db_url) as other:
        other.execute("update memstore.users set language = 'german'")
        with subprocess.Popen(command, env={**environment, **options}, cwd=cwd) as process:
            waits = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = %s"
            while not db.execute(waits, [db.info.dbname]).fetchall():
                assert process.poll() is None
            other.commit()
    return process


def test_psql(environment: dict[str, str]) -> None:
    script = EXAMPLES / "remember.sql"
    command = ["psql", "-qAtX", "-v", "account=customer-7", "-f", str(script)]
    result = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    assert result.stdout.splitlines() == re.findall(
        "^--> (.*)$", script.read_text(encoding="utf-8"), re.MULTILINE
    )
    (refusal,) = re.findall("^psql:.*: ERROR:  (.*)$", result.stderr, re.MULTILINE)
    assert refusal == "The memory cannot be superseded so."


class TestShell:
    @staticmethod
    def run(
        environment: dict[str, str], *arguments: str, text: str | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        # As bytes, so that Python doesn't touch line ends.
        result = subprocess.run(
            [EXAMPLES / "memory.sh", *arguments],
            env={**environment, **more},
            input=None if text is None else text.encode(),
            capture_output=True,
        )
        return subprocess.CompletedProcess(
            result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
        )

    def test_remembers_and_recalls(self, environment: dict[str, str], db: psycopg.Connection) -> None:
        result = self.run(environment, "remember", "customer-7", "I use pnpm, not npm.")
        assert (result.returncode, result.stderr) == (0, "")
        (memory,) = db.execute("select id from memstore.memories").fetchone() or (None,)
        assert UUID(result.stdout.strip()) == memory
        result = self.run(environment, "recall", "customer-7", text="Install the deps\nwith npm.")
        assert result.stdout == "[From memory: user, just now] I use pnpm, not npm.\n"
        assert (result.returncode, result.stderr) == (0, "")

    @pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
    def test_any_text(self, locale: str, environment: dict[str, str], db: psycopg.Connection) -> None:
        for body in HOSTILE:
            for arguments, text in (([body], None), ([], body)):
                result = self.run(environment, "remember", body[:50], *arguments, text=text, LC_ALL=locale)
                assert (result.returncode, result.stderr) == (0, ""), body
                assert bodies(db, body[:50])[-1] == body
                result = self.run(environment, "recall", body[:50], *arguments, text=text, LC_ALL=locale)
                assert (result.returncode, result.stderr) == (0, ""), body

    def test_a_refusal_is_named(self, environment: dict[str, str], db: psycopg.Connection) -> None:
        result = self.run(
            environment, "remember", "customer-7", "secret words " * 200, PGOPTIONS="-c lc_messages=C"
        )
        assert (result.returncode, result.stdout, result.stderr) == (1, "", "memories_body_shape\n")
        assert not db.execute("select from memstore.memories").fetchall()

    def test_no_connection(self, environment: dict[str, str]) -> None:
        result = self.run(environment, "recall", "customer-7", "a turn", PGHOST="/nonexistent")
        assert result.returncode == 2
        assert "connection to server" in result.stderr

    def test_a_stale_snapshot(self, environment: dict[str, str], db: psycopg.Connection, db_url: str) -> None:
        process = run_into_a_conflict(
            [EXAMPLES / "memory.sh", "remember", "customer-7", "x"], environment, db, db_url
        )
        assert process.returncode == 75
        assert bodies(db, "customer-7") == []

    @pytest.mark.parametrize("arguments", [[], ["remember"], ["forget", "customer-7", "x"]])
    def test_usage(self, arguments: list[str], environment: dict[str, str]) -> None:
        result = self.run(environment, *arguments)
        assert result.returncode == 64
        assert result.stderr.startswith("memory.sh remember ACCOUNT [TEXT] ")


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node example, installed."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip("no Node")
    folder = tmp_path_factory.mktemp("node") / "node"
    shutil.copytree(EXAMPLES / "node", folder, ignore=shutil.ignore_patterns("node_modules"))
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier"]
    if subprocess.run([npm, "view", "pg", "version", *quiet], cwd=folder, capture_output=True).returncode:
        pytest.skip("no package registry")
    subprocess.run([npm, "install", *quiet], cwd=folder, check=True, capture_output=True)
    return folder


class TestNode:
    @staticmethod
    def run(folder: Path, environment: dict[str, str], script: str, **more: str) -> str:
        result = subprocess.run(
            ["node", "--input-type=module", "-e", script],
            cwd=folder,
            env={**environment, **more},
            text=True,
            capture_output=True,
            timeout=60,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    def test_conversation(self, node_modules: Path, environment: dict[str, str]) -> None:
        assert self.run(node_modules, environment, "await import('./conversation.js')").splitlines() == [
            "[From memory: user, just now] I use pnpm, not npm.",
            "not_supersedable: The memory cannot be superseded so.",
            "bucket: The bucket is user, learned or system.",
            "body: The body has 1 to 2,000 characters and is not blank.",
        ]

    CONNECT = """
        import pg from "pg";
        import { Memory } from "./memory.js";
        const pool = new pg.Pool({ max: 4 });
        const memory = new Memory(pool);
        const actor = await memory.account("customer-7");
    """

    def test_any_text(self, node_modules: Path, environment: dict[str, str], db: psycopg.Connection) -> None:
        script = f"""{self.CONNECT}
            const texts = {json.dumps(HOSTILE)};
            for (const text of texts) await memory.remember(actor, text);
            const other = await memory.account("customer-8");
            await memory.rememberAll(other, texts.map((body) => ({{ body }})));
            await pool.end();
        """
        self.run(node_modules, environment, script)
        assert bodies(db, "customer-7") == bodies(db, "customer-8") == HOSTILE

    def test_conflicts_are_tried_again(
        self, node_modules: Path, environment: dict[str, str], db: psycopg.Connection, db_url: str
    ) -> None:
        script = f"""{self.CONNECT}
            const query = pool.query.bind(pool);
            let queries = 0;
            pool.query = (...given) => {{ queries += 1; return query(...given); }};
            const numbers = Array.from({{ length: 12 }}, (_, number) => `number ${{number}}`);
            await Promise.all(numbers.map((number) => memory.remember(actor, number)));
            await pool.end();
            process.exitCode = queries > numbers.length ? 0 : 1;
        """
        command = ["node", "--input-type=module", "-e", script]
        process = run_into_a_conflict(command, environment, db, db_url, cwd=node_modules)
        assert process.returncode == 0
        assert sorted(bodies(db, "customer-7")) == sorted(f"number {number}" for number in range(12))

    def test_a_repeated_id(
        self, node_modules: Path, environment: dict[str, str], db: psycopg.Connection
    ) -> None:
        script = f"""{self.CONNECT}
            const id = "00000000-0000-4000-8000-000000000001";
            const ids = [];
            for (const body of ["x", "x", "y"]) {{
              try {{
                ids.push((await memory.remember(actor, body, {{ id }})).id);
              }} catch (error) {{
                console.log(error.name, error.field, error.cause.code);
              }}
            }}
            await memory.forget(actor, id);
            console.log(new Set(ids).size);
            await pool.end();
        """
        assert self.run(node_modules, environment, script) == "id_taken id MS004\n1\n"
        assert bodies(db, "customer-7") == []
