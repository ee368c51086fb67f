"""The command on the test's database."""

from __future__ import annotations

import pytest

from tests.cli.running import Run, isolate, on_database


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)


@pytest.fixture
def run(db_url: str) -> Run:
    """Runs the command in this process, on the test's database."""
    return on_database(db_url)
