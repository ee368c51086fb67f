"""Accounts whose names look alike, or mean something to a pattern, never mix: in SQL, and by command."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.cli.running import Run, complaints, documents, isolate, on_database
from tests.sql.support import EVIDENCE, SYSTEM, account_of, call, call_one, insert, refused, rows, supersede

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

# Fewer, since each command takes its time.
TYPED = ["a", "ab", "a_1", "%", "A", "a ", " a", "\uff41", "e\u0301", "\u00e9", "*", "default", "null", "--"]


@pytest.fixture
def accounts(db: psycopg.Connection) -> dict[str, UUID]:
    """Each with a memory, its correction, a merged one, and a claim; all words are the same but one."""
    made = {name: account_of(db, name) for name in LOOKALIKES}
    for number, account in enumerate(made.values()):
        first = insert(db, account, f"It builds, says {number}.")["id"]
        supersede(db, account, first, f"It builds well, says {number}.")
        insert(db, account, f"It builds, says {number}.", **SYSTEM)
        call(
            db,
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


def test_they_are_different_accounts(db: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    assert len(set(accounts.values())) == len(LOOKALIKES)
    for name, account in accounts.items():
        assert call_one(db, "find_user", external_ref=name) == {"find_user": account}
        assert account_of(db, name) == account
    for other in ("b", "a  ", "aB", "%%", "", "a" * 198, "\u00c9", "a_2"):
        assert call_one(db, "find_user", external_ref=other) == {"find_user": None}


def test_each_reads_its_own(db: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    for account in accounts.values():
        mine = {row[0] for row in rows(db, "select id from memstore.memories where user_id = %s", account)}
        (first, *_) = rows(
            db,
            "select id from memstore.memories where user_id = %s and superseded_at is not null",
            account,
        )
        told = of_account(db, account, first[0])
        assert {each["id"] for each in told["list_memories"]} == mine
        for name, each in told.items():
            assert each and {row["user_id"] for row in each} == {account}, name


def test_none_reaches_another_s(db: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    owner = accounts["a"]
    memory = insert(db, owner, "It is mine.")["id"]
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
            with refused(refusal), db.transaction():
                call(db, function, actor=account, **more)
        with refused("not_supersedable"), db.transaction():
            (own,) = rows(db, "select id from memstore.list_memories(%s, page_size => 1)", account)
            call(db, "supersede_with", actor=account, target=memory, replacement=own[0])


def test_one_leaves_alone(db: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    for name in ("a", "%", "_", "A", "a ", "\u00e9", "null"):
        others = "select to_jsonb(m) from memstore.memories m where user_id <> %s order by id"
        before = rows(db, others, accounts[name])
        assert call_one(db, "delete_user", actor=accounts[name]) == {"delete_user": 4}
        assert rows(db, others, accounts[name]) == before
        assert call_one(db, "find_user", external_ref=name) == {"find_user": None}
        assert account_of(db, name) != accounts[name]
    left = {name: account for name, account in accounts.items() if name in ("ab", "a_1", "\uff41", "e\u0301")}
    for name, account in left.items():
        assert call_one(db, "find_user", external_ref=name) == {"find_user": account}


def test_one_is_marked_alone(db: psycopg.Connection, accounts: dict[str, UUID]) -> None:
    call(db, "set_steward", user_id=accounts["%"], steward=True)
    call(db, "set_maximum_live_memories", user_id=accounts["_"], maximum_live_memories=0)
    stewards = rows(db, "select external_ref from memstore.users where steward")
    full = rows(db, "select external_ref from memstore.users where maximum_live_memories = 0")
    assert (stewards, full) == ([("%",)], [("_",)])
    claim = insert(db, accounts["a"], "It builds.", **SYSTEM)["id"]
    asked = {"memory_id": claim, "verdict": "admitted", "ground": "Because."}
    for name in ("a", "A", "a%1"):
        with refused("steward_required"), db.transaction():
            call(db, "record_admission", actor=accounts[name], **asked)
        with refused("steward_required"), db.transaction():
            evidence = [EVIDENCE]
            call(
                db,
                "promote_memory",
                actor=accounts[name],
                target=claim,
                stance="x",
                evidence_refs=evidence,
            )


@pytest.fixture
def run(db_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, in this process."""
    isolate(monkeypatch)
    return on_database(db_url)


@pytest.mark.long
def test_by_command_each_has_its_own(run: Run) -> None:
    for number, name in enumerate(TYPED):
        run(f"--account={name}", "remember", f"It builds, says {number}.")
        line = json.dumps({"body": f"It was imported, says {number}."})
        run("import", "-", f"--account={name}", stdin=line)
    ids = {}
    for number, name in enumerate(TYPED):
        told = documents(run("list", "--json", f"--account={name}"))
        assert [each["body"] for each in told] == [
            f"It was imported, says {number}.",
            f"It builds, says {number}.",
        ]
        ids[name] = told[0]["id"]
        note = run("recall", "imported", f"--account={name}").stdout
        assert f"says {number}." in note and note.count("says") == 2
    for name in TYPED[1:]:
        for command in ("show", "history", "forget"):
            (line,) = complaints(run(command, ids["a"], f"--account={name}", code=1))
            assert line.startswith("The account has no such memory.")
        assert "superseded so" in run("correct", ids["a"], "No.", f"--account={name}", code=1).stderr
    accounts = [document["external_ref"] for document in documents(run("accounts", "--json"))]
    assert sorted(accounts) == sorted(TYPED)


@pytest.mark.long
@pytest.mark.parametrize("name", ["b", "a  ", "aB", "%%", "\u00c9"])
def test_by_command_there_is_no_such_account(run: Run, name: str) -> None:
    for each in TYPED:
        run(f"--account={each}", "remember", "It builds.")
    (line,) = complaints(run("list", f"--account={name}", code=1))
    assert line == f"There is no account {name}."


def test_an_empty_name_is_not_the_default_account(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert complaints(run("remember", "It builds.", "--account", "", code=1))
    assert complaints(run("list", "--account", "", code=1))
    assert complaints(run("list", "--database-url", "", code=2)) == ["--database-url is empty"]
    monkeypatch.setenv("MEMSTORE_ACCOUNT", "")
    run("remember", "It builds.")
    assert [document["external_ref"] for document in documents(run("accounts", "--json"))] == ["default"]
