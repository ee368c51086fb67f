"""A small web application with a pool and one transaction a request: its own row and a memory go together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection
from typing import Any
from uuid import UUID
from wsgiref.simple_server import WSGIRequestHandler, make_server

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from memstore import MemstoreError, Store


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


def application(pool: ConnectionPool, account: UUID) -> Callable[..., Iterable[bytes]]:
    """POST a note: it is kept as a row of the application's, and remembered."""

    def handle(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        text = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        try:
            with pool.connection() as connection:  # one transaction
                connection.execute("insert into notes (text) values (%s)", [text])
                memory = Store(connection).insert_memory(account, text)
                if "broken" in text:
                    raise RuntimeError("the handler failed after both writes")
        except MemstoreError as refusal:
            start_response("422 Unprocessable Entity", [])
            return [refusal.name.encode()]
        except RuntimeError:
            start_response("500 Internal Server Error", [])
            return []
        start_response("201 Created", [])
        return [str(memory.id).encode()]

    return handle


@pytest.fixture
def post(db: psycopg.Connection, db_url: str, account: UUID) -> Iterator[Callable[[str], tuple[int, str]]]:
    db.execute("create table notes (text text not null)")
    with ConnectionPool(db_url, min_size=1, max_size=2, open=True) as pool:
        server = make_server("127.0.0.1", 0, application(pool, account), handler_class=_Quiet)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def send(text: str) -> tuple[int, str]:
            connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection.request("POST", "/notes", body=text.encode())
            response = connection.getresponse()
            return response.status, response.read().decode()

        yield send
        server.shutdown()
        thread.join()
        server.server_close()


def kept(db: psycopg.Connection) -> tuple[list[str], list[str]]:
    notes = [text for (text,) in db.execute("select text from notes order by text")]
    bodies = [body for (body,) in db.execute("select body from memstore.memories order by body")]
    return notes, bodies


def test_both_or_neither(db: psycopg.Connection, post: Callable[[str], tuple[int, str]]) -> None:
    status, memory = post("I use pnpm, not npm.")
    assert (status, UUID(memory).version) == (201, 4)
    assert post("a broken request") == (500, "")
    assert post(" ") == (422, "memories_body_shape")
    assert post("x" * 2001) == (422, "memories_body_shape")
    assert post("I like tea.")[0] == 201
    assert kept(db) == (["I like tea.", "I use pnpm, not npm."],) * 2
