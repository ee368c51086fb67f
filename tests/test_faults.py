"""Faults in the middle of calls: what was acknowledged is there, and nothing is half done.

Each client knows what its account has to hold. A call whose answer was lost happened whole or not at all, so
what is stored is what the client knew before it, or after it.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from memstore import schema
from memstore.embedded import EmbeddedServer

pytestmark = pytest.mark.long

CLIENTS = 8
ROUNDS = 25 if os.environ.get("MEMSTORE_LONG") else 2
EVIDENCE = Jsonb([{"kind": "url", "ref": "https://example.org/1", "digest": "sha256:0a"}])
CLAIMS = 8

State = dict[UUID, str]
"""What an account holds: of each memory and record whether it is live, dead, or a challenge."""


@dataclass
class Client:
    """One account, and what was acknowledged to it."""

    account: UUID
    claims: list[UUID]
    seed: int
    state: State = field(default_factory=dict)
    after: State = field(default_factory=dict)
    """What the account holds if the call under way happened."""
    calls: int = 0
    failures: int = 0
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def call(self, connection: psycopg.Connection) -> None:
        """Writes something; raises what the driver raises."""
        live = [id for id, kind in self.state.items() if kind == "live"]
        kind = self.random.choice(["insert", "batch", "correct", "delete", "merge", "challenge"])
        new = uuid4()
        self.after = dict(self.state)
        if kind == "challenge" and list(self.state.values()).count("challenge") < 150:
            self.random.shuffle(self.claims)
            # The database chooses a record's id: until its answer is there, another one stands for it.
            self.after[new] = "challenge"
            (row,) = connection.execute(
                "select id from memstore.challenge_memory(%s, %s, 'Because.', %s)",
                (self.account, self.claims[0], EVIDENCE),
            ).fetchall()
            del self.after[new]
            self.after[row[0]] = "challenge"
        elif kind == "correct" and live:
            target = self.random.choice(live)
            self.after |= {target: "dead", new: "live"}
            connection.execute(
                "select memstore.supersede_memory(%s, %s, 'It was corrected.', id => %s)",
                (self.account, target, new),
            )
        elif kind == "merge" and len(live) > 1:
            target, replacement = self.random.sample(live, 2)
            self.after[target] = "dead"
            connection.execute(
                "select memstore.supersede_with(%s, %s, %s)", (self.account, target, replacement)
            )
        elif kind == "delete" and live:
            target = self.random.choice(live)
            del self.after[target]
            connection.execute("select memstore.delete_memory(%s, %s)", (self.account, target))
        elif kind == "batch":
            items = [{"id": str(uuid4()), "body": "One of several."} for _ in range(5)]
            self.after |= {UUID(item["id"]): "live" for item in items}
            connection.execute(
                "select count(*) from memstore.insert_memories(%s, %s)", (self.account, Jsonb(items))
            )
        else:
            self.after[new] = "live"
            connection.execute(
                "select memstore.insert_memory(%s, 'It was written.', id => %s,"
                " embedding => '{1,2}', embedding_model => 'two')",
                (self.account, new),
            )
        self.state = dict(self.after)
        self.calls += 1

    def check(self, connection: psycopg.Connection, lost: bool) -> None:
        """Compares with what is stored, and takes that over.

        Args:
            connection: one of the owner.
            lost: whether the call under way may have happened.
        """
        stored: State = dict(
            connection.execute(
                "select id, case when superseded_at is null then 'live' else 'dead' end"
                " from memstore.memories where user_id = %(account)s union all"
                " select id, 'challenge' from memstore.memory_admissions where user_id = %(account)s",
                {"account": self.account},
            ).fetchall()
        )
        possible = [self.state, self.after] if lost else [self.state]
        assert _shape(stored) in [_shape(each) for each in possible]
        known = {id for id, kind in self.state.items() if kind == "challenge"}
        assert known <= stored.keys()
        self.state = self.after = stored


def _shape(state: State) -> tuple[State, int]:
    """The memories, and how many challenges there are: the id of one is known when it is acknowledged."""
    memories = {id: kind for id, kind in state.items() if kind != "challenge"}
    return memories, len(state) - len(memories)


def prepare(url: str) -> list[Client]:
    """So many accounts, and claims that they challenge."""
    with psycopg.connect(url, autocommit=True) as connection:

        def create() -> UUID:
            ((account,),) = connection.execute("select memstore.create_user()").fetchall()
            connection.execute("select memstore.set_maximum_live_memories(%s, 1000000)", (account,))
            result: UUID = account
            return result

        steward = create()
        connection.execute("select memstore.set_steward(%s, true)", (steward,))
        claims = []
        for _ in range(CLAIMS):
            ((claim,),) = connection.execute(
                "select id from memstore.insert_memory(%s, 'It builds.', 'system', slug => 'sys:build',"
                " tier => 'glass', as_of => '2026-01-02', admission => 'candidate', evidence_refs => %s)",
                (steward, EVIDENCE),
            ).fetchall()
            connection.execute(
                "select memstore.record_admission(%s, %s, 'admitted', 'Because.')", (steward, claim)
            )
            claims.append(claim)
        return [Client(create(), list(claims), seed) for seed in range(CLIENTS)]


def check_all(url: str, clients: list[Client], lost: bool) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for client in clients:
            client.check(connection, lost)
        broken = connection.execute(
            "select invariant, violations, example from memstore.verify_store() where violations > 0"
        ).fetchall()
        assert broken == []


@contextmanager
def writing(clients: list[Client], work: Callable[[Client], None]) -> Iterator[None]:
    """Has all clients work meanwhile, and raises what they raise."""
    with ThreadPoolExecutor(len(clients)) as threads:
        futures = [threads.submit(work, client) for client in clients]
        yield
        for future in futures:
            future.result()


def kill(data_dir: Path) -> None:
    """Kills the server with all its processes, as a power failure does."""
    postmaster = int((data_dir / "cluster" / "postmaster.pid").read_bytes().split()[0])
    os.kill(postmaster, signal.SIGSTOP)  # so that it replaces no process meanwhile
    backends = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for pid in [postmaster, *map(int, backends)]:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory on disk that the server's account can reach."""
    with tempfile.TemporaryDirectory(prefix="memstore-faults-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder, "data")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_a_killed_server_keeps_what_it_acknowledged(place: Path) -> None:
    clients: list[Client] = []
    chance = random.Random(1)
    for number in range(ROUNDS):
        with EmbeddedServer(place) as server:
            if number == 0:
                schema.migrate(server.url)
                clients = prepare(server.url)

            def work(client: Client, url: str = server.url) -> None:
                # The end of the server is the only thing that may go wrong.
                with pytest.raises(psycopg.OperationalError), psycopg.connect(url, autocommit=True) as own:
                    while True:
                        client.call(own)

            before = sum(client.calls for client in clients)
            with writing(clients, work):
                deadline = time.monotonic() + 30
                while sum(client.calls for client in clients) < before + 40 and time.monotonic() < deadline:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, 0.3))
                kill(place)
        assert sum(client.calls for client in clients) >= before + 40
        with EmbeddedServer(place) as server:
            check_all(server.url, clients, lost=True)


def test_terminated_backends(db_url: str) -> None:
    clients = prepare(db_url)
    done = Event()

    def work(client: Client) -> None:
        with psycopg.connect(db_url, autocommit=True) as checking:
            while not done.is_set():
                with psycopg.connect(db_url, autocommit=True, application_name="victim") as own:
                    try:
                        while not done.is_set():
                            client.call(own)
                    except psycopg.OperationalError:
                        client.failures += 1
                        gone = "select from pg_stat_activity where pid = %s"
                        while checking.execute(gone, (own.info.backend_pid,)).fetchone() is not None:
                            time.sleep(0.001)
                        client.check(checking, lost=True)

    with writing(clients, work), psycopg.connect(db_url, autocommit=True) as killer:
        try:
            for _ in range(20 * ROUNDS):
                time.sleep(0.02)
                killer.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'"
                    " and state = 'active' and datname = current_database() order by random() limit 1"
                )
        finally:
            done.set()
    assert sum(client.failures for client in clients) >= ROUNDS
    check_all(db_url, clients, lost=False)


@pytest.mark.parametrize("kind", ["statement_timeout", "lock_timeout"])
def test_timeouts(db_url: str, kind: str) -> None:
    clients = prepare(db_url)
    done = Event()

    def work(client: Client) -> None:
        options = f"-c {kind}={client.seed % 4 + 1}ms"
        with psycopg.connect(db_url, autocommit=True, options=options) as own:
            while not done.is_set():
                try:
                    client.call(own)
                except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable):
                    client.failures += 1
                    client.after = client.state
                except psycopg.errors.DeadlockDetected:
                    raise AssertionError("calls lock in one order") from None

    with writing(clients, work), psycopg.connect(db_url) as blocker:
        try:
            for _ in range(10 * ROUNDS):
                victims = [client.account for client in random.Random(0).sample(clients, 4)]
                with blocker.transaction():
                    blocker.execute(
                        "select from memstore.users where id = any (%s) order by id for update", (victims,)
                    )
                    time.sleep(0.02)
                time.sleep(0.02)
        finally:
            done.set()
    assert sum(client.failures for client in clients) >= ROUNDS
    assert sum(client.calls for client in clients) >= ROUNDS
    check_all(db_url, clients, lost=False)
