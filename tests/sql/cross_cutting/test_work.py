"""A call works in proportion to its account, however large the store is and whatever its statistics say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import psycopg
import pytest

from memstore import schema
from tests.databases import empty_database, skip_without
from tests.servers import private_server
from tests.sql.support import account_of, rows, value
from tests.sql.work import Work, has_auto_explain, work

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def still(server: Server) -> Iterator[Server]:
    """A server on which only tests vacuum and analyze: after a catalog was, a session reads some anew."""
    if os.environ.get("MEMSTORE_TEST_DATABASE_URL"):
        yield server
        return
    with private_server(autovacuum="off") as private:
        yield private


class Call(NamedTuple):
    """A call of an account: the query takes the account, and then ids of its memories, and of claims."""

    query: str
    memories: int = 0
    claims: int = 0


TURN = "Which topic are note 17 and note 5 on?"
AN_ITEM = '{"namespace": ["n3", "all"], "key": "k3"}'
NO_ITEM = '{"namespace": ["x"], "key": "x"}'
READS = {
    "recall": Call(f"select * from memstore.recall(%s, '{TURN}')"),
    "recall_by_meaning": Call(f"select * from memstore.recall(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model')"),
    "recall_of_many": Call(f"select * from memstore.recall(%s, '{TURN}', null, null, 100, 5000)"),
    "recall_of_a_scope": Call(
        f"select * from memstore.recall(%s, '{TURN}', scopes => '{{}}', filter => '[{{}}, {{\"k\": 1}}]')"
    ),
    "recall_by_a_filter": Call(
        f"select * from memstore.recall(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model', filter => '{{\"k\": 1}}')"
    ),
    "rank_memories": Call(f"select * from memstore.rank_memories(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model')"),
    "rank_superseded": Call(
        f"select * from memstore.rank_memories(%s, '{TURN}', include_superseded => true)"
    ),
    "similar_memories": Call(
        f"select * from memstore.similar_memories(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model')"
    ),
    "similar_by_words": Call(f"select * from memstore.similar_memories(%s, '{TURN}')"),
    "rank_claims": Call(f"select * from memstore.rank_claims(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model')"),
    "list_memories": Call("select * from memstore.list_memories(%s)"),
    "list_of_a_bucket": Call("select * from memstore.list_memories(%s, 'learned')"),
    "list_of_a_scope": Call(
        "select * from memstore.list_memories(%s, scopes => '{x}', filter => '{\"k\": 1}')"
    ),
    "list_of_superseded": Call("select * from memstore.list_memories(%s, include_superseded => true)"),
    "memories_as_of": Call("select * from memstore.memories_as_of(%s, now())"),
    "get_memory": Call("select * from memstore.get_memory(%s, %s)", 1),
    "memory_history": Call("select * from memstore.memory_history(%s, %s)", 1),
    "search_memories": Call("select * from memstore.search_memories(%s, 'topic 17')"),
    "memory_histories": Call("select * from memstore.memory_histories(%s, array[%s, %s]::uuid[])", 2),
    "explain_recall": Call(f"select * from memstore.explain_recall(%s, '{TURN}', '{{1, 2, 3, 4}}', 'model')"),
    "find_ids": Call("select * from memstore.find_ids(%s, left(%s::text, 8))", 1),
    "get_user": Call("select * from memstore.get_user(%s)"),
    "memory_status": Call("select memstore.memory_status(%s, %s)", claims=1),
    "list_records": Call("select * from memstore.list_records(%s, %s)", claims=1),
    "list_own_claims": Call("select * from memstore.list_own_claims(%s)"),
    "export_memories": Call("select * from memstore.export_memories(%s, 10000)"),
    "get_items": Call(f"select * from memstore.get_items(%s, '[{AN_ITEM}, {NO_ITEM}]')"),
    "search_items": Call("select * from memstore.search_items(%s, '{n3}')"),
    "search_items_by_words": Call(f"select * from memstore.search_items(%s, '{{}}', '{TURN}')"),
    "search_items_by_meaning": Call(
        "select * from memstore.search_items(%s, embedding => '{1, 2, 3, 4}', embedding_model => 'model')"
    ),
    "search_items_by_both": Call(
        f"select * from memstore.search_items(%s, '{{}}', '{TURN}', '{{\"n\": {{\"$gt\": 5}}}}',"
        " '{1, 2, 3, 4}', 'model')"
    ),
    "list_item_namespaces": Call("select * from memstore.list_item_namespaces(%s)"),
    "export_items": Call("select * from memstore.export_items(%s, 10000)"),
}
CLAIM = (
    "'system', slug => 'sys:new', tier => 'glass', as_of => '2026-01-02', admission => 'candidate',"
    """ evidence_refs => '[{"kind": "url", "ref": "r", "digest": "d"}]'"""
)
STEWARDS = (  # what only they may, by whoever calls
    "select memstore.set_steward(a.id, true), {} from (select %s::uuid as id, %s::uuid as claim offset 0) a"
)
WRITES = {
    "insert_memory": Call(
        "select memstore.insert_memory(%s, 'x', embedding => '{1, 2, 3, 4}', embedding_model => 'model')"
    ),
    "insert_memories": Call(
        'select memstore.insert_memories(%s, \'[{"body": "x"}, {"body": "y", "source_ref": "z"}]\')'
    ),
    "supersede_memory": Call("select memstore.supersede_memory(%s, %s, 'x')", 1),
    "supersede_at_the_ceiling": Call(
        "select memstore.supersede_memory(a.id, a.memory, 'x')"
        " from (select %s::uuid as id, %s::uuid as memory) a"
        " cross join lateral (select memstore.set_maximum_live_memories(a.id, 0) offset 0) l",
        1,
    ),
    "supersede_with": Call("select memstore.supersede_with(%s, %s, %s)", 2),
    "set_embedding": Call("select memstore.set_embedding(%s, %s, '{1, 1, 1, 1}', 'model')", 1),
    "delete_memory": Call("select memstore.delete_memory(%s, %s)", 1),
    "delete_history": Call("select memstore.delete_history(%s, %s)", 1),
    "insert_claim": Call(f"select memstore.insert_memory(%s, 'x', {CLAIM})"),
    "challenge_memory": Call(
        """select memstore.challenge_memory(%s, %s, 'no', '[{"kind": "url", "ref": "r", "digest": "d"}]')""",
        claims=1,
    ),
    "record_admission": Call(
        STEWARDS.format("memstore.record_admission(a.id, a.claim, 'rejected', 'no')"), claims=1
    ),
    "promote_memory": Call(
        STEWARDS.format(
            """memstore.promote_memory(a.id, a.claim, 'x', '[{"kind": "url", "ref": "r", "digest": "d"}]')"""
        ),
        claims=1,
    ),
    "delete_scope": Call("select memstore.delete_scope(%s, 'x')"),
    "put_items": Call(
        "select memstore.put_items(%s, jsonb_build_array("
        f"""'{AN_ITEM}'::jsonb || '{{"value": {{"text": "x"}}, "embeddings": [{{"field": "$", "embedding":"""
        """ [1, 1, 1, 1], "embedding_model": "model"}]}',"""
        f"""'{NO_ITEM}'::jsonb || '{{"value": {{}}}}',"""
        """'{"namespace": ["n4", "all"], "key": "k4", "value": null}'::jsonb))"""
    ),
    "renew_items": Call(f"select memstore.renew_items(%s, '[{AN_ITEM}]')"),
    "delete_expired_items": Call("select memstore.delete_expired_items(%s)"),
    "delete_user": Call("select memstore.delete_user(%s)"),
}
CALLS = READS | WRITES

MEMORIES = 60
"""Of an account whose work is compared in stores of two sizes."""

TABLES = (
    "users",
    "memories",
    "items",
    "item_embeddings",
    "memory_admissions",
    "claim_statuses",
    "admitted_claims",
    "claim_words",
)


def fill(db: psycopg.Connection, accounts: list[UUID], memories: int, items: int | None = None) -> None:
    """So many memories for each of the accounts, and as many items unless it is said."""
    rows(
        db,
        "insert into memstore.memories"
        " (user_id, body, bucket, source_ref, embedding, embedding_model, inserted_at, scope, metadata)"
        " select a.id, 'Note ' || n || ' on topic ' || n %% 97,"
        " case when n %% 3 = 0 then 'learned' else 'user' end, 'source ' || n / 5,"
        " array[n %% 7, 1, n %% 3, 2]::real[], 'model',"
        " '2026-01-01 00:00:00+00'::timestamptz + n * interval '1 second',"
        " case n %% 5 when 0 then 'x' end, case n %% 4 when 0 then '{\"k\": 1}'::jsonb end"
        " from unnest(%s::uuid[]) a (id), generate_series(1, %s::integer) n",
        accounts,
        memories,
    )
    rows(
        db,
        "with i as (insert into memstore.items (user_id, namespace, key, value, ttl_seconds, expires_at)"
        " select a.id, array['n' || n %% 50, 'all'], 'k' || n,"
        " jsonb_build_object('text', 'Note ' || n || ' on topic ' || n %% 97, 'n', n),"
        " case n %% 3 when 0 then 1e6 end, case n %% 3 when 0 then now() + interval '1 day' end"
        " from unnest(%s::uuid[]) a (id), generate_series(1, %s::integer) n"
        " returning id, (value -> 'n')::integer as n)"
        " insert into memstore.item_embeddings (item_id, field, embedding, embedding_model)"
        " select id, '$', array[n %% 7, 1, n %% 3, 2]::real[], 'model' from i",
        accounts,
        memories if items is None else items,
    )


def lonely(db: psycopg.Connection, number: int) -> None:
    """So many accounts of one memory each."""
    ids = rows(
        db,
        "insert into memstore.users (id) select gen_random_uuid() from generate_series(1, %s::integer)"
        " returning id",
        number,
    )
    fill(db, [account for (account,) in ids], 1)


def claim(db: psycopg.Connection, number: int) -> None:
    """So many admitted claims, four of an author."""
    rows(
        db,
        "insert into memstore.memories (user_id, body, bucket, slug, tier, as_of, admission, evidence_refs,"
        " embedding, embedding_model)"
        " select memstore.create_user(external_ref => 'author ' || n / 4),"
        " 'Claim ' || n || ' on topic ' || n %% 97, 'system', 'sys:' || n, 'glass', '2026-01-02',"
        """ 'candidate', '[{"kind": "url", "ref": "r", "digest": "d"}]',"""
        " array[n %% 7, 1, n %% 3, 2]::real[], 'model'"
        " from generate_series(1, %s::integer) n",
        number,
    )
    rows(
        db,
        "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
        " select id, user_id, 'admission', 'admitted', 'yes' from memstore.memories where bucket = 'system'",
    )


@contextmanager
def store(server: Server) -> Iterator[psycopg.Connection]:
    """A store that nothing analyzes but its test, in which recall attaches claims."""
    with empty_database(server) as conninfo:
        schema.migrate(conninfo)
        with psycopg.connect(conninfo, autocommit=True) as db:
            for table in TABLES:
                db.execute(f"alter table memstore.{table} set (autovacuum_enabled = off)".encode())
            rows(
                db,
                "select memstore.configure(maximum_live_memories => 1000000, maximum_items => 1000000,"
                " system_recall_enabled => true),"
                " memstore.register_embedding_model('model', 4)",
            )
            yield db


def work_of(db: psycopg.Connection, account: UUID, call: Call, times: int = 1) -> Work:
    """What a call of the account works."""
    memories = rows(
        db,
        "select id from memstore.memories where user_id = %s and superseded_at is null and bucket = 'user'"
        " order by inserted_at, id limit %s",
        account,
        call.memories,
    )
    claims = rows(
        db, "select id from memstore.memories where bucket = 'system' order by slug limit %s", call.claims
    )
    return work(db, call.query, account, *(id for (id,) in (*memories, *claims)), times=times)


def disproportionate(db: psycopg.Connection, few: UUID, many: UUID) -> dict[str, tuple[Work, Work]]:
    """The calls that work more than 12 times for the account of ten times the memories.

    Where the server can't count rows, that is told by pages: twelve times as many, and inner ones of indexes.
    """
    found = {name: (work_of(db, few, call), work_of(db, many, call)) for name, call in CALLS.items()}
    return {
        name: both
        for name, both in found.items()
        if (
            both[1].buffers > 12 * both[0].buffers + 10
            if both[0].rows is None or both[1].rows is None
            else both[1].rows > 12 * both[0].rows
        )
    }


def different(
    before: Mapping[str, Work], after: Mapping[str, Work], within: int = 5
) -> dict[str, tuple[Work, Work]]:
    """The calls that work otherwise than before."""
    return {
        name: (then, after[name])
        for name, then in before.items()
        if any(
            abs(new - old) > within
            for old, new in zip(then, after[name], strict=True)
            if old is not None and new is not None
        )
    }


def test_rows_are_counted(db: psycopg.Connection) -> None:
    """Those of nested statements, and those that are thrown away."""
    if not has_auto_explain(db):
        skip_without("auto_explain")
    db.execute("create table numbers as select n from generate_series(1, 100) n")
    db.execute(
        "create function joined() returns bigint language plpgsql as"
        " $$begin return (select count(*) from numbers a join numbers b on a.n + b.n = 0); end$$"
    )
    db.execute("set enable_hashjoin = off; set enable_mergejoin = off")
    counted = work(db, "select joined()").rows
    assert counted is not None and counted > 100 * 100


STATES = ["no statistics", "stale", "analyzed"]


@pytest.mark.parametrize("accounts", [2_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("state", STATES)
def test_work_is_in_proportion_to_the_account(still: Server, accounts: int, state: str) -> None:
    """In a store of accounts that have one memory each."""
    with store(still) as db:
        lonely(db, accounts)
        claim(db, 100)
        if state == "stale":
            db.execute("analyze")
        few, many = account_of(db, "few"), account_of(db, "many")
        fill(db, [few], 200)
        fill(db, [many], 2000)
        if state == "analyzed":
            db.execute("analyze")
        assert not disproportionate(db, few, many)


@pytest.mark.long
def test_work_is_in_proportion_to_the_account_beside_a_large_one(still: Server) -> None:
    """Of 100,000 memories, a fifth of them superseded by one; analyzed before it came, and since."""
    with store(still) as db:
        lonely(db, 2_000)
        claim(db, 100)
        few, many, large = account_of(db, "few"), account_of(db, "many"), account_of(db, "large")
        fill(db, [few], 200)
        fill(db, [many], 2000)
        db.execute("analyze")
        fill(db, [large], 100_000)
        supersede(db, large, 80_000)
        for _ in range(2):
            assert not disproportionate(db, few, many)
            db.execute("analyze")


def supersede(db: psycopg.Connection, account: UUID, left: int) -> None:
    """Has the account's newest memory replace all but so many."""
    rows(
        db,
        "update memstore.memories m set superseded_by_id = o.newest, superseded_at = clock_timestamp()"
        " from (select id, first_value(id) over w, row_number() over w from memstore.memories"
        " where user_id = %s window w as (order by inserted_at desc, id)) o (id, newest, place)"
        " where m.id = o.id and o.place > %s",
        account,
        left,
    )


@pytest.mark.parametrize("known", [False, True])
def test_work_is_the_same_in_a_store_ten_times_as_large(still: Server, known: bool) -> None:
    """Never analyzed; or before it is analyzed again, and after.

    At both sizes each index has a root and leaves. A write has an account of its own, for the dead rows that
    it leaves. Erasure looks each memory up: in a larger index fewer of an account's are on one page.
    """
    with store(still) as db:
        lonely(db, 1000)
        claim(db, 40)
        accounts = {name: account_of(db, name if name in WRITES else "reader") for name in CALLS}
        fill(db, sorted(set(accounts.values())), MEMORIES)

        def measured() -> dict[str, Work]:
            with psycopg.connect(db.info.dsn, autocommit=True) as session:
                return {name: work_of(session, accounts[name], call, times=8) for name, call in CALLS.items()}

        if known:
            db.execute("analyze")
        measured()  # so that each write has passed over dead rows of its own in what is compared
        before = measured()
        # What reads by memories_account_body_idx goes from page to page.
        scattered = {name: before.pop(name) for name in ("delete_scope", "rank_superseded")}
        erasure = {"delete_user": before.pop("delete_user")}
        # The tables of 40 claims are read whole or by an index, as it comes; where a plan is made again, the
        # planner may look at both ends of an index, of three pages each.
        verdicts = {
            name: before.pop(name) for name in ("challenge_memory", "record_admission", "promote_memory")
        }
        lonely(db, 9 * value(db, "select count(*) from memstore.memories"))
        for statement in ("select", "analyze")[: 1 + known]:
            db.execute(statement)
            after = measured()
            assert not different(scattered, after, within=2 * MEMORIES)
            # As many memories as items.
            assert not different(erasure, after, within=2 * (2 * MEMORIES))
            assert not different(before, after)
            assert not different(verdicts, after, within=2 * 40 + 6)


def test_superseded_memories_cost_a_recall_nothing(still: Server) -> None:
    """Also before a vacuum: an account of 5 live and 10,000 superseded works as one of 5."""
    with store(still) as db:
        lonely(db, 500)
        claim(db, 40)
        corrected, fresh = account_of(db, "corrected"), account_of(db, "fresh")
        fill(db, [corrected], 10_005, items=5)
        fill(db, [fresh], 5)
        supersede(db, corrected, 5)
        names = set(CALLS) - {
            *("list_of_superseded", "rank_superseded", "memories_as_of", "export_memories"),
            *("delete_user", "delete_scope"),
        }
        for statement in ("select", "analyze", "vacuum analyze"):
            db.execute(statement)
            found = {
                account: {name: work_of(db, account, CALLS[name]) for name in sorted(names)}
                for account in (fresh, corrected)
            }
            # The entries of dead rows stay in the index until a vacuum: three walks of a hundred pages each.
            more = 450 if "vacuum" not in statement else 40
            for name, expected in found[fresh].items():
                rows_read, buffers = found[corrected][name]
                assert buffers <= expected.buffers + more, name
                assert rows_read is None or expected.rows is None or rows_read <= expected.rows + 20, name
