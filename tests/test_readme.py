"""The README's SQL and Python give the output that it shows."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess

import psycopg
import pytest

from memstore import embedded
from tests.cli.running import at_terminal

from .documents import ROOT, blocks


@pytest.fixture
def no_role(db: psycopg.Connection) -> None:
    """Roles outlive a test's database."""
    db.execute("drop role if exists support_bot")


@pytest.mark.usefixtures("no_role")
def test_sql(db_url: str) -> None:
    psql = str(embedded.find_binaries() / "psql")
    shown = []
    for block in blocks("README.md", "sql"):
        # One session a block, so that only its last result is compared.
        *first, last = re.split(r"(?<=;)\n(?=select|create)", block.code.strip())
        for statement in first:
            subprocess.run(
                [psql, "-qX", "-v", "ON_ERROR_STOP=1", db_url, "-c", statement],
                check=True,
                capture_output=True,
            )
        result = subprocess.run(
            [psql, "-qX", "-v", "ON_ERROR_STOP=1", db_url, "-c", last],
            check=True,
            capture_output=True,
            text=True,
        )
        if block.output:
            shown.append(block.output)
            assert result.stdout.strip() == block.output.strip()
    assert len(shown) > 5


def test_python(db_url: str) -> None:
    (block,) = blocks("README.md", "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block.code.replace("postgresql://support_bot@host/agents", db_url), {})
    assert printed.getvalue() == block.output


def test_the_chain(db: psycopg.Connection, db_url: str) -> None:
    (shown,) = re.findall(
        r"<!-- a chain -->\n```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    new, old = re.findall(r"(?:live|superseded) ([0-9a-f]{8})", shown)
    ends = "-0000-4000-8000-000000000000"
    db.execute(
        "select memstore.import_memories(memstore.create_user(external_ref => 'default'),"
        " jsonb_build_array(jsonb_build_object('id', %s::text, 'body', 'I use pnpm, not npm.',"
        " 'inserted_at', clock_timestamp() - interval '3 days')))",
        [old + ends],
    )
    at_terminal(db_url, "correct", old, "I use pnpm 9, not npm.", "--id", new + ends)
    drawn = re.sub(
        r"\x1b\[[0-9;]*m| +$", "", at_terminal(db_url, "history", new, columns=100), flags=re.MULTILINE
    )
    assert drawn == shown
