"""supersede_memory: what may be corrected by whom, what a correction keeps, retries, and the ceiling."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    EVIDENCE,
    SECRET,
    SYSTEM,
    account_of,
    call,
    insert,
    live_count,
    raw_insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)

ID = UUID(int=0xA1)
SYSTEM_FIELDS = {name: content for name, content in SYSTEM.items() if name != "slug"}


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def memory(db: psycopg.Connection, account: UUID) -> UUID:
    row = insert(db, account, "I use npm.", source_ref="run 7", language="danish")
    result: UUID = row["id"]
    return result


@pytest.fixture
def claim(db: psycopg.Connection, account: UUID) -> UUID:
    row = insert(
        db,
        account,
        "npm is faster.",
        **(dict(SYSTEM) | {"admission": "admitted"}),
        entity="npm",
        language="danish",
    )
    result: UUID = row["id"]
    return result


def everything(db: psycopg.Connection) -> list[tuple[Any, ...]]:
    return rows(
        db, "select m, u from memstore.memories m join memstore.users u on u.id = m.user_id order by m.id"
    )


def test_the_old_row_stays_and_points_at_the_new_one(
    db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    replacement = supersede(db, account, memory, "  I use pnpm. ")
    old, new = row_of(db, memory), row_of(db, replacement["id"])
    assert (old["body"], old["superseded_by_id"]) == ("I use npm.", new["id"])
    assert (new["body"], new["superseded_at"], new["user_id"]) == ("I use pnpm.", None, account)
    assert old["superseded_at"] == old["updated_at"] == new["inserted_at"] == new["updated_at"]
    assert old["inserted_at"] < new["inserted_at"]
    assert live_count(db, account) == 1


# what a correction keeps


def test_what_is_left_out_comes_from_the_target(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    new = supersede(db, account, memory, "I use pnpm.")
    assert (new["bucket"], new["source_ref"], new["language"]) == ("user", "run 7", "danish")


@pytest.mark.parametrize("empty", ["", " ", "\u3000"], ids=["empty", "blank", "ideographic space"])
def test_an_empty_text_clears(empty: str, db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    new = supersede(db, account, memory, "I use pnpm.", source_ref=empty, language=empty)
    assert (new["source_ref"], new["language"]) == (None, "english")


def test_what_is_given_replaces(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    new = supersede(db, account, memory, "x", source_ref="run 8", language="german", bucket="learned")
    assert (new["bucket"], new["source_ref"], new["language"]) == ("learned", "run 8", "german")
    assert supersede(db, account, new["id"], "x", bucket="user")["bucket"] == "user"


def test_an_embedding_is_never_kept(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "I use npm.", embedding=[1, 2], embedding_model="model")["id"]
    new = supersede(db, account, memory, "I use pnpm.")
    assert (new["embedding_model"], row_of(db, new["id"])["embedding"]) == (None, None)
    newer = supersede(db, account, new["id"], "I use pnpm 9.", embedding=[3, 4], embedding_model="model")
    assert row_of(db, newer["id"])["embedding"] == [3, 4]
    with refused("embedding_dimensions_differ", "embedding"):
        supersede(db, account, newer["id"], SECRET, embedding=[3], embedding_model="model")
    assert row_of(db, newer["id"])["superseded_at"] is None


def test_what_a_claims_correction_keeps(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    new = supersede(db, account, claim, "pnpm is faster.", evidence_refs=[EVIDENCE])
    assert {name: new[name] for name in ("bucket", "slug", "entity", "tier", "admission", "language")} == {
        "bucket": "system",
        "slug": "sys:build",
        "entity": "npm",
        "tier": "ledger",
        "admission": "candidate",
        "language": "danish",
    }
    assert new["as_of"] == value(db, "select current_date")


def test_a_claims_correction_brings_its_own_evidence(
    db: psycopg.Connection, account: UUID, claim: UUID
) -> None:
    with refused("memories_evidence_refs_shape", "evidence_refs"):
        supersede(db, account, claim, SECRET)


def test_what_a_claims_correction_may_change(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    given = {"entity": "pnpm", "tier": "glass", "admission": "rejected", "bucket": "system"}
    new = supersede(
        db, account, claim, "pnpm is faster.", **given, as_of="2026-01-03", evidence_refs=[EVIDENCE]
    )
    assert {name: new[name] for name in given} == given
    assert str(new["as_of"]) == "2026-01-03"
    assert supersede(db, account, new["id"], "x", entity=" ", evidence_refs=[EVIDENCE])["entity"] is None


@pytest.mark.parametrize("field", ["tier", "admission"])
def test_what_a_claim_needs_cannot_be_cleared(
    field: str, db: psycopg.Connection, account: UUID, claim: UUID
) -> None:
    with refused(f"memories_{field}_shape", field):
        supersede(db, account, claim, SECRET, **{field: ""}, evidence_refs=[EVIDENCE])


def test_a_claims_fields_are_refused_elsewhere(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    with refused("memories_entity_shape", "entity"):
        supersede(
            db,
            account,
            memory,
            SECRET,
            entity="x",
            tier="glass",
            as_of="2026-01-02",
            admission="candidate",
            evidence_refs=[EVIDENCE],
        )


# what may be corrected


@pytest.mark.parametrize("bucket", ["system", " system", "system\n"])
def test_nothing_moves_into_system(bucket: str, db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    before = everything(db)
    with refused("not_supersedable", "target"):
        supersede(db, account, memory, SECRET, **{**SYSTEM_FIELDS, "bucket": bucket})
    assert everything(db) == before


@pytest.mark.parametrize("bucket", ["user", "learned", "elsewhere"])
def test_nothing_moves_out_of_system(bucket: str, db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    with refused("not_supersedable", "target"):
        supersede(db, account, claim, SECRET, bucket=bucket)
    assert row_of(db, claim)["superseded_at"] is None


def test_an_unknown_bucket(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    with refused("memories_bucket_shape", "bucket"):
        supersede(db, account, memory, SECRET, bucket="elsewhere")


def test_one_answer_for_a_foreign_and_an_unknown_target(
    db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    supersede(db, account, memory, "I use pnpm.")
    with refused("not_supersedable", "target"):  # its answer also has a hint: test_messages
        supersede(db, account, memory, SECRET)
    other = account_of(db, "other")
    foreign = [insert(db, other, "x")["id"], insert(db, other, "x", **SYSTEM)["id"]]
    before = everything(db)
    answers = set()
    for target in (*foreign, uuid4(), None):
        with refused("not_supersedable", "target") as refusal:
            call(db, "supersede_memory", actor=account, target=target, body=SECRET, evidence_refs=[EVIDENCE])
        diag = refusal.value.diag
        answers.add((diag.message_primary, diag.message_detail, diag.message_hint))
    assert len(answers) == 1
    assert everything(db) == before


def test_a_broken_rule_leaves_the_target_alone(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    before = everything(db)
    for body in (None, "", "x" * 2001):
        with refused("memories_body_shape", "body"):
            supersede(db, account, memory, body)
    assert everything(db) == before


def test_a_row_whose_replacement_is_gone_is_not_supersedable(
    db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    new = supersede(db, account, memory, "I use pnpm.")
    call(db, "delete_memory", actor=account, id=new["id"])
    with refused("not_supersedable", "target"):
        supersede(db, account, memory, "I use yarn.")


def test_times_rise_along_a_chain_whatever_the_clock_says(db: psycopg.Connection, account: UUID) -> None:
    raw_insert(db, account, "From the future.", id=ID, inserted_at="2999-01-01Z")
    new = supersede(db, account, ID, "x")
    assert new["inserted_at"] == row_of(db, ID)["superseded_at"] > row_of(db, ID)["inserted_at"]
    newer = supersede(db, account, new["id"], "y")
    assert newer["inserted_at"] > new["inserted_at"]


# retries


def test_a_repeated_call_returns_the_row(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    new = supersede(db, account, memory, "I use pnpm.", id=ID)
    assert supersede(db, account, memory, " I use pnpm.", id=ID) == new
    assert supersede(db, account, memory, "I use pnpm.", id=ID, source_ref="run 7") == new
    assert live_count(db, account) == 1
    with refused("not_supersedable", "target"):
        supersede(db, account, memory, "I use pnpm.")  # no id, so no retry


def test_a_repeated_call_returns_a_row_that_was_corrected_since(
    db: psycopg.Connection, account: UUID, memory: UUID
) -> None:
    supersede(db, account, memory, "I use pnpm.", id=ID)
    newer = supersede(db, account, ID, "I use pnpm 9.")
    assert supersede(db, account, memory, "I use pnpm.", id=ID)["superseded_by_id"] == newer["id"]


def test_a_repeated_call_for_a_claim_without_its_date(
    db: psycopg.Connection, account: UUID, claim: UUID
) -> None:
    new = supersede(db, account, claim, "x", evidence_refs=[EVIDENCE], as_of="2026-01-03", id=ID)
    assert supersede(db, account, claim, "x", evidence_refs=[EVIDENCE], id=ID) == new  # today is another day
    with refused("not_supersedable", "target"):
        supersede(db, account, claim, "x", evidence_refs=[EVIDENCE], as_of="2026-01-04", id=ID)


def test_a_repeated_call_at_the_ceiling(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    new = supersede(db, account, memory, "I use pnpm.", id=ID)
    db.execute("select memstore.set_maximum_live_memories(%s, 0)", [account])
    assert supersede(db, account, memory, "I use pnpm.", id=ID) == new


def test_a_repeated_call_with_other_content(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    supersede(db, account, memory, "I use pnpm.", id=ID)
    for other in ({"body": "I use yarn."}, {"source_ref": ""}, {"language": "german"}, {"bucket": "learned"}):
        with refused("not_supersedable", "target"):
            supersede(db, account, memory, **({"body": "I use pnpm."} | other), id=ID)


def test_an_id_that_is_taken(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    own = insert(db, account, "I use npm.", source_ref="run 7", language="danish")["id"]
    dead = insert(db, account, "I use npm.")["id"]
    supersede(db, account, dead, "x")
    foreign = insert(db, account_of(db, "other"), "I use npm.")["id"]
    claim = insert(db, account, "I use npm.", **SYSTEM)["id"]
    before = everything(db)
    for taken in (own, memory, dead, foreign, claim):
        with refused("id_taken", "id"):
            supersede(db, account, memory, "I use npm.", id=taken)
    assert everything(db) == before


# the ceiling


@pytest.mark.parametrize("ceiling", [3, 1, 0])
def test_a_correction_at_and_above_the_ceiling(
    ceiling: int, db: psycopg.Connection, account: UUID, memory: UUID, claim: UUID
) -> None:
    insert(db, account, "x", bucket="learned")
    db.execute("select memstore.set_maximum_live_memories(%s, %s)", [account, ceiling])
    new = supersede(db, account, memory, "I use pnpm.")
    supersede(db, account, new["id"], "I use pnpm 9.", bucket="learned")
    supersede(db, account, claim, "pnpm is faster.", evidence_refs=[EVIDENCE])
    assert live_count(db, account) == 3
    with refused("quota_reached", "actor"):
        insert(db, account, "x")


# stewards


def test_a_stewards_correction_of_anothers_claim(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    steward = steward_of(db, "steward")
    new = supersede(db, steward, claim, "pnpm is faster.", evidence_refs=[EVIDENCE])
    assert (new["user_id"], new["slug"]) == (steward, "sys:build")
    assert row_of(db, claim)["superseded_by_id"] == new["id"]
    assert (live_count(db, account), live_count(db, steward)) == (0, 1)


def test_it_needs_room(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    steward = steward_of(db, "steward")
    db.execute("select memstore.set_maximum_live_memories(%s, 0)", [steward])
    before = everything(db)
    with refused("quota_reached", "actor"):
        supersede(db, steward, claim, SECRET, evidence_refs=[EVIDENCE])
    assert everything(db) == before


def test_it_repeats(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    steward = steward_of(db, "steward")
    new = supersede(db, steward, claim, "pnpm is faster.", evidence_refs=[EVIDENCE], id=ID)
    assert supersede(db, steward, claim, "pnpm is faster.", evidence_refs=[EVIDENCE], id=ID) == new


def test_a_steward_has_no_other_rights(db: psycopg.Connection, account: UUID, memory: UUID) -> None:
    steward = steward_of(db, "steward")
    before = everything(db)
    with refused("not_supersedable", "target"):
        supersede(db, steward, memory, SECRET)
    assert everything(db) == before


def test_a_former_steward_has_none(db: psycopg.Connection, account: UUID, claim: UUID) -> None:
    steward = steward_of(db, "steward")
    db.execute("select memstore.set_steward(%s, false)", [steward])
    with refused("not_supersedable", "target"):
        supersede(db, steward, claim, SECRET, evidence_refs=[EVIDENCE])


def test_an_author_cannot_correct_a_stewards_replacement(
    db: psycopg.Connection, account: UUID, claim: UUID
) -> None:
    new = supersede(db, steward_of(db, "steward"), claim, "pnpm is faster.", evidence_refs=[EVIDENCE])
    with refused("not_supersedable", "target"):
        supersede(db, account, new["id"], SECRET, evidence_refs=[EVIDENCE])
