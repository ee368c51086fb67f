"""The operations guide, migrations/*.md: all blocks of a page, in order, in one store."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from typer.testing import CliRunner

from memstore import schema
from memstore.cli.commands import claims, http, memories, operator, transfer
from memstore.cli.interface import app
from tests.cli.running import isolate
from tests.databases import empty_database, environment, program
from tests.documents import ROOT, Block, blocks

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

GUIDE = blocks("migrations/README.md", "sh", "sql")
ROLES = ("memory_application", "memory_dashboard", "memory_agent", "memory_report")
RESTORED = ("restored", "refilled")
OWNER = "memstore_guide_owner"
STALE = """
create or replace function memstore.lexeme_set(language text, content text) returns text[]
language sql immutable strict parallel safe return array['stale'];
"""


def block(part: str) -> Block:
    (found,) = [each for each in GUIDE if part in each.code]
    return found


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    with empty_database(server) as conninfo, psycopg.connect(conninfo, autocommit=True) as admin:
        databases = [f"drop database if exists {name}" for name in (*RESTORED, "follower")]
        roles = [f"drop role if exists {name}" for name in ROLES]
        for statement in databases:
            admin.execute(statement.encode())
        yield conninfo
        for statement in [*databases, "drop schema memstore cascade", *roles]:
            admin.execute(statement.encode())


def found_by(conninfo: str) -> dict[str, str]:
    """The environment in which a command finds the database, and the programs, as an operator has them."""
    parts = conninfo_to_dict(conninfo)
    names = {
        "host": "PGHOST",
        "port": "PGPORT",
        "user": "PGUSER",
        "password": "PGPASSWORD",
        "dbname": "PGDATABASE",
    }
    path = [str(Path(program("psql")).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        **environment(),
        **{names[part]: str(value) for part, value in parts.items() if part in names},
        "PATH": ":".join(path),
    }


def run(block: Block, conninfo: str, folder: Path) -> str:
    """What the block prints, run by a shell or by psql."""
    command = (
        ["bash", "-euo", "pipefail"] if block.language == "sh" else ["psql", "-qX", "-v", "ON_ERROR_STOP=1"]
    )
    result = subprocess.run(
        command,
        input=block.code,
        env=found_by(conninfo),
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert result.returncode == 0, f"{block.code}\n{result.stderr}"
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Like the root of the repository, and free for files."""
    for name in ("sql", "migrations"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_guide(database: str, folder: Path) -> None:
    shown = 0
    for number, each in enumerate(GUIDE):
        printed = run(each, database, folder)
        if each.output:
            assert printed.strip() == each.output.strip()
            shown += 1
        if number == 0:  # it is installed
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute((schema.sql_dir() / "examples" / "store.sql").read_bytes())
    assert shown >= 3
    whole = "select body, search_vector::text from memstore.memories order by id"
    with psycopg.connect(database) as connection:
        expected = connection.execute(whole).fetchall()
    for name in RESTORED:
        with psycopg.connect(make_conninfo(database, dbname=name)) as connection:
            assert connection.execute(whole).fetchall() == expected
            assert not connection.execute(
                "select from memstore.verify_store() where violations > 0"
            ).fetchall()
            assert connection.execute("select status from memstore.claim_statuses").fetchall() == [
                ("admitted",)
            ]


def test_a_rollback_takes_the_newest_migration(database: str, folder: Path) -> None:
    """The one that the guide's command finds."""
    run(GUIDE[0], database, folder)
    with psycopg.connect(database) as connection:
        applied = "select migration_id from memstore._yoyo_migration order by 1 desc"
        newest, *earlier = connection.execute(applied).fetchall()
        connection.commit()
        run(Block("sh", block("yoyo rollback").code.partition("psql -q -f")[0], ""), database, folder)
        assert connection.execute(applied).fetchall() == earlier
    assert newest == (schema.migration_files()[-1].stem,)


def test_a_lock_is_waited_for_no_longer(database: str, folder: Path) -> None:
    run(GUIDE[0], database, folder)
    upgrade = block("lock_timeout")
    with psycopg.connect(database) as writer:
        # As if another version were there: where nothing has changed, nothing is waited for.
        writer.execute("update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'")
        writer.commit()
        writer.execute("update memstore.users set language = language")
        shortened = Block("sh", upgrade.code.replace("5s", "50ms"), "")
        with pytest.raises(AssertionError, match="canceling statement due to lock timeout"):
            run(shortened, database, folder)
    run(upgrade, database, folder)


def test_words_are_made_anew(database: str, folder: Path) -> None:
    """After a change of the stemmer, which a function that knows one word stands for."""
    run(GUIDE[0], database, folder)
    stale = "select violations from memstore.verify_store() where invariant = 'search_vectors'"
    whole = "select to_jsonb(m) - 'search_vector' from memstore.memories m order by id"
    with psycopg.connect(database, autocommit=True) as connection:
        original = connection.execute(
            "select pg_get_functiondef('memstore.lexeme_set(text, text)'::regprocedure)"
        ).fetchone()
        assert original
        connection.execute(STALE.encode())
        # As on the server before, whose record says otherwise than this one's.
        connection.execute("update memstore.deployment set checksum = repeat('0', 64) where name = 'words'")
        connection.execute(
            "insert into memstore.users (external_ref, maximum_live_memories) values ('account-1', 5000)"
        )
        connection.execute(
            "select memstore.insert_memories(memstore.find_user('account-1'), jsonb_agg("
            " jsonb_build_object('body', 'I use pnpm ' || n))) from generate_series(1, 2500) n"
        )
        connection.execute(original[0].encode())
        rows = connection.execute(whole).fetchall()
        assert connection.execute(stale).fetchone() == (2500,)

        # A restored dump has other ones.
        run(block("whole.dump"), database, folder)
        with psycopg.connect(make_conninfo(database, dbname=RESTORED[0])) as restored:
            assert restored.execute(stale).fetchone() == (0,)

        run(block("rebuild-words"), database, folder)
        assert connection.execute(stale).fetchone() == (0,)
        assert connection.execute(whole).fetchall() == rows
        assert connection.execute(
            "select (memory).body from memstore.rank_memories(memstore.find_user('account-1'), '1234')"
            " limit 1"
        ).fetchone() == ("I use pnpm 1234",)
        assert connection.execute("select live_memories from memstore.users").fetchone() == (2500,)


@pytest.fixture
def owned(server: Server) -> Iterator[str]:
    """A store with the rows of the examples that a role owns which may make roles, and is no superuser."""
    made = (OWNER, "support_bot", "memory_owner")
    with empty_database(server) as conninfo, psycopg.connect(conninfo, autocommit=True) as admin:
        for role in made:
            admin.execute(f"drop role if exists {role}".encode())
        admin.execute(f"create role {OWNER} login createrole in role pg_monitor".encode())
        admin.execute(f"grant create on database {admin.info.dbname} to {OWNER}".encode())
        owned = make_conninfo(conninfo, user=OWNER)
        schema.migrate(owned)
        with psycopg.connect(owned, autocommit=True) as owner:
            owner.execute((schema.sql_dir() / "examples" / "store.sql").read_bytes())
        yield owned
        for role in made[1:]:
            if admin.execute("select from pg_roles where rolname = %s", [role]).fetchall():
                admin.execute(f"drop owned by {role}".encode())
                admin.execute(f"drop role {role}".encode())
        admin.execute(f"drop owned by {OWNER}".encode())
        admin.execute(f"drop role {OWNER}".encode())


@pytest.mark.parametrize("page", ["roles.md", "production.md"])
def test_page(page: str, owned: str, folder: Path) -> None:
    shown = 0
    for each in blocks(f"migrations/{page}", "sql", "sh"):
        printed = run(each, owned, folder)
        if each.output:
            assert (
                re.sub(r" +$", "", printed, flags=re.MULTILINE).strip()
                == re.sub(r" +$", "", each.output, flags=re.MULTILINE).strip()
            ), each.code
            shown += 1
    assert shown
    if page == "roles.md":
        with psycopg.connect(owned) as connection:
            assert not connection.execute("select from pg_namespace where nspname = 'memstore'").fetchall()


def test_the_settings_of_a_test_come_along(owned: str, another_url: str) -> None:
    """By the call that the guide's block prints."""
    (each,) = [
        block for block in blocks("migrations/production.md", "sql") if "memstore.configure(%s)" in block.code
    ]
    settings = "select to_jsonb(s) from memstore.settings s"
    with (
        psycopg.connect(owned, autocommit=True) as test,
        psycopg.connect(another_url, autocommit=True) as other,
    ):
        test.execute("select memstore.configure(maximum_attached => 3, semantic_floor => 0.25)")
        printed = run(each, owned, ROOT)
        (call,) = re.findall(r"select memstore\.configure\(.*\);", printed)
        assert other.execute(settings).fetchall() != test.execute(settings).fetchall()
        other.execute(call.encode())
        assert other.execute(settings).fetchall() == test.execute(settings).fetchall()


PAST = {
    "accounts near their ceiling": "update memstore.users set maximum_live_memories = 1",
    "memories without an embedding": "insert into memstore.memories (user_id, body)"
    " select memstore.find_user('account-1'), 'x' from generate_series(1, 1001)",
    "seconds of the oldest transaction": None,
    "sessions that wait for a lock": None,
}


def test_alerts(owned: str, folder: Path) -> None:
    (each,) = [block for block in blocks("migrations/production.md", "sql") if "past (what" in block.code]
    impatient = Block("sql", each.code.replace("'5 min'", "'-1 s'").replace("'10 s'", "'-1 s'"), "")
    with psycopg.connect(owned, autocommit=True) as connection, psycopg.connect(owned) as other:
        connection.execute("update memstore.users set maximum_live_memories = 5000")
        assert run(each, owned, folder) == each.output + "\n"
        for what, statement in PAST.items():
            if statement:
                connection.execute(statement.encode())
                assert what in run(each, owned, folder)
                connection.execute("update memstore.users set maximum_live_memories = 5000")
        other.execute("select from memstore.users for update")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(connection.execute, b"update memstore.users set language = language")
            while "sessions that wait for a lock" not in (printed := run(impatient, owned, folder)):
                assert not waiting.done()
            assert "seconds of the oldest transaction" in printed
            other.rollback()
            waiting.result()


def test_disk_a_memory(owned: str) -> None:
    """Within a sixth of what the guide says."""
    text = (ROOT / "migrations" / "production.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (none|[\d,]+ numbers) \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    size = "select pg_table_size('memstore.memories'), pg_indexes_size('memstore.memories')"
    with psycopg.connect(owned, autocommit=True) as connection:
        connection.execute("update memstore.users set maximum_live_memories = 100000")
        connection.execute("select setseed(0.5)")
        for embedding, *said in rows:
            connection.execute("delete from memstore.memories")
            connection.execute("vacuum full memstore.memories")
            before = connection.execute(size).fetchone() or ()
            numbers = 0 if embedding == "none" else int(embedding.split()[0].replace(",", ""))
            connection.execute(
                "insert into memstore.memories (user_id, body, embedding, embedding_model)"
                " select memstore.find_user('account-1'), "
                " (select string_agg('word' || (random() * 5000)::integer, ' ')"
                "  from generate_series(1, 12) where n > 0),"
                " (select array_agg(random()::real) from generate_series(1, %(numbers)s) where n > 0),"
                " case when %(numbers)s > 0 then 'model ' || %(numbers)s end from generate_series(1, 2000) n",
                {"numbers": numbers},
            )
            after = connection.execute(size).fetchone() or ()
            for name, measured, stated in zip(
                ("table", "indexes"), zip(before, after, strict=True), said, strict=True
            ):
                bytes_each = (measured[1] - measured[0]) / 2000
                expected = int(stated.replace(",", ""))
                assert expected * 5 / 6 < bytes_each < expected * 7 / 6, (embedding, name, bytes_each)


CLAIM, MEMORY = "00000000-0000-4000-8000-0000000000c1", "00000000-0000-4000-8000-000000000001"
CALLS: dict[str, tuple[str, ...]] = {
    "admit": (CLAIM, "Seen."),
    "configure": ("--maximum-attached", "5"),
    "correct": (MEMORY, "I use yarn."),
    "forget": (MEMORY,),
    "history": (MEMORY,),
    "recall": ("pnpm",),
    "reject": (CLAIM, "No."),
    "remember": ("I use npm.",),
    "show": (MEMORY,),
    "steward": ("account-1",),
    "verify": (),
}
"""Commands that can be called with the rows of the examples, and what else they need."""


def test_who_may_run_a_command(owned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's table names each command once, and what it says needs the owner is refused to others."""
    text = (ROOT / "migrations" / "roles.md").read_text(encoding="utf-8").partition("| command | needs |")[2]
    needs = {
        command: needed
        for commands, needed in re.findall(r"^\| (.+?) \| (.+?) \|$", text.partition("\n\n")[0], re.MULTILINE)
        for command in re.findall(r"`([\w-]+)`", commands)
    }
    assert needs.keys() == {
        *memories.COMMANDS,
        *claims.COMMANDS,
        *http.COMMANDS,
        *operator.COMMANDS,
        *transfer.COMMANDS,
        "mcp",
    }
    isolate(monkeypatch)
    with psycopg.connect(owned, autocommit=True) as owner:
        owner.execute("create role support_bot login")
        owner.execute("select memstore.grant_api('support_bot')")
    application = make_conninfo(owned, user="support_bot")
    refused = set()
    simple = {"accounts", "claims", "list", "migrate", "settings", "stats", *CALLS}
    # What takes a memory away comes last.
    for command in sorted(simple, key=lambda command: (command in ("correct", "forget"), command)):
        account = "steward-1" if "steward" in needs[command] else "account-1"
        given = ("--database-url", application, "--account", account, command, *CALLS.get(command, ()))
        result = CliRunner().invoke(app, given, prog_name="memstore")
        if result.exit_code:
            refused.add(command)
    assert refused == {command for command in simple if needs[command] == "the owner"}
