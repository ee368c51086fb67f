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
# 60 memories; 31 corrections, each with a part of what it corrects; 20 facts of which none is remembered.
MEMORIES, CORRECTIONS, NEW = (
    part.splitlines()
    for part in Path(__file__).with_name("corrections.txt").read_text(encoding="utf-8").split("\n\n")
)


@pytest.mark.parametrize(
    ("embedded", "first", "lines"), [(True, 29, 3), (False, 28, 12)], ids=["meaning", "words"]
)
def test_corrections(db: psycopg.Connection, account: UUID, embedded: bool, first: int, lines: int) -> None:
    """What no rule finds here: "I eat meat again", of one who is vegetarian."""
    embedder = ready() if embedded else None
    if embedded and not embedder:
        skip_without("the extra embed")
    store = Store(db, embedder=embedder)
    for line in MEMORIES:
        language, bar, body = line.rpartition("|")
        store.insert_memory(account, body, language=LANGUAGES[language] if bar else "english")
    found = 0
    for line in CORRECTIONS:
        body, _, part = line.rpartition("|")
        similar = store.similar_memories(account, body.rpartition("|")[2])
        found += bool(similar) and part in similar[0].memory.body
    assert found >= first
    assert sum(len(store.similar_memories(account, body)) for body in NEW) <= lines
