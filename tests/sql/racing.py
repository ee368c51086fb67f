"""Calls that start together, each in a connection and a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
from psycopg import IsolationLevel

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
