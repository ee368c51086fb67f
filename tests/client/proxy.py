"""What lies between a client and its server, and may fail: a proxy that the test directs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

Relay = Callable[[bytes], bytes | None]
"""Gives what to pass on of what came; None cuts the connection."""


class Proxy:
    """Passes connections on, unless it is told otherwise.

    Attributes:
        accepts: What is done with a new connection: ``forward``, ``close`` or ``hang``.
        accepted: How many there were.
    """

    def __init__(self, conninfo: str) -> None:
        self._server = conninfo_to_dict(conninfo)
        self.accepts = "forward"
        self.accepted = 0
        self.requests: Relay = bytes
        self.answers: Relay = bytes
        self._open: list[socket.socket] = []
        self._port = 0
        self.listen()
        self.conninfo = make_conninfo(conninfo, host="127.0.0.1", port=self._port, sslmode="disable")

    def listen(self) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self._port))
        self._listener.listen(600)
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.accepted += 1
                if self.accepts == "close":
                    client.close()
                    continue
                self._open.append(client)
                if self.accepts == "forward":
                    server = self._connect()
                    self._open.append(server)
                    for source, target, relay in (
                        (client, server, lambda data: self.requests(data)),
                        (server, client, lambda data: self.answers(data)),
                    ):
                        threading.Thread(target=_pass_on, args=[source, target, relay], daemon=True).start()

    def _connect(self) -> socket.socket:
        host, port = str(self._server["host"]), self._server.get("port", "5432")
        if not Path(host).is_dir():
            return socket.create_connection((host, int(str(port))))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def silence(self) -> None:
        """Nothing of what is sent on an open connection arrives any more, and nobody is told: as by a NAT."""
        silenced = list(self._open)
        for each in silenced:
            _silent.add(id(each))

    def stop(self) -> None:
        """Cuts all connections, and listens no more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()


_silent: set[int] = set()


def _pass_on(source: socket.socket, target: socket.socket, relay: Relay) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            if id(source) in _silent:
                continue
            changed = relay(data)
            if changed is None:
                break
            target.sendall(changed)
    for each in (source, target):
        if id(each) not in _silent:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(conninfo: str) -> Iterator[Proxy]:
    made = Proxy(conninfo)
    try:
        yield made
    finally:
        _silent.clear()
        made.stop()
