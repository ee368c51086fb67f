"""A server for each process of a run, a template database with memstore in it, and clones of it for tests."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pytest_postgresql import factories

from memstore import schema
from memstore.embedded import EmbeddedServer
from tests.databases import dump, empty_database
from tests.servers import SETTINGS, TEMPLATE, Server, private_server, server_at
from tests.sql.support import SECRET


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: for a third of their time tests wait.

    None where all would be on one server: tests make roles of the same names.
    """
    return 0 if os.environ.get("MEMSTORE_TEST_DATABASE_URL") else (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server of ``MEMSTORE_TEST_DATABASE_URL``, else one of our own in memory, gone after the run.

    ``MEMSTORE_TEST_DATA_DIR`` is that of a server that runs already, with this version in ``TEMPLATE``.
    """
    url = os.environ.get("MEMSTORE_TEST_DATABASE_URL")
    data_dir = os.environ.get("MEMSTORE_TEST_DATA_DIR")
    if data_dir:
        with EmbeddedServer(Path(data_dir), settings=SETTINGS) as running:
            yield replace(server_at(running.url, Path(data_dir, "server.log")), template_dbname=TEMPLATE)
        return
    if url:
        yield server_at(url, None)
        return
    with private_server() as private:
        yield private


def _install(
    *, host: str, port: str, user: str, dbname: str, password: str | None, autocommit: bool = False
) -> None:
    if not os.environ.get("MEMSTORE_TEST_DATA_DIR"):  # whose TEMPLATE is installed
        schema.migrate(make_conninfo(host=host, port=port, user=user, dbname=dbname, password=password))


memstore_noproc = factories.postgresql_noproc(depends_on="server", dbname="memstore_test", load=[_install])
postgresql = factories.postgresql("memstore_noproc")


@pytest.fixture
def db(postgresql: psycopg.Connection) -> psycopg.Connection:
    """A connection of the owner to a fresh database with memstore installed, in autocommit mode."""
    postgresql.autocommit = True
    return postgresql


@pytest.fixture
def db_url(db: psycopg.Connection) -> str:
    """The conninfo of ``db``."""
    # Not info.dsn, which has parameters that an older server's psql doesn't know.
    info = db.info
    return make_conninfo(
        host=info.host, port=info.port, user=info.user, dbname=info.dbname, password=info.password or None
    )


@pytest.fixture
def connect(db_url: str) -> Iterator[Callable[..., psycopg.Connection]]:
    """Opens more connections to ``db``'s database, in autocommit mode unless told otherwise."""
    opened: list[psycopg.Connection] = []

    def open_connection(autocommit: bool = True, **parameters: str) -> psycopg.Connection:
        opened.append(psycopg.connect(db_url, autocommit=autocommit, **parameters))  # type: ignore[arg-type]
        return opened[-1]

    yield open_connection
    for connection in opened:
        connection.close()


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The conninfo of an empty database."""
    with empty_database(server) as conninfo:
        yield conninfo


@pytest.fixture(scope="session")
def installed(server: Server) -> Iterator[str]:
    """The conninfo of a database after memstore migrate, to make others like it: no test connects to it."""
    with empty_database(server) as conninfo:
        schema.migrate(conninfo)
        yield conninfo


@pytest.fixture
def another_url(server: Server, installed: str) -> Iterator[str]:
    """The conninfo of another store than ``db``'s."""
    with empty_database(server, like=installed) as conninfo:
        yield conninfo


@pytest.fixture(scope="session")
def fresh(installed: str) -> str:
    """What a database reads like after memstore migrate."""
    return dump(installed)


@pytest.fixture
def account(db: psycopg.Connection) -> UUID:
    """An account with the application's id account-1."""
    row = db.execute("select memstore.create_user(external_ref => 'account-1')").fetchone()
    assert row is not None
    account: UUID = row[0]
    return account


@pytest.fixture
def unlogged(server: Server, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What is logged meanwhile, by the client and by the server, must not have ``SECRET``."""
    caplog.set_level(logging.DEBUG, "memstore")
    before = server.log.stat().st_size if server.log else 0
    yield
    assert SECRET not in caplog.text
    if server.log:
        with server.log.open("rb") as log:
            log.seek(before)
            assert SECRET.encode() not in log.read()
