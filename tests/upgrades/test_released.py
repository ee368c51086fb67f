"""Earlier commits: their stores, upgraded; their clients, on the newest schema; today's client, on theirs."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memstore import schema
from memstore.api import calls
from tests.databases import WAYS, dump, empty_database, skip_without
from tests.upgrades.released import NO_HISTORY, RELEASES, Release, run_python
from tests.upgrades.stores import MIGRATIONS, broken, content, fill, without_what_came_later

if TYPE_CHECKING:
    from tests.servers import Server

CLIENT = Path(__file__).with_name("client.py").read_text(encoding="utf-8")
MIGRATE = "import sys; from memstore import schema; schema.migrate(sys.argv[1])"
TODAY = Path(schema.__file__).parents[1]


def later(release: Release) -> list[str]:
    """The migrations that came after it."""
    return MIGRATIONS[MIGRATIONS.index(release.migration) + 1 :]


def keep_working(migrations: list[str]) -> bool:
    """Whether these migrations say that earlier clients do."""
    for name in migrations:
        text = (schema.migrations_dir() / f"{name}.sql").read_text(encoding="utf-8")
        head = " ".join(re.findall(r"^-- (.*)$", text[: text.index("\n\n")], re.MULTILINE))
        if not re.search(r"Clients: (all|earlier ones) keep working", head):
            return False
    return True


@pytest.fixture(scope="module")
def role(server: Server) -> Iterator[str]:
    """A role that a client grants the API to."""
    name = f"memstore_client_{uuid.uuid4().hex[:8]}"
    with empty_database(server) as conninfo, psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"create role {name}".encode())
        yield name
        connection.execute(f"drop role {name}".encode())


def used(code: Path, conninfo: str, role: str) -> dict[str, Any] | str:
    """What the client of that code says of itself after a call of each method, or why it refuses."""
    result = run_python(code, CLIENT, conninfo, role)
    if result.returncode and re.match(r"\w+: ", result.stderr) and "Traceback" not in result.stderr:
        return result.stderr
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert Path(report["package"]).is_relative_to(code)
    assert report["left"] == []
    return report


def test_todays_client(db_url: str, role: str) -> None:
    """The scenario has all methods, so that it says something of others."""
    report = used(TODAY, db_url, role)
    assert isinstance(report, dict), report
    assert report["warnings"] == []
    assert report["version"] <= int(MIGRATIONS[-1][:4])


@pytest.fixture(scope="module", params=RELEASES or [None], ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """One of the earlier commits."""
    if request.param is None:
        skip_without("history", NO_HISTORY)
    result: Release = request.param
    return result


@pytest.fixture(scope="module")
def code(release: Release, code_of: Callable[[Release], Path]) -> Path:
    """Its package."""
    return code_of(release)


@pytest.fixture(scope="module")
def store(server: Server, code: Path) -> Iterator[str]:
    """A store that this commit installed, with data."""
    with empty_database(server) as conninfo:
        result = run_python(code, MIGRATE, conninfo)
        assert result.returncode == 0, result.stderr
        fill(conninfo)
        yield conninfo


@pytest.fixture
def database(server: Server, store: str) -> Iterator[str]:
    """A copy of it."""
    with empty_database(server, like=store) as conninfo:
        yield conninfo


@pytest.mark.parametrize("way", WAYS)
def test_its_store_is_upgraded(way: str, release: Release, database: str, fresh: str) -> None:
    before = content(database)
    WAYS[way](database)
    if way == "yoyo" and not later(release):
        # Nothing is pending, so yoyo has no reason to load the code.
        schema.migrate(database)
    assert dump(database) == fresh
    assert without_what_came_later(content(database), before) == {k: v for k, v in before.items() if v}
    assert broken(database) == []


def test_its_client_on_the_newest_schema(release: Release, code: Path, database: str, role: str) -> None:
    schema.migrate(database)
    said = used(code, database, role)
    if keep_working(later(release)):
        assert isinstance(said, dict), said
        assert len(said["warnings"]) == (1 if later(release) else 0), said["warnings"]
    elif isinstance(said, str):
        assert "memstore" in said
    assert broken(database) == []


def test_its_installer_on_the_newest_schema(release: Release, code: Path, server: Server, fresh: str) -> None:
    """It touches nothing of a schema that is ahead of it; else it brings its own code."""
    with empty_database(server) as database:
        schema.migrate(database)
        result = run_python(code, MIGRATE, database)
        if later(release):
            assert result.returncode != 0
            assert "This migration is not in the version that is being installed." in result.stderr
            assert later(release)[0] in result.stderr
        else:
            assert result.returncode == 0, result.stderr
            schema.migrate(database)
        assert dump(database) == fresh


def test_todays_client_on_its_schema(release: Release, database: str, role: str) -> None:
    said = used(TODAY, database, role)
    if release.version < calls.SCHEMA_VERSION:
        assert isinstance(said, str)
        assert "memstore migrate" in said
    else:
        assert isinstance(said, dict), said
