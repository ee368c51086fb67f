"""The derived status, rule by rule: the projection, its definition and the model agree after each step."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest

from tests.sql.support import value
from tests.sql.world import EVIDENCE_TEXT, NOBODY, World, at, check


@pytest.fixture
def world(scratch: psycopg.Connection) -> World:
    return World(scratch)


def test_an_empty_store(world: World) -> None:
    assert check(world.db) == {}


def test_a_claim_without_a_verdict_is_a_candidate_whatever_it_says_of_itself(world: World) -> None:
    claims = [world.claim(admission=said) for said in ("candidate", "admitted", "rejected")]
    world.challenge(claims[1])
    world.refute(world.challenge(claims[2]))
    assert [world.status(claim) for claim in claims] == ["candidate"] * 3


def test_the_latest_verdict_counts_whenever_it_arrives(world: World) -> None:
    claim = world.claim()
    world.verdict(claim, "admitted", inserted_at=at(20))
    assert world.status(claim) == "admitted"
    world.verdict(claim, "rejected", inserted_at=at(10))
    assert world.status(claim) == "admitted"
    world.verdict(claim, "rejected", inserted_at=at(30))
    assert world.status(claim) == "rejected"


@pytest.mark.parametrize("first", ["admitted", "rejected"])
def test_of_two_verdicts_of_one_moment_the_higher_id_counts(world: World, first: str) -> None:
    claim = world.claim()
    world.verdict(claim, "admitted", inserted_at=at(1), id=UUID(int=8 if first == "rejected" else 9))
    world.verdict(claim, "rejected", inserted_at=at(1), id=UUID(int=8 if first == "admitted" else 9))
    assert world.status(claim) == ("rejected" if first == "rejected" else "admitted")


def test_an_evidenced_challenge_suspends_and_an_unevidenced_one_does_not(world: World) -> None:
    claim, other = world.admitted(2)
    world.challenge(claim, evidenced=False)
    world.challenge(other, "b")
    assert world.suspended([claim, other]) == [False, True]


def test_a_challenge_dated_before_the_verdict_suspends(world: World) -> None:
    claim = world.claim()
    world.challenge(claim, inserted_at=at(1))
    world.verdict(claim, inserted_at=at(2))
    assert world.status(claim) == "suspended"


def test_only_an_admitted_claim_can_be_suspended(world: World) -> None:
    candidate, rejected = world.claims(2)
    world.verdict(rejected, "rejected")
    world.challenge(candidate)
    world.challenge(rejected)
    assert check(world.db) == {candidate: "candidate", rejected: "rejected"}


def test_a_challenge_to_another_claim_takes_no_share_until_that_one_is_admitted(world: World) -> None:
    candidate, rejected = world.claims(2)
    world.verdict(rejected, "rejected")
    world.challenge(candidate)
    world.challenge(rejected)
    admitted = world.admitted(3)
    world.challenge(admitted[0])
    watched = [candidate, rejected, admitted[0]]
    assert world.suspended(watched) == [False, False, True]
    world.verdict(rejected)
    assert world.suspended(watched) == [False, True, False]
    world.verdict(candidate)
    assert world.suspended(watched) == [True, True, False]


def test_a_refutation_closes_its_challenge_alone(world: World) -> None:
    claim = world.admitted(1)[0]
    challenges = [world.challenge(claim, by) for by in ("a", "b", "author", "steward")]
    for challenge in challenges[:-1]:
        world.refute(challenge)
        assert world.status(claim) == "suspended"
    world.refute(challenges[-1])
    assert world.status(claim) == "admitted"


def test_a_refutation_closes_whatever_the_times(world: World) -> None:
    claim = world.admitted(1)[0]
    challenge = world.challenge(claim, inserted_at=at(50))
    world.refute(challenge, inserted_at=at(-50))
    assert world.status(claim) == "admitted"


def test_a_second_refutation_changes_nothing_and_a_new_challenge_suspends_again(world: World) -> None:
    claim = world.admitted(1)[0]
    challenge = world.challenge(claim)
    world.refute(challenge)
    world.refute(challenge)
    assert world.status(claim) == "admitted"
    world.challenge(claim)
    assert world.status(claim) == "suspended"
    world.refute(challenge)
    assert world.status(claim) == "suspended"


def test_a_later_verdict_closes_no_challenge(world: World) -> None:
    claim = world.admitted(1)[0]
    world.challenge(claim)
    world.verdict(claim)
    assert world.status(claim) == "suspended"
    world.verdict(claim, "rejected")
    assert world.status(claim) == "rejected"
    world.verdict(claim)
    assert world.status(claim) == "suspended"


@pytest.mark.parametrize(("admitted", "share"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (100, 25)])
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_flood_cap(world: World, admitted: int, share: int, beside: int) -> None:
    claims = world.admitted(admitted) or world.claims(3)
    world.verdict(world.claim(), "rejected")
    challenged = claims[: max(share + beside, 0)]
    challenges = [world.challenge(claim) for claim in challenged]
    assert world.suspended(challenged) == [place < share for place in range(len(challenged))]
    # Another account has a share of its own, and its queue another order.
    others = [world.challenge(claim, "b") for claim in reversed(challenged)]
    world.refute(world.challenge(claims[-1], "b"))
    assert world.suspended(challenged) == [share > 0] * len(challenged)
    for challenge in others:
        world.refute(challenge)
    for done, challenge in enumerate(challenges, 1):
        world.refute(challenge)
        assert world.suspended(challenged) == [done <= n < done + share for n in range(len(challenged))]


def test_the_earliest_take_effect_however_they_arrive(world: World) -> None:
    claims = world.admitted(5)
    for number, (claim, moment) in enumerate(zip(claims, [40, 10, 30, 20, 20], strict=True)):
        world.challenge(claim, inserted_at=at(moment), id=UUID(int=9 - number))
    assert world.suspended(claims) == [False, True, False, False, True]


def test_equal_times_queue_by_id(world: World) -> None:
    claims = world.admitted(4)
    for claim, number in zip(claims, [7, 5, 6, 8], strict=True):
        world.challenge(claim, inserted_at=at(1), id=UUID(int=number))
    assert world.suspended(claims) == [False, True, False, False]


def test_the_cap_grows_and_shrinks_with_the_admitted(world: World) -> None:
    claims = world.admitted(4)
    for claim in claims:
        world.challenge(claim)
    assert world.suspended(claims) == [True, False, False, False]
    spare = world.claim("other")
    world.verdict(spare)
    assert world.suspended(claims) == [True, True, False, False]
    world.verdict(spare, "rejected")
    assert world.suspended(claims) == [True, False, False, False]
    world.verdict(spare)
    assert world.suspended(claims) == [True, True, False, False]
    world.do("delete_memory", "other", id=spare)
    assert world.suspended(claims) == [True, False, False, False]
    more = world.admitted(5)
    assert world.suspended(claims) == [True, True, True, False]
    world.db.execute("delete from memstore.memories where id = any (%s)", [more])
    assert world.suspended(claims) == [True, False, False, False]


def test_a_queued_challenge_moves_up_when_an_earlier_target_is_rejected_or_deleted(world: World) -> None:
    claims = world.admitted(8)
    for claim in claims[:5]:
        world.challenge(claim)
    assert world.suspended(claims[:5]) == [True, True, False, False, False]
    world.verdict(claims[0], "rejected")
    assert world.suspended(claims[:5]) == [False, True, True, False, False]
    world.do("delete_memory", "author", id=claims[1])
    assert world.suspended(claims[2:5]) == [True, True, False]
    world.verdict(claims[0])
    assert world.suspended([claims[0], *claims[2:5]]) == [True, True, False, False]


def test_several_by_one_account_against_one_claim_count_once_by_the_earliest(world: World) -> None:
    first, second, *_ = world.admitted(4)
    unevidenced = world.challenge(second, evidenced=False)
    earliest = world.challenge(first)
    world.challenge(second)
    again = world.challenge(first)
    assert world.suspended([first, second]) == [True, False]
    world.refute(unevidenced)
    assert world.suspended([first, second]) == [True, False]
    world.refute(again)
    again = world.challenge(first)
    world.refute(earliest)
    # What is left of the first claim's is later than the second's.
    assert world.suspended([first, second]) == [False, True]
    world.challenge(first, inserted_at=at(0))
    assert world.suspended([first, second]) == [True, False]


def test_several_against_one_claim_leave_room_for_another(world: World) -> None:
    claims = world.admitted(5)
    for claim in (claims[0], claims[0], claims[0], claims[1], claims[2]):
        world.challenge(claim)
    assert world.suspended(claims[:3]) == [True, True, False]


def test_many_in_one_statement(world: World) -> None:
    claims = world.claims(9)
    steward, challenger = world.account("steward"), world.account("a")
    world.db.execute(
        "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground, inserted_at)"
        " select c.id, %s, 'admission', 'admitted', 'x', %s from unnest(%s::uuid[]) c (id)",
        [steward, at(1), claims],
    )
    world.db.execute(
        "with c as (select gen_random_uuid() as id, * from unnest(%s::uuid[]) with ordinality u (claim, n))"
        " insert into memstore.memory_admissions"
        " (id, memory_id, user_id, role, challenge_id, ground, evidence_refs, inserted_at)"
        " select c.id, c.claim, %s, 'challenge', null, 'x', %s::jsonb, %s + c.n * interval '1 s' from c"
        " union all"
        " select gen_random_uuid(), c.claim, %s, 'refutation', c.id, 'x', null, %s from c where n < 3",
        [claims, challenger, EVIDENCE_TEXT, at(2), steward, at(1)],
    )
    assert world.suspended(claims) == [False, False, True, True, True, False, False, False, False]
    world.db.execute("delete from memstore.memories where id = any (%s)", [claims[2:4]])
    assert world.suspended(claims[:2] + claims[4:]) == [False, False, True, True, False, False, False]


def test_a_superseded_claim_keeps_its_status(world: World) -> None:
    kept = {}
    for expected in ("candidate", "admitted", "rejected", "suspended"):
        claim = kept[expected] = world.claim(expected)
        if expected != "candidate":
            world.verdict(claim, "rejected" if expected == "rejected" else "admitted")
        if expected == "suspended":
            world.challenge(claim)
        world.correct(claim, expected)
        assert world.status(claim) == expected
    # It still counts for the cap, can be challenged, and takes another verdict.
    assert value(world.db, "select admitted from memstore.claim_counter") == 2
    world.challenge(kept["admitted"], "b")
    assert world.status(kept["admitted"]) == "suspended"
    world.verdict(kept["rejected"])
    assert world.status(kept["rejected"]) == "admitted"


def test_what_is_no_claim_has_no_status(world: World) -> None:
    for memory in (world.memory(), world.memory(bucket="learned"), world.tombstone(), NOBODY):
        assert world.status(memory) is None
    assert value(world.db, "select memstore.memory_status(%s, null) is null", world.account("reader"))
