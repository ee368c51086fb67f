"""Accounts: create_user, find_user, delete_user, and the boundary between accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from tests.sql.support import (
    EVIDENCE,
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
LOOK_ALIKES = (
    *("a", "ab", "a_1", "a%1", "A", "%", "_", "\\", "'", "á", "a\u0301", "a.b", "1", "01", "null", "NULL"),
    *("a ", " a", "  ", "a\n", "\ta", "a\u200b", "\N{GRINNING FACE}"),
)


def create(db: psycopg.Connection, **arguments: object) -> UUID:
    (row,) = call(db, "create_user", **arguments)
    result: UUID = row["create_user"]
    return result


def find(db: psycopg.Connection, ref: str | None) -> UUID | None:
    result: UUID | None = value(db, "select memstore.find_user(%s)", ref)
    return result


# create_user and find_user


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_create_is_safe_to_repeat(db: psycopg.Connection) -> None:
    account = create(db, external_ref="a")
    assert (
        create(db, external_ref="a") == create(db, external_ref="a", id=account) == find(db, "a") == account
    )
    assert create(db, external_ref="a", language="danish") == account
    assert rows(db, "select language from memstore.users") == [("english",)]


def test_an_id_makes_it_safe_too(db: psycopg.Connection) -> None:
    assert create(db, id=ID) == create(db, id=ID) == ID
    assert create(db, external_ref="a", id=UUID(int=2)) == UUID(int=2)
    assert rows(db, "select count(*) from memstore.users") == [(2,)]


def test_without_either_every_call_creates_an_account(db: psycopg.Connection) -> None:
    assert create(db) != create(db)


def test_look_alikes_are_other_accounts(db: psycopg.Connection) -> None:
    accounts = {ref: create(db, external_ref=ref) for ref in LOOK_ALIKES}
    assert len(set(accounts.values())) == len(LOOK_ALIKES)
    for ref, account in accounts.items():
        assert find(db, ref) == create(db, external_ref=ref) == account
        insert(db, account, f"I am <{ref}>.")
    for ref, account in accounts.items():
        assert [row["body"] for row in call(db, "list_memories", actor=account)] == [f"I am <{ref}>."]


@pytest.mark.parametrize(
    "ref", [None, "", "b", "account-1 ", "ACCOUNT-1", "account_1", "account%", "account-"]
)
def test_find_compares_exactly(ref: str | None, db: psycopg.Connection, account: UUID) -> None:
    create(db)
    assert find(db, ref) is None
    assert find(db, "account-1") == account


def test_another_id_or_another_external_ref(db: psycopg.Connection) -> None:
    create(db, id=ID, external_ref="a")
    create(db, id=UUID(int=2))
    create(db, id=UUID(int=3), external_ref="c")
    for arguments in (
        {"id": uuid4(), "external_ref": "a"},
        {"id": ID, "external_ref": "b"},
        {"id": UUID(int=2), "external_ref": "b"},
        {"id": UUID(int=2), "external_ref": "a"},
        {"id": UUID(int=3), "external_ref": "a"},
    ):
        with refused("id_taken", "id"):
            create(db, **arguments)
    assert rows(db, "select id, external_ref from memstore.users order by id") == [
        (UUID(int=2), None),
        (UUID(int=3), "c"),
        (ID, "a"),
    ]


@pytest.mark.parametrize("ref", ["", "x" * 201, "\N{GRINNING FACE}" * 201])
def test_an_external_ref_of_another_length(ref: str, db: psycopg.Connection) -> None:
    with refused("users_external_ref_shape", "external_ref"):
        create(db, external_ref=ref)
    with refused("users_external_ref_shape"):
        db.execute("insert into memstore.users (external_ref) values (%s)", [ref])
    assert create(db, external_ref="\N{GRINNING FACE}" * 200)


@pytest.mark.parametrize("language", ["estonian", "English", "x", ""])
def test_an_unknown_language(language: str, db: psycopg.Connection) -> None:
    with refused("users_language_shape", "language"):
        create(db, external_ref="a", language=language)
    with refused("users_language_shape"):
        db.execute("insert into memstore.users (language) values (%s)", [language])
    assert find(db, "a") is None


def test_language_is_english_unless_given(db: psycopg.Connection) -> None:
    for language, expected in ((None, "english"), ("danish", "danish"), (" danish ", "danish")):
        account = create(db, language=language)
        assert rows(db, "select language from memstore.users where id = %s", account) == [(expected,)]
    assert rows(db, "select distinct steward, live_memories, erased_at from memstore.users") == [
        (False, 0, None)
    ]


def test_an_external_ref_is_unique_in_the_table(db: psycopg.Connection, account: UUID) -> None:
    with refused("users_external_ref_key"):
        db.execute("insert into memstore.users (external_ref) values ('account-1')")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("users_steward_shape", "steward = null"),
        ("users_steward_shape", "steward = true, external_ref = null, erased_at = now()"),
        ("users_erased_at_shape", "erased_at = now()"),
        ("users_maximum_live_memories_shape", "maximum_live_memories = -1"),
        ("users_maximum_live_memories_shape", "maximum_live_memories = null"),
        ("users_live_memories_shape", "live_memories = -1"),
        ("users_live_memories_shape", "live_memories = null"),
        ("users_inserted_at_shape", "inserted_at = null"),
        ("users_language_shape", "language = null"),
    ],
)
def test_the_rules_of_an_account(name: str, change: str, db: psycopg.Connection, account: UUID) -> None:
    with refused(name):
        db.execute(f"update memstore.users set {change}".encode())


# the acting account


def unknown(db: psycopg.Connection) -> UUID:
    return uuid4()


def nobody(db: psycopg.Connection) -> None:
    return None


def deleted(db: psycopg.Connection) -> UUID:
    account = account_of(db, "deleted")
    insert(db, account, "x")
    call(db, "delete_user", actor=account)
    return account


def erased(db: psycopg.Connection) -> UUID:
    """One whose row stays, because of a record that it wrote on another's claim."""
    account = account_of(db, "erased")
    claim = insert(db, account_of(db, "author"), "x", **SYSTEM)["id"]
    call(db, "challenge_memory", actor=account, memory_id=claim, ground="It is wrong.")
    call(db, "delete_user", actor=account)
    assert rows(db, "select erased_at is not null from memstore.users where id = %s", account) == [(True,)]
    return account


@pytest.mark.parametrize("actor", [unknown, nobody, deleted, erased])
def test_every_function_refuses_an_actor_that_is_none(
    actor: Callable[[psycopg.Connection], UUID | None], db: psycopg.Connection
) -> None:
    account = actor(db)
    functions = rows(
        db,
        "select p.proname, p.proargnames[1:p.pronargs - p.pronargdefaults],"
        " p.proargtypes[0:p.pronargs - p.pronargdefaults - 1]::regtype[]::text[]"
        " from pg_proc p join memstore.api_functions f on f.signature = p.oid"
        " where p.proargnames[1] = 'actor'",
    )
    assert {"insert_memory", "list_memories", "recall", "delete_user"} <= {name for name, _, _ in functions}
    before = rows(db, "select count(*) from memstore.memories")
    for name, arguments, types in functions:
        query = sql.SQL("select memstore.{}({})").format(
            sql.Identifier(name),
            sql.SQL(", ").join(
                sql.SQL("{} => {}::{}").format(sql.Identifier(argument), sql.Placeholder(), sql.SQL(kind))
                for argument, kind in zip(arguments, types, strict=True)
            ),
        )
        with refused("actor_unknown", "actor"):
            db.execute(query, [account, *[None] * (len(arguments) - 1)])
    assert rows(db, "select count(*) from memstore.memories") == before


# delete_user


def test_delete_takes_all_memories_and_says_how_many(db: psycopg.Connection, account: UUID) -> None:
    other = account_of(db, "other")
    insert(db, other, "x")
    memory = insert(db, account, "I use npm.", embedding=[1], embedding_model="model")["id"]
    supersede(db, account, memory, "I use pnpm.")
    insert(db, account, "x", bucket="learned")
    insert(db, account, "x", **SYSTEM)
    assert value(db, "select memstore.delete_user(%s)", account) == 4
    assert rows(db, "select user_id from memstore.memories") == [(other,)]
    assert not rows(db, "select from memstore.users where id = %s", account)
    assert not rows(db, "select from memstore.embedding_models")
    assert find(db, "account-1") is None


def test_delete_of_an_account_without_memories(db: psycopg.Connection, account: UUID) -> None:
    assert value(db, "select memstore.delete_user(%s)", account) == 0
    assert not rows(db, "select from memstore.users")


def test_the_external_ref_is_free_again(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x")
    call(db, "delete_user", actor=account)
    again = account_of(db, "account-1")
    assert again != account
    assert not call(db, "list_memories", actor=again)


def test_an_erased_id_is_not_created_again(db: psycopg.Connection) -> None:
    account = erased(db)
    for arguments in ({"id": account}, {"id": account, "external_ref": "a"}):
        with refused("actor_unknown", "id"):
            create(db, **arguments)
    assert find(db, "erased") is None
    with refused("actor_unknown", "user_id"):
        call(db, "set_steward", user_id=account, steward=True)
    with refused("actor_unknown", "user_id"):
        call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=9)
    with refused("actor_unknown"):
        call(db, "import_memories", user_id=account, memories=[])


def test_others_rows_stay_superseded_and_point_past_the_erased_ones(
    db: psycopg.Connection, account: UUID
) -> None:
    steward, last_steward = steward_of(db, "steward"), steward_of(db, "last")
    claims = [insert(db, account, body, **SYSTEM)["id"] for body in ("x", "x2")]
    second = [supersede(db, steward, claim, "y", evidence_refs=[EVIDENCE])["id"] for claim in claims]
    third = [supersede(db, steward, claim, "z", evidence_refs=[EVIDENCE])["id"] for claim in second]
    last = supersede(db, last_steward, third[0], "w", evidence_refs=[EVIDENCE])["id"]
    assert value(db, "select memstore.delete_user(%s)", steward) == 4
    assert [row_of(db, claim)["superseded_by_id"] for claim in claims] == [last, None]
    assert all(row_of(db, claim)["superseded_at"] for claim in claims)
    assert (live_count(db, account), live_count(db, last_steward)) == (0, 1)


def test_an_account_with_memories_is_not_deleted_past_the_function(
    db: psycopg.Connection, account: UUID
) -> None:
    raw_insert(db, account)
    with refused("memories_user_id_fkey"):
        db.execute("delete from memstore.users where id = %s", [account])


# the boundary


def test_nothing_names_another_owner(db: psycopg.Connection, account: UUID) -> None:
    other = str(account_of(db, "other"))
    for key in ("actor", "user_id", "owner", "account"):
        with refused("argument_invalid"):
            call(db, "insert_memories", actor=account, memories=[{"body": "x", key: other}])
        with refused("argument_invalid"):
            call(db, "import_memories", user_id=account, memories=[{"body": "x", key: other}])
    assert not rows(db, "select from memstore.memories")


def test_no_function_shows_or_changes_anothers_memories(db: psycopg.Connection, account: UUID) -> None:
    other = steward_of(db, "other")
    memory = insert(db, account, "pnpm", embedding=[1], embedding_model="model")["id"]
    before = rows(db, "select m, u from memstore.memories m join memstore.users u on u.id = m.user_id")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_memories", {"include_superseded": True}),
        ("memories_as_of", {"moment": row_of(db, memory)["inserted_at"]}),
        ("rank_memories", {"query": "pnpm"}),
    ]
    for function, arguments in calls:
        assert call(db, function, actor=other, **arguments) == []
    targeted: list[tuple[str, str, dict[str, Any]]] = [
        ("memory_not_found", "get_memory", {"id": memory}),
        ("memory_not_found", "memory_history", {"id": memory}),
        ("memory_not_found", "delete_memory", {"id": memory}),
        ("memory_not_found", "list_memories", {"after": memory}),
        ("memory_not_found", "set_embedding", {"id": memory, "embedding": [1], "embedding_model": "model"}),
        ("not_supersedable", "supersede_memory", {"target": memory, "body": "x"}),
        ("not_supersedable", "supersede_with", {"target": memory, "replacement": memory}),
    ]
    for name, function, arguments in targeted:
        with refused(name):
            call(db, function, actor=other, **arguments)
    assert before == rows(
        db, "select m, u from memstore.memories m join memstore.users u on u.id = m.user_id"
    )
