"""delete_scope: what was for one project, session or agent goes, and nothing else."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.racing import Connect, at_once
from tests.sql.support import (
    SYSTEM,
    account_of,
    call_one,
    insert,
    live_count,
    places,
    refused,
    row_of,
    rows,
    supersede,
    value,
)

Db = psycopg.Connection


def delete_scope(db: Db, account: UUID | None, scope: str | None) -> Any:
    return call_one(db, "delete_scope", actor=account, scope=scope)["delete_scope"]


def bodies(db: Db, account: UUID) -> list[str]:
    return [
        body
        for (body,) in rows(db, "select body from memstore.memories where user_id = %s order by 1", account)
    ]


def test_all_of_the_scope_goes(db: Db, account: UUID) -> None:
    other = account_of(db, "other")
    for actor in (account, other):
        for number, scope in enumerate((None, "a", "A", "a b", "a")):
            insert(db, actor, f"{number} of {scope}", scope=scope)
    insert(db, account, "A claim.", **SYSTEM)
    supersede(db, account, insert(db, account, "Old.", scope="a", bucket="learned")["id"], "New.")
    assert delete_scope(db, account, " a\t") == 4
    assert bodies(db, account) == ["0 of None", "2 of A", "3 of a b", "A claim."]
    assert len(bodies(db, other)) == 5
    assert live_count(db, account) == 4
    assert delete_scope(db, account, "a") == 0
    assert not rows(db, "select from memstore.verify_store() where violations > 0")


def test_a_chain_that_left_the_scope_stays_whole(db: Db, account: UUID) -> None:
    """Outside, inside twice, outside, inside: what is left points at what is left."""
    memory = insert(db, account, "1")["id"]
    chain = [memory]
    for number, scope in enumerate(("a", None, "", "a"), 2):
        chain.append(supersede(db, account, chain[-1], str(number), scope=scope)["id"])
    beside = insert(db, account, "Merged into 2.")["id"]
    assert [row_of(db, each)["scope"] for each in chain] == [None, "a", "a", None, "a"]
    db.execute(
        "update memstore.memories set superseded_by_id = %s, superseded_at = clock_timestamp() where id = %s",
        [chain[4], beside],
    )
    assert delete_scope(db, account, "a") == 3
    assert bodies(db, account) == ["1", "4", "Merged into 2."]
    assert row_of(db, chain[0])["superseded_by_id"] == chain[3]
    last, merged = row_of(db, chain[3]), row_of(db, beside)
    for row in (last, merged):
        assert row["superseded_by_id"] is None
        assert row["superseded_at"] is not None
    assert live_count(db, account) == 0


def test_nothing_of_it_stays(db: Db, account: UUID) -> None:
    for number in range(30):
        insert(db, account, f"tangerine {number}", scope="tangerine", metadata={"tangerine": number})
    db.execute("analyze")
    assert places(db, "tangerine") == {"memstore.memories"}
    assert delete_scope(db, account, "tangerine") == 30
    assert places(db, "tangerine") == set()


def test_an_embedding_models_name_goes_with_it(db: Db, account: UUID) -> None:
    insert(db, account, "x", scope="a", embedding=[1], embedding_model="m")
    delete_scope(db, account, "a")
    assert value(db, "select count(*) from memstore.embedding_models") == 0


@pytest.mark.parametrize("scope", [None, "", " \t"])
def test_no_scope_is_refused(scope: str | None, db: Db, account: UUID) -> None:
    """It would be taken for all memories, or for those without one."""
    insert(db, account, "x")
    with refused("argument_invalid", "scope"):
        delete_scope(db, account, scope)
    assert live_count(db, account) == 1


def test_an_unknown_account_is_refused(db: Db) -> None:
    for actor in (None, UUID(int=7)):
        with refused("actor_unknown", "actor"):
            delete_scope(db, actor, "a")


def test_writers_of_the_scope_wait(db: Db, connect: Connect, account: UUID) -> None:
    """Corrections into and out of it, while it goes: none deadlocks, and the store is sound."""
    for _ in range(5):
        targets = [
            insert(db, account, f"{number}", scope=scope)["id"]
            for number, scope in enumerate([None, "a"] * 5)
        ]
        work = [
            lambda c, t=target, s=scope: supersede(c, account, t, f"{t}", scope=s)
            for target, scope in zip(targets, ["a", ""] * 5, strict=True)
        ]
        outcomes = at_once(connect, *work, *[lambda c: delete_scope(c, account, "a")] * 3)
        assert {outcome for outcome in outcomes if isinstance(outcome, str)} <= {"not_supersedable"}
        assert not rows(db, "select from memstore.verify_store() where violations > 0")
        live_count(db, account)
