"""Claims as pages list them: an account's own, and how many there are by status."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.support import SYSTEM, account_of, call, insert, refused, rows, steward_of, supersede


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def claims(db: psycopg.Connection) -> dict[str, UUID]:
    """Claims of one account, by their status."""
    account, judge = account_of(db, "holder"), steward_of(db, "judge")
    ids = {
        status: insert(db, account, status, **SYSTEM)["id"]
        for status in ("candidate", "admitted", "rejected", "suspended", "corrected")
    }
    for status, verdict in (("admitted", "admitted"), ("rejected", "rejected"), ("suspended", "admitted")):
        rows(db, "select memstore.record_admission(%s, %s, %s, 'x')", judge, ids[status], verdict)
    call(
        db, "challenge_memory", actor=judge, memory_id=ids["suspended"], ground="x",
        evidence_refs=SYSTEM["evidence_refs"],
    )  # fmt: skip
    supersede(db, account, ids.pop("corrected"), "candidate 2", evidence_refs=SYSTEM["evidence_refs"])
    insert(db, account_of(db, "other"), "theirs", **SYSTEM)
    return ids


def test_own_claims(db: psycopg.Connection, claims: dict[str, UUID]) -> None:
    account = account_of(db, "holder")
    listed = "select (memory).body, status, open_challenges from memstore.list_own_claims(%s, {})"
    assert rows(db, listed.format("null"), account) == [
        ("candidate 2", "candidate", 0),
        ("suspended", "suspended", 1),
        ("rejected", "rejected", 0),
        ("admitted", "admitted", 0),
        ("candidate", "candidate", 0),
    ]
    assert rows(db, listed.format("'suspended'"), account) == [("suspended", "suspended", 1)]
    paged = "select (memory).id from memstore.list_own_claims(%s, page_size => 1, after => %s)"
    assert rows(db, paged, account, claims["rejected"]) == [(claims["admitted"],)]


def test_own_claims_refused(db: psycopg.Connection, claims: dict[str, UUID]) -> None:
    account = account_of(db, "holder")
    for arguments, name in (
        ({"status": "x"}, "argument_invalid"),
        ({"page_size": 201}, "argument_invalid"),
        ({"after": uuid4()}, "memory_not_found"),
    ):
        with refused(name):
            call(db, "list_own_claims", actor=account, **arguments)
    with refused("actor_unknown", "actor"):
        call(db, "list_own_claims", actor=None)


def test_counts(db: psycopg.Connection, claims: dict[str, UUID]) -> None:
    assert rows(db, "select * from memstore.count_claims(%s)", steward_of(db, "judge")) == [
        ("candidate", 3),
        ("admitted", 1),
        ("rejected", 1),
        ("suspended", 1),
    ]
    with refused("steward_required", "actor"):
        call(db, "count_claims", actor=account_of(db, "holder"))
    with refused("actor_unknown", "actor"):
        call(db, "count_claims", actor=None)


def test_get_user(db: psycopg.Connection, claims: dict[str, UUID]) -> None:
    (found,) = call(db, "get_user", actor=account_of(db, "holder"))
    known = [found[name] for name in ("external_ref", "steward", "live_memories", "maximum_live_memories")]
    assert known == ["holder", False, 5, 200]
    with refused("actor_unknown", "actor"):
        call(db, "get_user", actor=uuid4())


def test_a_record_is_written_once(db: psycopg.Connection, claims: dict[str, UUID]) -> None:
    account, judge, id = account_of(db, "holder"), steward_of(db, "judge"), uuid4()
    evidence = Jsonb(SYSTEM["evidence_refs"])
    challenge = "select (memstore.challenge_memory(%s, %s, %s, %s, %s)).id"
    for _ in range(2):
        assert rows(db, challenge, account, claims["admitted"], " No. ", evidence, id) == [(id,)]
    for who, claim, ground, given in (
        (account, claims["admitted"], "Yes.", evidence),
        (account, claims["admitted"], "No.", None),
        (account, claims["candidate"], "No.", evidence),
        (judge, claims["admitted"], "No.", evidence),
    ):
        with refused("id_taken", "id"):
            rows(db, challenge, who, claim, ground, given, id)
    answers: list[tuple[str, tuple[object, ...], str]] = [
        ("select (memstore.refute_challenge(%s, %s, %s, %s)).id", (judge, id, "Yes."), "Surely."),
        (
            "select (memstore.record_admission(%s, %s, 'admitted', %s, %s)).id",
            (judge, claims["admitted"], "Yes."),
            "x",
        ),
    ]
    for statement, arguments, other in answers:
        record = uuid4()
        for _ in range(2):
            assert rows(db, statement, *arguments, record) == [(record,)]
        with refused("id_taken", "id"):
            rows(db, statement, *arguments[:-1], other, record)
    assert len(rows(db, "select memstore.list_records(%s, %s)", account, claims["admitted"])) == 4
