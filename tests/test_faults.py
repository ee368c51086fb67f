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
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from memstore import schema
from memstore.embedded import EmbeddedServer
from tests.databases import LONG, SEEDS

pytestmark = [pytest.mark.long, pytest.mark.parametrize("seed", SEEDS)]

CLIENTS = 8
ROUNDS = 25 if LONG else 2
EVIDENCE = Jsonb([{"kind": "url", "ref": "https://example.org/1", "digest": "sha256:0a"}])
CLAIMS = 8

KINDS = (
    *("insert", "batch", "correct", "delete", "merge"),
    *("propose", "challenge", "refute", "judge"),
    *("put", "put", "token", "revoke"),
)

State = dict[UUID | str, str]
"""What an account holds: memories and records by id, tokens and items by name; what each is, or says."""


PROPOSE = """
select id from memstore.insert_memory(
  %(actor)s, 'It builds.', 'system', slug => 'sys:build', tier => 'glass', as_of => '2026-01-02',
  admission => 'candidate', evidence_refs => %(evidence)s, id => %(id)s)
"""
STORED = """
select id::text, true,
  case when superseded_at is not null then 'dead' when bucket = 'system' then 'claim' else 'live' end
from memstore.memories where user_id = %(account)s
union all
select r.id::text, true, case when a.id is null then r.role else 'answered' end
from memstore.memory_admissions r left join memstore.memory_admissions a on a.challenge_id = r.id
where r.user_id = %(account)s
union all
select key, false, value ->> 'is' from memstore.items where user_id = %(account)s
union all
select name, false, case when revoked_at is null then 'token' else 'revoked' end
from memstore.tokens where user_id = %(account)s
"""


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
        statement, arguments, changed, gone = self.draw()
        self.after = {id: kind for id, kind in {**self.state, **changed}.items() if id not in gone}
        connection.execute(statement.encode(), {"actor": self.account, "evidence": EVIDENCE, **arguments})
        self.state = self.after
        self.calls += 1

    def draw(self) -> tuple[str, dict[str, object], State, set[UUID | str]]:
        """A statement, its arguments, what the account holds then that is new or other, and what has gone."""
        own, challenges, tokens = (
            self.held(*kinds) for kinds in (("live", "claim"), ("challenge",), ("token",))
        )
        live, claim, new = self.held("live"), self.random.choice(self.claims), uuid4()
        match self.random.choice(KINDS):
            case "batch":
                items = [{"id": str(uuid4()), "body": "One of several."} for _ in range(5)]
                query = "select count(*) from memstore.insert_memories(%(actor)s, %(items)s)"
                return query, {"items": Jsonb(items)}, {UUID(item["id"]): "live" for item in items}, set()
            case "correct" if own:
                target = self.random.choice(own)
                query = (
                    "select memstore.supersede_memory(%(actor)s, %(target)s, 'It is not so.', id => %(id)s"
                )
                query += ", evidence_refs => %(evidence)s)" if self.state[target] == "claim" else ")"
                return query, {"target": target, "id": new}, {new: self.state[target], target: "dead"}, set()
            case "delete" if own:
                target = self.random.choice(own)
                return "select memstore.delete_memory(%(actor)s, %(id)s)", {"id": target}, {}, {target}
            case "merge" if len(live) > 1:
                target, replacement = self.random.sample(live, 2)
                query = "select memstore.supersede_with(%(actor)s, %(target)s, %(replacement)s)"
                return query, {"target": target, "replacement": replacement}, {target: "dead"}, set()
            case "propose":
                return PROPOSE, {"id": new}, {new: "claim"}, set()
            case "challenge" if len(challenges) < 150:
                query = "select memstore.challenge_memory(%(actor)s, %(claim)s, 'No.', %(evidence)s, %(id)s)"
                return query, {"claim": claim, "id": new}, {new: "challenge"}, set()
            case "refute" if challenges:
                target = self.random.choice(challenges)
                query = "select memstore.refute_challenge(%(actor)s, %(target)s, 'Yes.', %(id)s)"
                return query, {"target": target, "id": new}, {new: "refutation", target: "answered"}, set()
            case "judge":
                query = "select memstore.record_admission(%(actor)s, %(claim)s, 'admitted', 'Yes.', %(id)s)"
                return query, {"claim": claim, "id": new}, {new: "admission"}, set()
            case "put":
                values: State = {
                    f"item {number}": str(uuid4()) for number in self.random.sample(range(20), 3)
                }
                deleted = self.random.choice([*values, ""])
                puts = [
                    {
                        "namespace": ["of a test"],
                        "key": key,
                        "value": None if key == deleted else {"is": value},
                    }
                    for key, value in values.items()
                ]
                query = "select count(*) from memstore.put_items(%(actor)s, %(items)s)"
                return query, {"items": Jsonb(puts)}, values, {deleted}
            case "token" if len(tokens) < 90:
                query = "select id from memstore.create_token(%(actor)s, %(name)s)"
                return query, {"name": f"token {new}"}, {f"token {new}": "token"}, set()
            case "revoke" if tokens:
                name = self.random.choice(tokens)
                query = (
                    "select memstore.revoke_token(%(actor)s, id)"
                    " from memstore.list_tokens(%(actor)s) where name = %(name)s"
                )
                return query, {"name": name}, {name: "revoked"}, set()
        query = (
            "select memstore.insert_memory(%(actor)s, 'It was written.', id => %(id)s,"
            " embedding => '{1,2}', embedding_model => 'two')"
        )
        return query, {"id": new}, {new: "live"}, set()

    def held(self, *kinds: str) -> list[Any]:
        return [id for id, kind in self.state.items() if kind in kinds]

    def check(self, connection: psycopg.Connection, lost: bool) -> None:
        """Compares with what is stored, and takes that over.

        Args:
            connection: one of the owner.
            lost: whether the call under way may have happened.
        """
        stored: State = {
            UUID(id) if is_id else id: kind
            for id, is_id, kind in connection.execute(STORED, {"account": self.account})
        }
        assert stored in ([self.state, self.after] if lost else [self.state])
        self.state = self.after = stored


def prepare(url: str, seed: int) -> list[Client]:
    """So many accounts of stewards, and claims that they argue about."""
    with psycopg.connect(url, autocommit=True) as connection:

        def create() -> UUID:
            ((account,),) = connection.execute("select memstore.create_user()").fetchall()
            connection.execute("select memstore.set_maximum_live_memories(%s, 1000000)", (account,))
            connection.execute("select memstore.set_steward(%s, true)", (account,))
            result: UUID = account
            return result

        author, claims = create(), [uuid4() for _ in range(CLAIMS)]
        for claim in claims:
            connection.execute(PROPOSE, {"actor": author, "evidence": EVIDENCE, "id": claim})
            connection.execute(
                "select memstore.record_admission(%s, %s, 'admitted', 'Because.')", (author, claim)
            )
        return [Client(create(), claims, seed * CLIENTS + number) for number in range(CLIENTS)]


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
def test_a_killed_server_keeps_what_it_acknowledged(place: Path, seed: int) -> None:
    clients: list[Client] = []
    chance = random.Random(seed)
    for number in range(ROUNDS + 1):
        with EmbeddedServer(place) as server:
            if number == 0:
                schema.migrate(server.url)
                clients = prepare(server.url, seed)
            check_all(server.url, clients, lost=True)
            if number == ROUNDS:
                break

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
    print(f"{sum(client.calls for client in clients)} calls")


def test_terminated_backends(db_url: str, seed: int) -> None:
    clients = prepare(db_url, seed)
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
def test_timeouts(db_url: str, kind: str, seed: int) -> None:
    clients = prepare(db_url, seed)
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
