"""Random calls over several accounts, each held against a plain Python store of the domain's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from math import hypot
from operator import mul
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.databases import LONG, SEEDS
from tests.sql import model
from tests.sql.support import EVIDENCE, SYSTEM, call, refused, rows, value

pytestmark = pytest.mark.long

NAMES = ("a", "ab", "a_1", "%", "A")
STEWARDS = ("ab", "A")
WORDS = ("apple", "brick", "cloud")
CEILING = 5
NOBODY = UUID(int=0)
ROLE = "memstore_of_the_model"
# Characters that a recall may have: sums of bodies, and less.
ROOMS = (0, 5, 10, 11, 16, 17, 22, 27, 28, 34, 60)
IDS = tuple(UUID(int=number) for number in range(1, 9))
PATHS = (("a", "x"), ("a", "y"), ("a.b", "x"), ("b", "x"), ("b", "%"))
MOST_ITEMS = 3
PARTS = 8 if LONG else 1

names = st.sampled_from(NAMES)
stewards = st.sampled_from((*STEWARDS, *STEWARDS, "a"))
bodies = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
buckets = st.sampled_from(["user", "learned", "system"])
ids = st.one_of(st.none(), st.none(), st.sampled_from(IDS))
picks = st.integers(0, 30)
vectors = st.sampled_from(
    [None, (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (-1.0, 0.25), (1.0, 4.0), (1.0, 2.0, 3.0)]
)
models = st.sampled_from(["m", "m", "n"])
paths = st.sampled_from(PATHS)


@dataclass
class Row:
    """A memory, as the model keeps it."""

    id: UUID
    user: UUID
    bucket: str
    body: str
    as_of: str | None
    inserted_at: datetime
    superseded_at: datetime | None = None
    target: UUID | None = None
    promoted: bool = False
    embedding: tuple[str, tuple[float, ...]] | None = None
    """Its model, and its vector."""

    @property
    def claim(self) -> bool:
        """Whether records may be about it."""
        return self.bucket == "system" and not self.promoted


@dataclass
class Item:
    """An item, as the model keeps it."""

    value: int
    version: int


@dataclass
class Token:
    """A token, as the model keeps it."""

    user: UUID
    digest: bytes
    live: bool = True


def likeness(row: Row, turn: tuple[float, ...] | None) -> float | None:
    """The cosine of a row's embedding and a turn's, where both are of the model m."""
    if turn is None or row.embedding is None or row.embedding[0] != "m" or len(row.embedding[1]) != len(turn):
        return None
    vector = row.embedding[1]
    product: float = sum(map(mul, vector, turn))
    return product / hypot(*vector) / hypot(*turn)


class Machine(RuleBasedStateMachine):
    """The calls; ``connection`` is set before a run, and each run is rolled back."""

    connection: psycopg.Connection

    def __init__(self) -> None:
        super().__init__()
        self.db = self.connection
        self.outer = self.db.transaction(force_rollback=True)
        self.outer.__enter__()
        self.accounts: dict[str, UUID] = {}
        self.ceilings: dict[UUID, int] = {}
        self.memories: dict[UUID, Row] = {}
        self.records: list[model.Record] = []
        self.shared = False
        self.steps = self.calls = 0
        self.stewards = set(STEWARDS)
        self.bound: set[UUID] = set()
        self.items: dict[UUID, dict[tuple[str, str], Item]] = {}
        self.tokens: dict[UUID, Token] = {}
        self.db.execute(f"create role {ROLE}".encode())
        self.db.execute("select memstore.configure(system_recall_enabled => false)")
        for name in NAMES:
            self.insert(name, WORDS[0], "learned", None)
            self.insert(name, WORDS[1], "system", None)

    def teardown(self) -> None:
        self.outer.__exit__(None, None, None)

    def call(self, function: str, **arguments: object) -> list[dict[str, Any]]:
        """The call; for a bound account by turns as the role that is bound to it."""
        self.calls += 1
        actor = arguments.get("actor")
        if actor not in self.bound or function == "delete_user" or self.calls % 3 == 0:
            return call(self.db, function, **arguments)
        if len(self.bound) == 1 and self.calls % 3 == 1:
            del arguments["actor"]
        self.db.execute(f"set role {ROLE}".encode())
        told = call(self.db, f"my_{function}", **arguments)
        self.db.execute("reset role")
        return told

    def account(self, name: str) -> UUID:
        """The account of this name, made again after its erasure."""
        if name not in self.accounts:
            account = value(self.db, "select memstore.create_user(null, %s, 'simple')", name)
            assert account not in self.accounts.values()
            self.db.execute("select memstore.set_steward(%s, %s)", [account, name in self.stewards])
            self.db.execute("select memstore.set_maximum_live_memories(%s, %s)", [account, CEILING])
            self.db.execute("select memstore.set_maximum_items(%s, %s)", [account, MOST_ITEMS])
            self.accounts[name], self.ceilings[account] = account, CEILING
            self.items[account] = {}
        return self.accounts[name]

    def do(self, refusal: str | None, function: str, **arguments: object) -> list[dict[str, Any]] | None:
        """The call's rows, or None where it is refused, as the model says it is."""
        try:
            with self.db.transaction():
                result = self.call(function, **arguments)
        except psycopg.Error as error:
            assert error.diag.constraint_name == refusal, f"{function}: {error}, expected {refusal}"
            return None
        assert refusal is None, f"{function} succeeded, expected {refusal}"
        return result

    def pick(self, number: int, account: UUID | None = None) -> UUID:
        """A memory: most numbers mean a live one of the account's, where one is given; the last mean none."""
        mine = self.live(account) if account and number % 4 else []
        found = sorted(mine or self.memories.values(), key=lambda row: (row.inserted_at, row.id))
        return found[-1 - number % len(found)].id if found and number < 28 else NOBODY

    def live(self, account: UUID) -> list[Row]:
        return [r for r in self.memories.values() if r.user == account and r.superseded_at is None]

    def room(self, account: UUID) -> int:
        return self.ceilings[account] - sum(not r.promoted for r in self.live(account))

    def is_steward(self, account: UUID) -> bool:
        return any(self.accounts.get(name) == account for name in self.stewards)

    def add(self, told: dict[str, Any], as_of: str | None, promoted: bool = False) -> Row:
        row = Row(
            told["id"],
            told["user_id"],
            told["bucket"],
            told["body"],
            as_of,
            told["inserted_at"],
            None,
            None,
            promoted,
        )
        self.memories[row.id] = row
        return row

    def same(self, row: Row | None, account: UUID, bucket: str, body: str) -> bool:
        """Whether a repeated insert of this is one."""
        as_of = "given" if bucket == "system" else None
        return row is not None and (row.user, row.bucket, row.body, row.as_of) == (
            account,
            bucket,
            body,
            as_of,
        )

    def twin(self, account: UUID, bucket: str, body: str) -> Row | None:
        """The oldest live memory of the account that is the same."""
        same = [r for r in self.live(account) if self.same(r, account, bucket, body) and not r.promoted]
        return min(same, key=lambda row: (row.inserted_at, row.id), default=None)

    def forget(self, gone: set[UUID]) -> None:
        """What goes with memories: pointers to them move on, and their records go."""
        for row in self.memories.values():
            while row.id not in gone and row.target in gone:
                row.target = self.memories[row.target].target
        for id in gone:
            del self.memories[id]
        self.records = [r for r in self.records if r.memory_id not in gone]

    def statuses(self) -> dict[UUID, str]:
        return model.statuses([r.id for r in self.memories.values() if r.claim], self.records)

    @rule(name=names, body=bodies, bucket=buckets, id=ids)
    def insert(self, name: str, body: str, bucket: str, id: UUID | None) -> None:
        account = self.account(name)
        stored = self.memories.get(id) if id else self.twin(account, bucket, body)
        refusal = None
        if stored:
            refusal = None if self.same(stored, account, bucket, body) else "id_taken"
        elif self.room(account) < 1:
            refusal = "quota_reached"
        more = SYSTEM if bucket == "system" else {"bucket": bucket}
        told = self.do(refusal, "insert_memory", actor=account, body=body, id=id, **more)
        if told and stored:
            assert (told[0]["id"], told[0]["inserted_at"]) == (stored.id, stored.inserted_at)
        elif told:
            assert (told[0]["user_id"], told[0]["body"], told[0]["id"]) == (
                account,
                body,
                id or told[0]["id"],
            )
            self.add(told[0], "given" if bucket == "system" else None)

    @rule(name=names, items=st.lists(st.tuples(bodies, buckets, ids), max_size=4))
    def batch(self, name: str, items: list[tuple[str, str, UUID | None]]) -> None:
        account = self.account(name)
        first: dict[UUID, tuple[str, str]] = {}
        places: dict[tuple[str, str], int] = {}
        taken, new = False, 0
        for place, (body, bucket, id) in enumerate(items):
            if id in self.memories:
                taken |= not self.same(self.memories[id], account, bucket, body)
            elif id in first:
                taken |= first[id] != (body, bucket)
            elif id or not (self.twin(account, bucket, body) or (body, bucket) in places):
                new += 1
                places.setdefault((body, bucket), place)
                if id:
                    first[id] = (body, bucket)
        refusal = "quota_reached" if new > max(self.room(account), 0) else "id_taken" if taken else None
        asked = [
            {**(SYSTEM if bucket == "system" else {"bucket": bucket}), "body": body, "id": id and str(id)}
            for body, bucket, id in items
        ]
        told = self.do(refusal, "insert_memories", actor=account, memories=asked)
        if told is not None:
            assert [t["body"] for t in told] == [body for body, _, _ in items]
            for row, (body, bucket, id) in zip(told, items, strict=True):
                if id is None:
                    twin = self.twin(account, bucket, body)
                    assert row["id"] == (twin.id if twin else told[places[body, bucket]]["id"])
            for row in told:
                if row["id"] not in self.memories:
                    self.add(row, "given" if row["bucket"] == "system" else None)

    @rule(
        name=names,
        number=picks,
        body=bodies,
        bucket=st.none() | buckets,
        id=ids,
        shared=st.booleans(),
    )
    def supersede(
        self, name: str, number: int, body: str, bucket: str | None, id: UUID | None, shared: bool
    ) -> None:
        account = self.account(name)
        author = None if self.is_steward(account) or number % 5 == 0 else account
        chosen = self.claims(number, author) if shared else self.pick(number, account)
        target = self.memories.get(chosen)
        steward = self.is_steward(account)
        refusal, replay = None, None
        if (
            not target
            or (target.user != account and not (steward and target.bucket == "system"))
            or (bucket is not None and (bucket == "system") != (target.bucket == "system"))
        ):
            refusal = "not_supersedable"
        elif target.superseded_at:
            stored = self.memories.get(id) if id else None
            wanted = (account, bucket or target.bucket, body, False)
            if (
                stored
                and stored.id == target.target
                and (stored.user, stored.bucket, stored.body, stored.promoted) == wanted
            ):
                replay = stored
            else:
                refusal = "not_supersedable"
        elif id in self.memories:
            refusal = "id_taken"
        elif (target.user != account or target.promoted) and self.room(account) < 1:
            refusal = "quota_reached"
        more: dict[str, Any] = {"evidence_refs": [EVIDENCE]} if target and target.bucket == "system" else {}
        told = self.do(
            refusal,
            "supersede_memory",
            **{
                "actor": account,
                "target": chosen,
                "body": body,
                "bucket": bucket,
                "id": id,
                **more,
            },
        )
        if told and replay:
            assert told[0]["inserted_at"] == replay.inserted_at
        elif told and target:
            self.replace(account, target, self.add(told[0], "today" if target.bucket == "system" else None))

    @rule(name=names, number=picks, same=st.booleans())
    def correct_again(self, name: str, number: int, same: bool) -> None:
        account = self.account(name)
        dead = [r for r in self.listed(account) if r.target and self.memories[r.target].user == account]
        if not dead:
            return
        target = dead[number % len(dead)]
        assert target.target
        row = self.memories[target.target]
        refusal = None if same and not row.promoted else "not_supersedable"
        if target.bucket == "system" and row.as_of == "given":
            return
        more: dict[str, Any] = {"evidence_refs": [EVIDENCE]} if target.bucket == "system" else {}
        told = self.do(
            refusal,
            "supersede_memory",
            actor=account,
            target=target.id,
            body=row.body if same else row.body + " too",
            bucket=row.bucket,
            id=row.id,
            **more,
        )
        if told:
            assert (told[0]["id"], told[0]["inserted_at"]) == (row.id, row.inserted_at)

    @rule(name=names, number=picks, vector=vectors, kind=models)
    def embed(self, name: str, number: int, vector: tuple[float, ...] | None, kind: str) -> None:
        account = self.account(name)
        row = self.memories.get(self.pick(number, account))
        widths = {
            len(r.embedding[1]) for r in self.memories.values() if r.embedding and r.embedding[0] == kind
        }
        refusal = None
        if row is None or row.user != account:
            refusal = "memory_not_found"
        elif vector and widths - {len(vector)}:
            if all(r is row or not r.embedding or r.embedding[0] != kind for r in self.memories.values()):
                return  # whether its own vector counts, the rules don't say
            refusal = "embedding_dimensions_differ"
        told = self.do(
            refusal,
            "set_embedding",
            actor=account,
            id=row.id if row else NOBODY,
            embedding=list(vector) if vector else None,
            embedding_model=kind if vector else None,
        )
        if told and row:
            row.embedding = (kind, vector) if vector else None
            assert told[0]["embedding_model"] == (kind if vector else None)

    @rule(on=st.booleans())
    def share(self, on: bool) -> None:
        self.do(None, "configure", system_recall_enabled=on)
        self.shared = on

    def replace(self, account: UUID, target: Row, row: Row) -> None:
        assert row.user == account and row.inserted_at > target.inserted_at
        target.superseded_at, target.target = row.inserted_at, row.id
        if self.is_steward(account) and target.claim:
            for c in model.open_challenges(self.records):
                if c.memory_id == target.id:
                    self.records.append(
                        model.Record(
                            uuid4(), target.id, account, "refutation", None, c.id, False, row.inserted_at
                        )
                    )

    @rule(name=names, number=picks, other=picks, owner=names)
    def merge(self, name: str, number: int, other: int, owner: str) -> None:
        account = self.account(name)
        ends = [self.pick(number, account), self.pick(other, self.account(owner) if other % 2 else account)]
        found = [self.memories.get(id) for id in ends]
        fine = ends[0] != ends[1] and all(
            r and r.user == account and not r.superseded_at and r.bucket != "system" for r in found
        )
        told = self.do(
            None if fine else "not_supersedable",
            "supersede_with",
            actor=account,
            target=ends[0],
            replacement=ends[1],
        )
        if told and found[0]:
            found[0].superseded_at, found[0].target = told[0]["superseded_at"], ends[1]

    @rule(name=names, number=picks, dead=st.booleans())
    def delete(self, name: str, number: int, dead: bool) -> None:
        account = self.account(name)
        row = self.memories.get(self.pick(number, account))
        # One in the middle of a chain.
        middles = [
            r
            for r in self.listed(account)
            if r.target and any(p.target == r.id for p in self.memories.values())
        ]
        if dead and middles:
            row = middles[number % len(middles)]
        mine = row is not None and row.user == account
        refusal = None if mine else "memory_not_found"
        if self.do(refusal, "delete_memory", actor=account, id=row.id if row else NOBODY) and row:
            self.forget({row.id})

    @rule(name=names, sure=st.integers(0, 3))
    def erase(self, name: str, sure: int) -> None:
        if not sure and name in self.accounts:
            self.erased(name)

    def erased(self, name: str) -> None:
        account = self.accounts[name]
        gone = {r.id for r in self.memories.values() if r.user == account}
        told = self.do(None, "delete_user", actor=account)
        assert told and list(told[0].values()) == [len(gone)]
        self.forget(gone)
        del self.accounts[name], self.items[account]
        self.bound.discard(account)
        self.do("actor_unknown", "list_memories", actor=account)
        left = rows(
            self.db, "select external_ref, erased_at is null from memstore.users where id = %s", account
        )
        assert left == [(None, False)] * any(r.user_id == account for r in self.records)
        for token in [t for t in self.tokens.values() if t.user == account]:
            self.do("token_invalid", "authenticate_token", digest=token.digest)
        self.tokens = {id: token for id, token in self.tokens.items() if token.user != account}

    @rule(name=names, sure=st.integers(0, 3))
    def move(self, name: str, sure: int) -> None:
        """Erased, and imported again from an export: without records, and pointers to others' claims."""
        if sure or name not in self.accounts:
            return
        account, items = self.accounts[name], self.items[self.accounts[name]]
        mine = {r.id: replace(r) for r in self.listed(account)}
        memories = [e for row in self.call("export_memories", actor=account) for e in row.values()]
        exported = [e for row in self.call("export_items", actor=account) for e in row.values()]
        again = self.do(None, "import_memories", user_id=account, memories=memories)
        assert again is not None and [t["id"] for t in again] == [UUID(each["id"]) for each in memories]
        self.erased(name)
        new = self.account(name)
        told = self.do(None, "import_memories", user_id=new, memories=memories, raise_ceiling=True)
        assert told is not None and {t["id"] for t in told} == mine.keys()
        for row in mine.values():
            row.user, row.target = new, row.target if row.target in mine else None
        self.memories |= mine
        self.ceilings[new] = max(self.ceilings[new], sum(not r.promoted for r in self.live(new)))
        assert self.do(None, "import_items", user_id=new, items=exported) is not None
        stored = rows(
            self.db, "select namespace[1], key, version from memstore.items where user_id = %s", new
        )
        self.items[new] = {(label, key): Item(items[label, key].value, at) for label, key, at in stored}
        assert self.items[new].keys() == items.keys()

    @rule(
        name=names,
        puts=st.dictionaries(paths, st.none() | st.integers(0, 9), min_size=1),
        held=st.integers(0, 5),
    )
    def put(self, name: str, puts: dict[tuple[str, str], int | None], held: int) -> None:
        """Held to a version are the first one's: its own, another or none."""
        account = self.account(name)
        items, first = self.items[account], next(iter(puts))
        has = items[first].version if first in items else 0
        version = {0: has, 1: has, 2: 0, 3: 1}.get(held)
        after = {**items, **{path: Item(number, 0) for path, number in puts.items() if number is not None}}
        for path, number in puts.items():
            if number is None:
                after.pop(path, None)
        refusal = None
        if version not in (None, has):
            refusal = "item_changed"
        elif len(after) > max(MOST_ITEMS, len(items)):
            refusal = "quota_reached"
        asked: list[dict[str, Any]] = [
            {
                "namespace": [label],
                "key": key,
                "value": None if number is None else {"n": number, "s": f"word{number}"},
            }
            for (label, key), number in puts.items()
        ]
        if version is not None:
            asked[0]["if_version"] = version
        told = self.do(refusal, "put_items", actor=account, items=asked)
        if told is not None:
            for (path, number), row in zip(puts.items(), told, strict=True):
                (given,) = row.values()
                assert (given is None) == (number is None)
                if number is not None:
                    assert all(
                        given > item.version for others in self.items.values() for item in others.values()
                    )
                    after[path].version = given
            self.items[account] = after

    @rule(name=names, path=paths, number=st.integers(0, 9))
    def find(self, name: str, path: tuple[str, str], number: int) -> None:
        account = self.account(name)
        items = self.items[account]
        (label, key) = path
        told = self.call("get_items", actor=account, keys=[{"namespace": [label], "key": key}])
        assert [(t["value"]["n"], t["version"]) for t in told] == [
            (item.value, item.version) for where, item in items.items() if where == path
        ]
        found = rows(
            self.db,
            "select (item).namespace[1], (item).key, score from memstore.search_items(%s, array[%s], %s)",
            account,
            label,
            f"word{number}",
        )
        under = {where: item for where, item in items.items() if where[0] == label}
        assert {(space, name): score is not None and score > 0 for space, name, score in found} == {
            where: item.value == number for where, item in under.items()
        }
        spaces = self.call("list_item_namespaces", actor=account)
        assert sorted(label for space in spaces for (label,) in space.values()) == sorted(
            {label for label, _ in items}
        )

    @rule(name=names)
    def admit_program(self, name: str) -> None:
        account = self.account(name)
        for told in self.do(None, "create_token", user_id=account, name=name) or ():
            self.tokens[told["id"]] = Token(account, sha256(told["token"].encode()).digest())

    @rule(name=names, number=picks)
    def revoke(self, name: str, number: int) -> None:
        account = self.account(name)
        found = sorted(id for id, token in self.tokens.items() if number % 4 == 0 or token.user == account)
        id = found[number % len(found)] if found and number < 28 else NOBODY
        token = self.tokens.get(id)
        mine = token is not None and token.user == account
        told = self.do(None if mine else "token_invalid", "revoke_token", actor=account, id=id)
        if told and token:
            assert [*told[0].values()] == [token.live]
            token.live = False

    @invariant()
    def admits(self) -> None:
        """A token names its account until it is revoked."""
        for name, account in self.accounts.items():
            told = self.call("list_tokens", actor=account)
            assert {t["id"]: t["revoked_at"] is None for t in told} == {
                id: token.live for id, token in self.tokens.items() if token.user == account
            }, name
        if self.tokens:
            token = Random(self.steps).choice(list(self.tokens.values()))
            named = self.do(
                None if token.live else "token_invalid", "authenticate_token", digest=token.digest
            )
            assert named is None or named[0]["actor"] == token.user

    @invariant()
    def keeps(self) -> None:
        """Items are what the model has, and are counted."""
        stored = rows(
            self.db,
            "select user_id, namespace[1], key, (value ->> 'n')::integer, version from memstore.items",
        )
        assert {(user, (label, key)): (number, version) for user, label, key, number, version in stored} == {
            (user, path): (item.value, item.version)
            for user, items in self.items.items()
            for path, item in items.items()
        }
        counted = rows(self.db, "select id, stored_items from memstore.users where erased_at is null")
        assert dict(counted) == {account: len(items) for account, items in self.items.items()}

    @invariant()
    def is_sound(self) -> None:
        """At each tenth step, since it reads everything."""
        if self.steps % 10 == 0:
            assert (
                rows(self.db, "select invariant, example from memstore.verify_store() where violations > 0")
                == []
            )

    @rule(name=names, ceiling=st.integers(0, 8))
    def lower(self, name: str, ceiling: int) -> None:
        account = self.account(name)
        self.do(None, "set_maximum_live_memories", user_id=account, maximum_live_memories=ceiling)
        self.ceilings[account] = ceiling

    @rule(name=names, on=st.booleans())
    def steward(self, name: str, on: bool) -> None:
        self.do(None, "set_steward", user_id=self.account(name), steward=on)
        self.stewards = self.stewards | {name} if on else self.stewards - {name}

    @rule(name=names, on=st.booleans())
    def bind(self, name: str, on: bool) -> None:
        account = self.account(name)
        refusal = None if on or account in self.bound else "argument_invalid"
        self.do(refusal, "bind_role" if on else "unbind_role", role=ROLE, user_id=account)
        self.bound = self.bound | {account} if on else self.bound - {account}

    def note(self, told: list[dict[str, Any]] | None) -> None:
        for t in told or []:
            self.records.append(
                model.Record(
                    t["id"],
                    t["memory_id"],
                    t["user_id"],
                    t["role"],
                    t["verdict"],
                    t["challenge_id"],
                    t["evidence_refs"] is not None,
                    t["inserted_at"],
                )
            )

    def claims(self, number: int, author: UUID | None = None) -> UUID:
        """A claim: of odd numbers one with open challenges, where there is one."""
        found = [r for r in self.memories.values() if r.claim and author in (None, r.user)]
        waiting = {r.memory_id for r in model.open_challenges(self.records)}
        challenged = [r for r in found if r.id in waiting and not r.superseded_at] if number % 2 else []
        found = sorted(challenged or found, key=lambda r: (r.inserted_at, r.id))
        return found[-1 - number % len(found)].id if found and number < 28 else self.pick(number)

    @rule(name=stewards, number=picks, verdict=st.sampled_from(["admitted", "admitted", "rejected"]))
    def admit(self, name: str, number: int, verdict: str) -> None:
        account, row = self.account(name), self.memories.get(self.claims(number))
        refusal = None if row and row.claim else "record_target_not_found"
        if not self.is_steward(account):
            refusal = "steward_required"
        asked = {"actor": account, "memory_id": self.claims(number), "verdict": verdict, "ground": "Because."}
        self.note(self.do(refusal, "record_admission", **asked))

    @rule(name=names, number=picks, evidenced=st.booleans())
    def challenge(self, name: str, number: int, evidenced: bool) -> None:
        account, row = self.account(name), self.memories.get(self.claims(number))
        refusal = None if row and row.claim else "record_target_not_found"
        given = {"evidence_refs": [EVIDENCE]} if evidenced else {}
        asked = {"actor": account, "memory_id": self.claims(number), "ground": "No.", **given}
        self.note(self.do(refusal, "challenge_memory", **asked))

    @rule(name=stewards, number=picks)
    def refute(self, name: str, number: int) -> None:
        account = self.account(name)
        found = [r.id for r in self.records if r.role == "challenge"]
        refusal = None if found else "challenge_not_found"
        if not self.is_steward(account):
            refusal = "steward_required"
        id = found[number % len(found)] if found else NOBODY
        self.note(self.do(refusal, "refute_challenge", actor=account, challenge_id=id, ground="Yes."))

    @rule(name=stewards, number=picks)
    def promote(self, name: str, number: int) -> None:
        account, row = self.account(name), self.memories.get(self.claims(number))
        refusal = None if row and row.claim and not row.superseded_at else "not_supersedable"
        if not self.is_steward(account):
            refusal = "steward_required"
        asked = {
            "actor": account,
            "target": self.claims(number),
            "stance": "it-is",
            "evidence_refs": [EVIDENCE],
        }
        told = self.do(refusal, "promote_memory", **asked)
        if told and row:
            self.replace(account, row, self.add(told[0], "today", promoted=True))

    @rule(name=names, number=picks)
    def read_one(self, name: str, number: int) -> None:
        account = self.account(name)
        id = self.pick(number, account)
        row = self.memories.get(id)
        mine = row is not None and row.user == account
        self.do(None if mine else "memory_not_found", "get_memory", actor=account, id=id)
        if row is None or not (mine or (row.bucket == "system" and self.is_steward(account))):
            self.do("memory_not_found", "memory_history", actor=account, id=id)
            return
        mine_all = self.listed(account)
        chain = {row.id}
        while (target := self.memories[row.id].target) is not None:
            chain.add(target)
            row = self.memories[target]
        while more := {r.id for r in self.memories.values() if r.target in chain} - chain:
            chain |= more
        expected = sorted((self.memories[m] for m in chain), key=lambda r: (r.inserted_at, r.id))
        told = self.call("memory_history", actor=account, id=id)
        assert [t["id"] for t in told] == [r.id for r in expected]
        moments = sorted({m for r in mine_all for m in (r.inserted_at, r.superseded_at) if m})
        moment = moments[number % len(moments)] if moments else row.inserted_at
        told = self.call("memories_as_of", actor=account, moment=moment)
        assert [t["id"] for t in told] == [
            r.id
            for r in mine_all
            if r.inserted_at <= moment and (r.superseded_at is None or r.superseded_at > moment)
        ]

    def listed(self, account: UUID) -> list[Row]:
        mine = [r for r in self.memories.values() if r.user == account]
        return sorted(mine, key=lambda r: (r.inserted_at, r.id), reverse=True)

    def candidates(self, found: Iterable[Row], turn: tuple[float, ...] | None) -> list[model.Claim]:
        """The rows as the plain recall takes them, newest first, with their likeness to a turn of model m."""
        return [
            model.Claim(r.id, r.user, frozenset(r.body.split()), r.inserted_at, similarity=likeness(r, turn))
            for r in sorted(found, key=lambda r: (r.inserted_at, r.id), reverse=True)
        ]

    def recalled(
        self, name: str, turn: str, vector: tuple[float, ...] | None, count: int, characters: int
    ) -> None:
        account = self.account(name)
        words, hybrid = set(turn.split()), vector is not None
        own = self.candidates((r for r in self.live(account) if r.bucket != "system"), vector)
        about = model.ranked(words, own, hybrid=hybrid)
        # A `user` memory is always eligible.
        always = [c for c in own if self.memories[c.id].bucket == "user"]
        best = model.ranked(words, own, floors=(-1, 0.3), hybrid=hybrid)
        eligible = [c for c in best if c in about or c in always]
        bodies: dict[str, model.Claim] = {}
        for each in eligible:
            bodies.setdefault(self.memories[each.id].body, each)
        eligible = list(bodies.values())  # of one body the best alone
        left, attached = characters, []
        for each in eligible[:count]:
            if len(self.memories[each.id].body) <= left:
                left -= len(self.memories[each.id].body)
                attached.append(each)
        dropped = len(eligible) - len(attached)
        statuses = self.statuses()
        admitted = self.candidates(
            (r for r in self.memories.values() if statuses.get(r.id) == "admitted" and not r.superseded_at),
            vector,
        )
        taken = model.pool(list(model.ranked(words, admitted, hybrid=hybrid)), 40) if self.shared else []
        lengths = {c.id: len(self.memories[c.id].body) for c in taken}
        claims = model.noted(taken, lengths, left)[:count]

        embedding = {"embedding": list(vector), "embedding_model": "m"} if vector else {}
        (told,) = self.call(
            "recall",
            actor=account,
            query=turn,
            maximum_attached=count,
            maximum_attached_characters=characters,
            **embedding,
        )
        assert [m["id"] for m in told["memories"]] == [str(c.id) for c in [*attached, *claims]]
        assert [m.get("status") for m in told["memories"]] == [None] * len(attached) + ["admitted"] * len(
            claims
        )
        assert (told["dropped"], told["backend"]) == (dropped, "hybrid" if hybrid else "lexical")
        assert told["unembedded"] == sum(hybrid and c.similarity is None for c in own)
        assert len((told["note"] or "").splitlines()) == len(attached) + len(claims) + (dropped > 0)
        ranked = rows(
            self.db,
            "select (memory).id, eligible, score from memstore.rank_memories(%s, %s, %s::real[], %s)",
            account,
            turn,
            list(vector) if vector else None,
            "m" if vector else None,
        )
        assert [id for id, chosen, _ in ranked if chosen] == [c.id for c in eligible]
        assert {id for id, *_ in ranked} == {c.id for c in own}
        # No body has a label, and no memory a source.
        assert all(abs(score - best[c] / 1.4) < 2e-6 for (_, _, score), c in zip(ranked, best, strict=False))

    @rule(
        name=stewards, size=st.integers(1, 4), status=st.sampled_from([None, None, "admitted", "suspended"])
    )
    def queue(self, name: str, size: int, status: str | None) -> None:
        account, statuses = self.account(name), self.statuses()
        if not self.is_steward(account):
            self.do("steward_required", "list_claims", actor=account, status=status)
            return
        told: list[tuple[Any, ...]] = []
        page = "select (memory).id, status, open_challenges from memstore.list_claims(%s, %s, %s, %s)"
        while more := rows(self.db, page, account, status, size, told[-1][0] if told else None):
            told += more
            assert len({claim for claim, *_ in told}) == len(told)
        waiting = [r.memory_id for r in model.open_challenges(self.records)]
        live = [r for r in self.memories.values() if r.claim and not r.superseded_at]
        assert told == [
            (r.id, statuses[r.id], waiting.count(r.id))
            for r in sorted(live, key=lambda r: (r.inserted_at, r.id))
            if status in (None, statuses[r.id])
        ]

    @rule(name=names, number=picks)
    def argument(self, name: str, number: int) -> None:
        account, id = self.account(name), self.claims(number)
        claim = id in self.memories and self.memories[id].claim
        (status,) = self.call("memory_status", actor=account, memory_id=id)
        assert [*status.values()] == [self.statuses().get(id)]
        refusal = None if claim else "record_target_not_found"
        told = self.do(refusal, "list_records", actor=account, memory_id=id)
        if told is not None:
            assert told == sorted(told, key=lambda t: (t["inserted_at"], t["id"]))
            assert sorted(
                str((t["user_id"], t["role"], t["verdict"], t["challenge_id"])) for t in told
            ) == sorted(
                str((r.user_id, r.role, r.verdict, r.challenge_id)) for r in self.records if r.memory_id == id
            )
            gone = {r["user_id"] for r in told} - set(self.accounts.values())
            assert all((t["ground"] == "[erased]") == (t["user_id"] in gone) for t in told)

    @rule(name=names, size=st.integers(1, 3))
    def pages(self, name: str, size: int) -> None:
        account = self.account(name)
        told: list[UUID] = []
        while page := self.call(
            "list_memories", actor=account, page_size=size, after=told[-1] if told else None
        ):
            told += [t["id"] for t in page]
            assert len(set(told)) == len(told)
        assert told == [r.id for r in self.listed(account) if r.superseded_at is None]

    @invariant()
    def recalls(self) -> None:
        """One of many, at each step; of none once all accounts are erased."""
        self.steps += 1
        if not self.accounts:
            return
        chance = Random(self.steps)
        turn = " ".join(chance.sample(WORDS, chance.randint(1, 3)))
        vector = chance.choice([None, (1.0, 0.0), (1.0, 0.5)])
        name = chance.choice(sorted(self.accounts))
        self.recalled(name, turn, vector, chance.randint(0, 4), chance.choice(ROOMS))

    @invariant()
    def reaches(self) -> None:
        """The bound role reaches its accounts alone, by the functions and past them."""
        granted = rows(self.db, "select role from memstore.list_roles() where role = %s", ROLE)
        assert bool(granted) == bool(self.bound)
        told = rows(self.db, "select user_id from memstore.account_roles where role = %s", ROLE)
        assert {account for (account,) in told} == self.bound
        for account in set(self.accounts.values()) - self.bound if self.bound else ():
            with refused("actor_unknown"), self.db.transaction():
                self.db.execute(f"set role {ROLE}".encode())
                call(self.db, "my_list_memories", actor=account)

    @invariant()
    def agree(self) -> None:
        """The store is what the model is, read through the functions and past them."""
        for name, account in self.accounts.items():
            mine = self.listed(account)
            told = self.call("list_memories", actor=account, include_superseded=True)
            assert [
                (t["id"], t["bucket"], t["body"], t["superseded_at"], t["superseded_by_id"]) for t in told
            ] == [(r.id, r.bucket, r.body, r.superseded_at, r.target) for r in mine], name
            assert value(self.db, "select live_memories from memstore.users where id = %s", account) == sum(
                r.superseded_at is None and not r.promoted for r in mine
            )
            assert value(self.db, "select memstore.find_user(%s)", name) == account
        stored = rows(self.db, "select id, embedding_model, embedding from memstore.memories")
        assert {id: (kind, tuple(vector or ())) for id, kind, vector in stored} == {
            r.id: r.embedding or (None, ()) for r in self.memories.values()
        }
        expected = self.statuses()
        assert dict(rows(self.db, "select memory_id, status from memstore.derive_statuses()")) == expected
        kept = dict(rows(self.db, "select memory_id, status from memstore.claim_statuses"))
        assert {claim: kept.get(claim, "candidate") for claim in expected} == expected
        told_records = rows(
            self.db,
            "select memory_id, user_id, role, verdict, challenge_id, evidence_refs is not null"
            " from memstore.memory_admissions",
        )
        assert sorted(map(str, told_records)) == sorted(
            str((r.memory_id, r.user_id, r.role, r.verdict, r.challenge_id, r.evidenced))
            for r in self.records
        )


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("number", SEEDS)
def test_everything_at_once(scratch_connection: psycopg.Connection, number: int, part: int) -> None:
    bounded: Callable[..., settings] = settings
    Machine.connection = scratch_connection
    run_state_machine_as_test(
        seed(PARTS * number + part)(Machine),
        settings=bounded(
            max_examples=50 if LONG else 25,
            stateful_step_count=80 if LONG else 40,
            deadline=None,
            database=None,
            phases=(Phase.generate,),  # to make a failure smaller takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )
