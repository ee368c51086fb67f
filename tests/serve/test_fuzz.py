"""Bad input over HTTP and a pipe: each message is answered without a failure of the server or a text."""

from __future__ import annotations

import json
import random
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
import pytest

from memstore.serve.agents import MAXIMUM_BODY
from tests.cli.running import Server
from tests.databases import LONG, SEEDS
from tests.serve.sites import ACCEPT, SCOPES, Site
from tests.sql.cross_cutting.test_fuzz import NUMBERS, evidence, odd
from tests.sql.support import EVIDENCE, SECRET, rows
from tests.sql.texts import TEXTS

pytestmark = [pytest.mark.long, pytest.mark.parametrize("seed", SEEDS)]

CALLS = 10_000 if LONG else 400
LINES = [
    b"",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    b"null",
    b"[]",
    b"1e999999",
    b"[NaN]",
    b"9" * 5_000,
    b'"\\ud800"',
    b"[" * 100_000,
    b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
    b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 400 + b', "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": -1e400, "method": "ping"}',
]
METHODS = [
    *(
        "initialize",
        "ping",
        "tools/list",
        "resources/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
    ),
    *("notifications/initialized", "notifications/cancelled", "sampling/createMessage", "", "\ud800"),
]
# Texts of a length that a message may have; the longest seldom.
SHORT = TEXTS[:-8]


class Fuzz:
    """Draws messages to an account's tools."""

    def __init__(self, seed: int, tools: list[dict[str, Any]]) -> None:
        self.random = random.Random(seed)
        self.schemas = {tool["name"]: tool["inputSchema"]["properties"] for tool in tools}
        self.ids = [str(number) for number in range(2)]
        self.failures = 0

    def learn(self, result: dict[str, Any]) -> None:
        """Takes the id of what a tool wrote, for calls to come."""
        id = (result.get("structuredContent") or {}).get("id")
        self.ids = [*self.ids[-20:], id] if id else self.ids

    def value(self, name: str, schema: dict[str, Any]) -> Any:
        """Nearly what the argument wants, or anything."""
        choice, drawn = self.random.choice, self.random.random()
        if drawn < 0.03:
            return choice(TEXTS)
        if drawn < 0.2:
            return choice(SHORT)
        if drawn < 0.3:
            return odd(self.random)
        if name == "evidence_refs":
            return choice([[EVIDENCE], evidence(self.random)])
        if name in ("id", "target", "memory_id", "after"):
            return choice(self.ids)
        if "enum" in schema:
            return choice(schema["enum"])
        match schema.get("type"):
            case "integer" | "number":
                return choice([0, 1, -1, 200, 2**31, 2**63, 10**400, 1.5, *NUMBERS])
            case "boolean":
                return choice([True, False, "on", 1])
            case "array":
                return [choice(SHORT) for _ in range(self.random.randint(0, 3))]
            case "object":
                return {choice(SHORT): odd(self.random) for _ in range(self.random.randint(0, 3))}
        return choice(["It builds.", "What builds?", SECRET, "2026-01-02", "sys:build", "project:x"])

    def message(self, number: int) -> bytes:
        """One for the server, often of the protocol."""
        choice, drawn = self.random.choice, self.random.random()
        name = choice(sorted(self.schemas))
        arguments = {
            key: self.value(key, schema)
            for key, schema in self.schemas[name].items()
            if self.random.random() < 0.7
        }
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
        message["params"] = {"name": name, "arguments": arguments}
        if drawn < 0.1:
            message["method"], message["params"] = (
                choice(METHODS),
                choice([{}, odd(self.random), message["params"]]),
            )
        elif drawn < 0.15:
            message[choice(["jsonrpc", "id", "method", "params", SECRET])] = odd(self.random)
        elif drawn < 0.2:
            message["params"][choice(["name", "arguments", "_meta", "more"])] = odd(self.random)
        elif drawn < 0.25:
            arguments[choice(SHORT)] = odd(self.random)
        elif drawn < 0.27:
            del message[choice(sorted(message))]
        line = json.dumps(message).encode()
        if 0.27 < drawn < 0.32:
            place = self.random.randrange(len(line))
            line = (
                line[:place]
                + choice([b"", b"\x00", b"\xff", b"\xed\xa0\xbd", b"\\", b'"', b"9" * 400])
                + (line[place + 1 :] if drawn < 0.3 else b"")
            )
        elif 0.32 < drawn < 0.34:
            line = choice(LINES)
        return line.replace(b"\n", b" ")

    def judge(self, said: str, line: bytes) -> None:
        """An answer fits the protocol; an error shows no text and is none of the server's."""
        answer = json.loads(said)
        if "result" in answer and not answer["result"].get("isError"):
            self.learn(answer["result"])
            return
        self.failures += 1
        assert SECRET not in said, (line[:1000], said[:1000])
        assert "Traceback" not in said
        if "error" in answer:
            assert answer["error"]["code"] in (-32700, -32600, -32601, -32602), (line[:1000], said[:1000])


def sound(db: psycopg.Connection) -> None:
    assert rows(db, "select invariant, example from memstore.verify_store() where violations > 0") == []


def test_messages_over_http(site: Site, seed: int) -> None:
    account = site.account(steward=seed % 2 == 0)
    site.db.execute("select memstore.set_maximum_live_memories(%s, 100000)", [account])
    token = site.token(account, "recall", "remember", "forget", "claims")
    fuzz = Fuzz(seed, site.rpc("tools/list", token=token).json["result"]["tools"])
    headers = {"Authorization": f"Bearer {token}", "Accept": ACCEPT, "Content-Type": "application/json"}
    connection = HTTPConnection(site.host, timeout=30)
    statuses: dict[int, int] = {}
    for number in range(CALLS):
        line = fuzz.message(number)
        other = {}
        if fuzz.random.random() < 0.05:
            name = fuzz.random.choice(
                ["Accept", "Content-Type", "MCP-Protocol-Version", "MCP-Session-Id", "Authorization"]
            )
            other = {
                name: fuzz.random.choice(
                    ["", "x", "*/*", "2025-06-18", "é", "9" * 1000, f"Bearer {'x' * 68}"]
                )
            }
        try:
            connection.request("POST", "/mcp", line, headers | other)
            response = connection.getresponse()
        except ConnectionError:
            # It may have ended a body that is too large before all of it was sent.
            assert len(line) > MAXIMUM_BODY
            connection.close()
            continue
        said = response.read().decode()
        statuses[response.status] = statuses.get(response.status, 0) + 1
        assert response.status in (200, 202, 400, 401, 403, 406, 413, 415), (
            response.status,
            line[:1000],
            other,
        )
        if said and response.getheader("Content-Type") == "application/json" and response.status != 401:
            fuzz.judge(said, line)
    connection.close()
    assert CALLS // 20 < fuzz.failures < CALLS * 19 // 20, statuses
    print(statuses, fuzz.failures)
    sound(site.db)


def test_messages_over_a_pipe(db: psycopg.Connection, db_url: str, seed: int) -> None:
    server = Server("--database-url", db_url, "--claims")
    server.send({"id": "tools", "method": "tools/list"})
    fuzz = Fuzz(seed, server.receive()["result"]["tools"])
    for number in range(CALLS):
        line = fuzz.message(number)
        server.write(line)
        # What is no request may have no answer, so no answer of its own is waited for.
        server.send({"id": f"after {number}", "method": "ping"})
        answers = [server.receive()]
        while answers[-1].get("id") != f"after {number}":
            answers.append(server.receive())
        assert answers.pop()["result"] == {}
        for answer in answers:
            fuzz.judge(json.dumps(answer), line)
    assert CALLS // 20 < fuzz.failures < CALLS * 19 // 20
    code, said = server.end(None)
    assert code == 0
    assert SECRET not in said
    assert "Traceback" not in said
    sound(db)


PATHS = [
    *(
        "/",
        "/memories",
        "/recall",
        "/export",
        "/claims",
        "/claims/queue",
        "/access",
        "/store",
        "/login",
        "/metrics",
    ),
    *("/memories/{}", "/claims/{}", "/static/{}", "/{}"),
]
FORMS = [
    *("/memories", "/memories/forget", "/memories/{}/correct", "/memories/{}/forget"),
    *("/claims", "/claims/{}/challenge", "/claims/{}/verdict", "/claims/{}/refute", "/claims/{}/promote"),
    *("/access", "/access/{}/revoke", "/login", "/{}"),
]
FIELDS = [
    *(
        "q",
        "turn",
        "past",
        "after",
        "status",
        "bucket",
        "scope",
        "chosen",
        "sure",
        "history",
        "body",
        "id",
        "slug",
    ),
    *(
        "tier",
        "as_of",
        "entity",
        "language",
        "source_ref",
        "evidence_kind",
        "evidence_ref",
        "evidence_digest",
    ),
    *("ground", "verdict", "challenge_id", "stance", "name", "scopes", "days", "code", SECRET, ""),
]


def test_pages_and_forms(site: Site, seed: int) -> None:
    fuzz = Fuzz(seed, [])
    account = site.account(steward=True)
    site.db.execute("select memstore.set_maximum_live_memories(%s, 100000)", [account])
    token, session = site.token(account, *SCOPES), site.session(account, *SCOPES)
    sent = {"Cookie": f"{site.cookie}={session}", "Origin": site.url}
    sent["Content-Type"] = "application/x-www-form-urlencoded"
    connection = HTTPConnection(site.host, timeout=30)
    choice = fuzz.random.choice
    statuses: dict[int, int] = {}
    for number in range(CALLS):
        if number % 20 == 0:
            made = site.tool(token, "remember", body=f"It builds {number}.")
            fuzz.learn(made)
            fuzz.ids.append(str(site.claim(account, f"It builds {number}.")))
        fields = [
            (
                choice(FIELDS),
                choice([choice(SHORT), choice(fuzz.ids), "It builds.", "url", "2026-01-02", "admitted"]),
            )
            for _ in range(fuzz.random.randint(0, 6))
        ]
        form = urlencode(fields, errors="surrogatepass")
        path = choice(FORMS if number % 2 else PATHS).replace(
            "{}", choice([*fuzz.ids, quote(choice(SHORT), safe="", errors="surrogatepass")])
        )
        if number % 2:
            connection.request("POST", path, form, sent)
        else:
            connection.request("GET", f"{path}?{form}", headers=sent)
        response = connection.getresponse()
        response.read()
        statuses[response.status] = statuses.get(response.status, 0) + 1
        assert response.status < 500, (response.status, path[:500], form[:1000])
        if response.status == 303 and response.getheader("Location", "").endswith("/login"):
            session = site.session(account, *SCOPES)
            sent["Cookie"] = f"{site.cookie}={session}"
    connection.close()
    assert statuses[200] > CALLS // 20, statuses
    print(statuses)
    sound(site.db)
