"""Dataclasses that show no private text."""

import copy
import dataclasses
import pickle
import typing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from memstore import AdmissionRecord, Claim, Document, Memory, RankedMemory, Recall

NOW = datetime(2026, 8, 25, tzinfo=UTC)
BODY = "private words"
OF_TYPE: dict[Any, Any] = {UUID: UUID(int=1), str: "word", bool: False, int: 0, datetime: NOW}
"""A value of each type; what may be absent is."""


def made(model: Any, **values: Any) -> Any:
    """One of these, with all the fields that the class has."""
    types = typing.get_type_hints(model)
    return model(**{each.name: OF_TYPE.get(types[each.name]) for each in dataclasses.fields(model)} | values)


MEMORY: Memory = made(Memory, body=BODY, metadata={"key": BODY})
RANKED = RankedMemory(MEMORY, 0.5, 0.5, None, True)
RECALL = Recall((MEMORY,), 0, 0, "lexical", f"[From memory: user, today] {BODY}", (MEMORY,))
CLAIM = Claim(MEMORY, "admitted", 0)
RECORD: AdmissionRecord = made(
    AdmissionRecord, ground=BODY, evidence_refs=({"kind": "url", "ref": BODY, "digest": "sha256:0"},)
)
VALUES = [MEMORY, RANKED, RECALL, CLAIM, RECORD]


@dataclasses.dataclass(frozen=True)
class Tagged(Memory):
    tag: str = ""


@pytest.mark.parametrize("value", [*VALUES, VALUES, Tagged(**dataclasses.asdict(MEMORY))])
def test_no_text_is_shown(value: object) -> None:
    for shown in (repr(value), str(value), f"{value}", "%s" % (value,), "%r" % (value,)):  # noqa: UP031
        assert BODY not in shown
    assert str(UUID(int=1)) in repr(value)


def test_a_document_shows_its_keys_alone() -> None:
    document = Document(id=str(UUID(int=1)), body=BODY)
    for shown in (repr([document]), str(document), f"{document}", repr(copy.copy(document))):
        assert "<Document: id, body>" in shown
    assert dict(document) == document == pickle.loads(pickle.dumps(document))


def test_lengths_are_shown() -> None:
    assert "body=<13 characters>" in repr(MEMORY)
    assert "metadata=<1 keys>" in repr(MEMORY)
    assert "note=<40 characters>" in repr(RECALL)
    assert "ground=<13 characters>" in repr(RECORD)
    assert "evidence_refs=<1 pieces>" in repr(RECORD)


@pytest.mark.parametrize("value", VALUES)
def test_values_are_values(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == copy.deepcopy(value) == value
    assert hash(value) == hash(copy.copy(value))
    assert dataclasses.replace(value) == value
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, None)


def test_asdict_is_for_storing() -> None:
    assert dataclasses.asdict(MEMORY)["body"] == BODY
    assert Memory(**dataclasses.asdict(MEMORY)) == MEMORY


def test_live() -> None:
    assert MEMORY.live
    assert not dataclasses.replace(MEMORY, superseded_at=NOW).live
