"""The server that is measured: a private one with the durability of a real one, and its databases."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from memstore import schema
from memstore.embedded import EmbeddedServer

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "40",
    # Checkpoints come between the figures and not in the midst of one.
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    # Nor do a vacuum and an analysis, which a store gets before it is measured, or is measured without.
    "autovacuum": "off",
}

_READY = "bench: loaded"


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: of its maintenance database.
        binaries: the directory of its programs.
        version: such as "18.4".
        settings: what it was started with.
        process: the id of its process; 0 where the system doesn't tell.
        pgvector: whether it has it.
    """

    url: str
    binaries: Path
    version: str
    settings: dict[str, str]
    process: int
    pgvector: bool
    _settled: set[str] = field(default_factory=set)

    def conninfo(self, name: str) -> str:
        return make_conninfo(self.url, dbname=name)

    @contextlib.contextmanager
    def processor(self) -> Iterator[list[float]]:
        """Gives the seconds of the processor of the sessions that begin and end in it, once they have ended.

        0, where the system doesn't tell.
        """
        before, others = self._used(), self._children()
        used: list[float] = []
        yield used
        # A process needs its time to let go of large buffers.
        deadline = time.monotonic() + 10
        while self._children() - others and time.monotonic() < deadline:
            time.sleep(0.01)
        used.append(self._used() - before)

    def _used(self) -> float:
        told = _process(self.process)
        return (int(told[13]) + int(told[14])) / os.sysconf("SC_CLK_TCK") if told else 0

    def _children(self) -> set[str]:
        try:
            return set(Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split())
        except OSError:
            return set()

    def empty(self, name: str) -> str:
        """Make a database with nothing in it, instead of one that has the name; return its conninfo."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"drop database if exists {name} with (force)")
            connection.execute(f"create database {name} template template0")
        return self.conninfo(name)

    def store(self, name: str, load: Callable[[str], None], *, settled: bool = True) -> str:
        """Return the conninfo of a database with memstore that `load` has filled; it is filled once.

        One of an earlier run gets the code of this one.

        Args:
            name: of the database.
            load: fills it.
            settled: whether it is vacuumed and analysed then.
        """
        conninfo = self.conninfo(name)
        if name in self._settled:
            return conninfo
        with psycopg.connect(self.url, autocommit=True) as connection:
            query = "select shobj_description(oid, 'pg_database') from pg_database where datname = %s"
            if connection.execute(query, [name]).fetchone() == (_READY,):
                schema.migrate(conninfo)
            else:
                load(self.installed(name))
                connection.execute(f"comment on database {name} is '{_READY}'")
        if settled:
            settle(conninfo)
        self._settled.add(name)
        return conninfo

    def copy(self, name: str, of: str) -> str:
        """Return the conninfo of a copy of a database that `store` has made; it is copied once."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            query = "select 1 from pg_database where datname = %s"
            if not connection.execute(query, [name]).fetchone():
                connection.execute(f"create database {name} template {of}")
                connection.execute(f"comment on database {name} is '{_READY}'")
        return self.store(name, load=lambda conninfo: None)

    def installed(self, name: str) -> str:
        """Make a database with memstore and nothing in it, as `empty` does; return its conninfo."""
        conninfo = self.empty(name)
        if self.pgvector:
            with psycopg.connect(conninfo) as connection:
                connection.execute("create extension vector")
        schema.migrate(conninfo)
        return conninfo

    def index_words(self, conninfo: str) -> None:
        """Make the operator's indexes for large accounts."""
        script = schema.sql_dir() / "options" / "large_accounts.sql"
        subprocess.run([self.binaries / "psql", "-X", "-q", "-d", conninfo, "-f", script], check=True)
        settle(conninfo)


def settle(conninfo: str) -> None:
    """Leave a store as one that has been in use: vacuumed, analysed, in cache, after a checkpoint."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
        connection.execute("checkpoint")
        # By its indexes, since the pages that a scan of a large table reads don't stay in the buffers.
        connection.execute("set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off")
        for order in ("id", "user_id", "user_id, inserted_at desc, id desc", "id, bucket, promoted"):
            live = "where superseded_at is null" if "inserted_at" in order else ""
            connection.execute(
                f"select count(m.body) from (select body from memstore.memories {live} order by {order}) m"
            )


@contextlib.contextmanager
def running(folder: Path, binaries: Path | None, shared_buffers: str) -> Iterator[Server]:
    """Run a server with its data below this folder."""
    kind = filesystem(folder)
    if kind in ("tmpfs", "ramfs"):
        raise SystemExit(
            f"{folder} is in memory ({kind}), where fsync costs nothing: choose --data-dir on a disk"
        )
    settings = {**SETTINGS, "shared_buffers": shared_buffers}
    with EmbeddedServer(folder / "data", binaries=binaries, settings=settings) as server:
        with psycopg.connect(server.url) as connection:
            query = "select from pg_available_extensions where name = 'vector'"
            pgvector = connection.execute(query).fetchone() is not None
            told = _process(connection.info.backend_pid)
        process = int(told[1]) if told else 0
        yield Server(server.url, server.binaries, server.version, settings, process, pgvector)


def _process(number: int) -> list[str]:
    """What Linux tells of a process, from its state on; nothing elsewhere."""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return told[told.rindex(")") + 2 :].split()


def filesystem(folder: Path) -> str:
    """The kind of file system that a folder is on, such as "ext4"; "" where that can't be told."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [
        (point, kind) for point, kind in mounts if os.path.commonpath([folder.resolve(), point]) == point
    ]
    return max(holding, key=lambda mount: len(mount[0]))[1] if holding else ""
