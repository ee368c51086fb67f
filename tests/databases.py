"""What the tests of installing share: databases of their own, PostgreSQL's programs, and how a dump reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlencode

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memstore import embedded, schema

if TYPE_CHECKING:
    from tests.servers import Server

# What must be there, in one word each: a test that finds it absent fails and isn't skipped.
REQUIRED = frozenset(os.environ.get("MEMSTORE_TEST_REQUIRE", "").split())

YOYO_TABLES = {"_yoyo_log", "_yoyo_migration", "_yoyo_version", "yoyo_lock"}


def skip_without(what: str, why: str | None = None) -> NoReturn:
    """Skip a test for what isn't there, unless ``MEMSTORE_TEST_REQUIRE`` names it."""
    reason = f": {why}" if why else ""
    if what in REQUIRED:
        pytest.fail(f"MEMSTORE_TEST_REQUIRE names {what}, and there is none{reason}", pytrace=False)
    pytest.skip(f"no {what}{reason}")


LONG = int(os.environ.get("MEMSTORE_LONG") or 0)
"""Whether what is sampled otherwise is tried whole, and how many times what is drawn at random is drawn."""

SEEDS = range(1, LONG + 1) if LONG else range(1)
"""Of what is drawn at random: a long run has others than a short one."""


def long_but(chosen: object, all: Iterable[object]) -> list[Any]:
    """All of these as a test's parameters: the chosen one for every run, the others for a long one."""
    return [pytest.param(each, marks=() if each == chosen else pytest.mark.long) for each in all]


def admin_conninfo(server: Server) -> str:
    return make_conninfo(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        dbname=server.maintenance_dbname,
    )


@contextmanager
def empty_database(
    server: Server,
    *,
    name: str | None = None,
    owner: str | None = None,
    encoding: str = "UTF8",
    like: str = "dbname=template0",
) -> Iterator[str]:
    """The conninfo of a new database, gone afterwards: empty, or a copy of the one that ``like`` is of."""
    name = name or f"memstore_{uuid.uuid4().hex[:12]}"
    admin = admin_conninfo(server)
    with psycopg.connect(admin, autocommit=True) as connection:
        create = sql.SQL(
            "create database {} owner {} encoding {} locale 'C' locale_provider libc template {}"
        )
        template = sql.Identifier(str(conninfo_to_dict(like)["dbname"]))
        parts = sql.Identifier(name), sql.Identifier(owner or server.user), sql.Literal(encoding), template
        connection.execute(create.format(*parts))
        try:
            yield make_conninfo(admin, dbname=name)
        finally:
            drop = sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            connection.execute(drop)


def program(name: str) -> str:
    """One of PostgreSQL's programs, as new as the server; the test is skipped where there is none."""
    found: str | Path | None = None
    if not os.environ.get("MEMSTORE_TEST_DATABASE_URL"):
        found = embedded.find_binaries() / name
    if not found or not Path(found).exists():
        found = shutil.which(name)
    if not found:
        skip_without(name)
    return str(found)


def environment() -> dict[str, str]:
    """Of a process that imports the same memstore."""
    return {**os.environ, "PYTHONPATH": str(Path(schema.__file__).parent.parent)}


def run(command: list[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program; ``check`` shows what it said where it failed."""
    result = subprocess.run(
        command,
        text=True,
        capture_output=True,
        timeout=120,
        env=environment(),
    )
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


def psql_install(
    conninfo: str, install: Path | None = None, *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """``psql -f sql/install.sql``."""
    install = install or schema.sql_dir() / "install.sql"
    return run([program("psql"), "-X", "-q", "-d", conninfo, "-f", str(install)], check=check)


def yoyo_command(conninfo: str, *arguments: str, migrations: Path | None = None) -> list[str]:
    parameters = {key: str(value) for key, value in conninfo_to_dict(conninfo).items() if value is not None}
    # The database as a parameter: yoyo doesn't decode a URL's path.
    url = "postgresql+psycopg:///?" + urlencode({**parameters, "schema": "memstore"}, quote_via=quote)
    source = str(migrations or schema.migrations_dir())
    return [
        sys.executable,
        "-m",
        "yoyo",
        *arguments,
        "--batch",
        "--no-config-file",
        "--database",
        url,
        source,
    ]


def yoyo(
    conninfo: str, *arguments: str, migrations: Path | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """yoyo's own command, as a user of plain yoyo runs it."""
    return run(yoyo_command(conninfo, *arguments, migrations=migrations), check=check)


def yoyo_apply(conninfo: str) -> None:
    """Plain yoyo as its guide has it: the schema first."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("create schema if not exists memstore")
    yoyo(conninfo, "apply")


WAYS: dict[str, Callable[[str], object]] = {
    "migrate": schema.migrate,
    "yoyo": yoyo_apply,
    "psql": psql_install,
}


def dump(conninfo: str, *options: str) -> str:
    """The schema with owners, privileges and comments.

    Since August 2025 a dump opens and closes with a line that holds a random key, which is taken out.
    """
    text = run([program("pg_dump"), "-s", *options, "-d", conninfo]).stdout
    return re.sub(r"^\\(un)?restrict \w+$", "", text, flags=re.MULTILINE)


def recorded(conninfo: str) -> list[tuple[str, str | None, str | None]]:
    """What the deployment's record and yoyo's say, without times."""
    with psycopg.connect(conninfo) as connection:
        return connection.execute(
            "select coalesce(d.name, y.migration_id), d.checksum, y.migration_hash"
            " from memstore.deployment d full join memstore._yoyo_migration y on y.migration_id = d.name"
            " where d.name is distinct from 'words' order by 1"
        ).fetchall()


def names(connection: psycopg.Connection, query: str) -> set[str]:
    return {row[0] for row in connection.execute(query.encode())}
