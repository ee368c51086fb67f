"""What others may try: each of these fails without the defence that it names."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import replace
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote
from uuid import UUID

import pytest

from memstore.serve import guards, server
from memstore.serve.address import Address
from tests.serve.sites import ACCEPT, SCOPES, Site, serving
from tests.sql.support import SECRET, insert, rows, value

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


@pytest.fixture
def account(site: Site) -> UUID:
    return site.account("own")


@pytest.fixture
def token(site: Site, account: UUID) -> str:
    return site.token(account)


@pytest.fixture
def session(site: Site, account: UUID) -> str:
    return site.session(account)


class TestWhoIsMeant:
    def test_no_token(self, site: Site) -> None:
        for given in ("", "x", f"mst_{'0' * 64}", "mst_" + "é" * 64):
            answer = site.rpc("tools/list", token=given)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")

    @pytest.mark.parametrize("scheme", ["Basic {}", "Bearer  {}", "{}", "Bearer {} ", "Bearer {},x"])
    def test_another_scheme(self, site: Site, token: str, scheme: str) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json"}
        answer = site.request("POST", "/mcp", LIST, Authorization=scheme.format(token), **headers)
        # A space at a header's end is no part of it.
        assert answer.status == (200 if scheme == "Bearer {} " else 401)

    def test_a_token_and_a_session_are_not_each_other(self, site: Site, token: str, session: str) -> None:
        assert site.rpc("tools/list", token=token).status == 200
        assert site.get("/memories", session).status == 200
        assert site.rpc("tools/list", token=session).status == 401
        assert site.get("/memories", token).status == 401
        assert site.request("GET", "/memories", Authorization=f"Bearer {session}").status == 401

    def test_a_secret_in_the_query_is_none(self, site: Site, token: str, session: str) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json"}
        path = f"/mcp?token={token}&access_token={token}"
        assert site.request("POST", path, LIST, **headers).status == 401
        assert site.request("GET", f"/memories?{site.cookie}={session}").status == 401

    def test_a_login_is_no_session(self, site: Site, account: UUID) -> None:
        login = site.token(account, kind="login")
        assert site.get("/memories", login).status == 401
        assert site.rpc("tools/list", token=login).status == 401

    @pytest.mark.parametrize(
        ("sent", "code", "id"),
        [
            (f'{{"jsonrpc": "2.0", "id": 7, "params": {{"query": "{SECRET}"}}}}', -32600, 7),
            (f'{{"jsonrpc": "2.0", "id": "a", "method": ["{SECRET}"]}}', -32600, "a"),
            (f'{{"jsonrpc": "2.0", "id": {{"{SECRET}": 1}}, "method": "ping"}}', -32600, None),
            (f'["{SECRET}"]', -32600, None),
            (f'"{SECRET}', -32700, None),
        ],
    )
    def test_no_text_of_what_is_no_message(
        self, site: Site, token: str, sent: str, code: int, id: int | str | None
    ) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        answer = site.request("POST", "/mcp", sent, **headers)
        assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, code, id)
        assert SECRET not in answer.text

    def test_no_tool_names_an_account(self, site: Site, token: str) -> None:
        other = site.account("other")
        listed = site.rpc("tools/list", token=token).json["result"]["tools"]
        assert not {"actor", "account", "user_id"} & {
            name for tool in listed for name in tool["inputSchema"]["properties"]
        }
        for name in ("actor", "user_id", "account"):
            answer = site.tool(token, "remember", body="x", **{name: str(other)})
            assert answer["isError"]
        assert value(site.db, "select count(*) from memstore.memories where user_id = %s", other) == 0

    def test_others_memories_by_id_and_path(self, site: Site, token: str, session: str) -> None:
        id = insert(site.db, site.account("other"), SECRET)["id"]
        for tool in ("forget", "history"):
            assert site.tool(token, tool, id=str(id))["isError"]
        assert site.tool(token, "correct", target=str(id), body="y")["isError"]
        for path in (f"/memories/{id}", f"/claims/{id}"):
            answer = site.get(path, session)
            assert answer.status == 404
            assert SECRET not in answer.text
        for path, fields in (("correct", {"body": "y"}), ("forget", {}), ("forget", {"history": "1"})):
            assert site.post(f"/memories/{id}/{path}", session, fields).status in (404, 422)
        assert rows(site.db, "select body, superseded_at from memstore.memories where id = %s", id) == [
            (SECRET, None)
        ]

    def test_others_tokens(self, site: Site, session: str) -> None:
        other = site.account("other")
        site.token(other)
        id = value(site.db, "select id from memstore.tokens where user_id = %s", other)
        assert site.post(f"/access/{id}/revoke", session).status == 422
        assert value(site.db, "select revoked_at from memstore.tokens where id = %s", id) is None

    @pytest.mark.parametrize(
        "end",
        [
            "select memstore.revoke_token(user_id, id) from memstore.tokens where user_id = %s",
            "select memstore.delete_user(%s)",
            "update memstore.tokens set inserted_at = now() - interval '20 minutes',"
            " expires_at = now() - interval '1 second' where user_id = %s returning id",
        ],
        ids=["revoked", "erased", "expired"],
    )
    def test_a_token_that_has_ended(self, site: Site, end: str) -> None:
        account = site.account("leaving")
        token, session, login = site.token(account), site.session(account), site.token(account, kind="login")
        assert site.rpc("tools/list", token=token).status == 200
        assert site.get("/memories", session).status == 200
        rows(site.db, end, account)
        assert site.rpc("tools/list", token=token).status == 401
        assert site.tool(token, "list") == "invalid_token"
        assert site.get("/memories", session).status == 401
        assert site.post("/login", "", {"code": login}).status == 401

    def test_two_tokens(self, site: Site, token: str) -> None:
        """What stands before the server may have read the other one."""
        other = site.token(site.account("other"))
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {site.host}\r\nConnection: close\r\nContent-Length: {len(LIST)}\r\n"
        )
        kinds = f"Accept: {ACCEPT}\r\nContent-Type: application/json\r\n"
        given = [f"Authorization: Bearer {each}\r\n" for each in (token, other)]
        assert " 200 " in site.raw(f"{head}{kinds}{given[0]}\r\n{LIST}").partition("\r\n")[0]
        for pair in (given, given[::-1]):
            answer = site.raw(f"{head}{kinds}{''.join(pair)}\r\n{LIST}")
            assert " 401 " in answer.partition("\r\n")[0]

    def test_a_session_that_was_there_before(self, site: Site, account: UUID) -> None:
        """The secret of a session is the server's alone, whatever cookie a browser was given before."""
        chosen = f"mst_{secrets.token_hex(32)}"
        answer = site.post("/login", chosen, {"code": site.token(account, kind="login")})
        assert answer.status == 303
        assert chosen not in answer.headers["set-cookie"]
        assert site.get("/memories", chosen).status == 401

    def test_a_form_of_another_session(self, site: Site, account: UUID, session: str) -> None:
        """The id in a form makes it count once, and opens nothing."""
        other = insert(site.db, site.account("other"), SECRET)["id"]
        answer = site.post("/memories", session, {"id": str(other), "body": "x"})
        assert answer.status == 422
        assert SECRET not in answer.text
        assert _rows(site, account) == [(0, 0)]


class TestScopes:
    NEEDED: ClassVar[dict[str, set[str]]] = {
        "recall": {"recall", "list", "search", "history"},
        "remember": {"remember", "correct"},
        "claims": {"correct", "history", "propose", "challenge", "records"},
        "steward": set(),
        "operator": set(),
    }

    @pytest.mark.parametrize("scope", NEEDED)
    def test_the_tools_that_are_there(self, site: Site, scope: str) -> None:
        token = site.token(site.account("judge", steward=True), scope)
        listed = site.rpc("tools/list", token=token).json["result"]["tools"]
        assert {tool["name"] for tool in listed} == self.NEEDED[scope]
        for tool in {"recall", "remember", "forget", "propose"} - self.NEEDED[scope]:
            assert "no such tool" in site.tool(token, tool, query="x")["message"]

    def test_remember_writes_no_claim(self, site: Site) -> None:
        account = site.account()
        token = site.token(account, "recall", "remember", "forget")
        claim = site.claim(account)
        evidence = [{"kind": "url", "ref": "r", "digest": "d"}]
        for answer in (
            site.tool(token, "remember", body="x", bucket="system"),
            site.tool(token, "correct", target=str(claim), body="x", evidence_refs=evidence),
            site.tool(token, "forget", id=str(claim)),
        ):
            assert answer["isError"]
            assert answer["content"][0]["text"].startswith("scope_missing")
        assert value(site.db, "select count(*) from memstore.memories where user_id = %s", account) == 1

    @pytest.mark.parametrize(
        ("path", "scope"),
        [
            ("/claims/queue", "steward"),
            ("/store", "operator"),
            ("/claims", "claims"),
            ("/memories", "recall"),
            ("/recall?turn=x", "recall"),
            ("/export", "recall"),
        ],
    )
    def test_pages(self, site: Site, path: str, scope: str) -> None:
        account = site.account("judge", steward=True)
        assert site.get(path, site.session(account, scope)).status == 200
        without = site.session(account, *({*SCOPES} - {scope}))
        answer = site.get(path, without)
        assert answer.status == 403
        assert "The token does not allow this." in answer.text

    @pytest.mark.parametrize(
        ("path", "fields", "scope"),
        [
            ("/memories", {"body": "x"}, "remember"),
            ("/memories/{memory}/correct", {"body": "x"}, "remember"),
            ("/memories/{memory}/forget", {}, "forget"),
            ("/claims", {"body": "x", "slug": "sys:x", "tier": "glass"}, "claims"),
            ("/claims/{claim}/challenge", {"ground": "x"}, "claims"),
            ("/claims/{claim}/verdict", {"ground": "x", "verdict": "admitted"}, "steward"),
        ],
    )
    def test_forms(self, site: Site, path: str, fields: dict[str, str], scope: str) -> None:
        account = site.account("judge", steward=True)
        ids = {"memory": insert(site.db, account, "m")["id"], "claim": site.claim(account)}
        before = _rows(site, account)
        session = site.session(account, *({*SCOPES} - {scope}))
        assert site.post(path.format(**ids), session, fields).status in (403, 422)
        assert _rows(site, account) == before

    def test_metrics(self, site: Site, token: str) -> None:
        account = site.account()
        assert site.request("GET", "/metrics").status == 401
        without = site.token(account, "recall")
        assert site.request("GET", "/metrics", Authorization=f"Bearer {without}").status == 403
        answer = site.request("GET", "/metrics", Authorization=f"Bearer {token}")
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        assert answer.text.endswith("\n# EOF\n")

    def test_a_session_delegates_no_more_than_it_has(self, site: Site) -> None:
        session = site.session(site.account(), "recall")
        for chosen in ("operator", "remember"):
            answer = site.post("/access", session, [("name", "x"), ("lifetime", "1"), ("scopes", chosen)])
            assert answer.status == 422
            assert "mst_" not in answer.text


def _rows(site: Site, account: UUID) -> list[tuple[object, ...]]:
    return rows(
        site.db,
        "select (select count(*) from memstore.memories m"
        " where m.user_id = u.id and m.superseded_at is null),"
        " (select count(*) from memstore.memory_admissions r where r.user_id = u.id)"
        " from memstore.users u where u.id = %s",
        account,
    )


class TestOtherSites:
    def test_a_host_that_is_rebound(self, site: Site, token: str, session: str) -> None:
        for host in ("evil.example", f"evil.example:{site.host.partition(':')[2]}", "127.0.0.1", ""):
            assert site.rpc("tools/list", token=token, Host=host).status in (400, 421)
            assert site.get("/memories", session, Host=host).status in (400, 421)
            assert site.request("GET", "/healthz", Host=host).status in (400, 421)

    def test_a_foreign_origin(self, site: Site, token: str) -> None:
        for origin in (
            "https://evil.example",
            "null",
            "http://127.0.0.1:1",
            site.url.replace("http", "https"),
        ):
            assert site.rpc("tools/list", token=token, Origin=origin).status == 403
        assert site.rpc("tools/list", token=token, Origin=site.url).status == 200

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://127.0.0.1:1"},  # another port is the same site
            {"Sec_Fetch_Site": "same-site"},
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "none"},
        ],
    )
    def test_a_form_of_another_page(
        self, site: Site, account: UUID, session: str, headers: dict[str, str]
    ) -> None:
        assert site.post("/memories", session, {"body": "forged"}, **headers).status == 403
        assert _rows(site, account) == [(0, 0)]

    def test_a_form_of_nobody(self, site: Site, account: UUID, session: str) -> None:
        """Neither Origin nor Sec-Fetch-Site: no browser of these years."""
        cookie = f"{site.cookie}={session}"
        assert site.request("POST", "/memories", "body=x", Cookie=cookie).status == 403
        assert _rows(site, account) == [(0, 0)]

    def test_framing_sniffing_and_scripts(self, site: Site, session: str) -> None:
        for path in ("/memories", "/login", "/static/style.css", "/nowhere", "/healthz"):
            headers = site.get(path, session).headers
            policy = headers["content-security-policy"]
            assert {each.strip() for each in policy.split(";")} == {
                "default-src 'none'", "style-src 'self'", "img-src 'self'", "form-action 'self'",
                "frame-ancestors 'none'", "base-uri 'none'",
            }  # fmt: skip
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cross-origin-opener-policy"] == "same-origin"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert not {name for name in headers if name.startswith("access-control-")}
            if not path.startswith("/static"):
                assert headers["cache-control"] == "no-store"

    def test_the_cookie(self, site: Site, account: UUID) -> None:
        login = site.token(account, kind="login")
        answer = site.post("/login", "", {"code": login})
        assert answer.status == 303
        name, _, rest = answer.headers["set-cookie"].partition("=")
        assert name == site.cookie
        assert rest.startswith("mst_")
        assert "Domain" not in rest
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in rest.split(";")}
        assert site.post("/login", "", {"code": login}).status == 401  # once

    def test_a_cookie_behind_https(self) -> None:
        for url in ("https://memory.example.org", "https://Memory.example.org:443/"):
            address = Address("127.0.0.1", 8765, url)
            assert address.cookie.startswith("__Host-")
            assert address.secure
            assert address.url == "https://memory.example.org"
            assert address.origins("memory.example.org") == {"https://memory.example.org"}

    @pytest.mark.long
    def test_behind_https(self, site: Site, tmp_path: Path) -> None:
        """As the proxy's clients see it, though the proxy speaks HTTP."""
        url = "https://memory.example.org"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        arguments = ["--public-url", url, "--port", str(port)]
        with serving(site.conninfo, tmp_path / "log", *arguments) as served:
            assert served.url == url
            other = replace(served, url=f"http://127.0.0.1:{port}")
            login = other.token(other.account(), kind="login")
            proxied = {"Host": "memory.example.org"}
            assert other.post("/login", "", {"code": login}, **proxied).status == 403
            answer = other.post("/login", "", {"code": login}, **proxied, Origin=url)
            assert answer.status == 303
            assert answer.headers["location"] == "/memories"
            cookie, _, rest = answer.headers["set-cookie"].partition(";")
            assert cookie.startswith("__Host-memstore=mst_")
            assert {"Secure", "HttpOnly", "Path=/"} <= {part.strip() for part in rest.split(";")}
            form = [("name", "x"), ("lifetime", "1"), ("scopes", "recall")]
            made = other.post("/access", "", form, **proxied, Origin=url, Cookie=cookie)
            assert f"<code>{url}/mcp</code>" in made.text

    def test_forwarded_headers_are_not_believed(self, site: Site, session: str) -> None:
        forwarded = {
            "X_Forwarded_Host": "evil.example",
            "X_Forwarded_Proto": "https",
            "X_Forwarded_For": "1.2.3.4",
            "Forwarded": "host=evil.example;proto=https",
            "X_Original_URL": "/store",
        }
        answer = site.get("/", session, **forwarded)
        assert answer.headers["location"] == "/memories"
        form = [("name", "x"), ("lifetime", "1"), ("scopes", "recall")]
        page = site.post("/access", session, form, **forwarded).text
        assert f"<code>{site.url}/mcp</code>" in page
        assert "evil" not in page
        # Nor does one make another origin this one's.
        foreign = {"Origin": "https://evil.example", **forwarded}
        assert site.post("/memories", session, {"body": "x"}, **foreign).status == 403
        as_https = {"Origin": site.url.replace("http", "https"), **forwarded}
        assert site.post("/memories", session, {"body": "x"}, **as_https).status == 403


class TestTexts:
    @pytest.mark.parametrize(
        ("body", "shown", "never"),
        [
            ("<script>alert(1)</script>", "&lt;script&gt;", "<script"),
            ('"><img src=x onerror=alert(1)>', "&#34;&gt;&lt;img", "<img"),
            ("{{ 8765 * 4321 }} {% raw %}", "{{ 8765 * 4321 }}", "37873565"),
            ("\u202eevil\u202c", "U+202E", "\u202e"),
            ("\x1b[31mred", "U+001B", "\x1b"),
            ("a\u2028b\u2066c\u200ed", "U+2028", "\u2066"),
            ("</textarea><script>1</script>", "&lt;/textarea&gt;", "</textarea><script"),
        ],
    )
    def test_a_body_is_text(self, site: Site, body: str, shown: str, never: str) -> None:
        account = site.account(body[:100])
        session = site.session(account)
        id = insert(site.db, account, body, scope="s" + body[:20], source_ref=body[:100])["id"]
        rows(site.db, "select memstore.supersede_memory(%s, %s, %s)", account, id, body + " again")
        for path in ("/memories", f"/memories?q={shown[:1]}&past=1", f"/memories/{id}", "/recall?turn=red"):
            page = site.get(path, session).text
            # Of what is typed into a form, browsers show what is there.
            outside = page.partition("<textarea")[0]
            assert never not in outside, path
            assert never not in page or never in ("\u202e", "\x1b", "\u2066"), path
        assert shown in site.get("/memories", session).text

    def test_what_is_typed_comes_back_as_text(self, site: Site, session: str) -> None:
        for path in ("/memories?q={}", "/memories?scope={}", "/recall?turn={}", "/login?code={}"):
            page = site.get(path.format("%22%3E%3Cb%3Ex"), session).text
            assert "<b>" not in page
            assert '">x' not in page
            assert '"><b>x' in unescape(page)


class TestRedirects:
    @pytest.mark.parametrize(
        "path",
        ["//evil.example/", "//evil.example/memories/", "/\\evil.example/", "/memories/",
         "/%2f%2fevil.example/", "/login/?code=x&next=//evil.example", "/http://evil.example/"],
    )  # fmt: skip
    def test_none_leads_elsewhere(self, site: Site, session: str, path: str) -> None:
        for method in ("GET", "HEAD", "POST"):
            cookie = f"{site.cookie}={session}"
            answer = site.request(method, path, Cookie=cookie, Origin=site.url)
            assert answer.status in (404, 405)
            assert "location" not in answer.headers

    def test_no_header_is_made_of_a_text(self, site: Site) -> None:
        """The only place that has one is where a verdict leads on."""
        judge = site.account("a\r\nX-Made: yes", steward=True)
        session = site.session(judge, *SCOPES)
        claim = site.claim(site.account())
        fields = {"verdict": "admitted", "ground": "x", "status": "a\r\nX-Made: yes\r\n\r\n//evil.example"}
        answer = site.post(f"/claims/{claim}/verdict", session, fields)
        assert answer.status == 303
        assert "x-made" not in answer.headers
        assert answer.headers["location"].startswith("/claims/queue?status=a%0A")
        for path in ("/memories", "/access", "/export"):
            assert "x-made" not in site.get(path, session).headers


class TestRequests:
    def test_a_get_changes_nothing(self, site: Site, account: UUID, session: str) -> None:
        id = insert(site.db, account, "stays")["id"]
        token = value(site.db, "select id from memstore.tokens where user_id = %s limit 1", account)
        for path in (
            f"/memories/{id}/forget",
            f"/memories/{id}/correct?body=x",
            f"/access/{token}/revoke",
            "/logout",
        ):
            assert site.get(path, session).status == 405
        # What looks at links before people do uses no login up.
        login = site.token(account, kind="login")
        for method in ("GET", "HEAD", "OPTIONS", "GET"):
            answer = site.request(method, f"/login?code={login}", Sec_Purpose="prefetch")
            assert answer.status == (403 if method == "OPTIONS" else 200)
            assert "set-cookie" not in answer.headers
        assert site.post("/login", "", {"code": login}).status == 303
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            overriding = {"X_HTTP_Method_Override": "POST", "Origin": site.url}
            cookie = f"{site.cookie}={session}"
            path = "/logout?_method=POST&method=POST"
            assert site.request(method, path, Cookie=cookie, **overriding).status == 405
        assert site.get("/memories", session).status == 200
        assert _rows(site, account) == [(1, 0)]

    def test_a_length_told_twice(self, site: Site, token: str) -> None:
        """It is refused, and the connection ends before the request that hides in it."""
        hidden = f"GET /healthz HTTP/1.1\r\nHost: {site.host}\r\n\r\n"
        for path in ("/mcp", "/login", "/healthz"):
            head = f"POST {path} HTTP/1.1\r\nHost: {site.host}\r\nOrigin: {site.url}\r\n"
            for lengths in (
                f"Transfer-Encoding: chunked\r\nContent-Length: {len(hidden) + 5}\r\n",
                f"Content-Length: {len(hidden) + 5}\r\nTransfer-Encoding: chunked\r\n",
                f"Content-Length: 5\r\nContent-Length: {len(hidden) + 5}\r\n",
                f"Content-Length: +{len(hidden) + 5}\r\n",
                "Transfer-Encoding: xchunked\r\n",
                "Transfer-Encoding : chunked\r\n",
            ):
                answer = site.raw(f"{head}Authorization: Bearer {token}\r\n{lengths}\r\n0\r\n\r\n{hidden}")
                assert answer.count("HTTP/1.1 ") == 1, (path, lengths)
                assert answer.startswith("HTTP/1.1 400 "), (path, lengths)

    @pytest.mark.parametrize(
        "message",
        [
            f"[{LIST}, {LIST}]",
            '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember", "arguments":'
            ' {"body": ' + "[" * 100_000 + "]" * 100_000 + "}}}",
            '{"a":' * 100_000 + "1" + "}" * 100_000,
            LIST.replace('"id": 1', f'"id": {"9" * 5_000}'),
            LIST.replace("tools/list", r"\ud83d"),
            LIST.replace('"id": 1', r'"id": "\ud83d"').replace("list", "call"),
            LIST.replace('"id": 1', '"id": [1]'),
        ],
        ids=["batch", "deep", "deeper", "long id", "half method", "half id", "id of a list"],
    )
    def test_what_is_no_message_either(self, site: Site, token: str, message: str) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        answer = site.request("POST", "/mcp", message, **headers)
        assert answer.status in (202, 400)
        assert "result" not in answer.text

    @pytest.mark.parametrize(
        "arguments",
        [
            '{"query": "x", "maximum_attached": ' + "9" * 400 + "}",
            '{"query": "x", "maximum_attached": -1}',
            '{"query": "x", "maximum_attached": 1e400}',
            '{"query": "x", "maximum_attached": NaN}',
            '{"query": {"a": 1}}',
            '{"query": null}',
            r'{"query": "x", "\ud83d": 1}',
            '{"query": "x", "actor": "x"}',
        ],
    )
    def test_arguments_of_tools(self, site: Site, token: str, arguments: str) -> None:
        message = LIST.replace("tools/list", "tools/call").replace(
            "}", f', "params": {{"name": "recall", "arguments": {arguments}}}}}'
        )
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        answer = site.request("POST", "/mcp", message, **headers)
        assert answer.status == 200
        assert answer.json["result"]["isError"] is True
        assert "internal_error" not in answer.text

    def test_half_an_emoji_fails_no_turn(self, site: Site, account: UUID, token: str) -> None:
        insert(site.db, account, "The port is 8003.")
        for query in ("Which port \ud83d?", "Which port \0?"):
            assert len(site.tool(token, "recall", query=query)["structuredContent"]["memories"]) == 1
        answer = site.tool(token, "remember", body="x\ud83d")
        assert answer["content"][0]["text"].startswith("text_not_storable")

    def test_compressed(self, site: Site, account: UUID, token: str, session: str) -> None:
        """A body is what it is: nothing unpacks one."""
        packed = gzip.compress(b"body=" + b"x" * (1 << 24))
        headers = {"Cookie": f"{site.cookie}={session}", "Origin": site.url, "Content_Encoding": "gzip"}
        form = {**headers, "Content_Type": "application/x-www-form-urlencoded"}
        assert site.request("POST", "/memories", packed, **form).status == 422
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        packed = gzip.compress(LIST.encode())
        assert site.request("POST", "/mcp", packed, **headers, Content_Encoding="gzip").status == 400
        assert _rows(site, account) == [(0, 0)]

    def test_methods_of_mcp(self, site: Site, token: str) -> None:
        """A GET would be held open for ever."""
        for method in ("GET", "DELETE", "PUT"):
            connection = HTTPConnection(site.host, timeout=20)
            connection.request(method, "/mcp", None, {"Accept": ACCEPT, "Authorization": f"Bearer {token}"})
            assert connection.getresponse().status == 405
            connection.close()

    def test_too_large(self, site: Site, token: str, session: str) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        with suppress(ConnectionError):  # it is closed while this is still sending
            assert site.request("POST", "/mcp", b" " * (2 << 20), **headers).status == 413
        assert site.post("/memories", session, {"body": "x" * (1 << 17)}).status == 413
        for path in ("/mcp", "/memories"):
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {site.host}\r\nOrigin: {site.url}\r\n"
                f"Authorization: Bearer {token}\r\nCookie: {site.cookie}={session}\r\n"
            )
            # By what it says, before any of it is there; and by what comes, where it says nothing.
            assert site.raw(f"{head}Content-Length: {2 << 20}\r\n\r\n", 2).startswith("HTTP/1.1 413 ")
            chunks = f"{1 << 20:x}\r\n{' ' * (1 << 20)}\r\n" * 2
            answer = site.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n{chunks}", 5)
            assert answer.startswith("HTTP/1.1 413 ")
        fields = [("body", "x"), *((f"f{number}", "x") for number in range(300))]
        assert site.post("/memories", session, fields).status == 400

    def test_traversal(self, site: Site, session: str) -> None:
        for path in (
            "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py",
            "/static//etc/passwd", "/static/style.css/../../server.py", "/../memstore/serve/server.py",
        ):  # fmt: skip
            answer = site.get(path, session)
            assert answer.status in (401, 404)
            assert "import" not in answer.text

    @pytest.mark.parametrize("id", ["x", "%00", "'; --", "0" * 500, str(UUID(int=255)), "../store"])
    def test_ids_that_are_none(self, site: Site, session: str, id: str) -> None:
        for path in (f"/memories/{quote(id, safe='')}", f"/claims/{quote(id, safe='')}"):
            assert site.get(path, session).status == 404

    @pytest.mark.parametrize(
        "query", ["after=x", "bucket=x", "q=%00", "scope=%00", "q=%ff", "page=1&page=2", "status=x&after=1"]
    )
    def test_arguments_that_are_none(self, site: Site, session: str, query: str) -> None:
        for path in ("/memories", "/claims", "/recall"):
            assert site.get(f"{path}?{query}", session).status in (200, 404, 422)

    @pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"jsonrpc": "2.0"}', b"\xff\xfe"])
    def test_what_is_no_message(self, site: Site, token: str, body: str | bytes) -> None:
        headers = {"Accept": ACCEPT, "Content_Type": "application/json", "Authorization": f"Bearer {token}"}
        assert site.request("POST", "/mcp", body, **headers).status == 400

    @pytest.mark.long
    def test_half_a_request(self, site: Site, token: str) -> None:
        """Connections without a request's head, and without the rest of its body, are closed."""
        host, _, port = site.host.partition(":")
        head = f"POST /mcp HTTP/1.1\r\nHost: {site.host}\r\nAuthorization: Bearer {token}\r\n"
        start = time.monotonic()
        opened = []
        for sent in (
            "",
            "POST /mcp HT",
            head,
            f"{head}Content-Length: 100\r\n\r\n",
            f"{head}Content-Length: 9\r\n\r\n{{",
        ):
            opened.append(socket.create_connection((host, int(port)), 25))
            opened[-1].sendall(sent.encode())
        assert site.request("GET", "/healthz").status == 200
        for connection in opened:
            while connection.recv(1000):
                pass
            connection.close()
        assert time.monotonic() - start < 2 * server.HEAD_SECONDS + guards.BODY_SECONDS

    def test_nobody_guesses_a_path(self, site: Site, session: str) -> None:
        for path in ("/docs", "/openapi.json", "/.env", "/mcp/", "/store/x", f"/{secrets.token_hex(4)}"):
            assert site.get(path, session).status in (404, 307, 401)


class TestLogs:
    def test_a_failure_that_quotes_a_text(self, caplog: pytest.LogCaptureFixture) -> None:
        """Of what fails neither the log nor the answer has more than its kind."""

        async def failing(*_: object) -> None:
            raise RuntimeError(SECRET)

        sent: list[object] = []

        async def send(message: object) -> None:
            sent.append(message)

        asyncio.run(guards.Failures(failing)({"type": "http", "method": "GET"}, None, send))  # type: ignore[arg-type]
        assert "RuntimeError" in caplog.text
        assert SECRET not in caplog.text + str(sent)
        assert "500" in str(sent)

    def test_what_is_asked_is_in_none(self, site: Site, token: str, session: str) -> None:
        for path in (f"/memories?q={SECRET}", f"/login?code={token}", f"/memories/{SECRET}", f"/{SECRET}"):
            site.get(path, session)
        site.tool(token, "recall", query=SECRET)
        site.tool(token, "remember", body=SECRET, bucket="other")
        site.tool(token, SECRET)
        site.rpc(SECRET, token=token)
        site.raw(f"GET /{SECRET} HTTP/1.1\r\nHost : x\r\n\r\n")
        site.check_log()


class TestAddress:
    @pytest.mark.parametrize(
        ("host", "url"),
        [
            ("0.0.0.0", None),
            ("::", None),
            ("192.168.1.5", "http://memory.example.org"),
            ("127.0.0.1", "ftp://memory.example.org"),
            ("127.0.0.1", "https://memory.example.org/path"),
            ("127.0.0.1", "memory.example.org"),
            ("127.0.0.1", "https://somebody@memory.example.org"),
            ("127.0.0.1", "https://memory.example.org:99999"),
            ("127.0.0.1", "https://memory.example.org#x"),
            ("::ffff:192.168.1.5", None),
            ("localhost.example.org", None),
        ],
    )
    def test_beyond_loopback_it_needs_https(self, host: str, url: str | None) -> None:
        with pytest.raises(ValueError, match=r"https|URL|[Pp]ort"):
            Address(host, 8765, url)

    def test_its_names(self) -> None:
        local = Address("127.0.0.1", 8765)
        assert local.hosts == {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
        public = Address("0.0.0.0", 8765, "https://Memory.example.org")
        assert public.hosts == {"memory.example.org"}

    @pytest.mark.long
    def test_on_ipv6(self, site: Site, tmp_path: Path) -> None:
        try:
            server.listen("::1", 0).close()
        except OSError:
            pytest.skip("no IPv6")
        with serving(site.conninfo, tmp_path / "log", "--host", "::1") as other:
            assert other.url.startswith("http://[::1]:")
            account = other.account()
            token, session = other.token(account), other.session(account)
            assert other.rpc("tools/list", token=token, Origin=other.url).status == 200
            assert other.post("/memories", session, {"body": "x"}).status == 303
            for host in ("evil.example", f"evil.example:{other.url.rpartition(':')[2]}", "[::1]", "::1"):
                assert other.rpc("tools/list", token=token, Host=host).status in (400, 421)
