"""What makes embeddings of texts: a function of the application's, with a time limit."""

import asyncio
import atexit
import inspect
import os
import signal
import threading
import time
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Vectors: TypeAlias = Iterable[Iterable[float]]
"""Embeddings, one a text, in the texts' order, such as the rows of a numpy array."""

_MAXIMUM_THREADS: Final = 4
_PATIENCE: Final = 1.0  # seconds that an exiting process gives running embeddings


@dataclass(slots=True)
class _Work:
    """Texts to embed, and whether somebody still waits for that."""

    embed: Callable[["_Work"], list[list[float]]]
    future: Future[list[list[float]]] = field(default_factory=Future)
    given_up: bool = False


class _Threads:
    """A pool of up to four threads, which end when nothing is submitted.

    They are daemons, so that a provider that hangs doesn't keep the interpreter from exiting.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Work] = deque()
        self._running = 0

    def submit(self, work: _Work) -> None:
        _exit.processes.add(os.getpid())
        with self._lock:
            # All have the same time limit, so those that were given up are at the front.
            while self._waiting and self._waiting[0].given_up:
                self._waiting.popleft()
            self._waiting.append(work)
            if self._running < _MAXIMUM_THREADS:
                thread = threading.Thread(target=self._work, name="memstore-embedder", daemon=True)
                thread.start()
                self._running += 1

    def _work(self) -> None:
        try:
            _exit.busy.add(threading.current_thread())
            while work := self._next():
                try:
                    work.future.set_result(work.embed(work))
                except Exception as error:
                    work.future.set_exception(error)
                except BaseException as error:  # such as SystemExit, which must not reach the caller
                    work.future.set_exception(RuntimeError(type(error).__name__))
        finally:
            _exit.busy.discard(threading.current_thread())

    def _next(self) -> _Work | None:
        with self._lock:
            while self._waiting and not _exit.begun:
                work = self._waiting.popleft()
                if work.future.set_running_or_notify_cancel():
                    return work
            self._running -= 1
            return None


class _Exit:
    """The end of the process, which embeddings that nobody waits for must not disturb."""

    def __init__(self) -> None:
        self.begun = False
        self.busy: set[threading.Thread] = set()
        self.processes: set[int] = set()
        atexit.register(self.begin)

    def begin(self) -> None:
        """Has running embeddings end, and makes the exit safe from those that don't."""
        self.begun = True
        threads, deadline = list(self.busy), time.monotonic() + _PATIENCE
        for thread in threads:
            _interrupt(thread)
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
        # A fork lacks threads for which the destructors of a library that was at work before would wait.
        if any(thread.is_alive() for thread in threads) or self.processes - {os.getpid()}:
            _outlast_native_code()


def _interrupt(thread: threading.Thread) -> None:
    """Raises SystemExit where a thread runs Python code next."""
    with suppress(ImportError, AttributeError):
        from ctypes import c_ulong, py_object, pythonapi

        pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread.ident or 0), py_object(SystemExit))


def _outlast_native_code() -> None:
    """Lets the process exit with its own code although native code still runs in daemon threads.

    Before Python 3.14 a daemon thread that wants to run Python code during the exit is ended by unwinding its
    stack, and C++ code such as pybind11's then aborts the process. The thread shall sleep instead. And C's
    `exit` must not run the destructors of libraries that are at work. Only glibc has all of this.
    """
    with suppress(ImportError, AttributeError, TypeError, OSError):
        from ctypes import CDLL, c_int, c_void_p, cast

        c = CDLL(None)
        c.signal.argtypes = [c_int, c_void_p]
        # A handler is called with the signal's number: six seconds of sleep, longer than an exit takes.
        c.signal(signal.SIGABRT, cast(c.sleep, c_void_p))
        c.on_exit.argtypes = [c_void_p, c_void_p]
        c.on_exit(cast(c._exit, c_void_p), None)  # called with the exit code
        # std::set_terminate: without a word, where the code shares this library.
        CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(cast(c.pause, c_void_p))


_exit: Final = _Exit()


@dataclass(frozen=True, slots=True)
class Embedder:
    """A model, and what embeds texts with it.

    Attributes:
        model: The model's name. Embeddings are compared only with those of the same name, so a change that
            changes the numbers needs another name.
        embed: Makes the embeddings of texts, one a text, in their order. A store calls a function in a
            thread, up to four at a time, and awaits a coroutine function: an `AsyncStore` on its event loop,
            others in one of its own.
        time_limit: How many seconds a write, a batch or a recall waits for it. The answer of what takes
            longer is lost; it isn't stopped, unless it makes its embeddings one by one, as a generator does.
    """

    model: str
    embed: Callable[[list[str]], Vectors | Awaitable[Vectors]] = field(repr=False)
    time_limit: float = 5.0
    # By process: threads, and who holds a lock, don't survive a fork.
    _threads: dict[int, _Threads] = field(default_factory=dict, init=False, repr=False, compare=False)

    def vectors(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts in this thread, without a time limit.

        Raises:
            ValueError: There aren't as many embeddings as texts.
            Exception: What the function raises; TypeError where its answer isn't made of numbers.
        """
        return self._vectors(texts, None)

    def within_limit(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts in a thread, and waits no longer than the time limit.

        Raises:
            TimeoutError: It takes longer.
            Exception: As `vectors`.
        """
        work = self._submit(texts)
        try:
            return work.future.result(self.time_limit)
        finally:
            work.given_up = True
            work.future.cancel()

    async def within_limit_async(self, texts: list[str]) -> list[list[float]]:
        """Embeds texts on the event loop, or in a thread, and waits no longer than the time limit.

        Raises:
            TimeoutError: It takes longer.
            Exception: As `vectors`.
        """
        work = None
        answer: asyncio.Future[list[list[float]]]
        if inspect.iscoroutinefunction(self.embed) or inspect.iscoroutinefunction(type(self.embed).__call__):
            answer = asyncio.ensure_future(self._awaited_vectors(texts))
        else:
            work = self._submit(texts)
            answer = asyncio.wrap_future(work.future)
        # Retrieved, or asyncio would log an exception that comes after the limit.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        # Not `wait_for`, which goes on waiting for work that ignores its cancellation.
        try:
            done, _ = await asyncio.wait({answer}, timeout=self.time_limit)
        finally:
            if work:
                work.given_up = True
            answer.cancel()
        if not done or answer.cancelled():
            raise TimeoutError
        return answer.result()

    def _submit(self, texts: list[str]) -> _Work:
        if _exit.begun:
            raise RuntimeError("the process exits")
        work = _Work(lambda work: self._vectors(texts, work))
        process = os.getpid()
        (self._threads.get(process) or self._threads.setdefault(process, _Threads())).submit(work)
        return work

    def _vectors(self, texts: list[str], work: _Work | None) -> list[list[float]]:
        answer = self.embed(texts)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        return _checked(answer, texts, work)

    async def _awaited_vectors(self, texts: list[str]) -> list[list[float]]:
        answer = self.embed(texts)
        return _checked(await answer if inspect.isawaitable(answer) else answer, texts)


async def _awaited(answer: Awaitable[Vectors]) -> Vectors:
    return await answer


def _checked(answer: Vectors, texts: list[str], work: _Work | None = None) -> list[list[float]]:
    vectors = []
    for vector in answer:
        if work and (work.given_up or _exit.begun):
            raise TimeoutError
        vectors.append(array("f", iter(vector)).tolist())
    if len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} embeddings of {len(texts)} texts")
    return vectors
