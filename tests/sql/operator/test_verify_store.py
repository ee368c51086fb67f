"""verify_store: a sound store is told as sound, and each invariant that the owner breaks is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
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

HEADER = (schema.sql_dir() / "functions/operator/verify_store.sql").read_text(encoding="utf-8")


def broken(db: psycopg.Connection) -> dict[str, tuple[int, str]]:
    """The invariants of the data that don't hold: how many rows break each, and an example."""
    found = rows(db, "select invariant, violations, example from memstore.verify_store()")
    assert all((violations == 0) == (example is None) for _, violations, example in found)
    # What is dropped here is told as guards: tests/sql/schema/test_altered_objects.py.
    return {
        name: (violations, example) for name, violations, example in found if violations and name != "guards"
    }


@pytest.fixture
def store(scratch: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A store with rows of every kind, whose constraints and triggers are off.

    Its ids: chain a1 -> a2 -> a3 and the lone a4 of account 1; b1 of account 2; of a steward the claims c1
    (suspended), c2 (admitted), c3 (a candidate, replaced by the tombstone c4) and c5 (rejected).
    """
    db = scratch
    call(db, "create_user", id=named("1"))
    call(db, "create_user", id=named("2"), external_ref="2")
    steward = steward_of(db, "steward")
    insert(db, named("1"), SECRET, id=named("a1"), embedding=[1, 2], embedding_model="model")
    supersede(db, named("1"), named("a1"), SECRET, id=named("a2"))
    supersede(db, named("1"), named("a2"), SECRET, id=named("a3"))
    insert(db, named("1"), SECRET, id=named("a4"), bucket="learned")
    insert(db, named("2"), SECRET, id=named("b1"), embedding=[2, 1], embedding_model="model")
    for claim in ("c1", "c2", "c3", "c5"):
        insert(db, steward, SECRET, id=named(claim), embedding=[1, -1], embedding_model="model", **SYSTEM)
    for claim, verdict in (("c1", "admitted"), ("c2", "admitted"), ("c5", "rejected")):
        call(
            db,
            "record_admission",
            actor=steward,
            memory_id=named(claim),
            verdict=verdict,
            ground=SECRET,
        )
    for claim in ("c1", "c2", "c3"):
        call(
            db,
            "challenge_memory",
            actor=named("2"),
            memory_id=named(claim),
            ground=SECRET,
            evidence_refs=[EVIDENCE],
        )
    call(
        db,
        "put_items",
        actor=named("1"),
        items=[
            {"namespace": [SECRET], "key": SECRET, "value": {"text": SECRET}},
            {
                "namespace": [SECRET],
                "key": "another",
                "value": {},
                "embeddings": [{"field": "$", "embedding": [1, 2], "embedding_model": "model"}],
            },
        ],
    )
    tombstone = call(
        db, "promote_memory", actor=steward, target=named("c3"), stance="use-pnpm", evidence_refs=[EVIDENCE]
    )[0]["id"]
    erased = account_of(db, "leaver")
    call(
        db,
        "challenge_memory",
        actor=erased,
        memory_id=named("c5"),
        ground=SECRET,
        evidence_refs=[EVIDENCE],
    )
    call(db, "delete_user", actor=erased)
    assert broken(db) == {}
    db.execute("set local session_replication_role = replica")
    for name, table in rows(
        db,
        "select conname, conrelid::regclass::text from pg_constraint"
        " where contype = 'c' and connamespace = 'memstore'::regnamespace",
    ):
        db.execute(f"alter table {table} drop constraint {name}".encode())
    assert value(db, "select id from memstore.memories where promoted") == tombstone
    yield db


def named(name: str) -> UUID:
    """The id of one of the store's rows."""
    return UUID(f"00000000-0000-4000-8000-{name.rjust(12, '0')}")


def filled(statement: str) -> str:
    """The statement with ids for names such as {a1}."""
    return re.sub(r"\{(\w+)\}", lambda match: f"'{named(match[1])}'::uuid", statement)


CASES = {
    "users_rules": "update users set language = 'klingon' where id = {1}",
    "settings_rules": "update settings set semantic_floor = 2",
    "embedding_models_rules": "update embedding_models set registered = null",
    "memories_rules": "update memories set slug = 'sys:x' where id = {a3}",
    "memory_admissions_rules": "update memory_admissions set ground = ' ' where memory_id = {c2}"
    " and role = 'admission'",
    "claim_counter_rules": "update claim_counter set singleton = false",
    "deployment_rules": "update deployment set checksum = 'x' where name = 'sql'",
    "account_roles_rules": "insert into account_roles values ('', {1})",
    "items_rules": "update items set ttl_seconds = 5",
    "item_embeddings_rules": "update item_embeddings set field = ''",
    "api_roles_rules": "insert into api_roles (role, bundle) values ('postgres', 'some')",
    "tokens_rules": "insert into tokens (user_id, kind, name, scopes, digest, expires_at)"
    " values ({1}, 'agent', 'x', array['all'], sha256('x'), now() + interval '1 day')",
    "single_rows": "insert into claim_counter (singleton, admitted) values (false, 2)",
    "live_memories": "update users set live_memories = 1 where id = {1}",
    "candidates": "update users set candidates = '{\"english\": [2, 2]}' where id = {1}",
    "stored_items": "update users set stored_items = 1 where id = {1}",
    "twins": "update users set has_twins = false where id = {1}",
    "erased_accounts": "update memory_admissions set ground = 'x' where memory_id = {c5}"
    " and role = 'challenge'",
    "owners": "update memories set user_id = {9} where id = {c2}",
    "chain_targets": "update memories set superseded_by_id = {9} where id = {a1}",
    "chain_times": "update memories set superseded_at = null where id = {a1}",
    "chain_order": "update memories set superseded_at = superseded_at + interval '1 hour' where id = {a1}",
    "chain_loops": "update memories set superseded_by_id = {a1}, superseded_at = now() + interval '1 hour'"
    " where id = {a3}",
    "chain_borders": "update memories set superseded_by_id = {b1} where id = {a2}",
    "search_vectors": "alter table memories alter column search_vector drop expression;"
    " update memories set search_vector = '' where id = {a3}",
    "item_versions": "update items set version = 1000000 where key = 'another'",
    "tombstones": "alter table memories alter column promoted drop expression;"
    " update memories set promoted = true where id = {a3}",
    "model_names": "delete from embedding_models",
    "model_dimensions": "update memories set embedding = array[1] where id = {b1}",
    "record_targets": "delete from memories where id = {c5}",
    "record_authors": "update memory_admissions set user_id = {9} where memory_id = {c2}"
    " and role = 'admission'",
    "record_slugs": "alter table memory_admissions alter column slug drop expression;"
    " update memory_admissions set slug = 'x' where memory_id = {c2} and role = 'admission'",
    "refutations": "update memory_admissions set memory_id = {c5} where role = 'refutation'",
    "claim_statuses": "update claim_statuses set status = 'rejected' where memory_id = {c2}",
    "open_challenges": "update open_challenges set effective = not effective",
    "challenge_limit": "insert into memory_admissions (memory_id, user_id, role, ground)"
    " select {c2}, {1}, 'challenge', 'No.' from generate_series(1, 201);"
    " insert into open_challenges (challenge_id, memory_id, user_id, inserted_at, evidenced)"
    " select id, memory_id, user_id, inserted_at, false from memory_admissions where user_id = {1}",
    "token_limit": "insert into tokens (user_id, kind, name, scopes, digest, expires_at)"
    " select {1}, 'agent', 'x', array['recall'], sha256(n::text::bytea), now() + interval '1 day'"
    " from generate_series(1, 101) n",
    "claim_counter": "update claim_counter set admitted = admitted + 1",
    "admitted_claims": "update admitted_claims set user_id = {2}",
    "claim_languages": "update claim_languages set claims = claims + 1",
    "claim_words": "update claim_words set claims = claims + 1",
    "claim_signs": "update claim_signs set signs = ~signs",
    "bound_roles": "insert into account_roles values ('no such role', {1})",
}

# What cannot be broken alone.
ALSO = {
    "account_roles_rules": {"bound_roles"},
    "single_rows": {"claim_counter_rules"},
    "owners": {"live_memories", "admitted_claims", "claim_signs"},
    "chain_times": {"live_memories", "candidates", "memories_rules"},
    "chain_loops": {"chain_order", "live_memories", "candidates"},
    "record_targets": {"live_memories", "claim_statuses"},
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_broken_is_named(store: psycopg.Connection, name: str) -> None:
    store.execute("set local search_path = memstore, pg_catalog")
    store.execute(filled(CASES[name]).encode())
    store.execute("reset search_path")
    found = broken(store)
    assert set(found) == {name} | ALSO.get(name, set())
    assert SECRET not in str(found)


def test_the_examples_are_ids(store: psycopg.Connection) -> None:
    store.execute(filled("update memstore.memories set slug = 'sys:x' where id in ({a3}, {a4})").encode())
    assert broken(store) == {"memories_rules": (2, str(named("a3")))}
    store.execute(filled("update memstore.users set live_memories = 7 where id = {1}").encode())
    assert broken(store)["live_memories"] == (1, str(named("1")))


BESIDES = {
    "an item of an erased account": (
        "update items set user_id = (select id from users where erased_at is not null);"
        " update users set stored_items = case when id = {1} then 0 else 2 end"
        " where id = {1} or erased_at is not null",
        {"erased_accounts"},
    ),
    "an item of nobody": (
        "update items set user_id = {9}; update users set stored_items = 0 where id = {1}",
        {"owners"},
    ),
    "an item's words": (
        "alter table items alter column search_vector drop expression;"
        " update items set search_vector = '' where key <> 'another'",
        {"search_vectors"},
    ),
    "an item's version twice": ("update items set version = 1", {"item_versions"}),
    "an item's embedding of no model": (
        "update item_embeddings set embedding_model = 'none'",
        {"model_names"},
    ),
    "an item's embedding of another length": (
        "update item_embeddings set embedding = array[1]",
        {"model_dimensions"},
    ),
    "a memory of an erased account": (
        "update memories set user_id = (select id from users where erased_at is not null)"
        " where id = {a4}; update users set live_memories = live_memories - 1 where id = {1};"
        " update users set live_memories = 1 where erased_at is not null",
        {"erased_accounts", "candidates"},
    ),
    "the evidence of an erased account": (
        "update memory_admissions set evidence_refs ="
        " (select evidence_refs from memory_admissions where memory_id = {c1} and role = 'challenge')"
        " where memory_id = {c5} and role = 'challenge'",
        {"erased_accounts"},
    ),
    "a row that replaces itself": (
        "update memories set superseded_by_id = {a2} where id = {a2}",
        {"chain_loops", "chain_order"},
    ),
    "a loop without times": (
        "update memories set superseded_at = null, "
        " superseded_by_id = case id when {a1} then {a2} else {a1} end"
        " where id in ({a1}, {a2})",
        {"chain_loops", "chain_times", "live_memories", "candidates", "memories_rules"},
    ),
    "a memory that is replaced by a claim": (
        "update memories set superseded_by_id = {c2} where id = {a2}",
        {"chain_borders"},
    ),
    "a count below 0": (
        "update users set live_memories = -1 where id = {2}",
        {"live_memories", "users_rules"},
    ),
    "a column of a claim without a value": (
        "update memories set tier = null where id = {c1}",
        {"memories_rules"},
    ),
    "blank evidence": (
        "update memories set evidence_refs = jsonb_set(evidence_refs, array['0', 'ref'], '\" \"')"
        " where id = {c1}",
        {"memories_rules"},
    ),
    "an embedding of nothing": (
        "update memories set embedding = '{0,0}' where id = {b1}",
        {"memories_rules"},
    ),
    "an embedding without a model": (
        "update memories set embedding_model = null where id = {b1}",
        {"memories_rules"},
    ),
    "a fork of times": (
        "update memories set superseded_at = inserted_at - interval '1 hour' where id = {a2}",
        {"memories_rules", "chain_order"},
    ),
    "an erased steward": ("update users set steward = true where erased_at is not null", {"users_rules"}),
    "no counter": ("delete from claim_counter", {"single_rows"}),
    "no settings": ("delete from settings", {"single_rows"}),
    "a status of nothing": (
        "insert into claim_statuses values ({9}, 'admitted', 'admitted')",
        {"claim_statuses"},
    ),
    "a lost status": ("delete from claim_statuses where memory_id = {c2}", {"claim_statuses"}),
    "a lost challenge": ("delete from open_challenges where memory_id = {c2}", {"open_challenges"}),
    "a challenge that was answered": (
        "insert into open_challenges select id, memory_id, user_id, inserted_at, true, false"
        " from memory_admissions where role = 'challenge' and memory_id = {c3}",
        {"open_challenges"},
    ),
    "a lost verdict": (
        "delete from memory_admissions where role = 'admission' and memory_id = {c2}",
        {
            "claim_statuses",
            "claim_counter",
            "admitted_claims",
            "claim_languages",
            "claim_words",
            "claim_signs",
        },
    ),
    "lost signs": ("delete from claim_signs", {"claim_signs"}),
    "signs of an embedding that was replaced": (
        "update memories set embedding = '{-1, 1}' where id = {c2}",
        {"claim_signs"},
    ),
    "signs under another model": ("update claim_signs set embedding_model = 'other'", {"claim_signs"}),
    "signs of another time": ("update claim_signs set inserted_at = now()", {"claim_signs"}),
    "signs of a claim that is not admitted": (
        "update claim_signs set memory_id = {c5}",
        {"claim_signs"},
    ),
    "a record on a tombstone": (
        "update memory_admissions set memory_id = (select id from memories where promoted)"
        " where role = 'admission' and memory_id = {c5}",
        {"record_targets", "claim_statuses"},
    ),
    "a refutation of a refutation": (
        "update memory_admissions set challenge_id = id where role = 'refutation'",
        {"refutations", "open_challenges"},
    ),
}


@pytest.mark.parametrize("what", BESIDES)
def test_other_ways_to_break_it(store: psycopg.Connection, what: str) -> None:
    statement, names = BESIDES[what]
    store.execute("set local search_path = memstore, pg_catalog")
    store.execute(filled(statement).encode())
    store.execute("reset search_path")
    assert set(broken(store)) == names


def test_a_store_with_nothing_in_it(scratch: psycopg.Connection) -> None:
    assert broken(scratch) == {}


def test_each_invariant_is_explained_and_tested(scratch: psycopg.Connection) -> None:
    names = [name for (name,) in rows(scratch, "select invariant from memstore.verify_store()")]
    explained = HEADER.partition("Invariants\n")[2].partition("Returns\n")[0]
    told = re.findall(r"^  ((?:\w+, )*\w+,?)(?:  |$)", explained, re.MULTILINE)
    assert names == re.findall(r"\w+", " ".join(told))
    assert names == [*CASES, "guards"]


def test_each_table_with_rules_is_looked_at(scratch: psycopg.Connection) -> None:
    tables = {table for (table,) in rows(scratch, "select distinct table_name from memstore.rules")}
    assert {f"{table}_rules" for table in tables} <= set(CASES)
