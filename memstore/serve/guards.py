"""What stands before every request: failures, hosts, headers, and bodies that are too large or too slow."""

import logging
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstore.errors import MemstoreError, ScopeMissing, StoreUnavailable, TokenInvalid
from memstore.serve.address import Address

_logger: Final = logging.getLogger("memstore")

BODY_SECONDS: Final = 10.0
"""Within how many seconds a request's body has to be there."""

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # With no-referrer a browser would send forms with the origin null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Failures:
    """Answers what fails. A log has an error's name alone: its message may quote a text."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        answer: Response
        try:
            await self.app(scope, receive, noting)
            return
        except StoreUnavailable as error:
            _logger.warning("A request found no store: %s", error.name)
            answer = PlainTextResponse("The store can't be reached just now.", 503, {"Retry-After": "5"})
        except TokenInvalid:  # it ended between two calls
            answer = PlainTextResponse("The token has ended.", 401)
        except ScopeMissing as error:
            answer = PlainTextResponse(error.message, 403)
        except Exception as error:
            reason = error.name if isinstance(error, MemstoreError) else type(error).__name__
            _logger.error("A request failed: %s", reason)
            answer = PlainTextResponse("Something failed here; the server's log says what.", 500)
        if not started:
            await answer(scope, receive, send)


class Hosts:
    """Answers requests to its own names alone: a name that is rebound to this address is another.

    It also closes a connection whose request tells its length twice: a proxy may have read another one.
    """

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self.app = app
        self._hosts = address.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            answer = None
            if headers.get("host", "").lower() not in self._hosts:
                answer = PlainTextResponse("This host is not served here.", 421)
            elif "transfer-encoding" in headers and "content-length" in headers:
                answer = PlainTextResponse("The request has two lengths.", 400, {"Connection": "close"})
            if answer is not None:
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Secured:
    """Gives each answer its headers: no script, no frame, nothing stored but the style sheet."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if not scope["path"].startswith("/static/"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self.app(scope, receive, secured if scope["type"] == "http" else send)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was read to who reads it next."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again


class Bodies:
    """Reads a request's body before the application does, up to a size and a time."""

    def __init__(self, app: ASGIApp, maximum: int) -> None:
        self.app = app
        self._maximum = maximum

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self._maximum:
            await self._refuse(413, scope, receive, send)
            return
        body = bytearray()
        with anyio.move_on_after(BODY_SECONDS) as waiting:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return  # the client is gone
                body += message.get("body", b"")
                if len(body) > self._maximum:
                    await self._refuse(413, scope, receive, send)
                    return
                if not message.get("more_body"):
                    break
        if waiting.cancelled_caught:
            await self._refuse(408, scope, receive, send)
            return
        await self.app(scope, replayed(bytes(body), receive), send)

    async def _refuse(self, status: int, scope: Scope, receive: Receive, send: Send) -> None:
        text = {408: "The request came too slowly.", 413: "The request is too large."}[status]
        await PlainTextResponse(text, status, {"Connection": "close"})(scope, receive, send)
