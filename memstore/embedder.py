"""What makes embeddings of texts: a function of the application's, with a time limit."""

import asyncio
import inspect
import threading
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Vectors: TypeAlias = Iterable[Iterable[float]]
"""Embeddings, one a text, in the texts' order, such as the rows of a numpy array."""

_MAXIMUM_THREADS: Final = 4


class _Threads:
    """A pool of up to four threads, which end when nothing is submitted.

    They are daemons, so that a provider that hangs doesn't keep the interpreter from exiting.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[list[list[float]]], Callable[[], list[list[float]]]]] = deque()
        self._running = 0

    def submit(self, work: Callable[[], list[list[float]]]) -> "Future[list[list[float]]]":
        future: Future[list[list[float]]] = Future()
        with self._lock:
            # All have the same time limit, so the cancelled ones are at the front.
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
                except BaseException as error:  # such as SystemExit, which must not reach the caller
                    future.set_exception(RuntimeError(type(error).__name__))


@dataclass(frozen=True, slots=True)
class Embedder:
    """A model, and what embeds texts with it.

    Attributes:
        model: The model's name. Embeddings are compared only with those of the same name, so a change that
            changes the numbers needs another name.
        embed: Makes the embeddings of texts, one a text, in their order. A store calls a function in a
            thread, up to four at a time, and awaits a coroutine function: an `AsyncStore` on its event loop,
            others in one of its own.
        time_limit: How many seconds a write, a batch or a recall waits for it. What takes longer isn't
            stopped, but its answer is lost.
    """

    model: str
    embed: Callable[[list[str]], Vectors | Awaitable[Vectors]] = field(repr=False)
    time_limit: float = 5.0
    _threads: _Threads = field(default_factory=_Threads, init=False, repr=False, compare=False)

    def vectors(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts in this thread, without a time limit.

        Raises:
            ValueError: There aren't as many embeddings as texts.
            Exception: What the function raises; TypeError where its answer isn't made of numbers.
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
        # Retrieved, or asyncio would log an exception that comes after the limit.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        # Not `wait_for`, which goes on waiting for work that ignores its cancellation.
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
