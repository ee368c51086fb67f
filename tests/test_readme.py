"""The README's SQL and Python give the output that it shows."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from memstore import embedded

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```\n(?:```text\n(.*?)```\n)?", README, re.DOTALL)


@pytest.fixture
def no_role(db: psycopg.Connection) -> None:
    """Roles outlive a test's database."""
    db.execute("drop role if exists support_bot")


@pytest.mark.usefixtures("no_role")
def test_sql(db_url: str) -> None:
    psql = str(embedded.find_binaries() / "psql")
    shown = []
    for language, code, output in BLOCKS:
        if language != "sql":
            continue
        # One session a block, so that only its last result is compared.
        *first, last = re.split(r"(?<=;)\n(?=select|create)", code.strip())
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
        if output:
            shown.append(output)
            assert result.stdout.strip() == output.strip()
    assert len(shown) > 5


def test_python(db_url: str) -> None:
    ((code, output),) = [(code, output) for language, code, output in BLOCKS if language == "python"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code.replace("postgresql://support_bot@host/agents", db_url), {})
    assert printed.getvalue() == output
