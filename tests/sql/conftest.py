"""A database that many tests share, for tables of cases: each test's transaction is rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self
from uuid import UUID

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from pytest_postgresql.executors.noop import NoopExecutor
from pytest_postgresql.janitor import DatabaseJanitor

from tests.sql.support import account_of


class SavepointCursor(psycopg.Cursor[Any]):
    """Has each statement in a savepoint of its own, so that a refused one leaves the transaction in order."""

    def execute(self, *arguments: Any, **keywords: Any) -> Self:
        if self.connection.info.transaction_status != TransactionStatus.INTRANS:
            return super().execute(*arguments, **keywords)
        with self.connection.transaction():
            return super().execute(*arguments, **keywords)


@pytest.fixture(scope="session")
def scratch_connection(memstore_noproc: NoopExecutor) -> Iterator[psycopg.Connection]:
    server = memstore_noproc
    janitor = DatabaseJanitor(
        user=server.user,
        host=server.host,
        port=server.port,
        password=server.password,
        dbname=f"{server.dbname}_scratch",
        template_dbname=server.template_dbname,
        maintenance_dbname=server.maintenance_dbname,
    )
    with (
        janitor,
        psycopg.connect(
            user=server.user,
            host=server.host,
            port=server.port,
            password=server.password,
            dbname=janitor.dbname,
            autocommit=True,
        ) as connection,
    ):
        yield connection


@pytest.fixture
def scratch(scratch_connection: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection of the owner, in a transaction that will be rolled back: refusals want a savepoint."""
    with scratch_connection.transaction(force_rollback=True):
        yield scratch_connection


@pytest.fixture
def undone(scratch: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The same with a savepoint for each statement, in place of a database of one's own."""
    scratch.cursor_factory = SavepointCursor
    yield scratch
    scratch.cursor_factory = psycopg.Cursor


@pytest.fixture
def holder(scratch: psycopg.Connection) -> UUID:
    """An account in ``scratch``."""
    return account_of(scratch, "holder")
