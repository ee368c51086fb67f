"""Corrections and promotions of claims: who may, what they answer, and what they leave."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.support import EVIDENCE, account_of, call_one, live_count, refused, row_of, rows, value
from tests.sql.world import NOBODY, World, check, read_records

OTHER = {"kind": "receipt", "ref": "run 8", "digest": "sha256:0b"}


@pytest.fixture
def world(scratch: psycopg.Connection) -> World:
    return World(scratch)


def promote(world: World, target: UUID | None, by: str = "steward", **arguments: object) -> dict[str, Any]:
    given = {"stance": "some-stance", "evidence_refs": [OTHER], **arguments}
    return world.do("promote_memory", by, target=target, **given)


def contested(world: World, author: str = "author") -> tuple[UUID, set[UUID]]:
    """An admitted claim with open challenges of all kinds, and one that is closed."""
    claim, another = world.admitted(2, author)
    world.challenge(another, "a")
    closed = world.challenge(claim, "c")
    world.refute(closed)
    challenges = [("a", True), ("a", False), ("b", True), ("steward", True), (author, False)]
    return claim, {world.challenge(claim, by, evidenced) for by, evidenced in challenges}


@pytest.mark.parametrize("author", ["author", "steward"])
@pytest.mark.parametrize("how", ["correction", "promotion"])
def test_a_steward_s_correction_answers_every_open_challenge(world: World, author: str, how: str) -> None:
    claim, challenges = contested(world, author)
    before = {r.id for r in read_records(world.db)}
    new = world.correct(claim, "steward") if how == "correction" else promote(world, claim)
    written = rows(
        world.db,
        "select challenge_id, memory_id, user_id, role, ground, verdict, evidence_refs"
        " from memstore.memory_admissions where id <> all (%s)",
        list(before),
    )
    ground, steward = f"Superseded by {new['id']}.", world.account("steward")
    assert len(written) == len(challenges)
    assert set(written) == {(c, claim, steward, "refutation", ground, None, None) for c in challenges}
    assert world.status(claim) == "admitted"
    assert new["user_id"] == steward
    assert row_of(world.db, claim)["superseded_by_id"] == new["id"]


def test_the_answers_are_of_the_correction_s_transaction(
    db: psycopg.Connection, connect: Callable[..., psycopg.Connection]
) -> None:
    world = World(db)
    claim, challenges = contested(world)
    other = connect()
    with db.transaction(force_rollback=True):
        world.correct(claim, "steward")
        assert value(
            other, "select count(*) from memstore.open_challenges where memory_id = %s", claim
        ) == len(challenges)
    assert value(db, "select count(*) from memstore.open_challenges where memory_id = %s", claim) == len(
        challenges
    )
    assert row_of(db, claim)["superseded_at"] is None
    id = world.correct(claim, "steward")["id"]
    ((transactions,),) = rows(
        db,
        "select count(distinct xmin::text) from"
        " (select xmin from memstore.memory_admissions where ground like %s"
        " union all select xmin from memstore.memories where id in (%s, %s)) x",
        "Superseded by %",
        claim,
        id,
    )
    assert transactions == 1
    check(db)


def test_a_repeated_correction_answers_once(world: World) -> None:
    claim, _ = contested(world)
    id = UUID(int=5)
    first = world.correct(claim, "steward", id=id)
    late = world.challenge(claim, "d")
    records = read_records(world.db)
    assert world.correct(claim, "steward", id=id) == first
    assert read_records(world.db) == records
    assert late in {row[0] for row in rows(world.db, "select challenge_id from memstore.open_challenges")}


def test_an_author_who_is_no_steward_answers_nothing(world: World) -> None:
    claim, challenges = contested(world)
    records = read_records(world.db)
    new = world.correct(claim, "author")
    assert read_records(world.db) == records
    open_ones = rows(
        world.db, "select challenge_id from memstore.open_challenges where memory_id = %s", claim
    )
    assert {row[0] for row in open_ones} == challenges
    assert world.status(claim) == "suspended"
    # The replacement has a status of its own.
    assert world.status(new["id"]) == "candidate"


@pytest.mark.parametrize("to", [{}, {"bucket": "system"}, {"bucket": "user", "evidence_refs": None}])
def test_a_stranger_s_correction_leaves_nothing(world: World, to: dict[str, object]) -> None:
    claim, _ = contested(world)
    before = (
        rows(world.db, "select id, superseded_at from memstore.memories order by id"),
        read_records(world.db),
    )
    answers = set()
    for target in (claim, NOBODY, world.tombstone()):
        with refused("not_supersedable", "target") as caught, world.db.transaction():
            world.correct(target, "stranger", **to)
        answers.add((caught.value.diag.message_primary, caught.value.diag.message_detail))
    assert len(answers) == 1 and live_count(world.db, world.account("stranger")) == 0
    world.db.execute("delete from memstore.memories where promoted")
    after = (
        rows(world.db, "select id, superseded_at from memstore.memories order by id"),
        read_records(world.db),
    )
    assert after == before


def test_what_a_correction_keeps(world: World) -> None:
    claim = world.claim(
        slug="sys:kept",
        entity="tool",
        tier="glass",
        as_of="2026-01-02",
        admission="admitted",
        source_ref="run 7",
    )
    new = row_of(world.db, world.correct(claim, "steward")["id"])
    kept = {
        name: new[name] for name in ("slug", "entity", "tier", "source_ref", "admission", "bucket", "stance")
    }
    assert kept == {
        # The source is another account's.
        **{"slug": "sys:kept", "entity": "tool", "tier": "glass", "source_ref": None},
        **{"admission": "candidate", "bucket": "system", "stance": None},
    }
    assert new["as_of"] == value(world.db, "select current_date")
    given = world.correct(
        new["id"], "steward", entity="", tier="ledger", admission="rejected", as_of="2025-05-06"
    )
    assert (given["entity"], given["tier"], given["admission"]) == (None, "ledger", "rejected")
    assert str(given["as_of"]) == "2025-05-06" and given["slug"] == "sys:kept"


def test_a_correction_wants_evidence_of_its_own(world: World) -> None:
    claim, _ = contested(world)
    records = read_records(world.db)
    nothing: list[object] = []
    for evidence in (None, nothing):
        with refused("memories_evidence_refs_shape", "evidence_refs"), world.db.transaction():
            world.correct(claim, "steward", evidence_refs=evidence)
    assert read_records(world.db) == records and row_of(world.db, claim)["superseded_at"] is None


def test_a_correction_drains_the_row_that_it_names(world: World) -> None:
    claim, same_slug = world.admitted(2)
    kept = world.challenge(same_slug)
    promote(world, claim)
    assert row_of(world.db, same_slug)["superseded_at"] is None
    assert rows(world.db, "select challenge_id from memstore.open_challenges") == [(kept,)]
    world.correct(same_slug, "steward")
    assert rows(world.db, "select challenge_id from memstore.open_challenges") == []


@pytest.mark.parametrize("how", ["correction", "promotion"])
def test_a_dead_claim_is_not_superseded_again(world: World, how: str) -> None:
    claim, _ = contested(world)
    world.correct(claim, "author")
    records = read_records(world.db)
    with refused("not_supersedable", "target"), world.db.transaction():
        if how == "correction":
            world.correct(claim, "steward")
        else:
            promote(world, claim)
    assert read_records(world.db) == records


# Promotion.


def test_a_promotion_leaves_a_pointer(world: World) -> None:
    claim = world.claim(
        slug="sys:moved",
        tier="glass",
        entity="tool",
        as_of="2026-01-02",
        admission="admitted",
        source_ref="run 7",
    )
    tombstone = row_of(world.db, promote(world, claim, stance=" package-managers \n")["id"])
    expected = {
        **{"slug": "sys:moved", "stance": "package-managers", "body": "Promoted to package-managers."},
        **{"tier": "ledger", "admission": "candidate", "evidence_refs": [OTHER], "entity": "tool"},
        **{"user_id": world.account("steward"), "bucket": "system", "promoted": True, "superseded_at": None},
        **{"embedding": None, "as_of": value(world.db, "select current_date")},
    }
    assert {name: tombstone[name] for name in expected} == expected
    old = row_of(world.db, claim)
    assert (old["superseded_by_id"], old["superseded_at"]) == (tombstone["id"], tombstone["inserted_at"])
    assert world.status(tombstone["id"]) is None and world.status(claim) == "candidate"


def test_a_promotion_takes_a_date_and_an_entity(world: World) -> None:
    given = promote(world, world.claim(entity="tool"), as_of="2025-05-06", entity=" other ")
    assert (str(given["as_of"]), given["entity"]) == ("2025-05-06", "other")


@pytest.mark.parametrize("stance", [None, "", " \n\u00a0\u2003"])
def test_a_promotion_needs_a_stance(world: World, stance: str | None) -> None:
    for target in (world.claim(), NOBODY):
        with refused("stance_required", "stance"), world.db.transaction():
            promote(world, target, stance=stance)
    assert value(world.db, "select count(*) from memstore.memories") == 1


@pytest.mark.parametrize(
    "stance", ["Some-stance", "some--stance", "-some", "some-", "some stance", "some_stance", "é", "s" * 201]
)
def test_a_stance_is_lowercase_words_joined_by_single_hyphens(world: World, stance: str) -> None:
    with refused("memories_stance_shape", "stance"), world.db.transaction():
        promote(world, world.claim(), stance=stance)


@pytest.mark.parametrize("stance", ["s", "9-lives", "s" * 200])
def test_a_good_stance(world: World, stance: str) -> None:
    assert promote(world, world.claim(), stance=stance)["body"] == f"Promoted to {stance}."


@pytest.mark.parametrize("evidence", [None, [], [{}], {}, [EVIDENCE] * 21])
def test_a_promotion_needs_evidence(world: World, evidence: object) -> None:
    with refused("memories_evidence_refs_shape", "evidence_refs"), world.db.transaction():
        promote(world, world.claim(), evidence_refs=evidence)


def test_only_a_live_claim_is_promoted(world: World) -> None:
    dead = world.claim()
    promote(world, dead)
    own = world.memory("steward")
    for target in (dead, world.tombstone(), own, world.memory(bucket="learned"), NOBODY, None):
        with refused("not_supersedable", "target"), world.db.transaction():
            promote(world, target)


def test_a_tombstone_takes_no_record_and_reaches_no_recall(world: World) -> None:
    world.db.execute("select memstore.configure(system_recall_enabled => true)")
    claim = world.admitted(1)[0]
    turn = "Promoted to some-stance? It builds."
    ranked = "select (memory).id from memstore.rank_claims(%s, %s)"
    assert rows(world.db, ranked, world.account("reader"), turn) == [(claim,)]
    tombstone = promote(world, claim)["id"]
    for function, arguments in (
        ("record_admission", {"verdict": "admitted"}),
        ("challenge_memory", {"evidence_refs": [EVIDENCE]}),
    ):
        with refused("record_target_not_found", "memory_id"), world.db.transaction():
            world.do(function, "steward", memory_id=tombstone, ground="x", **arguments)
    for role, columns in (("admission", {"verdict": "admitted"}), ("challenge", {})):
        with refused("memory_admissions_memory_id_fkey"), world.db.transaction():
            world.record(role, tombstone, "steward", **columns)
    assert rows(world.db, ranked, world.account("reader"), turn) == []
    assert value(world.db, "select note from memstore.recall(%s, %s)", world.account("steward"), turn) is None


# The ceiling.


def ceiling(world: World, name: str, number: int) -> None:
    account = account_of(world.db, name)
    world.db.execute("select memstore.set_maximum_live_memories(%s, %s)", [account, number])


def held(world: World, *names: str) -> list[int]:
    return [live_count(world.db, account_of(world.db, name)) for name in names]


def act(world: World, function: str, by: str, target: UUID, **arguments: object) -> dict[str, Any]:
    """As ``World.do``, with the ceiling as it is."""
    of_function = {
        "supersede_memory": {"body": "It builds better."},
        "promote_memory": {"stance": "some-stance"},
    }
    given = {**of_function[function], "evidence_refs": [EVIDENCE], **arguments}
    return call_one(world.db, function, actor=account_of(world.db, by), target=target, **given)


def test_a_steward_s_correction_of_another_s_claim_needs_room(world: World) -> None:
    claim, _ = contested(world)
    records = read_records(world.db)
    ceiling(world, "steward", 0)
    with refused("quota_reached"), world.db.transaction():
        act(world, "supersede_memory", "steward", claim)
    assert read_records(world.db) == records and row_of(world.db, claim)["superseded_at"] is None
    assert held(world, "author", "steward") == [2, 0]
    ceiling(world, "steward", 1)
    act(world, "supersede_memory", "steward", claim)
    assert held(world, "author", "steward") == [1, 1]


def test_an_author_corrects_at_the_ceiling(world: World) -> None:
    claim, _ = contested(world)
    ceiling(world, "author", 0)
    act(world, "supersede_memory", "author", claim)
    assert held(world, "author") == [2]


def test_a_promotion_needs_no_room(world: World) -> None:
    claim, _ = contested(world)
    own = world.claim("steward")
    ceiling(world, "steward", 0)
    act(world, "promote_memory", "steward", claim)
    assert held(world, "author", "steward") == [1, 1]
    act(world, "promote_memory", "steward", own)
    assert held(world, "author", "steward") == [1, 0]


def test_the_moment_of_a_correction(world: World) -> None:
    """One value for both rows, also of a claim from the future."""
    future = datetime(2999, 1, 1, tzinfo=UTC)
    claim = world.claim(inserted_at=future, updated_at=future)
    new = row_of(world.db, world.correct(claim, "steward")["id"])
    assert row_of(world.db, claim)["superseded_at"] == new["inserted_at"] > future
