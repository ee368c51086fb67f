"""A claim's life through the client: the records, the status that they make, and recall."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from memstore import (
    ActorUnknown,
    AsyncStore,
    ChallengeNotFound,
    IdTaken,
    InvalidValue,
    Memory,
    MemoryNotFound,
    MemstoreError,
    NotSupersedable,
    QuotaReached,
    RecordIsImmutable,
    RecordTargetNotFound,
    StanceRequired,
    StewardRequired,
    Store,
)
from memstore.errors import translate

Db = psycopg.Connection[Any]

EVIDENCE = {"kind": "url", "ref": "https://example.com", "digest": "sha256:0"}
CLAIM: dict[str, Any] = {
    "bucket": "system",
    "slug": "sys:pnpm",
    "entity": "pnpm",
    "tier": "glass",
    "as_of": date(2026, 8, 25),
    "admission": "candidate",
    "evidence_refs": [EVIDENCE],
}


@pytest.fixture
def store(db: Db) -> Store:
    return Store(db)


@pytest.fixture
def steward(store: Store) -> UUID:
    steward = store.create_user(external_ref="steward-1")
    store.set_steward(steward, True)
    return steward


@pytest.fixture
def claim(store: Store, account: UUID) -> Memory:
    return store.insert_memory(account, "pnpm is quicker than npm.", **CLAIM)


def test_a_claims_life(store: Store, account: UUID, steward: UUID, claim: Memory) -> None:
    assert store.memory_status(account, claim.id) == "candidate"
    admission = store.record_admission(steward, claim.id, "admitted", "The receipt checks out.")
    assert (admission.memory_id, admission.user_id, admission.role) == (claim.id, steward, "admission")
    assert (admission.verdict, admission.slug) == ("admitted", f"adm:{claim.id}")
    assert (admission.challenge_id, admission.evidence_refs) == (None, None)
    assert store.memory_status(account, claim.id) == "admitted"

    store.challenge_memory(account, claim.id, "It seems wrong to me.")
    assert store.memory_status(account, claim.id) == "admitted"
    challenge = store.challenge_memory(account, claim.id, "It is no more.", evidence_refs=[EVIDENCE])
    assert (challenge.role, challenge.evidence_refs) == ("challenge", (EVIDENCE,))
    assert (challenge.effect, admission.effect) == ("in_effect", None)
    assert store.memory_status(account, claim.id) == "suspended"
    (queued,) = store.list_claims(steward, status="suspended")
    assert (queued.memory, queued.status, queued.open_challenges) == (claim, "suspended", 2)

    refutation = store.refute_challenge(steward, challenge.id, "It still is.")
    assert (refutation.role, refutation.challenge_id) == ("refutation", challenge.id)
    assert refutation.inserted_at.tzinfo is UTC
    assert store.memory_status(account, claim.id) == "admitted"

    tombstone = store.promote_memory(steward, claim.id, "package-managers", (EVIDENCE,))
    assert (tombstone.stance, tombstone.promoted, tombstone.slug) == ("package-managers", True, claim.slug)
    assert store.get_memory(account, claim.id).superseded_by_id == tombstone.id
    assert store.memory_status(account, claim.id) == "admitted"
    assert store.memory_status(account, tombstone.id) is None
    assert not store.list_claims(steward)
    records = store.list_records(account, claim.id)
    assert [each.role for each in records] == [
        "admission",
        "challenge",
        "challenge",
        "refutation",
        "refutation",
    ]
    assert (records[0], records[3]) == (admission, refutation)
    assert records[2] == replace(challenge, effect="refuted")
    assert [each.effect for each in records] == [None, "refuted", "refuted", None, None]


def test_a_claims_life_asynchronously(db_url: str, account: UUID, steward: UUID, claim: Memory) -> None:
    async def body() -> None:
        async with AsyncStore(db_url) as store:
            await store.record_admission(steward, claim.id, "admitted", "The receipt checks out.")
            challenge = await store.challenge_memory(account, claim.id, "No.", evidence_refs=[EVIDENCE])
            assert await store.memory_status(account, claim.id) == "suspended"
            refutation = await store.refute_challenge(steward, challenge.id, "Yes.")
            (queued,) = await store.list_claims(steward)
            assert (queued.status, queued.open_challenges) == ("admitted", 0)
            await store.configure(system_recall_enabled=True)
            (ranked,) = await store.rank_claims(account, "npm or pnpm?")
            assert ranked.memory == claim
            assert (await store.recall(steward, "npm or pnpm?")).claims == (claim,)
            await store.promote_memory(steward, claim.id, "package-managers", [EVIDENCE])
            assert (await store.list_records(account, claim.id))[-1] == refutation

    asyncio.run(body())


def test_recall_tells_claims_apart(store: Store, account: UUID, steward: UUID, claim: Memory) -> None:
    own = store.insert_memory(account, "I use pnpm.")
    store.record_admission(steward, claim.id, "admitted", "The receipt checks out.")
    off = store.recall(account, "npm or pnpm?")
    assert (off.memories, off.claims) == ((own,), ())
    assert store.rank_claims(account, "npm or pnpm?") == []
    store.configure(system_recall_enabled=True)
    on = store.recall(account, "npm or pnpm?")
    assert (on.memories, on.claims) == ((own,), (claim,))
    assert on.note == f"{off.note}\n[From memory: (system, as of 2026-08-25, admitted)] {claim.body}"
    (ranked,) = store.rank_claims(steward, "npm or pnpm?")
    assert (ranked.memory, ranked.score, ranked.eligible) == (claim, 1, True)


def test_a_steward_turns_pages(store: Store, account: UUID, steward: UUID, claim: Memory) -> None:
    other = store.insert_memory(account, "yarn is slower.", **CLAIM | {"slug": "sys:yarn"})
    assert [each.memory for each in store.list_claims(steward, page_size=1)] == [claim]
    assert [each.memory for each in store.list_claims(steward, after=claim.id)] == [other]


def test_refusals_by_class(store: Store, account: UUID, steward: UUID, claim: Memory) -> None:
    nobody = uuid4()
    long = "x" * 2001
    refusals: list[tuple[type[MemstoreError], str, Callable[[], object]]] = [
        (ActorUnknown, "actor_unknown", lambda: store.memory_status(nobody, claim.id)),
        (
            StewardRequired,
            "steward_required",
            lambda: store.record_admission(account, claim.id, "admitted", "Yes."),
        ),
        (StewardRequired, "steward_required", lambda: store.refute_challenge(account, nobody, "No.")),
        (StewardRequired, "steward_required", lambda: store.list_claims(account)),
        (RecordTargetNotFound, "record_target_not_found", lambda: store.list_records(account, nobody)),
        (
            RecordTargetNotFound,
            "record_target_not_found",
            lambda: store.challenge_memory(account, nobody, "No."),
        ),
        (ChallengeNotFound, "challenge_not_found", lambda: store.refute_challenge(steward, nobody, "No.")),
        (StanceRequired, "stance_required", lambda: store.promote_memory(steward, claim.id, " ", [EVIDENCE])),
        (
            NotSupersedable,
            "not_supersedable",
            lambda: store.promote_memory(steward, nobody, "stance", [EVIDENCE]),
        ),
        (MemoryNotFound, "memory_not_found", lambda: store.list_claims(steward, after=nobody)),
        (InvalidValue, "argument_invalid", lambda: store.list_claims(steward, status="new")),
        (
            InvalidValue,
            "memory_admissions_verdict_shape",
            lambda: store.record_admission(steward, claim.id, "maybe", "Hm."),
        ),
        (
            InvalidValue,
            "memory_admissions_ground_shape",
            lambda: store.challenge_memory(account, claim.id, long),
        ),
        (
            InvalidValue,
            "memory_admissions_evidence_refs_shape",
            lambda: store.challenge_memory(account, claim.id, "No.", evidence_refs=[]),
        ),
    ]
    for kind, name, action in refusals:
        with pytest.raises(MemstoreError) as caught:
            action()
        assert (type(caught.value), caught.value.name) == (kind, name)
    assert store.list_records(account, claim.id) == []


def test_too_many_open_challenges(store: Store, account: UUID, claim: Memory) -> None:
    for _ in range(200):
        store.challenge_memory(account, claim.id, "No.")
    with pytest.raises(QuotaReached):
        store.challenge_memory(account, claim.id, "No.")


def test_plain_sql_is_refused_by_class(
    db: Db, store: Store, account: UUID, steward: UUID, claim: Memory
) -> None:
    record = store.record_admission(steward, claim.id, "admitted", "The receipt checks out.")
    nobody = uuid4()
    challenge = {
        "id": uuid4(),
        "claim": claim.id,
        "author": account,
        "role": "challenge",
        "verdict": None,
        "challenge": None,
    }
    refused: dict[type[MemstoreError], dict[str, object]] = {
        IdTaken: {"id": record.id},
        ActorUnknown: {"author": nobody},
        RecordTargetNotFound: {"claim": nobody},
        ChallengeNotFound: {"role": "refutation", "challenge": record.id},
        InvalidValue: {"verdict": "admitted"},
    }
    for kind, change in refused.items():
        with pytest.raises(psycopg.Error) as caught:
            db.execute(
                "insert into memstore.memory_admissions"
                " (id, memory_id, user_id, role, verdict, challenge_id, ground)"
                " values (%(id)s, %(claim)s, %(author)s, %(role)s, %(verdict)s, %(challenge)s, 'No.')",
                challenge | change,
            )
        assert type(translate(caught.value)) is kind
    with pytest.raises(psycopg.Error) as caught:
        db.execute("update memstore.memory_admissions set ground = 'Another.'")
    assert type(translate(caught.value)) is RecordIsImmutable


def test_an_erased_authors_records_stay(store: Store, account: UUID, steward: UUID, claim: Memory) -> None:
    critic = store.create_user(external_ref="critic-1")
    store.record_admission(steward, claim.id, "admitted", "The receipt checks out.")
    store.challenge_memory(critic, claim.id, "private words", evidence_refs=[EVIDENCE])
    store.delete_user(critic)
    record = store.list_records(account, claim.id)[-1]
    assert (record.user_id, record.ground) == (critic, "[erased]")
    assert store.memory_status(account, claim.id) == "suspended"
