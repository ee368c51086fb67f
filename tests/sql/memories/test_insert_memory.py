"""insert_memory: whose memory it is, what is trimmed, retries, the ceiling, and what is said of a refusal."""

from __future__ import annotations

import json
from datetime import date
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.servers import Server
from tests.sql.cases import SPACES
from tests.sql.support import (
    EVIDENCE,
    SECRET,
    SYSTEM,
    account_of,
    call,
    insert,
    live_count,
    raw_insert,
    refused,
    row_of,
    rows,
    supersede,
    value,
)

ID = UUID(int=0xA1)


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_the_row_is_returned_as_it_is_stored(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(
        db,
        account,
        "It builds.",
        **SYSTEM,
        source_ref="run 7",
        entity="pnpm",
        embedding=[3, 4],
        embedding_model="model",
        language="danish",
        id=ID,
    )
    stored = row_of(db, ID)
    assert {**memory, "embedding": [3, 4], "search_vector": stored["search_vector"]} == stored
    assert {name: memory[name] for name in ("id", "user_id", "language", "entity", "as_of", "promoted")} == {
        "id": ID,
        "user_id": account,
        "language": "danish",
        "entity": "pnpm",
        "as_of": date(2026, 1, 2),
        "promoted": False,
    }
    assert memory["inserted_at"] == memory["updated_at"]
    assert (memory["superseded_at"], memory["superseded_by_id"]) == (None, None)


def test_defaults(db: psycopg.Connection, account: UUID) -> None:
    memory = insert(db, account, "I use pnpm.")
    assert (memory["bucket"], memory["language"]) == ("user", "english")
    assert insert(db, account, "I use pnpm.", bucket=None)["bucket"] == "user"
    dane = value(db, "select memstore.create_user(language => 'danish')")
    assert insert(db, dane, "Jeg bruger pnpm.")["language"] == "danish"
    assert insert(db, dane, "I use pnpm.", language="english")["language"] == "english"


def test_texts_are_trimmed(db: psycopg.Connection, account: UUID) -> None:
    texts = {"source_ref": "run 7", "entity": "pnpm", "slug": "sys:pnpm", "language": "danish"} | {
        "tier": "glass",
        "admission": "admitted",
        "bucket": "system",
        "embedding_model": "model",
    }
    padded = {name: f"{SPACES}{text}{SPACES}" for name, text in texts.items()}
    memory = insert(db, account, f"{SPACES}two  words{SPACES}", **(dict(SYSTEM) | padded), embedding=[1])
    assert {name: memory[name] for name in texts} == texts
    assert memory["body"] == "two  words"


def test_2000_characters_are_counted_after_trimming(db: psycopg.Connection, account: UUID) -> None:
    assert insert(db, account, f" {'x' * 2000}\n", source_ref=f" {'x' * 200} ")["body"] == "x" * 2000


def test_evidence_is_trimmed_and_other_keys_are_dropped(db: psycopg.Connection, account: UUID) -> None:
    padded = {name: f"\u3000{text}\n" for name, text in EVIDENCE.items()}
    fields = dict(SYSTEM) | {"evidence_refs": [{**padded, "note": SECRET}, EVIDENCE]}
    assert insert(db, account, "It builds.", **fields)["evidence_refs"] == [EVIDENCE, EVIDENCE]


@pytest.mark.parametrize("empty", ["", " ", SPACES], ids=["empty", "blank", "white space"])
def test_an_empty_text_is_an_absent_one(empty: str, db: psycopg.Connection, account: UUID) -> None:
    optional = dict.fromkeys(("source_ref", "embedding_model", "slug", "entity", "tier", "admission"), empty)
    memory = insert(db, account, "x", **optional)
    assert not any(memory[name] for name in optional)


@pytest.mark.parametrize("empty", ["", " ", SPACES], ids=["empty", "blank", "white space"])
def test_an_empty_language_is_the_accounts(empty: str, db: psycopg.Connection) -> None:
    dane = value(db, "select memstore.create_user(language => 'danish')")
    assert insert(db, dane, "x", language=empty)["language"] == "danish"
    (memory,) = call(db, "insert_memories", actor=dane, memories=[{"body": "x", "language": empty}])
    assert memory["language"] == "danish"


# retries


def test_a_repeated_id_with_the_same_content_returns_the_row(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "It builds.", **SYSTEM, source_ref="run 7", id=ID)
    assert insert(db, account, " It builds. ", **SYSTEM, source_ref="run 7 ", id=ID) == first
    assert live_count(db, account) == 1


def test_a_retry_returns_a_row_that_was_superseded_since(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "I use npm.", id=ID)
    replacement = supersede(db, account, ID, "I use pnpm.")
    assert insert(db, account, "I use npm.", id=ID)["superseded_by_id"] == replacement["id"]


def test_a_retry_needs_no_room(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "I use npm.", id=ID)
    db.execute("select memstore.set_maximum_live_memories(%s, 0)", [account])
    assert insert(db, account, "I use npm.", id=ID) == first


@pytest.mark.parametrize(
    "other",
    [
        {"body": "It doesn't build."},
        {"source_ref": "run 8"},
        {"source_ref": None},
        {"language": "danish"},
        {"slug": "sys:other"},
        {"entity": None},
        {"tier": "glass"},
        {"as_of": "2026-01-03"},
        {"admission": "admitted"},
        {"evidence_refs": [EVIDENCE, EVIDENCE]},
        {**dict.fromkeys(SYSTEM), "bucket": "user", "entity": None},
    ],
    ids=str,
)
def test_a_repeated_id_with_other_content_is_refused(
    other: dict[str, Any], db: psycopg.Connection, account: UUID
) -> None:
    content = {**SYSTEM, "body": "It builds.", "source_ref": "run 7", "entity": "pnpm"}
    insert(db, account, **content, id=ID)
    with refused("id_taken", "id"):
        insert(db, account, **(content | other), id=ID)
    assert live_count(db, account) == 1


def test_an_id_of_another_account_is_taken(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account_of(db, "other"), "I use pnpm.", id=ID)
    with refused("id_taken", "id"):
        insert(db, account, "I use pnpm.", id=ID)


def test_an_id_is_free_again_after_its_deletion(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "I use pnpm.", id=ID)
    call(db, "delete_memory", actor=account, id=ID)
    assert insert(db, account, "Something else.", id=ID)["body"] == "Something else."


# embeddings


def test_the_first_embedding_of_a_model_fixes_its_dimensions(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x", embedding=[1, 2], embedding_model="model")
    with refused("embedding_dimensions_differ", "embedding"):
        insert(db, account, SECRET, embedding=[1, 2, 3], embedding_model="model")
    with refused("embedding_dimensions_differ", "embedding"):
        raw_insert(db, account, embedding=[1], embedding_model="model")
    insert(db, account, "x", embedding=[1, 2, 3], embedding_model="Model")


def test_a_refused_row_leaves_no_model_behind(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 0)", [account])
    with refused("quota_reached"):
        insert(db, account, "x", embedding=[1, 2], embedding_model="model")
    assert not rows(db, "select from memstore.embedding_models")


def test_a_retry_leaves_no_model_behind(db: psycopg.Connection, account: UUID) -> None:
    first = insert(db, account, "x", id=ID)
    assert insert(db, account, "x", id=ID, embedding=[1, 2], embedding_model="model") == first
    item = {"body": "x", "id": str(ID), "embedding": [1, 2], "embedding_model": "model"}
    assert call(db, "insert_memories", actor=account, memories=[item]) == [first]
    assert not rows(db, "select from memstore.embedding_models")


# the ceiling


def test_the_ceiling(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 3)", [account])
    insert(db, account, "x")
    insert(db, account, "x", bucket="learned")
    insert(db, account, "x", **SYSTEM)
    with refused("quota_reached", "actor"):
        insert(db, account, SECRET)
    assert live_count(db, account) == 3


def test_200_live_memories_unless_set(db: psycopg.Connection, account: UUID) -> None:
    call(db, "insert_memories", actor=account, memories=[{"body": str(number)} for number in range(199)])
    insert(db, account, "x")
    with refused("quota_reached", "actor"):
        insert(db, account, "y")


def test_superseding_and_deleting_keep_the_count(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 2)", [account])
    first, second = insert(db, account, "1")["id"], insert(db, account, "2")["id"]
    call(db, "supersede_with", actor=account, target=first, replacement=second)
    third = insert(db, account, "3")["id"]
    with refused("quota_reached"):
        insert(db, account, "4")
    call(db, "delete_memory", actor=account, id=first)  # it was no live one
    with refused("quota_reached"):
        insert(db, account, "4")
    call(db, "delete_memory", actor=account, id=third)
    insert(db, account, "4")
    assert live_count(db, account) == 2


def test_another_accounts_memories_do_not_count(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 1)", [account])
    insert(db, account_of(db, "other"), "x")
    insert(db, account, "x")


# what a refusal says


def test_all_broken_rules_are_named_at_once(db: psycopg.Connection, account: UUID) -> None:
    with refused("memories_body_shape", "body") as refusal:
        insert(db, account, " ", source_ref=SECRET * 20, slug="sys:x", tier="gold")
    diag = refusal.value.diag
    broken = json.loads(diag.message_detail or "")
    assert [item["field"] for item in broken] == ["body", "source_ref", "slug", "tier"]
    assert [item["name"] for item in broken] == [f"memories_{item['field']}_shape" for item in broken]
    assert diag.message_primary == broken[0]["message"]
    assert (diag.schema_name, diag.table_name) == ("memstore", "memories")


def test_rules_come_before_the_ceiling_and_ids(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x", id=ID)
    db.execute("select memstore.set_maximum_live_memories(%s, 0)", [account])
    with refused("memories_body_shape", "body"):
        insert(db, account, " ", id=ID)


REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("memories_source_ref_shape", "insert_memory", {"body": SECRET, "source_ref": "x" * 201}),
    ("memories_body_shape", "insert_memory", {"body": SECRET + "x" * 2000}),
    ("memories_embedding_shape", "insert_memory", {"body": SECRET, "embedding_model": SECRET}),
    ("memories_slug_shape", "insert_memory", {"body": SECRET, "slug": SECRET}),
    ("memories_language_shape", "insert_memory", {"body": SECRET, "language": SECRET}),
    ("id_taken", "insert_memory", {"body": SECRET, "id": ID}),
    ("quota_reached", "insert_memory", {"body": SECRET}),
    ("memories_body_shape", "insert_memories", {"memories": [{"body": SECRET}, {"body": " "}]}),
    ("quota_reached", "insert_memories", {"memories": [{"body": SECRET}]}),
    ("argument_invalid", "insert_memories", {"memories": [{SECRET: SECRET}]}),
    ("argument_invalid", "insert_memories", {"memories": [{"body": {"text": SECRET}}]}),
    ("argument_invalid", "insert_memories", {"memories": [{"body": SECRET, "as_of": SECRET}]}),
    ("argument_invalid", "insert_memories", {"memories": [SECRET]}),
    ("id_taken", "insert_memories", {"memories": [{"body": SECRET, "id": str(ID)}]}),
    ("not_supersedable", "supersede_memory", {"target": uuid4(), "body": SECRET}),
    (
        "memories_source_ref_shape",
        "supersede_memory",
        {"target": ID, "body": SECRET, "source_ref": SECRET * 20},
    ),
    ("id_taken", "supersede_memory", {"target": ID, "body": SECRET, "id": ID}),
]


# The private server keeps statements out of its log.
SERVER_DEFAULTS = {
    "log_min_messages": "warning",
    "log_min_error_statement": "error",
    "log_error_verbosity": "default",
}


@pytest.mark.parametrize(("name", "function", "arguments"), REFUSED)
def test_no_text_of_a_refused_call_is_in_the_error_or_in_the_servers_log(
    name: str,
    function: str,
    arguments: dict[str, Any],
    db: psycopg.Connection,
    account: UUID,
    server: Server,
) -> None:
    insert(db, account, "There first.", id=ID)
    db.execute("select memstore.set_maximum_live_memories(%s, 1)", [account])
    if server.log is None:
        with refused(name):
            call(db, function, actor=account, **arguments)
        pytest.skip("the log of this server is out of reach")
    for setting, default in SERVER_DEFAULTS.items():
        db.execute("select set_config(%s, %s, false)", [setting, default])
    size = server.log.stat().st_size
    with refused(name):
        call(db, function, actor=account, **arguments)
    added = server.log.read_bytes()[size:].decode()
    assert f"memstore.{function}(" in added
    assert SECRET not in added
