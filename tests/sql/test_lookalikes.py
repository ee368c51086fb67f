"""Accounts whose names look alike, or mean something to a pattern, never mix."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from .support import EVIDENCE, SYSTEM, account_of, call, call_one, insert, refused, rows, supersede

LOOKALIKES = (
    *(
        "a",
        "ab",
        "a_1",
        "a%1",
        "ax1",
        "%",
        "_",
        "A",
        "a ",
        " a",
        " ",
        "a\t",
        "a\n",
        "a\\",
        "a\\_1",
        "'a'",
        '"a"',
    ),
    *("\uff41", "\u0430", "a\u200b", "\u00aa", "\u00e9", "e\u0301", "E\u0301", "\u0131", "i", "I", "\u0130"),
    *(
        "\u00df",
        "ss",
        "\ufb01",
        "fi",
        "*",
        ".",
        "a*",
        "null",
        "NULL",
        "default",
        "00000000-0000-0000-0000-000000000000",
    ),
    *("a" * 199, "a" * 200, "\U0001f600", "\U0001f600\ufe0f"),
)


@pytest.fixture
def accounts(scratch: psycopg.Connection) -> dict[str, UUID]:
    """Each with a memory, its correction, a merged one, and a claim; all words are the same but one."""
    made = {name: account_of(scratch, name) for name in LOOKALIKES}
    for number, account in enumerate(made.values()):
        first = insert(scratch, account, f"It builds, says {number}.")["id"]
        supersede(scratch, account, first, f"It builds well, says {number}.")
        insert(scratch, account, f"It builds, says {number}.", **SYSTEM)
        call(
            scratch,
            "import_memories",
            user_id=account,
            memories=[{"body": f"It builds, imported {number}.", "bucket": "learned"}],
        )
    return made


def of_account(db: psycopg.Connection, account: UUID, first: UUID) -> dict[str, Any]:
    """All that the functions tell of an account."""
    reads: dict[str, dict[str, Any]] = {
        "list_memories": {"include_superseded": True},
        "memory_history": {"id": first},
        "get_memory": {"id": first},
    }
    told: dict[str, Any] = {name: call(db, name, actor=account, **more) for name, more in reads.items()}
    moment = "select user_id from memstore.memories_as_of(%s, clock_timestamp())"
    told["memories_as_of"] = [{"user_id": user} for (user,) in rows(db, moment, account)]
    told["rank_memories"] = [
        {"user_id": user}
        for (user,) in rows(db, "select (memory).user_id from memstore.rank_memories(%s, 'builds')", account)
    ]
    told["recall"] = [
        {"user_id": UUID(each["user_id"])}
        for each in call_one(db, "recall", actor=account, query="builds")["memories"]
    ]
    return told


def test_they_are_different_accounts(scratch: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    assert len(set(accounts.values())) == len(LOOKALIKES)
    for name, account in accounts.items():
        assert call_one(scratch, "find_user", external_ref=name) == {"find_user": account}
        assert account_of(scratch, name) == account
    for other in ("b", "a  ", "aB", "%%", "", "a" * 198, "\u00c9", "a_2"):
        assert call_one(scratch, "find_user", external_ref=other) == {"find_user": None}


def test_each_reads_its_own(scratch: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    for account in accounts.values():
        mine = {
            row[0] for row in rows(scratch, "select id from memstore.memories where user_id = %s", account)
        }
        (first, *_) = rows(
            scratch,
            "select id from memstore.memories where user_id = %s and superseded_at is not null",
            account,
        )
        told = of_account(scratch, account, first[0])
        assert {each["id"] for each in told["list_memories"]} == mine
        for name, each in told.items():
            assert each and {row["user_id"] for row in each} == {account}, name


def test_none_reaches_another_s(scratch: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    owner = accounts["a"]
    memory = insert(scratch, owner, "It is mine.")["id"]
    for name, account in accounts.items():
        if name == "a":
            continue
        for refusal, function, more in (
            ("memory_not_found", "get_memory", {"id": memory}),
            ("memory_not_found", "memory_history", {"id": memory}),
            ("memory_not_found", "delete_memory", {"id": memory}),
            ("memory_not_found", "list_memories", {"after": memory}),
            ("memory_not_found", "set_embedding", {"id": memory, "embedding": [1], "embedding_model": "m"}),
            ("not_supersedable", "supersede_memory", {"target": memory, "body": "It is not."}),
            ("id_taken", "insert_memory", {"body": "It is mine.", "id": memory}),
        ):
            with refused(refusal), scratch.transaction():
                call(scratch, function, actor=account, **more)
        with refused("not_supersedable"), scratch.transaction():
            (own,) = rows(scratch, "select id from memstore.list_memories(%s, page_size => 1)", account)
            call(scratch, "supersede_with", actor=account, target=memory, replacement=own[0])


def test_one_leaves_alone(scratch: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    for name in ("a", "%", "_", "A", "a ", "\u00e9", "null"):
        others = "select to_jsonb(m) from memstore.memories m where user_id <> %s order by id"
        before = rows(scratch, others, accounts[name])
        assert call_one(scratch, "delete_user", actor=accounts[name]) == {"delete_user": 4}
        assert rows(scratch, others, accounts[name]) == before
        assert call_one(scratch, "find_user", external_ref=name) == {"find_user": None}
        assert account_of(scratch, name) != accounts[name]
    left = {name: account for name, account in accounts.items() if name in ("ab", "a_1", "\uff41", "e\u0301")}
    for name, account in left.items():
        assert call_one(scratch, "find_user", external_ref=name) == {"find_user": account}


def test_one_is_marked_alone(scratch: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    call(scratch, "set_steward", user_id=accounts["%"], steward=True)
    call(scratch, "set_maximum_live_memories", user_id=accounts["_"], maximum_live_memories=0)
    stewards = rows(scratch, "select external_ref from memstore.users where steward")
    full = rows(scratch, "select external_ref from memstore.users where maximum_live_memories = 0")
    assert (stewards, full) == ([("%",)], [("_",)])
    claim = insert(scratch, accounts["a"], "It builds.", **SYSTEM)["id"]
    asked = {"memory_id": claim, "verdict": "admitted", "ground": "Because."}
    for name in ("a", "A", "a%1"):
        with refused("steward_required"), scratch.transaction():
            call(scratch, "record_admission", actor=accounts[name], **asked)
        with refused("steward_required"), scratch.transaction():
            evidence = [EVIDENCE]
            call(
                scratch,
                "promote_memory",
                actor=accounts[name],
                target=claim,
                stance="x",
                evidence_refs=evidence,
            )
