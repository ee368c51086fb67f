"""Random histories: after each step what is kept, what is derived and what the model says are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.sql import model
from tests.sql.support import EVIDENCE, rows
from tests.sql.world import World, at, check, read_records

ACCOUNTS = ("steward", "steward-2", "a", "b", "author")
picks = st.integers(0, 40)
"""Which of the claims, records or accounts that are there by then."""
names = st.sampled_from(ACCOUNTS)
stewards = st.sampled_from(ACCOUNTS[:2])
times = st.integers(0, 5)
ids = st.uuids()
accepted = st.sampled_from(["admitted", "admitted", "rejected"])

plain = st.one_of(
    st.tuples(st.just("claim"), names),
    st.tuples(st.just("verdict"), picks, accepted, times, ids),
    st.tuples(st.just("challenge"), picks, names, st.booleans(), times, ids),
    st.tuples(st.just("refute"), picks, times, ids),
)
called = st.one_of(
    st.tuples(st.just("record_admission"), stewards, picks, accepted),
    st.tuples(st.just("challenge_memory"), names, picks, st.booleans()),
    st.tuples(st.just("refute_challenge"), stewards, picks),
)
rare = st.one_of(
    st.tuples(st.just("supersede"), names, picks),
    st.tuples(st.just("promote"), stewards, picks),
    st.tuples(st.just("delete"), picks),
    st.tuples(st.just("delete_plainly"), picks),
    st.tuples(st.just("erase"), names),
)
histories = st.lists(st.one_of(plain, called, plain, rare), min_size=5, max_size=30)
# More admitted claims than a quarter can hold, and challengers of all of them.
crowded = st.builds(
    lambda size, challengers, rest: [
        *[("claim", "author")] * size,
        *[("record_admission", "steward", pick, "admitted") for pick in range(size)],
        *[("challenge_memory", name, pick, True) for name in challengers for pick in range(size)],
        *rest,
    ],
    st.integers(3, 9),
    st.lists(names, min_size=1, max_size=2, unique=True),
    st.lists(st.one_of(plain, called, rare), max_size=15),
)


class History(World):
    """Takes the steps; one that asks for something impossible is refused, or finds nothing to do."""

    def claim_at(self, pick: int) -> UUID | None:
        found = rows(
            self.db,
            "select id from memstore.memories where bucket = 'system' and not promoted"
            " order by inserted_at, id",
        )
        return found[pick % len(found)][0] if found else None

    def challenge_at(self, pick: int) -> UUID | None:
        found = sorted(r.place for r in read_records(self.db) if r.role == "challenge")
        return found[pick % len(found)][1] if found else None

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case "claim", name:
                self.claim(name)
            case "verdict", pick, verdict, time, id if target := self.claim_at(pick):
                self.verdict(target, verdict, inserted_at=at(time), id=id)
            case "challenge", pick, name, evidenced, time, id if target := self.claim_at(pick):
                self.challenge(target, name, evidenced, inserted_at=at(time), id=id)
            case "refute", pick, time, id if target := self.challenge_at(pick):
                self.refute(target, inserted_at=at(time), id=id)
            case "record_admission", name, pick, verdict if target := self.claim_at(pick):
                self.do("record_admission", name, memory_id=target, verdict=verdict, ground="x")
            case "challenge_memory", name, pick, evidenced if target := self.claim_at(pick):
                evidence = [EVIDENCE] if evidenced else None
                self.do("challenge_memory", name, memory_id=target, ground="x", evidence_refs=evidence)
            case "refute_challenge", name, pick if target := self.challenge_at(pick):
                self.do("refute_challenge", name, challenge_id=target, ground="x")
            case "supersede", name, pick if target := self.claim_at(pick):
                before = self.open(target)
                self.correct(target, name)
                assert self.open(target) == (set() if name.startswith("steward") else before)
            case "promote", name, pick if target := self.claim_at(pick):
                evidence = [EVIDENCE]
                self.do("promote_memory", name, target=target, stance="s", evidence_refs=evidence)
                assert not self.open(target)
            case "delete", pick if target := self.claim_at(pick):
                (author,) = rows(self.db, "select user_id from memstore.memories where id = %s", target)
                self.db.execute("select memstore.delete_memory(%s, %s)", [*author, target])
            case "delete_plainly", pick if target := self.claim_at(pick):
                self.db.execute("delete from memstore.memories where id = %s", [target])
            case "erase", name:
                self.erase(name)

    def open(self, claim: UUID) -> set[UUID]:
        return {r.id for r in model.open_challenges(read_records(self.db)) if r.memory_id == claim}

    def erase(self, name: str) -> None:
        """Of the claims that stay, no status changes but by what the account's own claims were to the cap."""
        account = self.account(name)
        own = {
            row[0] for row in rows(self.db, "select id from memstore.memories where user_id = %s", account)
        }
        left = [r for r in read_records(self.db) if r.memory_id not in own]
        expected = model.statuses(check(self.db).keys() - own, left)
        self.db.execute("select memstore.delete_user(%s)", [account])
        assert check(self.db) == expected


def run(db: psycopg.Connection, steps: list[tuple[Any, ...]]) -> None:
    with db.transaction(force_rollback=True):
        world = History(db)
        for name in ACCOUNTS:
            world.account(name)
        for step in steps:
            try:
                with db.transaction():
                    world.take(step)
            except psycopg.Error as error:
                # The pick was dead by then, or the account no author of it; or an id was drawn twice.
                assert (error.diag.constraint_name, step[0]) in {
                    ("not_supersedable", "supersede"),
                    ("not_supersedable", "promote"),
                    ("memory_admissions_pkey", "verdict"),
                    ("memory_admissions_pkey", "challenge"),
                    ("memory_admissions_pkey", "refute"),
                }
            check(db)


bounded: Callable[..., Any] = settings(
    max_examples=60, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@bounded
@given(histories)
@example([("claim", "a"), ("verdict", 0, "admitted", 1, UUID(int=1)), ("erase", "a")])
def test_random_histories(scratch_connection: psycopg.Connection, steps: list[tuple[Any, ...]]) -> None:
    run(scratch_connection, steps)


@pytest.mark.long
@bounded
@given(crowded)
def test_random_histories_beyond_the_shares(
    scratch_connection: psycopg.Connection, steps: list[tuple[Any, ...]]
) -> None:
    run(scratch_connection, steps)


@pytest.mark.parametrize(
    ("admitted", "share"), [(0, 0), (1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3), (100, 25), (101, 26)]
)
def test_a_quarter_rounded_up(admitted: int, share: int) -> None:
    assert model.share(admitted) == share
