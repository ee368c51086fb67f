"""The client's methods are those that python -m tests.generate writes; the models have the fields of the types."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import memstore
from memstore import AdmissionRecord, Claim, Memory
from memstore.api import calls
from tests.generate import client

Db = psycopg.Connection[Any]
API = Path(memstore.__file__).parent / "api"


def test_generated(db: Db) -> None:
    found = client.methods(db)
    again = "write it again with: python -m tests.generate"
    assert (API / "calls.py").read_text("utf-8") == client.calls_py(found, calls.SCHEMA_VERSION), again
    assert (API / "rules.py").read_text("utf-8") == client.rules_py(db), again
    assert (API / "store.py").read_text("utf-8") == client.methods_py(found, asynchronous=False), again
    assert (API / "aio.py").read_text("utf-8") == client.methods_py(found, asynchronous=True), again


@pytest.mark.parametrize(
    ("model", "composite"),
    [(Memory, "memory"), (AdmissionRecord, "admission_record"), (Claim, "claim")],
)
def test_a_model_has_the_fields_of_the_type(db: Db, model: Any, composite: str) -> None:
    attributes = db.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " order by attnum",
        (f"memstore.{composite}",),
    ).fetchall()
    assert [each.name for each in fields(model)] == [name for (name,) in attributes]


def test_a_call_shows_no_parameter() -> None:
    call = calls.insert_memory(actor=uuid4(), body="private words")
    assert "private" not in repr(call)
    assert call.parameters["body"] == "private words"


def test_calls_are_values() -> None:
    actor = uuid4()
    for call in (calls.list_claims, calls.list_memories):
        assert call(actor=actor) == call(actor=actor) != call(actor=actor, page_size=1)
        assert pickle.loads(pickle.dumps(call(actor=actor))) == call(actor=actor)
