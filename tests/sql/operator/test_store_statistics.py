"""store_statistics: each figure, compared to what is in the store, and no text."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memstore import schema
from tests.sql.support import (
    EVIDENCE,
    SECRET,
    SYSTEM,
    account_of,
    call,
    insert,
    rows,
    steward_of,
    supersede,
    value,
)

Db = psycopg.Connection
HEADER = (schema.sql_dir() / "functions/operator/store_statistics.sql").read_text(encoding="utf-8")


def figures(db: Db, name: str) -> dict[Any, float]:
    """The values of one name, by the values of their labels; by the only one where there is one."""
    found = {}
    for labels, figure in rows(
        db, "select labels, value from memstore.store_statistics() where name = %s", name
    ):
        key = tuple(labels.values())
        found[key[0] if len(key) == 1 else key] = figure
    return found


def challenge(db: Db, actor: UUID, claim: UUID, *, evidence: bool = True) -> UUID:
    refs = [EVIDENCE] if evidence else None
    row = call(db, "challenge_memory", actor=actor, memory_id=claim, ground=SECRET, evidence_refs=refs)[0]
    result: UUID = row["id"]
    return result


def test_memories_by_bucket_and_state(db: Db, account: UUID) -> None:
    steward = steward_of(db, "steward")
    old = insert(db, account, SECRET)["id"]
    supersede(db, account, old, SECRET)
    insert(db, account, SECRET, bucket="learned")
    moved = insert(db, account, SECRET, **SYSTEM)["id"]
    insert(db, account, f"{SECRET}!", **SYSTEM)
    call(db, "promote_memory", actor=steward, target=moved, stance="a-stance", evidence_refs=[EVIDENCE])
    assert figures(db, "memories") == {
        ("live", "user"): 1,
        ("superseded", "user"): 1,
        ("live", "learned"): 1,
        ("superseded", "learned"): 0,
        ("live", "system"): 1,
        ("superseded", "system"): 1,
        ("tombstone", "system"): 1,
    }
    assert value(db, "select bool_and(exact) from memstore.store_statistics() where name = 'memories'")


def test_accounts_and_their_ceilings(db: Db, account: UUID) -> None:
    judge = steward_of(db, "steward")
    leaver = account_of(db, "leaver")
    claim = insert(db, judge, SECRET, **SYSTEM)["id"]
    challenge(db, leaver, claim)
    call(db, "delete_user", actor=leaver)
    full, empty = account_of(db, "full"), account_of(db, "closed")
    for ceiling, held, owner in ((10, 9, account), (10, 8, full), (0, 0, empty)):
        call(db, "set_maximum_live_memories", user_id=owner, maximum_live_memories=ceiling)
        for number in range(held):
            insert(db, owner, f"{SECRET} {number}")
    assert figures(db, "accounts") == {"active": 4, "erased": 1}
    assert figures(db, "stewards") == {(): 1}
    assert figures(db, "accounts_near_ceiling") == {(): 2}
    assert figures(db, "account_fullness") == {str(empty): 1, str(account): 0.9}
    call(db, "set_maximum_live_memories", user_id=full, maximum_live_memories=4)
    assert list(figures(db, "account_fullness").items()) == [
        (str(full), 2),
        (str(empty), 1),
        (str(account), 0.9),
    ]


def test_the_fullest_accounts_alone_are_named(db: Db) -> None:
    db.execute("update memstore.settings set maximum_live_memories = 0")
    for number in range(25):
        account_of(db, str(number))
    assert figures(db, "accounts_near_ceiling") == {(): 25}
    assert len(figures(db, "account_fullness")) == 20


def test_what_has_no_embedding(db: Db, account: UUID) -> None:
    steward = steward_of(db, "steward")
    assert figures(db, "unembedded_memories") == {(): 0}
    insert(db, account, f"{SECRET} 1", embedding=[1], embedding_model="one")
    old = insert(db, account, f"{SECRET} 2", embedding=[1], embedding_model="two")["id"]
    supersede(db, account, old, f"{SECRET} 3", embedding=[2], embedding_model="two")
    insert(db, account, f"{SECRET} 4", embedding=[1], embedding_model="two")
    moved = insert(db, account, SECRET, **SYSTEM)["id"]
    call(db, "promote_memory", actor=steward, target=moved, stance="a-stance", evidence_refs=[EVIDENCE])
    insert(db, account, SECRET)
    call(db, "register_embedding_model", name="three", dimensions=3)
    assert figures(db, "unembedded_memories") == {(): 1, "one": 3, "two": 2, "three": 4}


def test_claims_and_challenges(db: Db, account: UUID) -> None:
    steward = steward_of(db, "steward")
    claims = [insert(db, account, f"{SECRET} {number}", **SYSTEM)["id"] for number in range(5)]
    for claim in claims[:3]:
        call(db, "record_admission", actor=steward, memory_id=claim, verdict="admitted", ground=SECRET)
    call(db, "record_admission", actor=steward, memory_id=claims[3], verdict="rejected", ground=SECRET)
    # A quarter of three claims, rounded up, is one.
    first = challenge(db, account, claims[0])
    challenge(db, account, claims[1])
    challenge(db, account, claims[1], evidence=False)
    challenge(db, account, claims[4])
    assert figures(db, "claims") == {"candidate": 1, "admitted": 2, "rejected": 1, "suspended": 1}
    assert figures(db, "open_challenges") == {
        "effective": 1,
        "queued": 1,
        "not_admitted": 1,
        "unevidenced": 1,
    }
    assert {name for name, age in figures(db, "oldest_open_challenge_seconds").items() if age >= 0} == {
        "effective",
        "queued",
        "not_admitted",
        "unevidenced",
    }
    call(db, "refute_challenge", actor=steward, challenge_id=first, ground=SECRET)
    assert figures(db, "open_challenges")["queued"] == 0
    # What was superseded is no open work.
    supersede(db, steward, claims[1], SECRET, evidence_refs=[EVIDENCE])
    assert figures(db, "claims") == {"candidate": 2, "admitted": 2, "rejected": 1, "suspended": 0}
    assert figures(db, "oldest_open_challenge_seconds").keys() == {"not_admitted"}


def test_the_age_of_a_challenge(db: Db, account: UUID) -> None:
    claim = insert(db, account, SECRET, **SYSTEM)["id"]
    db.execute(
        "insert into memstore.memory_admissions (memory_id, user_id, role, ground, inserted_at)"
        " values (%s, %s, 'challenge', 'x', clock_timestamp() - interval '3 days')",
        [claim, account],
    )
    challenge(db, account, claim, evidence=False)
    (age,) = figures(db, "oldest_open_challenge_seconds").values()
    assert 3 * 86400 <= age < 3 * 86400 + 600


def test_tables_and_indexes(db: Db, account: UUID) -> None:
    insert(db, account, SECRET)
    tables = {
        name
        for (name,) in rows(
            db,
            "select relname from pg_class where relnamespace = 'memstore'::regnamespace and relkind = 'r'"
            " and relname !~ 'yoyo'",
        )
    }
    for name in (
        "table_bytes",
        "live_rows",
        "dead_rows",
        "row_updates",
        "hot_row_updates",
        "sequential_scans",
    ):
        assert figures(db, name).keys() == tables
    db.execute("vacuum analyze memstore.memories")
    db.execute("select pg_stat_force_next_flush()")
    assert figures(db, "table_bytes")["memories"] == value(db, "select pg_table_size('memstore.memories')")
    assert figures(db, "seconds_since_vacuum").keys() == {"memories"}
    assert 0 <= figures(db, "seconds_since_analyze")["memories"] < 600

    # The order of labels is that of their lengths in jsonb.
    indexes = {
        (index, table)
        for index, table in rows(
            db,
            "select indexrelid::regclass::text, indrelid::regclass::text from pg_index"
            " where indrelid::regclass::text ~ '^memstore\\.' and indrelid::regclass::text !~ 'yoyo'",
        )
    }
    found = {tuple(f"memstore.{part}" for part in key) for key in figures(db, "index_bytes")}
    assert found == indexes
    assert figures(db, "index_scans").keys() == figures(db, "index_bytes").keys()
    assert figures(db, "index_bytes")["memories_pkey", "memories"] == value(
        db, "select pg_relation_size('memstore.memories_pkey')"
    )


def test_settings_and_the_version(db: Db) -> None:
    call(db, "configure", lexical_floor=0.25, system_recall_enabled=True)
    stored = call(db, "configure")[0]
    assert figures(db, "setting") == {
        name: float(setting) for name, setting in stored.items() if name != "singleton"
    }
    assert figures(db, "schema_version") == {(): value(db, "select memstore.schema_version()")}


def test_a_large_store_is_estimated(db: Db, account: UUID) -> None:
    db.execute("alter table memstore.memories set (fillfactor = 10)")  # a row a page
    db.execute("update memstore.users set maximum_live_memories = 100000")
    db.execute(
        "insert into memstore.memories (user_id, bucket, language, body, inserted_at, superseded_at)"
        " select %s, case when i %% 4 = 0 then 'user' else 'learned' end, 'simple', repeat('x', 700),"
        " '2026-01-02Z', case when i %% 2 = 0 then clock_timestamp() end"
        " from generate_series(1, 6000) i",
        [account],
    )
    pages = value(db, "select pg_relation_size('memstore.memories') / 8192")
    assert pages > 4096
    found = figures(db, "memories")
    assert not value(db, "select bool_or(exact) from memstore.store_statistics() where name = 'memories'")
    assert found["live", "user"] + found["live", "learned"] + found["live", "system"] == pytest.approx(
        3000, abs=2
    )
    assert found["superseded", "user"] == pytest.approx(1500, rel=0.2)
    assert found["superseded", "learned"] == pytest.approx(1500, rel=0.2)
    assert figures(db, "unembedded_memories")[()] == pytest.approx(3000, rel=0.2)


def test_an_empty_store(db: Db) -> None:
    assert set(figures(db, "memories").values()) == {0}
    assert figures(db, "accounts") == {"active": 0, "erased": 0}


def test_the_header_has_each_figure_in_its_order(db: Db, account: UUID) -> None:
    claim = insert(db, account, SECRET, **SYSTEM)["id"]
    challenge(db, account, claim)
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=1)
    db.execute("vacuum analyze memstore.memories")
    block = HEADER[HEADER.index("\nFigures\n") : HEADER.index("\nReturns\n")]
    listed = [
        name
        for line in re.findall(r"^  (\w[\w, ]*?)(?: \{.*| {2,}.*|)$", block, re.MULTILINE)
        for name in line.split(", ")
    ]
    shown = [name for (name,) in rows(db, "select name from memstore.store_statistics()")]
    assert [name for name, _ in groupby(shown)] == [name for name, _ in groupby(listed)]


def test_no_text_of_anybodys(db: Db, account: UUID) -> None:
    call(db, "create_user", external_ref=SECRET)
    insert(db, account, SECRET, source_ref=SECRET)
    challenge(db, account, insert(db, account, SECRET, **SYSTEM)["id"])
    db.execute("update memstore.users set maximum_live_memories = 1")
    assert SECRET not in value(db, "select jsonb_agg(s)::text from memstore.store_statistics() s")


def test_a_read_only_transaction(db: Db) -> None:
    with db.transaction():
        db.execute("set transaction read only")
        assert rows(db, "select from memstore.store_statistics()")
