"""The servers that tests run on."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from memstore import embedded

# What PostgreSQL itself logs, which the private server lowers, so that tests can look at the log.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "log_min_messages": "warning",
    "log_min_error_statement": "error",
    "log_error_verbosity": "default",
}


TEMPLATE = "memstore_changed"
"""The database of a changed copy, from which the tests of tests.mutants make theirs."""


@dataclass(frozen=True)
class Server:
    """A server to test against, as pytest-postgresql takes it."""

    host: str
    port: str
    user: str
    password: str | None
    maintenance_dbname: str
    log: Path | None
    options: str = ""
    template_dbname: str | None = None


@contextmanager
def server_folder(prefix: str = "memstore-test-") -> Iterator[Path]:
    """A directory that a server's account can reach, in memory where each of the run's workers has room."""
    memory = Path("/dev/shm")
    # A whole run takes a quarter of a gibibyte, and a few servers more for a while.
    needed = 3 * 2**28 * int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > needed
    with tempfile.TemporaryDirectory(prefix=prefix, dir=memory if roomy else None) as folder:
        path = Path(folder).resolve()
        path.chmod(0o711)
        yield path
        for lock in path.rglob("server.lock"):
            _wait_for_stop(lock)


def _wait_for_stop(lock: Path) -> None:
    """Wait for a private server whose last user, such as psql, did not: it still writes to its files."""
    deadline = time.monotonic() + 60
    with lock.open() as file:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.02)
            else:
                return


@contextmanager
def private_server(binaries: Path | None = None, **settings: str) -> Iterator[Server]:
    """A server of our own, with more settings perhaps, gone afterwards."""
    with server_folder() as folder:
        data = Path(folder, "data")
        with embedded.EmbeddedServer(data, binaries=binaries, settings=SETTINGS | settings) as private:
            yield server_at(private.url, private.data_dir / "server.log")


def server_at(url: str, log: Path | None) -> Server:
    """The server of a database's URL."""
    with psycopg.connect(url) as connection:
        info = connection.info
        return Server(info.host, str(info.port), info.user, info.password or None, info.dbname, log)
