"""The calls are values that show no parameter; the models have the fields of the types."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memstore import AdmissionRecord, Claim, Memory
from memstore.api import calls

Db = psycopg.Connection[Any]


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
