"""Standard input and output: every line that has an id gets an answer, what has none the protocol's error.

The SDK's own reader drops what it can't parse, such as a string that was cut inside an emoji, and its server
cancels what it has begun when the input ends.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, BinaryIO, Final, NoReturn, Self

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_PATIENCE: Final = 10.0
"""How many seconds without an answer end the server, once the input has ended."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Answers:
    """The stream of messages to the client, which knows what isn't answered yet."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._open: dict[types.RequestId, int] = {}
        self._progress = anyio.Event()

    def expect(self, request: types.RequestId) -> None:
        """Notes that a request was read."""
        self._open[request] = self._open.get(request, 0) + 1

    def settle(self, request: types.RequestId | None) -> None:
        """Notes that a request was answered, or that the client wants no answer any more."""
        if request in self._open:
            self._open[request] -= 1
            if not self._open[request]:
                del self._open[request]
        self._progress.set()

    async def all_given(self, busy: Callable[[], bool]) -> None:
        """Waits for the open answers, as long as some come, or the server is busy."""
        while self._open:
            self._progress = anyio.Event()
            with anyio.move_on_after(_PATIENCE) as waiting:
                await self._progress.wait()
            if waiting.cancelled_caught and not busy():
                return

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self.settle(item.message.id)

    async def refuse(self, answer: types.JSONRPCError) -> None:
        """Answers what is no request."""
        await self._inner.send(SessionMessage(answer))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class NoMessageError(Exception):
    """What was read is no message.

    Attributes:
        answer: What the protocol has for it, without the text.
    """

    def __init__(self, code: int, why: str, request: types.RequestId | None = None) -> None:
        super().__init__(why)
        error = types.ErrorData(code=code, message=why)
        self.answer: Final = types.JSONRPCError(jsonrpc="2.0", id=request, error=error)


class _Unread:
    """What the SDK's reader reads instead: nothing."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> NoReturn:
        raise StopAsyncIteration


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _parsed(line: bytes) -> Any:
    r"""Reads a line; bytes that aren't UTF-8 become lone surrogates, as `\ud83d` does.

    Raises:
        ValueError, RecursionError: It is no JSON.
    """
    text = line.decode("utf-8", "surrogateescape").lstrip("\ufeff \t\r\n")
    return json.loads(text, parse_constant=_no_constant)


def _printable(value: Any, key: str = "") -> Any:
    """Replaces lone surrogates, which the SDK may repeat but can't write; a tool judges its arguments."""
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case dict() if key != "arguments":
            return {_printable(name): _printable(each, name) for name, each in value.items()}
        case list():
            return [_printable(each) for each in value]
    return value


def _id_of(message: dict[str, Any]) -> types.RequestId | None:
    """Gives the id of a request if it is one."""
    match message.get("id"):
        case bool():
            return None
        case int() as number:
            return number
        case str() as text if not _SURROGATE.search(text):
            return text
    return None


def read_message(text: bytes) -> types.JSONRPCMessage:
    """Reads a message.

    Raises:
        NoMessageError: It is none.
    """
    try:
        message = _parsed(text)
    except (ValueError, RecursionError):
        raise NoMessageError(types.PARSE_ERROR, "The message is no JSON.") from None
    if not isinstance(message, dict):
        raise NoMessageError(types.INVALID_REQUEST, "A message is an object.")
    request = _id_of(message)
    if "id" in message and request is None:
        raise NoMessageError(types.INVALID_REQUEST, "An id is a string or an integer.")
    try:
        read = types.jsonrpc_message_adapter.validate_python(_printable(message), by_name=False)
    except (ValidationError, RecursionError):
        read = None
    if read is None or ("id" in message and isinstance(read, types.JSONRPCNotification)):
        raise NoMessageError(types.INVALID_REQUEST, "The message is no request.", request)
    return read


async def _read(line: bytes, requests: MemoryObjectSendStream[SessionMessage], answers: _Answers) -> None:
    try:
        read = read_message(line)
    except NoMessageError as error:
        await answers.refuse(error.answer)
        return
    # A response to what this server never asked is of no use, and isn't answered.
    if isinstance(read, types.JSONRPCRequest):
        answers.expect(read.id)
    elif isinstance(read, types.JSONRPCNotification) and read.method == "notifications/cancelled":
        answers.settle((read.params or {}).get("requestId"))
    await requests.send(SessionMessage(read))


@asynccontextmanager
async def stdio(
    source: BinaryIO, busy: Callable[[], bool]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[SessionMessage], _Answers]]:
    """Gives the streams of a server on standard input and output.

    Args:
        source: Standard input. Once it has ended, the first stream ends when all is answered, or when nothing
            was for a while and the server isn't busy.
        busy: Whether the server waits for something that has an end.
    """
    lines = anyio.wrap_file(source)
    send, receive = anyio.create_memory_object_stream[SessionMessage](0)
    async with stdio_server(stdin=_Unread()) as (unread, write):  # type: ignore[arg-type]
        unread.close()
        answers = _Answers(write)

        async def read() -> None:
            # Broken by a server that has ended before the input, since nobody reads its answers.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in lines:
                    if line.strip():
                        await _read(line, send, answers)
                await answers.all_given(busy)
            send.close()

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            yield receive, answers
            group.cancel_scope.cancel()
