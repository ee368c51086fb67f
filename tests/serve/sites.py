"""A `memstore serve` in a process of its own, with the login of a role of grant_serve, and requests to it."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import IO, Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo

from memstore import schema
from tests.sql.support import SECRET, SYSTEM, call_one, insert, rows, value

# Without the ready embedder, whose model takes seconds to load.
PLAIN = (
    "from memstore import embedders; embedders.ready = lambda: None; from memstore.cli import main; main()"
)
COMMAND = [sys.executable, "-c", PLAIN]
SCOPES = ["recall", "remember", "forget", "claims", "steward", "operator"]
ACCEPT = "application/json, text/event-stream"


@dataclass
class Answer:
    """What a request got."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Site:
    """A server that runs, and the owner's connection to its database."""

    url: str
    db: psycopg.Connection
    process: subprocess.Popen[str]
    log: Path
    role: str
    secrets: list[str] = field(default_factory=list)

    def check_log(self, *others: Path) -> None:
        """No token, text or URL is in what the server wrote, nor a token or text in other logs."""
        for written in (self.log, *others):
            text = written.read_text(errors="replace")
            assert SECRET not in text
            assert not [secret for secret in self.secrets if secret in text]
            assert written is not self.log or not re.search(r"/(login|memories)\b", text)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def conninfo(self) -> str:
        """The database, as its owner."""
        info = self.db.info
        return make_conninfo(host=info.host, port=info.port, user=info.user, dbname=info.dbname)

    @property
    def cookie(self) -> str:
        return f"memstore-{urlsplit(self.url).port}"

    def account(self, name: str = "", steward: bool = False) -> UUID:
        """A new account."""
        made: UUID = value(
            self.db, "select memstore.create_user(external_ref => %s)", f"{name}-{secrets.token_hex(4)}"
        )
        if steward:
            rows(self.db, "select memstore.set_steward(%s, true)", made)
        return made

    def token(self, account: UUID, *scopes: str, kind: str = "agent") -> str:
        """The secret of a new token; with all scopes where none is named, but steward."""
        given = [*scopes] or ["recall", "remember", "forget", "claims", "operator"]
        made = call_one(
            self.db, "create_token", user_id=account, name="x", scopes=given, lifetime="10 minutes", kind=kind
        )
        self.secrets.append(made["token"])
        return str(made["token"])

    def session(self, account: UUID, *scopes: str) -> str:
        """The secret of a new session."""
        login = self.token(account, *scopes, kind="login")
        secret = f"mst_{secrets.token_hex(32)}"
        digests = [sha256(each.encode()).digest() for each in (login, secret)]
        rows(self.db, "select memstore.redeem_login(%s, %s)", *digests)
        self.secrets.append(secret)
        return secret

    def claim(self, account: UUID, body: str = "c") -> UUID:
        """A new claim."""
        made: UUID = insert(self.db, account, body, **SYSTEM)["id"]
        return made

    def request(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answer:
        """Sends a request; `_` in a header's name stands for `-`."""
        connection = HTTPConnection(self.host, timeout=30)
        try:
            named = {name.replace("_", "-"): content for name, content in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            got = {name.lower(): content for name, content in response.getheaders()}
            return Answer(response.status, got, response.read().decode())
        finally:
            connection.close()

    def raw(self, sent: str, seconds: float = 20) -> str:
        """Sends bytes as they are: all that comes back until the server closes the connection."""
        host, _, port = self.host.partition(":")
        with socket.create_connection((host, int(port)), seconds) as connection:
            connection.sendall(sent.encode("latin-1"))
            got = b""
            with suppress(ConnectionError):
                while part := connection.recv(1 << 16):
                    got += part
        return got.decode()

    def get(self, path: str, session: str, **headers: str) -> Answer:
        """Asks for a page."""
        return self.request("GET", path, Cookie=f"{self.cookie}={session}", **headers)

    def post(self, path: str, session: str, fields: object = (), **headers: str) -> Answer:
        """Sends a form, as a page of this server does."""
        sent = {
            "Cookie": f"{self.cookie}={session}",
            "Origin": self.url,
            "Content_Type": "application/x-www-form-urlencoded",
        }
        return self.request("POST", path, urlencode(fields), **(sent | headers))  # type: ignore[arg-type]

    def rpc(self, method: str, params: object = None, token: str = "", **headers: str) -> Answer:
        """Sends one message of MCP."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        sent = {"Accept": ACCEPT, "Content_Type": "application/json"}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        return self.request("POST", "/mcp", json.dumps(message), **(sent | headers))

    def tool(self, token: str, name: str, **arguments: object) -> Any:
        """Calls a tool: its result, or its error."""
        answer = self.rpc("tools/call", {"name": name, "arguments": arguments}, token).json
        return answer.get("result", answer.get("error"))


def _pass_on(lines: Iterable[str], file: IO[str]) -> None:
    for line in lines:
        file.write(line)
        file.flush()


@contextmanager
def serving(conninfo: str, log: Path, *arguments: str, **settings: str) -> Iterator[Site]:
    """Serves a database that has memstore in it."""
    with psycopg.connect(conninfo, autocommit=True) as db:
        role = f"memstore_web_{secrets.token_hex(4)}"
        db.execute(f"create role {role} login".encode())
        rows(db, "select memstore.grant_serve(%s)", role)
        environment = {**os.environ, "PYTHONPATH": str(Path(schema.__file__).parent.parent), **settings}
        url = make_conninfo(conninfo, user=role)
        with log.open("a") as errors:
            process = subprocess.Popen(
                [*COMMAND, "serve", "--port", "0", "--json", "--database-url", url, *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, log.read_text()
            # What it writes later is as good as a log.
            with log.open("a") as later:
                rest = Thread(target=_pass_on, args=[process.stdout, later])
                rest.start()
                try:
                    yield Site(json.loads(line)["url"], db, process, log, role)
                finally:
                    if process.poll() is None:
                        process.send_signal(signal.SIGTERM)
                        process.wait(20)
                    rest.join(20)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(20)
            if process.stdout:
                process.stdout.close()
            db.execute(f"drop owned by {role}; drop role {role}".encode())
