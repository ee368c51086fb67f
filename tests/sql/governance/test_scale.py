"""A larger store: recall folds no records, and one more record folds only those of its claim."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.sql.support import EVIDENCE, rows
from tests.sql.world import World, check

pytestmark = pytest.mark.long

CLAIMS = 3000

STORE = """
with people as (
  select n, memstore.create_user(external_ref => 'author-' || n, language => 'simple') as id
  from generate_series(0, 49) n
)
insert into memstore.memories (user_id, bucket, body, slug, tier, as_of, admission, evidence_refs)
select p.id, 'system', 'claim w' || c % 7 || ' v' || c % 399, 'sys:c' || c, 'ledger', '2026-01-01',
  'candidate', '[{{"kind": "url", "ref": "r", "digest": "d"}}]'
from generate_series(1, {claims}) c
join people p on p.n = c % 50
"""
RECORDS = """
with claims as (select id, user_id, row_number() over (order by id) as n from memstore.memories),
challenges as materialized (
  select gen_random_uuid() as id, c.id as claim, u.id as challenger
  from claims c
  join (select id, row_number() over (order by id) as n from memstore.users) u on u.n = c.n % 50 + 1
)
insert into memstore.memory_admissions
  (id, memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
select gen_random_uuid(), id, user_id, 'admission', 'admitted', null::uuid, 'x', null::jsonb from claims
union all
select id, claim, challenger, 'challenge', null, null, 'x', '[{"kind": "url", "ref": "r", "digest": "d"}]'
from challenges
union all
select gen_random_uuid(), claim, challenger, 'refutation', null, id, 'x', null
from (select *, row_number() over (order by id) as n from challenges) c
where n % 5 > 0
"""


def scans(db: psycopg.Connection, *tables: str) -> dict[str, tuple[int, int]]:
    """How often this transaction scanned tables and their indexes, and the rows that this gave."""
    return {
        name: (number, fetched)
        for name, number, fetched in rows(
            db,
            "select c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid)"
            " from pg_class c left join pg_index i on i.indexrelid = c.oid"
            " where coalesce(i.indrelid, c.oid)::regclass = any (%s::text[]::regclass[])",
            [f"memstore.{table}" for table in tables],
        )
    }


@pytest.fixture
def world(db: psycopg.Connection) -> Iterator[World]:
    """In one transaction, whose counts of scans are its own; no plan of the session is of an empty store."""
    db.execute("select memstore.configure(maximum_live_memories => 100000, system_recall_enabled => true)")
    db.execute(STORE.format(claims=CLAIMS).encode())
    db.execute(RECORDS.encode())
    db.execute("vacuum analyze")
    db.execute("discard plans")
    with db.transaction():
        yield World(db)


def test_three_thousand_claims(world: World) -> None:
    db = world.db
    statuses = check(db)
    assert len(statuses) == CLAIMS and list(statuses.values()).count("suspended") == CLAIMS // 5
    assert rows(db, "select count(*) from memstore.memory_admissions") == [(CLAIMS * 2 + CLAIMS * 4 // 5,)]

    reader, claim = world.account("reader"), next(iter(statuses))
    before = scans(db, "memory_admissions", "open_challenges")
    for turn in ("claim w3 v17", "v17", "w3"):
        recalled = world.do("recall", "reader", query=turn)
        assert len(recalled["memories"]) == 2
        assert len(rows(db, "select score from memstore.rank_claims(%s, %s)", reader, turn)) > 2
    assert world.do("memory_status", "reader", memory_id=claim)
    assert scans(db, "memory_admissions", "open_challenges") == before

    tables = ("memory_admissions", "open_challenges", "claim_statuses", "memories")
    for function, by, arguments in (
        ("record_admission", "steward", {"verdict": "rejected"}),
        ("record_admission", "steward", {"verdict": "admitted"}),
        ("challenge_memory", "a", {}),
        ("challenge_memory", "a", {"evidence_refs": [EVIDENCE]}),
    ):
        before = scans(db, *tables)
        world.do(function, by, memory_id=claim, ground="x", **arguments)
        after = scans(db, *tables)
        read = {name: after[name][1] - before[name][1] for name in after if after[name] != before[name]}
        assert sum(read.values()) < CLAIMS // 4, (function, read)
    check(db)
