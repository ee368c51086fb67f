"""The README's SQL and Python give the output that it shows."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess

import psycopg
import pytest

from memstore import embedded

from .documents import blocks


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
