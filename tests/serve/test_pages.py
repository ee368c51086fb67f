"""The pages and their forms, without a browser."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import UUID, uuid4

import pytest

from memstore.serve.texts import ago, figure
from tests.serve.sites import SCOPES, Site
from tests.sql.support import SYSTEM, call_one, insert, rows, supersede, value

EVIDENCE = [
    ("evidence_kind", "url"),
    ("evidence_ref", "https://example.org/1"),
    ("evidence_digest", "sha256:00"),
]


@pytest.fixture
def account(site: Site) -> UUID:
    return site.account("own")


@pytest.fixture
def session(site: Site, account: UUID) -> str:
    return site.session(account)


@pytest.fixture
def judge(site: Site) -> UUID:
    return site.account("judge", steward=True)


def hidden(page: str, name: str) -> str:
    found = re.search(rf'type="hidden" name="{name}" value="([^"]*)"', page)
    assert found
    return unescape(found[1])


def words(page: str) -> str:
    """What a page says."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.partition("<main")[2])).split())


class TestMemories:
    def test_none(self, site: Site, session: str) -> None:
        page = words(site.get("/memories", session).text)
        assert "Nothing is remembered yet" in page
        assert "No memory is like that" in words(site.get("/memories?q=x", session).text)
        assert 'name="q"' in site.get("/memories?q=x", session).text  # what narrows stays there

    def test_remember_once(self, site: Site, account: UUID, session: str) -> None:
        id = hidden(site.get("/memories", session).text, "id")
        for _ in range(2):
            answer = site.post(
                "/memories", session, {"id": id, "body": " I use pnpm. ", "scope": "project:x"}
            )
            assert (answer.status, answer.headers["location"]) == (303, "/memories")
        found = "select id, body, scope from memstore.memories where user_id = %s"
        assert rows(site.db, found, account) == [(UUID(id), "I use pnpm.", "project:x")]

    def test_what_is_refused_comes_back(self, site: Site, account: UUID, session: str) -> None:
        answer = site.post("/memories", session, {"body": "x" * 2001, "scope": "y" * 201})
        assert answer.status == 422
        assert "x" * 2001 in answer.text
        assert 'id="new-body-problem"' in answer.text
        assert 'aria-invalid="true" aria-describedby="new-body-problem"' in answer.text
        said = words(answer.text)
        assert "The body has 1 to 2,000 characters" in said
        assert "The scope has 1 to 200 characters" in said

    def test_the_ceiling(self, site: Site, account: UUID, session: str) -> None:
        rows(site.db, "select memstore.set_maximum_live_memories(%s, 0)", account)
        answer = site.post("/memories", session, {"body": "x"})
        assert "The account holds as much of this as it may." in words(answer.text)
        assert "0 of 0 memories" in words(answer.text)

    def test_search(self, site: Site, account: UUID, session: str) -> None:
        old = insert(site.db, account, "The port is 8003.")["id"]
        supersede(site.db, account, old, "The port is 9001.")
        insert(site.db, account, "Cats sleep.", bucket="learned", scope="project:x")
        page = words(site.get("/memories?q=port", session).text)
        assert "9001" in page
        assert "Cats" not in page
        assert "No memory is like that" in words(site.get("/memories?q=8003", session).text)
        assert "corrected" in words(site.get("/memories?q=8003&past=1", session).text)
        assert "9001" not in words(site.get("/memories?bucket=learned", session).text)
        assert "9001" in words(site.get("/memories?scope=project:y", session).text)
        assert "Cats" not in words(site.get("/memories?scope=project:y", session).text)

    def test_pages_of_many(self, site: Site, account: UUID, session: str) -> None:
        call_one(
            site.db, "insert_memories", actor=account, memories=[{"body": f"Number {n}."} for n in range(1)]
        )
        made = [{"body": f"Number {n}."} for n in range(1, 60)]
        rows(
            site.db, "select count(*) from memstore.insert_memories(%s, %s::jsonb)", account, json.dumps(made)
        )
        seen: list[str] = []
        path = "/memories?scope=s"
        while path:
            page = site.get(path, session).text
            seen += re.findall(r"Number \d+\.(?=</p>)", page)
            following = re.search(r'rel="next" href="([^"]+)"', page)
            path = unescape(following[1]) if following else ""
        assert seen == [f"Number {n}." for n in reversed(range(60))]

    def test_correct_once(self, site: Site, account: UUID, session: str) -> None:
        old = insert(site.db, account, "I live in Berlin.", scope="home")["id"]
        page = site.get(f"/memories/{old}", session).text
        fields = {"id": hidden(page, "id"), "body": "I live in Kiel.", "scope": ""}
        for _ in range(2):
            answer = site.post(f"/memories/{old}/correct", session, fields)
            assert answer.headers["location"] == f"/memories/{fields['id']}"
        assert rows(
            site.db,
            "select body, scope from memstore.memories where user_id = %s order by inserted_at",
            account,
        ) == [("I live in Berlin.", "home"), ("I live in Kiel.", None)]
        page = site.get(answer.headers["location"], session).text
        assert "How it came to be I live in Berlin. corrected" in words(page)

    def test_correct_what_was_corrected(self, site: Site, account: UUID, session: str) -> None:
        old = insert(site.db, account, "a")["id"]
        supersede(site.db, account, old, "b")
        answer = site.post(f"/memories/{old}/correct", session, {"body": "c"})
        assert answer.status == 422
        assert "It was superseded by" in words(answer.text)

    def test_forget(self, site: Site, account: UUID, session: str) -> None:
        old = insert(site.db, account, "a")["id"]
        new = supersede(site.db, account, old, "b")["id"]
        left = "select body from memstore.memories where user_id = %s"
        assert site.post(f"/memories/{new}/forget", session).status == 303
        assert rows(site.db, left, account) == [("a",)]
        old = insert(site.db, account, "c")["id"]
        new = supersede(site.db, account, old, "d")["id"]
        assert site.post(f"/memories/{old}/forget", session, {"history": "1"}).status == 303
        assert rows(site.db, left, account) == [("a",)]
        assert site.post(f"/memories/{old}/forget", session).status == 404

    def test_forget_several(self, site: Site, account: UUID, session: str) -> None:
        """What goes is said before, and only what was chosen goes."""
        kept = insert(site.db, account, "kept")["id"]
        old = insert(site.db, account, "old")["id"]
        chosen = [supersede(site.db, account, old, "new")["id"], insert(site.db, account, "other")["id"]]
        page = site.get("/memories", session).text
        assert all(f'name="chosen" value="{id}"' in page for id in (kept, *chosen))
        fields = [("chosen", str(id)) for id in chosen]
        answer = site.post("/memories/forget", session, fields)
        said = words(answer.text)
        assert answer.status == 200
        assert "Forget these 2?" in said
        assert "this can't be undone" in said
        assert "with the 1 other text of their history" in said
        assert "kept" not in said
        left = "select body from memstore.memories where user_id = %s order by body"
        assert len(rows(site.db, left, account)) == 4
        for _ in range(2):
            assert site.post("/memories/forget", session, [*fields, ("sure", "1")]).status == 303
            assert rows(site.db, left, account) == [("kept",), ("old",)]

    def test_forget_several_with_their_history(self, site: Site, account: UUID, session: str) -> None:
        """Also where several of one chain are chosen."""
        old = insert(site.db, account, "old")["id"]
        new = supersede(site.db, account, old, "new")["id"]
        fields = [("chosen", str(id)) for id in (old, new)] + [("sure", "1"), ("history", "1")]
        assert site.post("/memories/forget", session, fields).status == 303
        assert rows(site.db, "select body from memstore.memories where user_id = %s", account) == []

    def test_forget_none_or_others(self, site: Site, session: str) -> None:
        assert "Nothing was chosen" in words(site.post("/memories/forget", session).text)
        foreign = insert(site.db, site.account("other"), "the foreign text")["id"]
        answer = site.post("/memories/forget", session, {"chosen": str(foreign)})
        assert "foreign" not in answer.text
        site.post("/memories/forget", session, {"chosen": str(foreign), "sure": "1"})
        assert value(site.db, "select count(*) from memstore.memories where id = %s", foreign) == 1
        assert site.post("/memories/forget", session, {"chosen": "x"}).status == 422

    def test_what_was_corrected_holds_again(self, site: Site, account: UUID, session: str) -> None:
        old = insert(site.db, account, "I live in Berlin.", scope="home")["id"]
        new = supersede(site.db, account, old, "I live in Kiel.")["id"]
        for id in (old, new):
            page = site.get(f"/memories/{id}", session).text
            (form,) = re.findall(
                rf'<form method="post" action="/memories/{new}/correct">.*?</form>', page, re.S
            )[:1]
            assert "Let this hold again" in form
        fields = {name: hidden(form, name) for name in ("id", "again")}
        for _ in range(2):
            assert site.post(f"/memories/{new}/correct", session, fields).status == 303
        found = "select body, scope from memstore.memories where user_id = %s and superseded_at is null"
        assert rows(site.db, found, account) == [("I live in Berlin.", "home")]
        assert value(site.db, "select count(*) from memstore.memories where user_id = %s", account) == 3

    def test_lines(self, site: Site, account: UUID, session: str) -> None:
        """Browsers send them with CR LF, which is no part of the text."""
        assert site.post("/memories", session, {"body": "one\r\n\r\ntwo"}).status == 303
        assert rows(site.db, "select body from memstore.memories where user_id = %s", account) == [
            ("one\n\ntwo",)
        ]
        assert "U+000D" not in site.get("/memories", session).text

    def test_scopes(self, site: Site, account: UUID, session: str) -> None:
        insert(site.db, account, "The port is 8003.", scope="project:x")
        insert(site.db, account, "The port is 9001.", scope="project:y")
        page = site.get("/memories", session).text
        assert 'href="/memories?scope=project%3Ax"' in page
        page = words(site.get("/memories?scope=project%3Ax", session).text)
        assert "8003" in page
        assert "9001" not in page
        assert "What is for project:x , and what is for everything." in page
        page = words(site.get("/recall?turn=Which+port%3F&scope=project:y", session).text)
        assert "9001" in page
        assert "8003" not in page

    def test_export(self, site: Site, account: UUID, session: str) -> None:
        insert(site.db, account, "Zoë\u2028x")
        answer = site.get("/export", session)
        assert answer.headers["content-disposition"].startswith("attachment")
        first, *lines = [json.loads(line) for line in answer.text.split("\n")[:-1]]
        assert first.keys() == call_one(site.db, "export_account", actor=account)["export_account"].keys()
        assert [line["body"] for line in lines] == ["Zoë\u2028x"]
        assert "mst_" not in answer.text

    def test_recall_and_why(self, site: Site, account: UUID, session: str) -> None:
        insert(site.db, account, "The port is 8003.")
        insert(site.db, account, "Cats sleep.", bucket="learned")
        page = words(site.get("/recall?turn=Which+port%3F", session).text)
        assert "[From memory: user, just now] The port is 8003." in page
        assert re.search(r"The port is 8003\. attached 0\.\d+ \d\.\d+ Cats", page)
        assert "Cats sleep. left out: it is about something else 0.000 0.000" in page


class TestClaims:
    def test_propose(self, site: Site, account: UUID, session: str) -> None:
        fields = [("body", "c"), ("slug", "sys:c"), ("tier", "glass"), ("id", str(uuid4())), *EVIDENCE]
        for _ in range(2):
            assert site.post("/claims", session, fields).status == 303
        assert value(site.db, "select count(*) from memstore.memories where user_id = %s", account) == 1
        assert "candidate" in words(site.get("/claims", session).text)
        answer = site.post("/claims", session, fields[:3])
        assert 'id="claim-evidence-problem"' in answer.text
        assert "A system memory needs evidence" in words(answer.text)

    def test_challenge_once(self, site: Site, account: UUID, session: str) -> None:
        claim = site.claim(site.account("other"), "the claim's text")
        page = site.get(f"/claims/{claim}", session).text
        assert "the claim's text" not in unescape(page)  # its author's and the stewards' to read
        fields = [("ground", "No."), ("id", hidden(page, "id")), *EVIDENCE]
        for _ in range(2):
            assert site.post(f"/claims/{claim}/challenge", session, fields).status == 303
        assert len(rows(site.db, "select memstore.list_records(%s, %s)", account, claim)) == 1
        answer = site.post(f"/claims/{claim}/challenge", session, {"ground": " "})
        assert "A record's ground has 1 to 2,000 characters" in words(answer.text)
        assert '<details class="card" open>' in answer.text

    def test_a_steward_decides(self, site: Site, judge: UUID) -> None:
        session = site.session(judge, *SCOPES)
        author = site.account("author")
        claim = site.claim(author)
        queue = site.get("/claims/queue?status=candidate", session).text
        assert re.search(rf'href="/claims/{claim}\?status=candidate"', queue)
        fields = {"verdict": "admitted", "ground": "It holds.", "status": "candidate", "id": str(uuid4())}
        for _ in range(2):
            answer = site.post(f"/claims/{claim}/verdict", session, fields)
            assert answer.headers["location"] == "/claims/queue?status=candidate"
        status = "select memstore.memory_status(%s, %s)"
        assert value(site.db, status, author, claim) == "admitted"
        made = call_one(
            site.db, "challenge_memory", actor=author, memory_id=claim, ground="x",
            evidence_refs=SYSTEM["evidence_refs"],
        )  # fmt: skip
        page = site.get(f"/claims/{claim}", session).text
        assert "suspends the claim" in words(page)
        answer = site.post(f"/claims/{claim}/refute", session, {"challenge": str(made["id"]), "ground": ""})
        assert f'id="{made["id"]}-problem"' in answer.text
        fields = {"challenge": str(made["id"]), "ground": "It does.", "id": str(uuid4())}
        for _ in range(2):
            assert site.post(f"/claims/{claim}/refute", session, fields).status == 303
        assert value(site.db, status, author, claim) == "admitted"
        assert "answer just now It does." in words(site.get(f"/claims/{claim}", session).text)
        answer = site.post(f"/claims/{claim}/promote", session, [("stance", "A b"), *EVIDENCE])
        assert 'id="stance-problem"' in answer.text
        assert site.post(f"/claims/{claim}/promote", session, [("stance", "a-b"), *EVIDENCE]).status == 303
        assert "corrected" in words(site.get(f"/claims/{claim}", session).text)

    def test_withdraw(self, site: Site, account: UUID, session: str, judge: UUID) -> None:
        """By its author alone, and said to be for good."""
        claim = site.claim(account)
        assert "Withdraw" not in site.get(f"/claims/{claim}", site.session(judge, *SCOPES)).text
        assert "this can't be undone" in words(site.get(f"/claims/{claim}", session).text)
        assert site.post(f"/memories/{claim}/forget", session).status == 303
        assert value(site.db, "select count(*) from memstore.memories where id = %s", claim) == 0

    def test_a_steward_without_the_scope_reads_no_others(self, site: Site, judge: UUID) -> None:
        claim = site.claim(site.account("author"), "the claim's text")
        session = site.session(judge, "claims")
        assert "the claim's text" not in unescape(site.get(f"/claims/{claim}", session).text)
        assert site.post(f"/claims/{claim}/verdict", session, {"verdict": "admitted"}).status == 422


class TestAccess:
    def test_a_token_is_shown_once(self, site: Site, account: UUID, session: str) -> None:
        id = hidden(site.get("/access", session).text, "id")
        fields = [
            ("name", "laptop"),
            ("lifetime", "30"),
            ("scopes", "recall"),
            ("scopes", "forget"),
            ("id", id),
        ]
        answer = site.post("/access", session, fields)
        again = site.post("/access", session, fields)
        assert again.status == 422
        assert "The token was made before" in words(again.text)
        (secret,) = re.findall(r"mst_[0-9a-f]{64}", answer.text)
        listed = site.rpc("tools/list", token=secret).json["result"]["tools"]
        assert {tool["name"] for tool in listed} == {"recall", "forget", "list", "search", "history"}
        page = site.get("/access", session).text
        assert secret not in page
        assert "laptop may forget, recall made just now last used just now in 29 days Revoke" in words(page)
        id = value(site.db, "select id from memstore.tokens where user_id = %s and name = 'laptop'", account)
        assert site.post(f"/access/{id}/revoke", session).status == 303
        assert site.rpc("tools/list", token=secret).status == 401
        assert "revoked just now" in words(site.get("/access", session).text)

    @pytest.mark.parametrize(
        ("fields", "place"),
        [
            ([("name", ""), ("lifetime", "1"), ("scopes", "recall")], "name"),
            ([("name", "x"), ("lifetime", "0"), ("scopes", "recall")], "lifetime"),
            ([("name", "x"), ("lifetime", "soon"), ("scopes", "recall")], "lifetime"),
            ([("name", "x"), ("lifetime", "999999"), ("scopes", "recall")], "lifetime"),
            ([("name", "x"), ("lifetime", "1")], "scopes"),
        ],
    )
    def test_refusals(self, site: Site, session: str, fields: list[tuple[str, str]], place: str) -> None:
        answer = site.post("/access", session, fields)
        assert answer.status == 422
        assert f'id="{place}-problem"' in answer.text

    def test_log_out(self, site: Site, session: str) -> None:
        answer = site.post("/logout", session)
        assert answer.headers["location"] == "/login"
        assert "01 Jan 1970" in answer.headers["set-cookie"] or "Max-Age=0" in answer.headers["set-cookie"]
        assert site.get("/memories", session).status == 401

    def test_the_store(self, site: Site, judge: UUID) -> None:
        full = site.account("full")
        insert(site.db, full, "x")
        rows(site.db, "select memstore.set_maximum_live_memories(%s, 1)", full)
        page = site.get("/store", site.session(judge, *SCOPES)).text
        assert str(full) in page
        assert re.search(r'aria-label="Claims: candidate \d', page)


def test_times_and_figures() -> None:
    now = datetime(2026, 5, 4, 12, tzinfo=UTC)
    for seconds, said in (
        (5, "just now"), (60, "1 minute ago"), (7300, "2 hours ago"), (86_400 * 400, "1 year ago"),
        (-90, "in 1 minute"), (-5, "in a moment"),
    ):  # fmt: skip
        assert f">{said}<" in ago(now - timedelta(seconds=seconds), now)
    assert 'title="2026-05-04 12:00:00 UTC"' in ago(now)
    assert ago(None) == ""
    assert [figure(value) for value in (0, 1234567, 0.5)] == ["0", "1,234,567", "0.50"]
