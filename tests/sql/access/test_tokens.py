"""Tokens: made, redeemed, checked, revoked and erased. Each refusal of a token is the same one."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import (
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    refused,
    rows,
    steward_of,
    value,
)

SCOPES = ["recall", "remember", "forget", "claims", "steward", "operator"]


def digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def token_of(db: psycopg.Connection, account: UUID, *scopes: str, **given: object) -> str:
    """The secret of a new token."""
    made = call_one(db, "create_token", user_id=account, name="x", scopes=[*scopes] or ["recall"], **given)
    secret: str = made["token"]
    return secret


def session_of(db: psycopg.Connection, account: UUID, *scopes: str) -> bytes:
    """The digest of a new session."""
    login = token_of(db, account, *scopes, kind="login", lifetime="10 minutes")
    session = secrets.token_bytes(32)
    call_one(db, "redeem_login", digest=digest(login), session=session)
    return session


def authorize(
    db: psycopg.Connection,
    token: str | bytes,
    function: str | None,
    bucket: str | None = None,
    memory: UUID | None = None,
) -> UUID:
    """The account for which a token, or the session with a digest, may call a function."""
    known, kind = (digest(token), "agent") if isinstance(token, str) else (token, "session")
    account: UUID = value(
        db, "select memstore.authorize_call(%s, %s, %s, %s, %s)", known, function, kind, bucket, memory
    )
    return account


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def account(db: psycopg.Connection) -> UUID:
    return account_of(db, "holder")


class TestCreateToken:
    def test_what_it_makes(self, db: psycopg.Connection, account: UUID) -> None:
        made = call_one(db, "create_token", user_id=account, name=" laptop ", scopes=["remember", "recall"])
        assert made["token"].startswith("mst_")
        assert len(made["token"]) == 68
        ((kind, name, scopes, stored, days),) = rows(
            db,
            "select kind, name, scopes, digest, extract(day from expires_at - inserted_at)"
            " from memstore.tokens",
        )
        assert (kind, name, scopes, days) == ("agent", "laptop", ["recall", "remember"], 90)
        assert stored == digest(made["token"])

    def test_secrets_differ(self, db: psycopg.Connection, account: UUID) -> None:
        assert len({token_of(db, account) for _ in range(20)}) == 20

    @pytest.mark.parametrize(
        ("given", "name", "field"),
        [
            ({"name": ""}, "tokens_name_shape", "name"),
            ({"name": None}, "tokens_name_shape", "name"),
            ({"name": "x" * 201}, "tokens_name_shape", "name"),
            ({"scopes": []}, "tokens_scopes_shape", "scopes"),
            ({"scopes": ["all"]}, "tokens_scopes_shape", "scopes"),
            ({"scopes": ["recall", None]}, "tokens_scopes_shape", "scopes"),
            ({"scopes": ["steward"]}, "steward_required", "scopes"),
            ({"lifetime": "0"}, "tokens_expires_at_shape", "expires_at"),
            ({"lifetime": "-1 day"}, "tokens_expires_at_shape", "expires_at"),
            ({"lifetime": "-170000000 years"}, "tokens_expires_at_shape", "expires_at"),
            ({"lifetime": "101 years"}, "tokens_expires_at_shape", "expires_at"),
            ({"lifetime": "170000000 years"}, "tokens_expires_at_shape", "expires_at"),
            ({"kind": "session"}, "argument_invalid", "kind"),
            ({"kind": "login"}, "tokens_expires_at_shape", "expires_at"),
            ({"user_id": uuid4()}, "actor_unknown", "user_id"),
        ],
    )
    def test_refusals(
        self, db: psycopg.Connection, account: UUID, given: dict[str, Any], name: str, field: str
    ) -> None:
        with refused(name, field) as caught:
            call_one(db, "create_token", **({"user_id": account, "name": "x"} | given))
        assert "\\x" not in str(caught.value.diag.message_detail)  # no digest
        assert value(db, "select count(*) from memstore.tokens") == 0

    def test_a_steward_may_have_its_scope(self, db: psycopg.Connection) -> None:
        assert token_of(db, steward_of(db, "judge"), "steward")

    def test_a_hundred_of_each_kind(self, db: psycopg.Connection, account: UUID) -> None:
        for _ in range(100):
            token_of(db, account)
        with refused("quota_reached"):
            token_of(db, account)
        rows(db, "select memstore.create_login(%s)", account)
        first = value(db, "select id from memstore.tokens where kind = 'agent' limit 1")
        rows(db, "select memstore.revoke_token(%s, %s)", account, first)
        token_of(db, account)

    @pytest.mark.parametrize(
        "statement",
        [
            "insert into memstore.tokens (user_id, kind, name, scopes, digest, expires_at)"
            " values (%s, 'agent', 'x', '{recall}', sha256('x'), now() + interval '1 day')",
            "update memstore.tokens set revoked_at = null where user_id = %s and revoked_at is not null",
            "update memstore.tokens set kind = 'agent' where user_id = %s and kind = 'session'",
            "update memstore.tokens set expires_at = now() + interval '1 day'"
            " where user_id = %s and expires_at < now()",
        ],
    )
    def test_not_by_plain_sql_either(self, db: psycopg.Connection, account: UUID, statement: str) -> None:
        ended = token_of(db, account)
        db.execute(
            b"update memstore.tokens set inserted_at = now() - interval '2 days',"
            b" expires_at = now() - interval '1 day' where digest = %s",
            (digest(ended),),
        )
        token_of(db, account)
        rows(db, "select memstore.revoke_token(user_id, id) from memstore.tokens where expires_at > now()")
        session_of(db, account, "recall")
        for _ in range(100):
            token_of(db, account)
        with refused("quota_reached", "name"):
            db.execute(statement.encode(), (account,))
        # What makes none live goes on.
        db.execute(
            b"update memstore.tokens set name = 'y', last_used_at = now() where user_id = %s", (account,)
        )

    def test_what_ended_long_ago_goes(self, db: psycopg.Connection, account: UUID) -> None:
        for kind, ago in (("agent", 89), ("agent", 91), ("session", 1)):
            db.execute(
                b"insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)"
                b" values (%s, %s, %s, '{recall}', %s, now() - make_interval(days => %s + 1),"
                b" now() - make_interval(days => %s))",
                (account, kind, f"{kind} {ago}", secrets.token_bytes(32), ago, ago),
            )
        token_of(db, account)
        assert {name for (name,) in rows(db, "select name from memstore.tokens")} == {"x", "agent 89"}


@pytest.mark.parametrize(
    ("column", "content"),
    [
        ("user_id", None),
        ("kind", "other"),
        ("name", ""),
        ("scopes", "{}"),
        ("scopes", "{recall,root}"),
        ("digest", b"short"),
        ("expires_at", "2020-01-01"),
        ("expires_at", None),
        ("inserted_at", None),
    ],
)
def test_the_table_refuses_it_too(
    db: psycopg.Connection, account: UUID, column: str, content: object
) -> None:
    token_of(db, account)
    with refused(f"tokens_{column}_shape"):
        db.execute(f"update memstore.tokens set {column} = %s".encode(), (content,))


class TestCreateLogin:
    def test_the_scopes_left_out(self, db: psycopg.Connection, account: UUID) -> None:
        for user, more in ((account, []), (steward_of(db, "judge"), ["steward"])):
            call_one(db, "create_login", actor=user)
            ((scopes,),) = rows(db, "select scopes from memstore.tokens where user_id = %s", user)
            assert set(scopes) == {"recall", "remember", "forget", "claims", *more}

    def test_refusals(self, db: psycopg.Connection, account: UUID) -> None:
        with refused("argument_invalid", "scopes"):
            call_one(db, "create_login", actor=account, scopes=["recall", "operator"])
        with refused("steward_required", "scopes"):
            call_one(db, "create_login", actor=account, scopes=["steward"])
        with refused("tokens_expires_at_shape"):
            call_one(db, "create_login", actor=account, lifetime="61 minutes")
        with refused("actor_unknown", "actor"):
            call_one(db, "create_login", actor=None)


class TestRedeemLogin:
    def test_once(self, db: psycopg.Connection, account: UUID) -> None:
        login = call_one(db, "create_login", actor=account, scopes=["recall"])["token"]
        made = call_one(db, "redeem_login", digest=digest(login), session=digest("s"))
        assert made["actor"] == account
        assert rows(db, "select id, kind, scopes, digest from memstore.tokens") == [
            (made["id"], "session", ["recall"], digest("s"))
        ]
        with refused("token_invalid"):
            call_one(db, "redeem_login", digest=digest(login), session=digest("t"))

    def test_refusals(self, db: psycopg.Connection, account: UUID) -> None:
        login = call_one(db, "create_login", actor=account)["token"]
        with refused("tokens_expires_at_shape"):
            call_one(db, "redeem_login", digest=digest(login), session=digest("s"), lifetime="31 days")
        with refused("tokens_digest_shape"):
            call_one(db, "redeem_login", digest=digest(login), session=b"short")
        with refused("token_invalid"):  # of another kind
            call_one(db, "redeem_login", digest=digest(token_of(db, account)), session=digest("s"))
        # What was refused has not used the login up.
        call_one(db, "redeem_login", digest=digest(login), session=digest("s"))


class TestAuthenticateToken:
    def test_what_it_allows(self, db: psycopg.Connection, account: UUID) -> None:
        found = call_one(db, "authenticate_token", digest=digest(token_of(db, account, "forget", "recall")))
        assert (found["actor"], found["name"], found["scopes"]) == (account, "x", ["forget", "recall"])
        assert {"recall", "delete_memory"} < set(found["functions"])
        assert not {"insert_memory", "list_tokens", "challenge_memory"} & set(found["functions"])

    @pytest.mark.parametrize(
        "change",
        [
            "revoked_at = now()",
            "expires_at = inserted_at + interval '1 microsecond'",
            "digest = sha256('other')",
            "kind = 'session'",
        ],
    )
    def test_one_refusal(self, db: psycopg.Connection, account: UUID, change: str) -> None:
        token = token_of(db, account, lifetime="1 day")
        db.execute(f"update memstore.tokens set {change}".encode())
        with refused("token_invalid") as caught:
            call_one(db, "authenticate_token", digest=digest(token))
        assert caught.value.diag.message_primary == "There is no such token."

    def test_of_an_erased_account(self, db: psycopg.Connection, account: UUID) -> None:
        """Its row stays: it gets no token by plain SQL, and one past the triggers counts for none."""
        judge = steward_of(db, "judge")
        claim = insert(db, judge, "c", **SYSTEM)["id"]
        call_one(db, "challenge_memory", actor=account, memory_id=claim, ground="No.")
        token = token_of(db, account)
        stored = rows(db, "select digest from memstore.tokens")[0][0]
        rows(db, "select memstore.delete_user(%s)", account)
        assert value(db, "select count(*) from memstore.tokens") == 0
        written = (
            b"insert into memstore.tokens (user_id, kind, name, scopes, digest, expires_at)"
            b" values (%s, 'agent', 'x', '{recall}', %s, now() + interval '1 day')"
        )
        with refused("actor_unknown", "user_id"):
            db.execute(written, (account, stored))
        db.execute("set local session_replication_role = replica")
        db.execute(written, (account, stored))
        db.execute("set local session_replication_role = origin")
        with refused("token_invalid"):
            call_one(db, "authenticate_token", digest=digest(token))
        assert ("erased_accounts", 1) in rows(db, "select invariant, violations from memstore.verify_store()")

    def test_the_last_use_is_noted_to_the_minute(self, db: psycopg.Connection, account: UUID) -> None:
        token = token_of(db, account)
        call_one(db, "authenticate_token", digest=digest(token))
        (used,) = (row["last_used_at"] for row in call(db, "list_tokens", actor=account))
        assert (used.second, used.microsecond) == (0, 0)
        before = value(db, "select xmin::text from memstore.tokens")
        call_one(db, "authenticate_token", digest=digest(token))
        assert value(db, "select xmin::text from memstore.tokens") == before


class TestAuthorizeCall:
    @pytest.mark.parametrize("scope", SCOPES)
    def test_each_scope_allows_its_functions(self, db: psycopg.Connection, scope: str) -> None:
        judge = steward_of(db, "judge")
        token = token_of(db, judge, scope)
        names = rows(db, "select name, scope, of_claims from memstore.api_scopes")
        for name, needed, _ in names:
            if needed == scope:
                assert authorize(db, token, name) == judge
            else:
                with refused("scope_missing"):
                    authorize(db, token, name)

    def test_claims_need_scopes_of_their_own(self, db: psycopg.Connection, account: UUID) -> None:
        own = insert(db, account, "c", **SYSTEM)["id"]
        other = insert(db, account_of(db, "other"), "d", **SYSTEM)["id"]
        plain = insert(db, account, "x")["id"]
        writer, claimer = token_of(db, account, "remember", "forget"), token_of(db, account, "claims")
        for bucket in ("system", " system", "system\u2003"):
            with refused("scope_missing"):
                authorize(db, writer, "insert_memory", bucket=bucket)
            assert authorize(db, claimer, "insert_memory", bucket=bucket)
        for function in ("supersede_memory", "delete_memory", "delete_history"):
            assert authorize(db, writer, function, memory=plain)
            assert authorize(db, claimer, function, memory=own)
            for token, memory in ((writer, own), (writer, other), (claimer, other), (claimer, plain)):
                with refused("scope_missing"):
                    authorize(db, token, function, memory=memory)

    def test_a_stewards_correction_of_a_claim_needs_its_scope(self, db: psycopg.Connection) -> None:
        """It answers the open challenges of its target."""
        judge = steward_of(db, "judge")
        own = insert(db, judge, "c", **SYSTEM)["id"]
        with refused("scope_missing"):
            authorize(db, token_of(db, judge, "claims"), "supersede_memory", memory=own)
        assert authorize(db, token_of(db, judge, "steward"), "supersede_memory", memory=own)

    def test_what_no_token_reaches(self, db: psycopg.Connection) -> None:
        judge = steward_of(db, "judge")
        for token in (token_of(db, judge, *SCOPES), session_of(db, judge, *SCOPES)):
            for function in ("delete_user", "create_user", "create_token", "configure", "no_such", None):
                with refused("scope_missing"):
                    authorize(db, token, function)

    def test_sessions_alone_manage_tokens(self, db: psycopg.Connection, account: UUID) -> None:
        for function in ("list_tokens", "revoke_token", "get_user"):
            assert authorize(db, session_of(db, account, "recall"), function) == account
            with refused("scope_missing"):
                authorize(db, token_of(db, account, *SCOPES[:4]), function)

    def test_each_function_that_names_an_account_has_a_scope_or_is_kept_back(
        self, db: psycopg.Connection
    ) -> None:
        without = rows(
            db,
            "select a.name from memstore.api a join pg_proc p on p.proname = a.name"
            " and p.pronamespace = 'memstore'::regnamespace"
            " left join memstore.api_scopes s on s.name = a.name"
            " where p.proargnames[1] = 'actor' and s.name is null and not a.owner_only",
        )
        assert {name for (name,) in without} == {
            "create_login", "delete_user",  # of who manages accounts
            "delete_scope", "find_ids", "insert_memories", "memories_as_of", "rank_claims", "set_embedding",
            # Items are an application's, which has a login.
            "delete_expired_items", "export_items", "get_items", "list_item_namespaces", "put_items",
            "renew_items", "search_items",
        }  # fmt: skip
        assert rows(db, "select name from memstore.api_scopes except select name from memstore.api") == []


class TestDelegateToken:
    def test_no_more_than_the_session(self, db: psycopg.Connection, account: UUID) -> None:
        session = session_of(db, account, "recall", "forget")
        made = call_one(db, "delegate_token", session=session, name="cli", scopes=["recall"])
        assert authorize(db, made["token"], "recall") == account
        for scopes in (["recall", "remember"], ["operator"], None):
            with refused("scope_missing", "scopes"):
                call_one(db, "delegate_token", session=session, name="cli", scopes=scopes)
        with refused("tokens_scopes_shape"):
            call_one(db, "delegate_token", session=session, name="cli", scopes=[])
        given = {"session": session, "name": "cli", "scopes": ["recall"], "id": uuid4()}
        assert call_one(db, "delegate_token", **given)["id"] == given["id"]
        with refused("id_taken", "id"):
            call_one(db, "delegate_token", **given)

    def test_a_session_that_ended(self, db: psycopg.Connection, account: UUID) -> None:
        session = session_of(db, account)
        rows(db, "select memstore.revoke_token(user_id, id) from memstore.tokens")
        for given in (session, digest(token_of(db, account)), b""):
            with refused("token_invalid"):
                call_one(db, "delegate_token", session=given, name="cli", scopes=["recall"])

    def test_of_a_steward_that_was_unmarked(self, db: psycopg.Connection) -> None:
        judge = steward_of(db, "judge")
        session = session_of(db, judge, "steward")
        rows(db, "select memstore.set_steward(%s, false)", judge)
        with refused("steward_required", "scopes"):
            call_one(db, "delegate_token", session=session, name="cli", scopes=["steward"])


class TestOwnTokens:
    def test_each_account_has_its_own(self, db: psycopg.Connection, account: UUID) -> None:
        other = account_of(db, "other")
        token_of(db, other)
        assert call(db, "list_tokens", actor=account) == []
        (theirs,) = call(db, "list_tokens", actor=other)
        for id in (theirs["id"], uuid4(), None):
            with refused("token_invalid", "id"):
                call_one(db, "revoke_token", actor=account, id=id)
        assert theirs.keys() == {
            "id", "kind", "name", "scopes", "inserted_at", "expires_at", "last_used_at", "revoked_at",
        }  # fmt: skip

    def test_a_revocation_counts_at_once_and_once(self, db: psycopg.Connection, account: UUID) -> None:
        token = token_of(db, account)
        assert authorize(db, token, "recall") == account
        (listed,) = call(db, "list_tokens", actor=account)
        assert value(db, "select memstore.revoke_token(%s, %s)", account, listed["id"]) is True
        with refused("token_invalid"):
            authorize(db, token, "recall")
        (revoked,) = call(db, "list_tokens", actor=account)
        assert value(db, "select memstore.revoke_token(%s, %s)", account, listed["id"]) is False
        assert call(db, "list_tokens", actor=account) == [revoked]


class TestPrivileges:
    @pytest.fixture
    def role(self, db: psycopg.Connection) -> str:
        db.execute(b"create role memory_web")
        return "memory_web"

    def test_grant_serve(self, db: psycopg.Connection, role: str) -> None:
        rows(db, "select memstore.grant_serve(%s)", role)
        held = rows(
            db,
            "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
            " and has_function_privilege(%s, oid, 'execute')",
            role,
        )
        scoped = rows(db, "select name from memstore.api_scopes")
        more = {"authenticate_token", "authorize_call", "redeem_login", "schema_version"}
        assert {name for (name,) in held} == {name for (name,) in scoped} | more
        assert rows(db, "select bundle, lacking, extra from memstore.list_roles() where role = %s", role) == [
            ("serve", [], [])
        ]
        rows(db, "select memstore.revoke_api(%s)", role)
        assert rows(db, "select from memstore.list_roles() where role = %s", role) == []

    def test_refusals(self, db: psycopg.Connection, role: str, account: UUID) -> None:
        with refused("argument_invalid", "role"):
            rows(db, "select memstore.grant_serve('no such role')")
        rows(db, "select memstore.bind_role(%s, %s)", role, account)
        with refused("role_bound", "role"):
            rows(db, "select memstore.grant_serve(%s)", role)

    def test_nobody_else_reads_a_digest(self, db: psycopg.Connection, role: str, account: UUID) -> None:
        """Row-level security has no policy: not even who may read all tables."""
        token_of(db, account)
        db.execute(f"grant pg_read_all_data to {role}".encode())
        with db.transaction(force_rollback=True):
            db.execute(f"set local role {role}".encode())
            db.execute(b"select set_config('memstore.actor', %s, true)", (str(account),))
            assert rows(db, "select digest from memstore.tokens") == []
