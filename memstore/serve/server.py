"""Runs the server."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memstore.aio import AsyncStore
from memstore.mcp_server.database import PrivateStore
from memstore.serve.address import Address
from memstore.serve.application import application

HEAD_SECONDS: Final = 10.0
"""A connection that has brought no other request for so long is closed."""

_MOST_CONNECTIONS: Final = 500


class _Protocol(H11Protocol):
    """HTTP that doesn't wait for ever for a request's first lines, as uvicorn's does."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._seen: object = None
        self._watch = self.loop.call_later(HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.cycle is self._seen and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        else:
            self._seen = self.cycle
            self._watch = self.loop.call_later(HEAD_SECONDS, self._look)


class _Server(uvicorn.Server):
    """Says when it listens."""

    started_at: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.started_at()


def listen(host: str, port: int) -> socket.socket:
    """Opens the socket, so that a port that is taken is told before anything else starts.

    Args:
        host: The address.
        port: The port; 0 for a free one.

    Raises:
        OSError: It can't be listened at.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, since asyncio sets TCP_NODELAY on such sockets alone.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
    except OSError:
        opened.close()
        raise
    return opened


def serve(
    make_store: Callable[[], AsyncStore | PrivateStore],
    address: Address,
    opened: socket.socket,
    started: Callable[[], None],
) -> None:
    """Serves until it is asked to stop: by SIGINT or SIGTERM, after the requests that it has begun.

    Args:
        make_store: Makes the store, on the event loop.
        address: Where it is reached.
        opened: The socket.
        started: Called once it listens.
    """
    # What these log may quote a request; what fails here is logged by its type.
    for name in ("mcp", "uvicorn", "psycopg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

    async def run() -> None:
        store = make_store()
        config = uvicorn.Config(
            application(store, address),
            http=_Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            # Who is behind a proxy nothing here asks, and what a header says anyone can write.
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        server.started_at = started
        try:
            await server.serve([opened])
        finally:
            await store.close()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:  # uvicorn raises the signal again once it has stopped
        signal.signal(signal.SIGINT, signal.SIG_DFL)
