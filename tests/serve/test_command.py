"""`memstore serve`, `memstore web` and `memstore token`, and what their guide shows."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.running import complaints, documents, on_database
from tests.databases import environment
from tests.documents import blocks
from tests.serve.sites import COMMAND, Site
from tests.sql.support import account_of, call, rows, value


class TestToken:
    def test_create_list_and_revoke(self, db: psycopg.Connection, db_url: str) -> None:
        run = on_database(db_url)
        made = run("token", "create", "laptop", "--account", "a")
        secret = made.stdout.strip()
        assert re.fullmatch(r"mst_[0-9a-f]{64}", secret)
        assert made.stderr == ""
        (listed,) = documents(run("token", "list", "--account", "a", "--json"))
        assert (listed["name"], listed["scopes"]) == ("laptop", ["recall", "remember"])
        assert "token" not in listed
        assert secret not in run("token", "list", "--account", "a").stdout
        run("token", "revoke", listed["id"], "--account", "a")
        assert "revoked" in run("token", "list", "--account", "a").stdout

    def test_scopes_and_days(self, db: psycopg.Connection, db_url: str) -> None:
        run = on_database(db_url)
        run("token", "create", "x", "--scope", "recall", "--scope", "forget", "--days", "3", "--json")
        (token,) = call(db, "list_tokens", actor=account_of(db, "default"))
        assert token["scopes"] == ["forget", "recall"]
        assert (token["expires_at"] - token["inserted_at"]).days == 3

    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            (["create"], 2, "it is memstore token create NAME"),
            (["list", "x"], 2, "it is memstore token create NAME"),
            (["make", "x"], 2, "it is memstore token create NAME"),
            (["revoke", "x"], 2, "by its id"),
            (["revoke", str(uuid4())], 1, "There is no such token."),
            (["create", "x", "--scope", "steward"], 1, "Only a steward may do this."),
            (["create", "x", "--scope", "all"], 1, "A token has one scope or more"),
            (["create", ""], 1, "A token's name has 1 to 200 characters."),
        ],
    )
    def test_refusals(
        self, db: psycopg.Connection, db_url: str, arguments: list[str], code: int, said: str
    ) -> None:
        account_of(db, "default")
        assert said in " ".join(complaints(on_database(db_url)("token", *arguments, code=code)))

    def test_nobody_has_none(self, db: psycopg.Connection, db_url: str) -> None:
        assert documents(on_database(db_url)("token", "list", "--json")) == []


class TestServe:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--host", "0.0.0.0"],
            ["--host", "0.0.0.0", "--public-url", "http://memory.example.org"],
            ["--public-url", "https://memory.example.org/path"],
            ["--host", "203.0.113.1", "--public-url", "https://memory.example.org"],
        ],
    )
    def test_where_it_does_not_listen(self, db_url: str, arguments: list[str]) -> None:
        result = on_database(db_url)("serve", "--port", "0", *arguments, code=2)
        assert complaints(result)

    def test_it_stops_cleanly(self, site: Site, tmp_path: Path) -> None:
        from tests.serve.sites import serving

        with serving(site.conninfo, tmp_path / "log") as other:
            other.process.send_signal(signal.SIGTERM)
            assert other.process.wait(20) in (0, -signal.SIGTERM)
            assert (tmp_path / "log").read_text() == ""

    def test_web(self, db: psycopg.Connection, db_url: str) -> None:
        """By a link that works once; of the owner with the scope operator."""
        process = subprocess.Popen(
            [*COMMAND, "--database-url", db_url, "web", "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
            env={**environment(), "MEMSTORE_ACCOUNT": "me"},
        )
        try:
            assert process.stdout
            link = process.stdout.readline().strip()
            url, _, code = link.partition("/login?code=")
            site = Site(url, db, process, Path(os.devnull), "")
            answer = site.post("/login", "", {"code": code})
            assert answer.status == 303
            session = re.search(r"=(mst_\w+)", answer.headers["set-cookie"])
            assert session
            page = site.get("/memories", session[1]).text
            assert "<bdi>me</bdi>" in page
            assert 'href="/store"' in page
            assert site.post("/login", "", {"code": code}).status == 401
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)
            process.stdout and process.stdout.close()

    def test_web_that_cannot_start_leaves_no_login(self, db: psycopg.Connection, db_url: str) -> None:
        without = "import sys; sys.modules['jinja2'] = None\nfrom memstore.cli import main\nmain()"
        line = [sys.executable, "-c", without, "web", "--database-url", db_url, "--account", "me"]
        ended = subprocess.run(line, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "pip install 'pg-memstore[serve]'" in ended.stderr
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            run = on_database(db_url)
            (said,) = complaints(run("web", "--no-browser", "--port", port, "--account", "me", code=2))
            assert said.startswith(f"127.0.0.1:{port} can't be listened at")
        assert rows(db, "select id from memstore.tokens union all select id from memstore.users") == []

    def test_web_for_a_role_of_the_api(self, db: psycopg.Connection, db_url: str) -> None:
        role = f"memstore_web_{uuid4().hex[:8]}"
        db.execute(f"create role {role} login".encode())
        try:
            rows(db, "select memstore.grant_api(%s)", role)
            from memstore.cli.commands.http import _login
            from memstore.cli.session import Session

            with Session(make_conninfo(db_url, user=role), "me", False) as session:
                assert _login(session).startswith("mst_")
            assert "operator" not in value(db, "select scopes from memstore.tokens")
        finally:
            db.execute(f"drop owned by {role}; drop role {role}".encode())


def test_the_guide(site: Site) -> None:
    """The request by curl, as it stands there, and the link."""
    (curl,) = [block.code for block in blocks("migrations/serving.md", "sh") if block.code.startswith("curl")]
    token = site.token(site.account())
    result = subprocess.run(
        ["bash", "-c", curl.replace("http://127.0.0.1:8765", site.url)],
        capture_output=True,
        text=True,
        env={**os.environ, "TOKEN": token},
    )
    assert '"Nothing to recall."' in result.stdout, result.stderr
    account = value(site.db, "select memstore.create_user(external_ref => 'customer-7')")
    grant, link = [block.code for block in blocks("migrations/serving.md", "sql")]
    made = value(site.db, link)
    site.secrets.append(made.partition("code=")[2])
    assert site.post("/login", "", {"code": made.partition("code=")[2]}).status == 303
    assert value(site.db, "select count(*) from memstore.tokens where user_id = %s", account) == 1
    with site.db.transaction(force_rollback=True):
        site.db.execute(grant.encode())
        assert rows(site.db, "select bundle from memstore.list_roles() where role = 'memory_server'") == [
            ("serve",)
        ]


def test_the_guide_and_the_page_know_the_scopes(site: Site) -> None:
    from memstore.serve.pages_access import WORDS

    known = "select scope from memstore.api_scopes union select of_claims from memstore.api_scopes"
    scopes = {scope for (scope,) in rows(site.db, known)} - {None}
    text = Path("migrations/serving.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)) == scopes
    assert set(WORDS) == scopes
