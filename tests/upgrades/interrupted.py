"""``migrate`` in a process of its own, with an accident at a given statement."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Literal

import psycopg
from psycopg.pq import TransactionStatus

from memstore import schema

FAILED = 3
"""The exit status where migrate raised what a lost connection raises."""

Accident = Literal["kill", "terminate", "terminate all"]


def migrate_interrupted(conninfo: str, accident: Accident, number: int, seen: Synchronized[int]) -> None:
    """Migrates, with an accident before the numberth exchange with the server, counted from 1.

    ``kill`` ends this process, ``terminate`` the connection that is about to be used, ``terminate all`` each.
    ``seen`` gets the number of exchanges there have been.
    """
    real = psycopg.Connection.wait
    killer = psycopg.connect(conninfo, autocommit=True)
    ours = {killer.info.backend_pid}

    def wait(self: psycopg.Connection, generator: Generator[Any, Any, Any], *arguments: Any) -> Any:
        # A commit sends nothing where there is no transaction, as where yoyo sent it as a statement.
        idle = self.info.transaction_status == TransactionStatus.IDLE
        if self is not killer and not (idle and getattr(generator, "__name__", "") == "_commit_gen"):
            seen.value += 1
            if seen.value == number:
                if accident == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                _terminate(None if accident == "terminate all" else self.info.backend_pid)
        return real(self, generator, *arguments)

    def _terminate(pid: int | None) -> None:
        # Waits until they are gone, for a second at most.
        killer.execute(
            "select pg_terminate_backend(pid, 1000) from pg_stat_activity"
            " where datname = current_database() and pid <> all (%s) and pid = coalesce(%s, pid)",
            (list(ours), pid),
        )

    psycopg.Connection.wait = wait  # type: ignore[assignment, method-assign]
    try:
        schema.migrate(conninfo)
    except psycopg.OperationalError:
        os._exit(FAILED)
    os._exit(0)
