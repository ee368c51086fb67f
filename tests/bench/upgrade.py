"""A store of many memories, from an earlier commit to this one: how long each step takes, and its size.

    python -m tests.bench.upgrade [--size 1000000] [--from COMMIT] [--data-dir DIRECTORY]

Installed and loaded with the code of the earlier commit, by COPY with all triggers on, 200 memories in each
account, a tenth of the accounts with embeddings of 384 numbers; then upgraded, verified, and asked before and
after. The server is the benchmark's. Without a commit it is the first whose store this version upgrades.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from memstore import schema
from tests.bench import data, load, server
from tests.bench.__main__ import folder
from tests.upgrades.released import Release, releases, run_python

EMBEDDED = 10  # one account of so many
TURNS = 100
INSTALL = "import sys; from memstore import schema; schema.migrate(sys.argv[1])"


@contextmanager
def step(name: str) -> Iterator[None]:
    """Tells how long it took."""
    started = time.perf_counter()
    yield
    print(f"{name:12} {time.perf_counter() - started:10.1f} s", flush=True)


def ask(conninfo: str, accounts: list[str], *, embedded: bool) -> None:
    """One turn of each account, and how long its recall takes."""
    texts, took = data.Texts("turns"), []
    recall = "select backend, note is not null from memstore.recall(%s, %s, %s::real[], %s)"
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for account in accounts:
            turn = texts.turn()
            meaning = (data.vector(turn), data.MODEL) if embedded else (None, None)
            started = time.perf_counter()
            found = connection.execute(recall, [account, turn, *meaning]).fetchall()
            took.append(1000 * (time.perf_counter() - started))
            if found != [("hybrid" if embedded else "lexical", True)]:
                raise RuntimeError(f"recalled {found}")
    kind = "hybrid" if embedded else "lexical"
    print(f"{kind:12} {statistics.median(took):10.1f} ms, {max(took):.1f} ms at most", flush=True)


def measure(conninfo: str, size: int) -> None:
    """What is there, and how large it is."""
    load.verify(conninfo, size)
    query = (
        "select pg_size_pretty(pg_database_size(current_database())),"
        " pg_size_pretty(pg_table_size('memstore.memories')),"
        " pg_size_pretty(pg_indexes_size('memstore.memories'))"
    )
    with psycopg.connect(conninfo) as connection:
        print("database, memories, their indexes:", *connection.execute(query).fetchone() or (), flush=True)


def main() -> int:
    """0 where the upgraded store has what was loaded, and obeys its rules."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.upgrade",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--from", dest="commit", default=None)
    parser.add_argument("--data-dir", type=Path, help="keep the server's data there")
    options = parser.parse_args()
    release = Release(options.commit, "") if options.commit else releases()[0]
    accounts = [data.account(number) for number in range(options.size // load.LIVE)]
    embedded, others = accounts[::EMBEDDED], [each for n, each in enumerate(accounts) if n % EMBEDDED]
    with folder(options.data_dir) as place, server.running(place, None, "2GB") as measured:
        code = place / "code"
        code.mkdir()
        release.unpack(code)
        conninfo = measured.empty(f"upgraded_{options.size}")
        print(f"{options.size} memories, from {release.commit}", flush=True)
        with step("installed"):
            done = run_python(code, INSTALL, conninfo)
            if done.returncode:
                raise RuntimeError(done.stderr)
        with step("loaded"):
            with psycopg.connect(conninfo, autocommit=True) as connection:
                load.users(connection, accounts)
            load.memories(conninfo, embedded, load.LIVE)
            load.memories(conninfo, others, load.LIVE, embedded=False)
        with step("settled"):
            server.settle(conninfo)
        measure(conninfo, options.size)
        for again in (False, True):
            ask(conninfo, list(map(str, others[:TURNS])), embedded=False)
            ask(conninfo, list(map(str, embedded[:TURNS])), embedded=True)
            if not again:
                with step("upgraded"):
                    schema.migrate(conninfo)
        measure(conninfo, options.size)
        with step("verified"), psycopg.connect(conninfo) as connection:
            broken = connection.execute(
                "select invariant, violations, example from memstore.verify_store() where violations > 0"
                " union all select kind, 1, name from memstore.altered_objects()"
            ).fetchall()
        print(*broken, sep="\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
