"""One set of six records in every order of arrival that the foreign key allows."""

from __future__ import annotations

from itertools import permutations
from uuid import UUID

import psycopg
import pytest
from psycopg import Rollback

from tests.sql.support import EVIDENCE
from tests.sql.world import World, at, check, plain_record

pytestmark = pytest.mark.long


def test_every_order_gives_the_same_statuses(scratch: psycopg.Connection) -> None:
    """The earlier challenge is refuted by a record dated before it; else the later one would wait."""
    world = World(scratch)
    contested, other = (world.claim(id=UUID(int=number)) for number in (101, 102))
    steward, challenger = world.account("steward"), world.account("challenger")
    shared = {"ground": "Because."}
    admission = {**shared, "role": "admission", "user_id": steward}
    challenge = {**shared, "role": "challenge", "user_id": challenger, "evidence_refs": [EVIDENCE]}
    records: list[dict[str, object]] = [
        # Two verdicts of one moment: the higher id is the later one.
        {**admission, "id": UUID(int=2), "memory_id": contested, "verdict": "admitted", "inserted_at": at(5)},
        {**admission, "id": UUID(int=1), "memory_id": contested, "verdict": "rejected", "inserted_at": at(5)},
        {**admission, "id": UUID(int=3), "memory_id": other, "verdict": "admitted", "inserted_at": at(9)},
        {**challenge, "id": UUID(int=4), "memory_id": contested, "inserted_at": at(6)},
        {**challenge, "id": UUID(int=5), "memory_id": other, "inserted_at": at(7)},
        {
            **shared,
            **{"id": UUID(int=6), "role": "refutation", "memory_id": contested, "user_id": steward},
            **{"challenge_id": UUID(int=4), "inserted_at": at(0)},
        },
    ]
    orders = [order for order in permutations(range(6)) if order.index(3) < order.index(5)]
    assert len(orders) == 360
    for order in orders:
        with scratch.transaction():
            for number in order:
                plain_record(scratch, **records[number])
            assert check(scratch) == {contested: "admitted", other: "suspended"}, order
            raise Rollback
