"""What a call has locked by the time that it waits: nothing else shows what it locked before."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.racing import Call, Connect, held, until, waiting
from tests.sql.support import SYSTEM, account_of, call, insert, rows, steward_of, supersede, value
from tests.sql.world import EVIDENCE_TEXT

HOLD_MEMORY = "select from memstore.memories where id = %s for update"
HOLD_ACCOUNT = "select from memstore.users where id = %s for update"
HOLD_COUNTER = "select from memstore.claim_counter for update"
HOLD_MODEL = "select from memstore.embedding_models where name = 'model' for update"
DELETE = "select memstore.delete_memory(%s, %s)"
DELETE_HISTORY = "select memstore.delete_history(%s, %s)"
MERGE = "select memstore.supersede_with(%s, %s, %s)"
ERASE = "select memstore.delete_user(%s)"
CORRECT = (
    "select memstore.supersede_memory(%s, %s, 'z', embedding => '{1}', embedding_model => 'model',"
    f" evidence_refs => '{EVIDENCE_TEXT}')"
)
EMBED = "select memstore.set_embedding(%s, %s, '{1}', 'model')"

FORGET = "select memstore.forget_embedding_model('model', clear => true)"
ITEM = {
    **{"namespace": ["x"], "key": "k", "value": {}},
    "embeddings": [{"field": "f", "embedding": [1], "embedding_model": "model"}],
}


def locked(connection: psycopg.Connection, table: str, id: UUID, key: str = "id") -> str:
    """How another transaction has locked a row."""
    strength = "not"
    # What each of these waits for is locked at least so.
    for mode, found in (("no key update", "share"), ("share", "no key update"), ("key share", "update")):
        query = f"select from memstore.{table} where {key} = %s for {mode} nowait"
        try:
            connection.execute(query.encode(), [id])
        except psycopg.errors.LockNotAvailable:
            strength = found
    return strength


@contextmanager
def waits(db: psycopg.Connection, connect: Connect, hold: Sequence[Any], *statement: Any) -> Iterator[None]:
    """Meanwhile the call waits for what another session holds; afterwards it succeeds."""
    waiter = connect()
    with held(connect, *hold):
        late = Call(waiter, *statement)
        until(lambda: waiting(db, waiter))
        yield
    assert late.name_of_error is None


@pytest.fixture
def accounts(db: psycopg.Connection) -> list[UUID]:
    """Four stewards, in the order of their ids."""
    return sorted(steward_of(db, name) for name in ("first", "second", "third", "fourth"))


@pytest.fixture
def chain(db: psycopg.Connection, accounts: list[UUID]) -> list[UUID]:
    """Claims of the first three, each in place of the one before; the last has an embedding."""
    claims = [insert(db, accounts[0], "x", **SYSTEM)["id"]]
    for account in accounts[1:3]:
        fields = {"evidence_refs": SYSTEM["evidence_refs"], "embedding": [1], "embedding_model": "model"}
        claims.append(supersede(db, account, claims[-1], "y", **fields)["id"])
    return claims


@pytest.fixture(
    params=[(DELETE, True), (DELETE_HISTORY, True), (ERASE, False)],
    ids=["delete_memory", "delete_history", "delete_user"],
)
def deletion(
    request: pytest.FixtureRequest, accounts: list[UUID], chain: list[UUID]
) -> tuple[list[Any], str]:
    """A call of the second account about its claim, and how it locks the account."""
    statement, named = request.param
    return [statement, accounts[1], *chain[1:2][:named]], "no key update" if named else "update"


def test_a_deletion_locks_the_accounts_of_the_chain_before_its_rows(
    deletion: tuple[list[Any], str],
    db: psycopg.Connection,
    connect: Connect,
    accounts: list[UUID],
    chain: list[UUID],
) -> None:
    with waits(db, connect, (HOLD_MEMORY, min(chain)), *deletion[0]):
        expected = ["no key update", deletion[1], "no key update", "not"]
        assert [locked(db, "users", account) for account in accounts] == expected


def test_a_deletion_locks_its_neighbours_before_the_counter(
    deletion: tuple[list[Any], str],
    db: psycopg.Connection,
    connect: Connect,
    accounts: list[UUID],
    chain: list[UUID],
) -> None:
    with waits(db, connect, (HOLD_COUNTER,), *deletion[0]):
        assert [locked(db, "memories", claim) for claim in chain] == ["update"] * 3


def test_a_deletion_locks_accounts_in_the_order_of_ids(
    deletion: tuple[list[Any], str],
    db: psycopg.Connection,
    connect: Connect,
    accounts: list[UUID],
    chain: list[UUID],
) -> None:
    with waits(db, connect, (HOLD_ACCOUNT, accounts[2]), *deletion[0]):
        assert [locked(db, "users", account) for account in accounts[:2]] == ["no key update", deletion[1]]


def test_a_deletion_locks_rows_in_the_order_of_ids(
    deletion: tuple[list[Any], str],
    db: psycopg.Connection,
    connect: Connect,
    accounts: list[UUID],
    chain: list[UUID],
) -> None:
    *rest, last = sorted(chain)
    with waits(db, connect, (HOLD_MEMORY, last), *deletion[0]):
        assert [locked(db, "memories", claim) for claim in rest] == ["update"] * 2


def test_a_correction_locks_accounts_before_the_claim(
    db: psycopg.Connection, connect: Connect, accounts: list[UUID], chain: list[UUID]
) -> None:
    with waits(db, connect, (HOLD_MEMORY, chain[2]), CORRECT, accounts[3], chain[2]):
        locks = [locked(db, "users", account) for account in accounts]
        assert locks == ["not", "not", "no key update", "no key update"]


def test_a_claim_alone_is_locked_before_the_model_of_its_correction(
    db: psycopg.Connection, connect: Connect, accounts: list[UUID], chain: list[UUID]
) -> None:
    with waits(db, connect, (HOLD_MODEL,), CORRECT, accounts[2], chain[2]):
        locks = [locked(db, "memories", claim) for claim in chain]
        assert locks == ["not", "not", "no key update"]


def test_a_merge_locks_both_memories_in_the_order_of_ids(
    db: psycopg.Connection, connect: Connect, account: UUID
) -> None:
    """Its own UPDATE and the foreign key lock the target first."""
    first, second = sorted(insert(db, account, body)["id"] for body in ("x", "y"))
    with waits(db, connect, (HOLD_MEMORY, second), MERGE, account, second, first):
        assert locked(db, "memories", first) == "no key update"


def test_an_embedding_waits_for_a_deletion(
    db: psycopg.Connection, connect: Connect, accounts: list[UUID], chain: list[UUID]
) -> None:
    waiter = connect()
    with db.transaction():
        rows(db, DELETE, accounts[2], chain[2])
        late = Call(waiter, EMBED, accounts[2], chain[2])
        with connect() as observer:
            until(lambda: waiting(observer, waiter))
    assert late.name_of_error == "memory_not_found"


def test_what_has_a_forgotten_model_is_locked_before_its_name(
    db: psycopg.Connection, connect: Connect, accounts: list[UUID], chain: list[UUID]
) -> None:
    call(db, "put_items", actor=accounts[0], items=[ITEM])
    item = value(db, "select id from memstore.items")
    with waits(db, connect, (HOLD_MODEL,), FORGET):
        assert locked(db, "memories", chain[2]) == "no key update"
        assert locked(db, "item_embeddings", item, "item_id") == "update"


@pytest.mark.parametrize(
    "change",
    [
        "grant_api('{role}')",
        "revoke_api('{role}')",
        "grant_serve('{role}')",
        "bind_role('{role}', memstore.find_user('one'))",
        "unbind_role('{bound}', memstore.find_user('two'))",
        "delete_user(memstore.find_user('two'))",
    ],
    ids=lambda change: change.partition("(")[0],
)
def test_what_roles_hold_is_changed_by_one_at_a_time(change: str, db: psycopg.Connection) -> None:
    role, bound = (f"memstore_locks_{uuid.uuid4().hex[:8]}" for _ in range(2))
    mode = (
        "select max(l.mode) from pg_locks l where l.pid = pg_backend_pid()"
        " and l.relation = 'memstore.api_roles'::regclass and l.mode = 'ShareRowExclusiveLock'"
    )
    db.execute(f"create role {role}; create role {bound}".encode())
    try:
        for account in ("one", "two"):
            rows(db, "select memstore.bind_role(%s, %s)", bound, account_of(db, account))
        with db.transaction(force_rollback=True):
            assert value(db, mode) is None
            db.execute(f"select memstore.{change.format(role=role, bound=bound)}".encode())
            assert value(db, mode) == "ShareRowExclusiveLock"
    finally:
        db.execute(f"drop owned by {role}, {bound} cascade; drop role {role}, {bound}".encode())
