"""The command on the test's database, whatever the environment says, and without the ready embedder."""

from __future__ import annotations

import pytest
from typer.testing import Result

from memstore.cli import session
from tests.cli.running import Run, invoke

VARIABLES = ("MEMSTORE_DATABASE_URL", "DATABASE_URL", "MEMSTORE_ACCOUNT", "MEMSTORE_DATA_DIR")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "ready", lambda: None)


@pytest.fixture
def run(db_url: str) -> Run:
    """Runs the command in this process, on the test's database."""

    def run_here(*arguments: str, stdin: str | bytes = "", code: int = 0) -> Result:
        return invoke("--database-url", db_url, *arguments, stdin=stdin, code=code)

    return run_here
