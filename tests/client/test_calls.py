"""The calls are values that show no parameter; the models have the fields of the types."""

from __future__ import annotations

import pickle
from array import array
from dataclasses import fields
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from memstore import AdmissionRecord, Claim, Memory, Store
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


@pytest.mark.parametrize("prepare", [None, False, True])
def test_an_embedding_arrives_as_it_was_given(
    db: Db, db_url: str, account: UUID, prepare: bool | None
) -> None:
    """In binary, of every kind of numbers, prepared or not; and the application's adapters don't matter."""
    np = pytest.importorskip("numpy")
    numbers = [0.5, -1.25, 3.0, 0.1]
    given: list[Any] = [
        numbers,
        tuple(numbers),
        array("d", numbers),
        np.array(numbers),
        np.array(numbers, "float32"),
        np.array([[number, 9.0] for number in numbers])[:, 0],
        [np.float32(number) for number in numbers],
        [Decimal(str(number)) for number in numbers],
    ]

    class Other(psycopg.adapt.Dumper):
        def dump(self, obj: Any) -> bytes:
            return b"{9}"

    with psycopg.connect(db_url, autocommit=True, prepare_threshold=0) as connection:
        for kind in (bytes, str, list):
            connection.adapters.register_dumper(kind, Other)
        for store in (Store(db_url, prepare=prepare), Store(connection, prepare=prepare)):
            with store:
                for embedding in (*given, (number for number in numbers)):
                    written = store.insert_memory(account, "Same.", embedding=embedding, embedding_model="m")
                    ((kept,),) = db.execute(
                        "select embedding = '{0.5,-1.25,3,0.1}' from memstore.memories where id = %s",
                        [written.id],
                    )
                    assert kept
                ranked = store.rank_memories(account, "x", embedding=[2, -5, 12, 0.4], embedding_model="m")
                assert ranked[0].semantic_score == pytest.approx(1.0)
                written = store.insert_memory(account, "Whole.", embedding=[1, 2, 3, 4], embedding_model="m")
                assert db.execute(
                    "select embedding from memstore.memories where id = %s", [written.id]
                ).fetchone() == ([1.0, 2.0, 3.0, 4.0],)
                (of_many,) = store.insert_memories(
                    account, [{"body": "Of many.", "embedding": np.array(numbers), "embedding_model": "m"}]
                )
                ((kept,),) = db.execute(
                    "select embedding = '{0.5,-1.25,3,0.1}' from memstore.memories where id = %s",
                    [of_many.id],
                )
                assert kept
