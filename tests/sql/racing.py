"""Calls that start together, or that block each other, each in a connection and a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Thread
from time import monotonic, sleep
from typing import Any

import psycopg
from psycopg import IsolationLevel

from tests.sql.support import value

Connect = Callable[..., psycopg.Connection]
Work = Callable[[psycopg.Connection], object]


def at_once(connect: Connect, *work: Work, isolation: IsolationLevel | None = None) -> list[Any]:
    """Run each in a connection and thread of its own, all started together: results, or errors' names.

    An error without a constraint's name is named by its SQLSTATE.
    """
    barrier = Barrier(len(work))

    def run(job: tuple[Work, psycopg.Connection]) -> object:
        function, connection = job
        if isolation:
            level = isolation.name.lower().replace("_", " ")
            connection.execute(f"set default_transaction_isolation = '{level}'".encode())
        barrier.wait()
        try:
            return function(connection)
        except psycopg.Error as error:
            return error.diag.constraint_name or error.diag.sqlstate

    connections = [connect() for _ in work]
    try:
        with ThreadPoolExecutor(len(work)) as pool:
            return list(pool.map(run, zip(work, connections, strict=True)))
    finally:
        for connection in connections:
            connection.close()


def waiting(db: psycopg.Connection, connection: psycopg.Connection) -> bool:
    """Whether a statement of the connection is blocked by a lock."""
    return bool(value(db, "select cardinality(pg_blocking_pids(%s)) > 0", connection.info.backend_pid))


def until(condition: Callable[[], bool]) -> None:
    """Return once the condition holds."""
    deadline = monotonic() + 10
    while not condition():
        assert monotonic() < deadline
        sleep(0.002)


@contextmanager
def held(connect: Connect, query: str, *params: object) -> Iterator[None]:
    """A row that a bystander holds meanwhile."""
    bystander = connect(autocommit=False)
    bystander.execute(query.encode(), params)
    yield
    bystander.rollback()


class Call(Thread):
    """A call on a connection of its own; ``error`` is what it was told."""

    def __init__(self, connection: psycopg.Connection, query: str, *params: object) -> None:
        super().__init__()
        self.connection, self.query, self.params = connection, query, params
        self.error: psycopg.Error | None = None
        self.start()

    def run(self) -> None:
        try:
            self.connection.execute(self.query.encode(), self.params)
        except psycopg.Error as error:
            self.error = error

    @property
    def name_of_error(self) -> str | None:
        self.join()
        return None if self.error is None else (self.error.diag.constraint_name or self.error.sqlstate)
