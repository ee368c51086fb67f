"""The tools over HTTP: by the official client, by many at once, and what a request costs."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.databases import empty_database
from tests.serve.sites import Site, serving
from tests.servers import Server
from tests.sql.support import rows, value


@asynccontextmanager
async def client(site: Site, token: str) -> AsyncIterator[ClientSession]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        streamable_http_client(f"{site.url}/mcp", http_client=http) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def test_the_official_client(site: Site) -> None:
    account = site.account()
    token = site.token(account)

    async def use() -> None:
        async with client(site, token) as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert names == [
                "recall", "remember", "correct", "forget", "list", "search", "history",
                "propose", "challenge", "records",
            ]  # fmt: skip
            made = await session.call_tool("remember", {"body": "I use pnpm, not npm."})
            recalled = await session.call_tool("recall", {"query": "Install the deps with npm."})
            assert recalled.structured_content
            assert [each["id"] for each in recalled.structured_content["memories"]] == [
                made.structured_content and made.structured_content["id"]
            ]
            await session.send_ping()

    asyncio.run(use())


def test_what_recall_told_is_not_remembered_again(site: Site) -> None:
    """Also where each message comes by a request of its own; and each account was told its own."""
    mine, other = site.account(), site.account()
    tokens = [site.token(mine), site.token(other)]
    site.tool(tokens[0], "remember", body="The port is 8003.")
    note = site.tool(tokens[0], "recall", query="Which port?")["structuredContent"]["note"]
    for token in tokens:
        site.tool(token, "remember", body=note)
    bodies = "select body from memstore.memories where user_id = %s"
    assert rows(site.db, bodies, mine) == [("The port is 8003.",)]
    assert rows(site.db, bodies, other) == [(note,)]


def test_many_clients_of_several_accounts(site: Site) -> None:
    """Twenty at once: none sees a foreign row."""
    accounts = [site.account(f"a{number}") for number in range(4)]
    tokens = [site.token(account, "recall", "remember") for account in accounts]

    async def use(number: int, who: int) -> None:
        async with client(site, tokens[who]) as session:
            for turn in range(3):
                body = f"marker-{who} of client {number}, {turn}"
                assert not (await session.call_tool("remember", {"body": body})).is_error
                listed = await session.call_tool("list", {})
                recalled = await session.call_tool("recall", {"query": "marker client"})
                for answer in (listed, recalled):
                    assert answer.structured_content
                    for memory in answer.structured_content["memories"]:
                        assert memory["body"].startswith(f"marker-{who} ")

    async def all_of_them() -> None:
        await asyncio.gather(*(use(number, number % 4) for number in range(20)))

    asyncio.run(all_of_them())
    for account in accounts:
        assert value(site.db, "select count(*) from memstore.memories where user_id = %s", account) == 15


def test_a_message_by_hand(site: Site) -> None:
    """As the guide shows it: one POST, without a handshake."""
    token = site.token(site.account())
    answer = site.rpc("tools/call", {"name": "list", "arguments": {}}, token)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["result"]["structuredContent"] == {"memories": []}


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_call_is_answered_as_the_sdk_would(site: Site, version: str | None) -> None:
    """The server calls tools itself; what it isn't sure of is the SDK's, such as another type's spelling."""
    token = site.token(site.account())
    site.tool(token, "remember", body="Zoë's port is 8003.")
    headers = {"MCP_Protocol_Version": version} if version else {}
    for name, arguments in (
        ("recall", {"query": "Which port?"}),
        ("list", {}),
        ("list", {"page_size": -1}),
        ("remember", {"body": ""}),
        ("forget", {"id": str(uuid4())}),
        ("none", {}),
    ):
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": 1}}
        answers = [
            site.rpc("tools/call", params, token, **headers, Content_Type=kind)
            for kind in ("application/json", "application/json; charset=utf-8")
        ]
        own, sdk = [(answer.status, answer.headers["content-type"], answer.json) for answer in answers]
        assert own == sdk


def test_refusals_are_those_of_the_database(site: Site) -> None:
    token = site.token(site.account())
    answer = site.tool(token, "remember", body=" ")
    assert answer["content"][0]["text"].startswith("memories_body_shape (body): ")
    answer = site.tool(token, "forget", id=str(uuid4()))
    assert answer["content"][0]["text"].startswith("memory_not_found")


def test_the_store_is_away(server: Server, installed: str, tmp_path: Path) -> None:
    """It says so at once, after the first requests had a moment's patience; and goes on once it is back."""
    with empty_database(server, like=installed) as conninfo, serving(conninfo, tmp_path / "log") as site:
        token = site.token(site.account())
        session = site.session(site.account())
        assert site.rpc("tools/list", token=token).status == 200
        site.db.execute(f"alter role {site.role} nologin".encode())
        end = "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s"
        rows(site.db, end, site.role)
        for _ in range(2):
            assert site.rpc("tools/list", token=token).status == 503
        start = time.monotonic()
        for answer in (site.rpc("tools/list", token=token), site.get("/memories", session)):
            assert answer.status == 503
            assert answer.headers["retry-after"]
        assert time.monotonic() - start < 1
        assert site.request("GET", "/healthz").status == 200
        site.db.execute(f"alter role {site.role} login".encode())
        deadline = time.monotonic() + 10
        while site.rpc("tools/list", token=token).status != 200:
            assert time.monotonic() < deadline
        assert site.get("/memories", session).status == 200


@pytest.mark.long
def test_what_a_recall_costs(site: Site) -> None:
    """At most 4 ms of the server's own CPU; and a thousand of eight clients without an error."""
    account = site.account()
    token = site.token(account)
    for number in range(100):
        site.tool(token, "remember", body=f"The port of service {number} is {8000 + number}.")

    def cpu() -> float:
        stat = Path(f"/proc/{site.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / 100

    async def ask(http: httpx2.AsyncClient, count: int) -> None:
        message = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": "Which port has service 7?"}},
        }  # fmt: skip
        for _ in range(count):
            answer = await http.post(f"{site.url}/mcp", content=json.dumps(message))
            assert answer.status_code == 200
            assert not answer.json()["result"]["isError"]

    async def all_of_them(clients: int, count: int) -> None:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            await asyncio.gather(*(ask(http, count) for _ in range(clients)))

    asyncio.run(all_of_them(1, 50))
    before = cpu()
    asyncio.run(all_of_them(8, 125))
    print(f"CPU of Python: {cpu() - before:.2f} ms a recall")


def test_answers_are_sent_at_once(site: Site) -> None:
    """Not only when the client has acknowledged the head, as Nagle's algorithm does: some 40 ms later."""
    address = (urlsplit(site.url).hostname, urlsplit(site.url).port)
    delays = []
    with socket.create_connection(address) as connection:
        for _ in range(10):
            start = time.monotonic()
            connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
            got = b""
            while not got.endswith(b"ok"):
                got += connection.recv(1000)
            delays.append(time.monotonic() - start)
    assert min(delays[5:]) < 0.03
