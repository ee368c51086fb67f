"""What `similar_memories` finds with the ready embedder: of corrections the memory, of new facts little."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from memstore import Store
from memstore.embedders import ready
from tests.databases import skip_without

LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "ja": "simple", "zh": "simple"}


def corpus(name: str) -> list[list[str]]:
    """Memories; corrections, each with a part of what it corrects; facts of which none is there."""
    text = Path(__file__).parent.joinpath("corrections", f"{name}.txt").read_text(encoding="utf-8")
    return [part.splitlines() for part in text.split("\n\n")]


@pytest.mark.parametrize(
    ("name", "embedded", "first", "lines"),
    [("lisbon", True, 29, 1), ("lisbon", False, 28, 11), ("bergen", True, 28, 1), ("bergen", False, 27, 9)],
)
def test_corrections(
    db: psycopg.Connection, account: UUID, name: str, embedded: bool, first: int, lines: int
) -> None:
    """What no rule finds here: "I eat meat again", of one who is vegetarian."""
    embedder = ready() if embedded else None
    if embedded and not embedder:
        skip_without("the extra embed")
    store = Store(db, embedder=embedder)
    memories, corrections, new = corpus(name)
    for line in memories:
        language, bar, body = line.rpartition("|")
        store.insert_memory(account, body, language=LANGUAGES[language] if bar else "english")
    found = 0
    for line in corrections:
        body, _, part = line.rpartition("|")
        similar = store.similar_memories(account, body.rpartition("|")[2])
        found += bool(similar) and part in similar[0].memory.body

    assert found >= first
    assert sum(len(store.similar_memories(account, body)) for body in new) <= lines
