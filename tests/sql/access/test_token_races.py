"""Tokens under races, and what their role holds after an upgrade: in a database of their own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from uuid import UUID

import psycopg

from memstore import schema
from tests.sql.access.test_tokens import digest, token_of
from tests.sql.racing import at_once
from tests.sql.support import account_of, call, call_one, rows, value

Connect = Callable[..., psycopg.Connection]


def run(db: psycopg.Connection, query: str, given: tuple[object, ...]) -> None:
    rows(db, query, *given)


def redeem(db: psycopg.Connection, login: bytes, session: bytes) -> UUID:
    account: UUID = call_one(db, "redeem_login", digest=login, session=session)["actor"]
    return account


def test_a_login_becomes_one_session(db: psycopg.Connection, connect: Connect, account: UUID) -> None:
    for _ in range(5):
        login = digest(call_one(db, "create_login", actor=account)["token"])
        results = at_once(
            connect,
            *(partial(redeem, login=login, session=secrets.token_bytes(32)) for _ in range(8)),
        )
        assert sorted(map(str, results)) == sorted([str(account), *["token_invalid"] * 7])


def test_an_erasure_leaves_no_token(db: psycopg.Connection, connect: Connect) -> None:
    for number in range(5):
        account = account_of(db, f"e{number}")
        login = digest(call_one(db, "create_login", actor=account)["token"])
        agent = digest(token_of(db, account))
        (*_, listed) = call(db, "list_tokens", actor=account)
        results = at_once(
            connect,
            partial(run, query="select memstore.delete_user(%s)", given=(account,)),
            partial(redeem, login=login, session=secrets.token_bytes(32)),
            partial(run, query="select memstore.authenticate_token(%s)", given=(agent,)),
            partial(run, query="select memstore.revoke_token(%s, %s)", given=(account, listed["id"])),
            partial(run, query="select memstore.create_token(%s, 'late')", given=(account,)),
        )
        assert {each for each in results if isinstance(each, str)} <= {"token_invalid", "actor_unknown"}
        assert value(db, "select count(*) from memstore.tokens") == 0


def test_the_role_of_serve_outlives_the_functions(db: psycopg.Connection) -> None:
    role = f"memory_web_{secrets.token_hex(4)}"
    db.execute(f"create role {role}".encode())
    try:
        rows(db, "select memstore.grant_serve(%s)", role)
        held = "select bundle, lacking, extra from memstore.list_roles() where role = %s"
        assert rows(db, held, role) == [("serve", [], [])]
        rows(db, "select memstore.drop_code()")
        with db.transaction():
            schema.load_code(db)
        assert rows(db, held, role) == [("serve", [], [])]
    finally:
        db.execute(f"drop owned by {role}; drop role {role}".encode())
