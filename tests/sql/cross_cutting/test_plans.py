"""What a call reads in a store where one account holds nearly everything: never all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.databases import empty_database
from tests.sql.support import SYSTEM, account_of, rows, steward_of, value

if TYPE_CHECKING:
    from tests.servers import Server

MANY, FEW = 20_000, 200


@pytest.fixture(scope="module")
def skewed(server: Server, installed: str) -> Iterator[str]:
    """20,000 memories of one account, 200 of another and of a steward, and 50 accounts with one each."""
    with empty_database(server, like=installed) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as db:
            rows(db, "select memstore.configure(maximum_live_memories => 100000)")
            fill = (
                "insert into memstore.memories"
                " (user_id, body, bucket, inserted_at, embedding, embedding_model)"
                " select %s, 'Note ' || n || ' on topic ' || n %% 97, case when n %% 2 = 0 then 'user' else"
                " 'learned' end, now() - n * interval '1 second', '{1, 0}', 'model'"
                " from generate_series(1, %s::integer) n"
            )
            rows(db, fill, account_of(db, "many"), MANY)
            rows(db, fill, account_of(db, "few"), FEW)
            steward = steward_of(db, "steward")
            rows(
                db,
                "insert into memstore.memories"
                " (user_id, body, bucket, slug, tier, as_of, admission, evidence_refs)"
                " select %s, 'Claim ' || n, 'system', 'sys:' || n, 'glass', '2026-01-02', 'candidate', %s"
                " from generate_series(1, %s::integer) n",
                steward,
                Jsonb(SYSTEM["evidence_refs"]),
                FEW,
            )
            rows(
                db,
                "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
                " select id, user_id, 'admission', 'admitted', 'yes' from memstore.memories"
                " where bucket = 'system'",
            )
            for number in range(50):
                rows(db, fill, account_of(db, f"one-{number}"), 1)
            # A third of each account's memories is superseded.
            rows(
                db,
                "update memstore.memories o set superseded_at = now(), superseded_by_id = n.id"
                " from (select id, user_id, bucket, row_number() over w as number from memstore.memories"
                " where bucket <> 'system' window w as (partition by user_id order by id)) n"
                " join (select id, user_id, row_number() over w as number from memstore.memories"
                " where bucket <> 'system' window w as (partition by user_id order by id)) t"
                " on t.user_id = n.user_id and t.number = n.number + 1"
                " where n.number % 3 = 1 and o.id = t.id",
            )
            db.execute("vacuum analyze")
        yield conninfo


@pytest.fixture
def db(skewed: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(skewed, autocommit=True) as connection:
        yield connection


def assert_reads_little(
    db: psycopg.Connection, most: int, query: str, *params: object, executions: int = 10
) -> None:
    """The last of several executions scans memories by indexes only, and fetches no more rows than that.

    PostgreSQL counts the scans of a transaction, those of functions, triggers and foreign keys included. A
    generic plan would be chosen from the sixth execution on.
    """
    counted = (
        "select seq_scan, idx_tup_fetch from pg_stat_xact_user_tables"
        " where schemaname = 'memstore' and relname = 'memories'"
    )
    for _ in range(executions):
        with db.transaction(force_rollback=True):
            ((scans_before, fetched_before),) = rows(db, counted)
            rows(db, query, *params)
            ((scans, fetched),) = rows(db, counted)
        assert scans == scans_before
        assert fetched - fetched_before <= most


READS = {
    "recall": "select * from memstore.recall(%s, 'What about topic 5 and note 17?')",
    "recall_by_meaning": "select * from memstore.recall(%s, 'What about topic 5?', '{1, 1}', 'model')",
    "rank_memories": "select * from memstore.rank_memories(%s, 'topic 5')",
    "rank_superseded": "select * from memstore.rank_memories(%s, 'topic 5', include_superseded => true)",
    "similar": "select * from memstore.similar_memories(%s, 'topic 5')",
    "similar_by_meaning": "select * from memstore.similar_memories(%s, 'topic 5', '{1, 1}', 'model')",
    "list": "select * from memstore.list_memories(%s)",
    "list_bucket": "select * from memstore.list_memories(%s, 'user')",
    "list_all": "select * from memstore.list_memories(%s, include_superseded => true)",
    "as_of": "select * from memstore.memories_as_of(%s, now())",
}


def most(name: str) -> int:
    """How many rows: superseded ones are counted, and then ranked."""
    return (3 if name == "rank_superseded" else 2) * FEW


class TestReads:
    @pytest.mark.parametrize("name", READS)
    def test_of_a_small_account(self, name: str, db: psycopg.Connection) -> None:
        assert_reads_little(db, most(name), READS[name], account_of(db, "few"))

    @pytest.mark.parametrize("name", READS)
    def test_plans_made_for_a_large_account(self, name: str, db: psycopg.Connection) -> None:
        """A connection that has served the large one first."""
        rows(db, "select memstore.list_memories(%s)", account_of(db, "many"))
        if name.startswith("list"):
            for _ in range(6):
                rows(db, READS[name], account_of(db, "many"))
        assert_reads_little(db, most(name), READS[name], account_of(db, "few"), executions=3)

    @pytest.mark.parametrize("name", ["list", "list_bucket"])
    def test_a_page_of_a_large_account(self, name: str, db: psycopg.Connection) -> None:
        assert_reads_little(db, 900, READS[name], account_of(db, "many"))

    def test_the_next_page_of_a_large_account(self, db: psycopg.Connection) -> None:
        many = account_of(db, "many")
        last = value(db, "select id from memstore.list_memories(%s) offset 199", many)
        assert_reads_little(db, 900, "select memstore.list_memories(%s, after => %s)", many, last)

    @pytest.mark.parametrize("function", ["get_memory", "memory_history"])
    def test_one_memory(self, function: str, db: psycopg.Connection) -> None:
        many = account_of(db, "many")
        assert_reads_little(
            db, 10, f"select memstore.{function}(%s, %s)", many, memory_of(db, many, live=False)
        )

    def test_claims(self, db: psycopg.Connection) -> None:
        rows(db, "select memstore.configure(system_recall_enabled => true)")
        query = "select * from memstore.rank_claims(%s, 'claim 17')"
        assert_reads_little(db, 4 * FEW, query, account_of(db, "few"))


def memory_of(db: psycopg.Connection, account: UUID, *, live: bool = True) -> UUID:
    condition = "superseded_at is null" if live else "superseded_by_id is not null"
    memory: UUID = value(
        db,
        f"select id from memstore.memories where user_id = %s and {condition} order by id limit 1",
        account,
    )
    return memory


WRITES = {
    "insert_memory": "select memstore.insert_memory(%(actor)s, 'x')",
    "insert_memories": """select memstore.insert_memories(%(actor)s, '[{"body": "x"}, {"body": "y"}]')""",
    "supersede_memory": "select memstore.supersede_memory(%(actor)s, %(live)s, 'x')",
    "supersede_with": "select memstore.supersede_with(%(actor)s, %(live)s, %(other)s)",
    "delete_memory": "select memstore.delete_memory(%(actor)s, %(live)s)",
    "delete_superseded": "select memstore.delete_memory(%(actor)s, %(dead)s)",
    "set_embedding": "select memstore.set_embedding(%(actor)s, %(live)s, '{0, 1}', 'model')",
    "take_embedding": "select memstore.set_embedding(%(actor)s, %(live)s, null, null)",
}


@pytest.mark.parametrize("account", ["many", "few"])
@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, account: str, db: psycopg.Connection) -> None:
    actor = account_of(db, account)
    live = memory_of(db, actor)
    other = value(
        db,
        "select id from memstore.memories where user_id = %s and superseded_at is null and id <> %s limit 1",
        actor,
        live,
    )
    ids = {"actor": actor, "live": live, "other": other, "dead": memory_of(db, actor, live=False)}
    query = WRITES[name]
    names = [key for key in ids if f"%({key})s" in query]
    for key in names:
        query = query.replace(f"%({key})s", "%s")
    assert_reads_little(db, 40, query, *[ids[key] for key in names])


def test_erasure(db: psycopg.Connection) -> None:
    """Foreign keys included."""
    assert_reads_little(db, 10 * FEW, "select memstore.delete_user(%s)", account_of(db, "few"))


@pytest.fixture(scope="module", params=["analyzed", "without statistics"])
def lopsided(server: Server, installed: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """2,000 accounts of one memory each, and one of 5,000, half of them superseded."""
    with empty_database(server, like=installed) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as db:
            rows(db, "select memstore.configure(maximum_live_memories => 100000)")
            rows(db, "alter table memstore.memories set (autovacuum_enabled = off)")
            rows(db, "alter table memstore.users set (autovacuum_enabled = off)")
            many = account_of(db, "many")
            rows(
                db, "insert into memstore.users (external_ref) select n::text from generate_series(1, 2000) n"
            )
            rows(db, "insert into memstore.memories (user_id, body) select id, 'One.' from memstore.users")
            rows(
                db,
                "insert into memstore.memories (user_id, body, superseded_at)"
                " select %s, 'Note ' || n, case when n %% 2 = 0 then now() + interval '1 hour' end"
                " from generate_series(1, 5000) n",
                many,
            )
            if request.param == "analyzed":
                db.execute("vacuum analyze")
        yield conninfo


@pytest.mark.parametrize("name", [name for name in WRITES if name != "delete_superseded"])
def test_writes_where_most_accounts_have_one(name: str, lopsided: str) -> None:
    """Rows are found by their ids, however good the account's own index looks; accounts too."""
    with psycopg.connect(lopsided, autocommit=True) as db:
        actor = account_of(db, "many")
        live, other = (
            memory
            for (memory,) in rows(
                db,
                "select id from memstore.memories where user_id = %s and superseded_at is null limit 2",
                actor,
            )
        )
        query = WRITES[name].replace("%(actor)s", f"'{actor}'")
        query = query.replace("%(live)s", f"'{live}'").replace("%(other)s", f"'{other}'")
        counted = (
            "select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_user_tables"
            " where schemaname = 'memstore' and relname in ('memories', 'users')"
        )
        for _ in range(8):
            with db.transaction(force_rollback=True):
                before = value(db, counted)
                rows(db, query)
                assert value(db, counted) - before <= 40
