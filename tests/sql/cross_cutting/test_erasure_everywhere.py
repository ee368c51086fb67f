"""An account with 250 memories of every kind leaves: nothing that it wrote is anywhere in the database."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.sql.support import SYSTEM, account_of, call, insert, places, rows, steward_of, supersede, value

pytestmark = pytest.mark.long

MARKER = "qzvxkwj"
MARKED = {"kind": "receipt", "ref": f"run {MARKER}", "digest": f"sha256:{MARKER}"}


def words(db: psycopg.Connection) -> set[str]:
    """The words in the search vectors."""
    query = "select distinct unnest(tsvector_to_array(search_vector)) from memstore."
    return {word for table in ("memories", "items") for (word,) in rows(db, query + table)}


def fill(db: psycopg.Connection, account: UUID, text: str, number: int) -> None:
    """So many memories of every kind, with the text in each field that may have it."""
    chance = random.Random(number)
    evidence = [{"kind": "url", "ref": f"https://{text}.org", "digest": f"sha256:{text}"}]
    own: list[UUID] = []
    items = [
        {
            "namespace": [text, str(each % 3)],
            "key": f"{text} {each}",
            "value": {text: f"{text} {each}"},
            "embeddings": [{"field": text, "embedding": [each + 1], "embedding_model": f"{text} {each % 5}"}],
        }
        for each in range(number)
    ]
    call(db, "put_items", actor=account, items=items)
    for each in range(number):
        embedding: dict[str, Any] = {}
        if each % 3 == 0:
            embedding = {"embedding": [1, each + 1], "embedding_model": f"{text}-{each % 15}"}
        kind = each % 5
        if kind == 0 or not own:
            own.append(
                insert(
                    db,
                    account,
                    f"{text} {each}",
                    source_ref=f"{text} {each % 7}",
                    scope=f"{text} {each % 4}",
                    metadata={text: [text, each]},
                    **embedding,
                )["id"]
            )
        elif kind == 1:
            own.append(insert(db, account, f"{text} {each}", bucket="learned", **embedding)["id"])
        elif kind == 2:
            target = own.pop(chance.randrange(len(own)))
            own.append(supersede(db, account, target, f"{text}, better {each}", **embedding)["id"])
        else:
            system = {**SYSTEM, "slug": f"sys:{text}-{each}", "evidence_refs": evidence}
            claim = insert(db, account, f"{text} {each}", entity=f"{text} {each % 4}", **system)["id"]
            call(db, "record_admission", actor=account, memory_id=claim, verdict="admitted", ground=text)
            if kind == 4:
                call(
                    db,
                    "promote_memory",
                    actor=account,
                    target=claim,
                    stance=f"{text}-{each}",
                    evidence_refs=evidence,
                )


def others(db: psycopg.Connection, account: UUID) -> list[list[tuple[Any, ...]]]:
    """The rows that are not this account's, and the statuses of the claims that are not."""
    queries = (
        "select to_jsonb(u) from memstore.users u where id <> %s order by id",
        "select to_jsonb(m) from memstore.memories m where user_id <> %s order by id",
        "select to_jsonb(i) from memstore.items i where user_id <> %s order by id",
        "select to_jsonb(r) from memstore.memory_admissions r where user_id <> %s and memory_id in"
        " (select id from memstore.memories m where m.user_id <> %s) order by id",
        "select to_jsonb(s) from memstore.claim_statuses s where memory_id in"
        " (select id from memstore.memories where user_id <> %s) order by memory_id",
        "select to_jsonb(o) from memstore.open_challenges o where memory_id in"
        " (select id from memstore.memories where user_id <> %s) order by challenge_id",
        "select to_jsonb(t) from memstore.tokens t where user_id <> %s",
        "select ctid::text, xmin::text from memstore.memories where user_id <> %s order by id",
    )
    return [rows(db, query, *[account] * query.count("%s")) for query in queries]


def test_nothing_of_an_account_stays(db: psycopg.Connection) -> None:
    leaver = steward_of(db, f"leaver {MARKER}")
    stayers = [account_of(db, f"stayer-{number}") for number in range(3)]
    steward = steward_of(db, "steward")
    db.execute("update memstore.users set maximum_live_memories = 1000")
    db.execute("select memstore.set_steward(%s, true)", [stayers[0]])
    fill(db, leaver, MARKER, 250)
    fill(db, stayers[0], "meadow", 60)
    rows(db, "select memstore.create_token(%s, %s)", leaver, f"the laptop of {MARKER}")
    rows(db, "select memstore.create_token(%s, 'meadow')", stayers[0])
    for number, stayer in enumerate(stayers):
        insert(db, stayer, f"I like meadows {number}.", embedding=[1, 2], embedding_model="meadow")
    theirs = [insert(db, stayers[1], f"It builds {number}.", **SYSTEM)["id"] for number in range(6)]
    (own,) = rows(
        db,
        "select id from memstore.memories where user_id = %s and bucket = 'system' and not promoted limit 1",
        leaver,
    )[0]
    for claim in [*theirs, own]:
        call(db, "record_admission", actor=steward, memory_id=claim, verdict="admitted", ground="Because.")
    for claim in theirs[:4]:
        call(
            db,
            "record_admission",
            actor=leaver,
            memory_id=claim,
            verdict="admitted",
            ground=f"Because of {MARKER}.",
        )
        challenge = call(
            db,
            "challenge_memory",
            actor=leaver,
            memory_id=claim,
            ground=f"Because of {MARKER}.",
            evidence_refs=[MARKED],
        )[0]["id"]
    call(db, "refute_challenge", actor=leaver, challenge_id=challenge, ground=f"Because of {MARKER}.")
    call(db, "challenge_memory", actor=stayers[2], memory_id=own, ground="Because.", evidence_refs=[MARKED])
    db.execute("analyze")
    kept = ["users", "memories", "items", "item_embeddings", "memory_admissions", "admitted_claims"]
    kept.append("claim_words")
    assert {f"memstore.{table}" for table in kept} <= places(db, MARKER)
    assert MARKER in words(db)
    before = others(db, leaver)
    memories = value(db, "select count(*) from memstore.memories where user_id = %s", leaver)
    assert memories >= 250

    assert call(db, "delete_user", actor=leaver)[0]["delete_user"] == memories
    # Else its counts may come after those of VACUUM.
    db.execute("select pg_stat_force_next_flush()")
    db.execute("vacuum")

    assert places(db, MARKER) == set()
    assert not [word for word in words(db) if MARKER in word]
    assert others(db, leaver) == before
    assert rows(db, "select invariant from memstore.verify_store() where violations > 0") == []
    dead = (
        "select sum(pg_stat_get_dead_tuples(oid)) from pg_class where relnamespace = 'memstore'::regnamespace"
    )
    db.execute("select pg_stat_clear_snapshot()")
    assert value(db, dead) == 0


def test_a_models_name_is_not_in_the_statistics(db: psycopg.Connection) -> None:
    leaver = account_of(db, "leaver")
    for number in (1, 2):
        insert(db, leaver, str(number), embedding=[1], embedding_model=f"{MARKER}-{number}")
    db.execute("analyze")
    call(db, "delete_user", actor=leaver)
    db.execute("vacuum")
    assert places(db, MARKER) == set()


def test_no_index_leads_to_it(db: psycopg.Connection) -> None:
    leaver = steward_of(db, MARKER)
    fill(db, leaver, MARKER, 25)
    call(db, "delete_user", actor=leaver)
    db.execute("vacuum")
    db.execute("set enable_seqscan = off")
    for column, table in (
        ("external_ref", "users"),
        ("embedding_model", "memories"),
        ("name", "embedding_models"),
        ("embedding_model", "item_embeddings"),
        ("field", "item_embeddings"),
        ("key", "items"),
    ):
        query = sql.SQL("select count(*) from memstore.{} where {} >= %s and {} < %s").format(
            sql.Identifier(table), sql.Identifier(column), sql.Identifier(column)
        )
        assert db.execute(query, (MARKER, MARKER + "~")).fetchone() == (0,)
    assert rows(db, "select id from memstore.memories where search_vector @@ %s::tsquery", MARKER) == []
    assert rows(db, "select memory_id from memstore.claim_statuses") == []


def test_no_file_has_it_once_they_are_rewritten(db: psycopg.Connection) -> None:
    """Until then freed space has it, and the index of the claims' words, from which VACUUM takes no key."""
    leaver, stayer = steward_of(db, MARKER), steward_of(db, "stayer")
    fill(db, leaver, MARKER, 25)
    fill(db, stayer, "meadow", 25)
    db.execute("analyze")
    files = (
        "select c.oid::regclass::text from pg_class c,"
        " lateral pg_read_binary_file(pg_relation_filepath(c.oid)) f (content)"
        " where c.relfilenode <> 0 and position(convert_to(%s, 'UTF8') in f.content) > 0"
    )
    db.execute("checkpoint")
    before = {name for (name,) in rows(db, files, MARKER)}
    words = {"memstore.admitted_claims_words_idx", "memstore.claim_words"}
    assert {"memstore.users", "memstore.memories", *words} <= before
    call(db, "delete_user", actor=leaver)
    db.execute("vacuum full")
    db.execute("checkpoint")
    assert rows(db, files, MARKER) == []
    assert rows(db, files, "meadow") != []
