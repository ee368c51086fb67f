"""Other memories for agents that keep them in PostgreSQL, and memstore, behind one face.

All are given the embeddings, which are made beforehand, so no model runs and nothing asks the network. mem0
keeps its history in a SQLite database, here in memory, which is to its advantage.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg

from memstore import Store
from tests.bench import data, load

FOUND = 8  # what a search is asked for, and recall's default
Embed = Callable[[str], list[float]]


class Memories(Protocol):
    """A store of memories on a database of its own."""

    def account(self, name: str) -> str:
        """Make an account, where there is such a thing."""

    def add(self, account: str, body: str) -> str:
        """Write one memory and return its id."""

    def search(self, account: str, turn: str) -> list[str]:
        """Look for what fits a turn; return the bodies that were found."""

    def list(self, account: str) -> int:
        """Read as many without a turn; return how many there were."""

    def delete(self, account: str, key: str) -> None:
        """Delete one memory."""

    def close(self) -> None:
        """Let go of the connections."""


class Memstore:
    """This project: recall by words, or by words and meaning.

    Args:
        conninfo: of the database.
        embed: embeds bodies and turns; None: by words.
        words: whether a turn's words count beside its embedding.
    """

    def __init__(self, conninfo: str, embed: Embed | None, *, words: bool = True) -> None:
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._store = Store(self._connection)
        self._embed = embed
        self._words = words

    def _embedding(self, text: str) -> dict[str, Any]:
        return {"embedding": self._embed(text), "embedding_model": data.MODEL} if self._embed else {}

    def account(self, name: str) -> str:
        if found := self._store.find_user(name):
            return str(found)
        owner = self._store.create_user(external_ref=name)
        self._store.set_maximum_live_memories(owner, load.UNBOUNDED)
        return str(owner)

    def add(self, account: str, body: str) -> str:
        return str(self._store.insert_memory(account, body, **self._embedding(body)).id)

    def search(self, account: str, turn: str) -> list[str]:
        # A blank turn recalls nothing.
        found = self._store.recall(account, turn if self._words else "?", **self._embedding(turn))
        return [memory.body for memory in found.memories]

    def list(self, account: str) -> int:
        return len(self._store.list_memories(account, page_size=FOUND))

    def delete(self, account: str, key: str) -> None:
        self._store.delete_memory(account, key)

    def close(self) -> None:
        self._connection.close()


class LangGraph:
    """PostgresStore: with its vector index a search is by meaning, without one it gives the newest."""

    def __init__(self, conninfo: str, embed: Embed | None) -> None:
        from langgraph.store.postgres import PostgresStore

        self._held = ExitStack()
        index = None
        if embed:
            index = {
                "dims": data.DIMENSIONS,
                "embed": lambda texts: list(map(embed, texts)),
                "fields": ["body"],
            }
        self._store = self._held.enter_context(PostgresStore.from_conn_string(conninfo, index=index))
        self._store.setup()
        self._keys = 0

    def account(self, name: str) -> str:
        return name

    def add(self, account: str, body: str) -> str:
        self._keys += 1
        self._store.put(("memories", account), str(self._keys), {"body": body})
        return str(self._keys)

    def search(self, account: str, turn: str) -> list[str]:
        found = self._store.search(("memories", account), query=turn, limit=FOUND)
        return [item.value["body"] for item in found]

    def list(self, account: str) -> int:
        return len(self._store.search(("memories", account), limit=FOUND))

    def delete(self, account: str, key: str) -> None:
        self._store.delete(("memories", account), key)

    def close(self) -> None:
        self._held.close()


@dataclass(frozen=True)
class _Prepared:
    """An embedding model in mem0's terms."""

    vector: Embed | None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        assert self.vector
        return self.vector(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class Mem0:
    """mem0 with pgvector and infer=False: by meaning, and by words where all of a turn's are there."""

    def __init__(self, conninfo: str, embed: Embed | None) -> None:
        for noisy in ("mem0.utils.spacy_models", "mem0.utils.entity_extraction"):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)  # it works without spaCy, and says so
        self._folder = tempfile.TemporaryDirectory(prefix="memstore-bench-mem0-")
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": self._folder.name}
        from mem0 import Memory

        nowhere = {"api_key": "none", "openai_base_url": "http://localhost:9"}
        place = {"connection_string": conninfo, "embedding_model_dims": data.DIMENSIONS}
        configuration = {
            "vector_store": {"provider": "pgvector", "config": place},
            "llm": {"provider": "openai", "config": nowhere},
            "embedder": {"provider": "openai", "config": nowhere},
            "history_db_path": ":memory:",
        }
        self._memory = Memory.from_config(configuration)
        self._memory.embedding_model = _Prepared(embed)

    def account(self, name: str) -> str:
        return name

    def add(self, account: str, body: str) -> str:
        added = self._memory.add(body, user_id=account, infer=False)
        return str(added["results"][0]["id"])

    def search(self, account: str, turn: str) -> list[str]:
        # Without a threshold, so that it leaves nothing out that it has found.
        found = self._memory.search(turn, filters={"user_id": account}, top_k=FOUND, threshold=0.0)
        return [item["memory"] for item in found["results"]]

    def list(self, account: str) -> int:
        return len(self._memory.get_all(filters={"user_id": account}, top_k=FOUND)["results"])

    def delete(self, account: str, key: str) -> None:
        self._memory.delete(key)

    def close(self) -> None:
        self._memory.vector_store.connection_pool.close()
        self._memory.close()
        self._folder.cleanup()


# What each is compared to: its name, how it is made, and whether by embeddings.
PEERS: dict[str, tuple[Callable[[str, Embed | None], Memories], bool]] = {
    "LangGraph PostgresStore": (LangGraph, False),
    "LangGraph PostgresStore, vector index": (LangGraph, True),
    "mem0, pgvector, infer=False": (Mem0, True),
}
