"""migrations/README.md, the operations guide: all of its blocks, in order, in one store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memstore import schema
from tests.databases import empty_database, environment, program
from tests.documents import ROOT, Block, blocks

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

GUIDE = blocks("migrations/README.md", "sh", "sql")
ROLES = ("memory_application", "memory_dashboard", "memory_agent", "memory_report")
RESTORED = ("restored", "refilled")
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
