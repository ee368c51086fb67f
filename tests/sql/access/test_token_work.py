"""What a request costs the database, counted in pages: the same beside many others."""

from __future__ import annotations

import json
from uuid import UUID

import psycopg
import pytest

from tests.sql.access.test_tokens import digest, token_of
from tests.sql.support import SYSTEM, account_of, insert, rows, supersede, value
from tests.sql.work import Work, work

TOKENS = 2000
OTHERS = 20


@pytest.fixture
def account(db: psycopg.Connection) -> UUID:
    """An account with chains of two, and claims."""
    made = account_of(db, "holder")
    for number in range(20):
        supersede(db, made, insert(db, made, f"Port {number}")["id"], f"Port {number + 1000}")
    for number in range(5):
        insert(db, made, f"Claim {number}", **SYSTEM)
    return made


def measured(db: psycopg.Connection, account: UUID, token: str) -> dict[str, Work]:
    ids = value(db, "select array(select id from memstore.list_memories(%s, page_size => 25))", account)
    known = digest(token)
    calls: dict[str, tuple[str, tuple[object, ...]]] = {
        "authenticate_token": ("%s", (known,)),
        "authorize_call": ("%s, 'supersede_memory', memory => %s", (known, ids[-1])),
        "list_tokens": ("%s", (account,)),
        "get_user": ("%s", (account,)),
        "memory_histories": ("%s, %s", (account, ids)),
        "search_memories": ("%s, 'port', include_superseded => true", (account,)),
        "list_own_claims": ("%s", (account,)),
        "explain_recall": ("%s, 'Which port?'", (account,)),
    }
    return {
        name: work(db, f"select * from memstore.{name}({arguments})", *given)
        for name, (arguments, given) in calls.items()
    }


@pytest.mark.parametrize("analyzed", [False, True])
def test_work_is_the_same_beside_many(db: psycopg.Connection, account: UUID, analyzed: bool) -> None:
    token = token_of(db, account, "recall", "remember", "claims")
    before = measured(db, account, token)
    others = "select memstore.create_user(external_ref => n::text) from generate_series(1, %s) n"
    made = [other for (other,) in rows(db, others, OTHERS)]
    bodies = json.dumps([{"body": f"Port {number}"} for number in range(190)])
    for other in made:
        rows(db, "select count(*) from memstore.insert_memories(%s, %s::jsonb)", other, bodies)
        insert(db, other, "Claim", **SYSTEM)
    db.execute(
        b"insert into memstore.tokens (user_id, kind, name, scopes, digest, expires_at)"
        b" select (%s::uuid[])[n %% %s + 1], 'agent', 'x', '{recall}', sha256(n::text::bytea),"
        b" now() + interval '1 day' from generate_series(1, %s) n",
        (made, OTHERS, TOKENS),
    )
    if analyzed:
        db.execute(b"analyze")
    after = measured(db, account, token)
    more = {
        name: (before[name], found)
        for name, found in after.items()
        # A key of a larger table is a page deeper, at each look-up.
        if found.buffers > 1.6 * before[name].buffers + 40
        # The accounts are a page, which is scanned for each look-up.
        or (found.rows or 0) > 1.2 * (before[name].rows or 0) + 3 * OTHERS
    }
    assert more == {}
    assert after["authorize_call"].buffers < 40
    assert after["authenticate_token"].buffers < 60


def test_histories_are_read_by_their_keys(db: psycopg.Connection, account: UUID) -> None:
    """A page of chains costs a few look-ups each, not a scan of the account."""
    ids = value(db, "select array(select id from memstore.list_memories(%s, page_size => 20))", account)
    query = "select * from memstore.memory_histories(%s, %s)"
    few, many = (work(db, query, account, given).buffers for given in (ids[:2], ids))
    assert many < few + 18 * 40
