"""`memstore mcp`: its tools, called by the SDK's own client over a pipe, and how its process ends."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import psycopg
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from memstore.cli.session import DEFAULT_ACCOUNT
from memstore.embedders import ready
from tests.cli.running import COMMAND, PRIVATE, Db, Run, Server, wait_until

pytestmark = pytest.mark.anyio

UNREACHABLE = "host=127.0.0.1 port=1 dbname=memstore"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
EVIDENCE = [{"kind": "receipt", "ref": "ci run 118", "digest": "sha256:5f2c"}]
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


class Agent(ClientSession):
    """A client of one server, with what the server wrote to its standard error."""

    log: Path

    async def answer(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        result = await self.call_tool(tool, arguments)
        assert isinstance(result, types.CallToolResult)
        assert not result.is_error, result
        assert isinstance(result.structured_content, dict)
        if tool != "recall":
            (text,) = texts(result)
            assert json.loads(text) == result.structured_content
        return result.structured_content

    async def refusal(self, tool: str, /, **arguments: object) -> str:
        result = await self.call_tool(tool, arguments)
        assert isinstance(result, types.CallToolResult)
        assert (result.is_error, result.structured_content) == (True, None)
        (text,) = texts(result)
        assert PRIVATE not in text
        assert "Traceback" not in text
        return text


def texts(result: types.CallToolResult) -> list[str]:
    return [content.text for content in result.content if isinstance(content, types.TextContent)]


@asynccontextmanager
async def agent(
    database: str | None, *arguments: str, log: Path | None = None, **env: str
) -> AsyncIterator[Agent]:
    (program, *options) = COMMAND
    options += ["mcp", *arguments]
    if database:
        options += ["--database-url", database]
    parameters = StdioServerParameters(command=program, args=options, env=env)
    with tempfile.TemporaryDirectory() as folder, open(log or Path(folder, "log"), "w") as errors:  # noqa: PTH123
        async with stdio_client(parameters, errlog=errors) as streams, Agent(*streams) as session:
            await session.initialize()
            yield session


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    """What the servers of the test say: never a memory's text, nor a traceback."""
    path = tmp_path / "log"
    yield path
    said = path.read_text()
    assert PRIVATE not in said
    assert "Traceback" not in said


# What the tools are.


def keys(schema: object) -> set[str]:
    if isinstance(schema, dict):
        return {*schema, *(key for value in schema.values() for key in keys(value))}
    return {key for value in schema for key in keys(value)} if isinstance(schema, list) else set()


async def test_the_tools(db: Db, db_url: str) -> None:
    rules = dict(db.execute("select field, message from memstore.list_rules()").fetchall())
    async with agent(db_url, "--claims") as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert list(tools) == [
        *("recall", "remember", "correct", "forget", "list", "search", "history"),
        *("propose", "challenge", "records"),
    ]
    for tool in tools.values():
        assert "Don't use it" in (tool.description or "")
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.open_world_hint is False
        assert tool.input_schema["additionalProperties"] is False
        properties = tool.input_schema["properties"]
        assert all(each["description"] for each in properties.values())
        # No tool names an account.
        assert not properties.keys() & {"account", "actor", "user_id", "external_ref", "owner"}
        # What would be another place of a rule; bounds are held against the database below.
        assert not keys(tool.input_schema) & {"const", "pattern", "exclusiveMinimum", "exclusiveMaximum"}
        assert "{rule}" not in tool.model_dump_json()
    for name, field in (
        ("remember", "body"),
        ("correct", "source_ref"),
        ("propose", "evidence_refs"),
        ("propose", "tier"),
    ):
        assert rules[field] in tools[name].input_schema["properties"][field]["description"]

    def hinted(hint: str) -> set[str]:
        return {name for name, tool in tools.items() if getattr(tool.annotations, hint)}

    assert hinted("read_only_hint") == {"recall", "list", "search", "history", "records"}
    assert hinted("destructive_hint") == {"forget"}
    assert hinted("idempotent_hint") == {
        *("recall", "list", "search", "history", "records"),
        *("remember", "correct", "forget"),
    }


async def test_bounds_in_schemas_are_those_of_the_database(db_url: str) -> None:
    """Each bound is accepted; what is just beyond it is refused, and by the database."""
    async with agent(db_url, "--claims") as session:
        described = {
            tool.name: tool.input_schema["properties"] for tool in (await session.list_tools()).tools
        }
        claim = {"slug": "sys:a", "tier": "glass", "evidence_refs": EVIDENCE}
        for tool, valid in (
            ("remember", {"body": "x", "bucket": "learned", "source_ref": "a"}),
            ("list", {"bucket": "user", "page_size": 1}),
            ("propose", {"body": "x", **claim}),
        ):
            for name in valid:
                schema = described[tool][name]
                if "enum" in schema:
                    good, bad = schema["enum"], ["", "other"]
                elif "maxLength" in schema:
                    good, bad = ["x" * schema["maxLength"]], ["x" * (schema["maxLength"] + 1)]
                    if "minLength" in schema:
                        good.append("x" * schema["minLength"])
                        bad.append("x" * (schema["minLength"] - 1))
                elif "maximum" in schema:
                    good = [schema["minimum"], schema["maximum"]]
                    bad = [schema["minimum"] - 1, schema["maximum"] + 1]
                elif "maxItems" in schema:
                    good = [EVIDENCE * schema["minItems"], EVIDENCE * schema["maxItems"]]
                    bad = [EVIDENCE * (schema["minItems"] - 1), EVIDENCE * (schema["maxItems"] + 1)]
                else:
                    continue
                for value in good:
                    await session.answer(tool, **{**valid, name: value})
                for value in bad:
                    assert f" ({name}): " in await session.refusal(tool, **{**valid, name: value})


async def test_nothing_of_claims_without_claims(db_url: str) -> None:
    async with agent(db_url) as session:
        tools = (await session.list_tools()).tools
        inputs = json.dumps([tool.input_schema for tool in tools]).lower()
        assert not re.findall("claim|evidence|tombstone|stance|steward|slug|tier", inputs)


async def test_a_list_is_bounded_by_characters(db_url: str) -> None:
    async with agent(db_url) as session:
        written = [(await session.answer("remember", body=f"{n} {'x' * 1990}"))["id"] for n in range(25)]
        seen: list[str] = []
        after = None
        sizes = []
        while True:
            page = await session.answer("list", page_size=200, **({"after": after} if after else {}))
            sizes.append(sum(len(each["body"]) for each in page["memories"]))
            seen += [each["id"] for each in page["memories"]]
            after = page.get("after")
            if not after:
                break
        assert seen == written[::-1]
        assert max(sizes) <= 20_000


async def test_evidence_as_a_text(db_url: str) -> None:
    async with agent(db_url, "--claims") as session:
        piece = {"kind": "receipt", "ref": "ci run 118", "text": "all green\n"}
        claim = await session.answer("propose", body="x", slug="sys:a", tier="glass", evidence_refs=[piece])
        digest = hashlib.sha256(b"all green\n").hexdigest()
        assert claim["evidence_refs"] == [
            {"kind": "receipt", "ref": "ci run 118", "digest": f"sha256:{digest}"}
        ]


async def test_claims_are_for_who_asks(db_url: str) -> None:
    async with agent(db_url) as session:
        assert {"propose", "challenge"} & {tool.name for tool in (await session.list_tools()).tools} == set()
        with pytest.raises(MCPError, match="no such tool"):
            await session.call_tool("propose", {})
        initialized = session.initialize_result
        assert initialized
        assert "never an instruction" in (initialized.instructions or "")
        assert "propose" not in (initialized.instructions or "")


# What they do.


async def test_the_scope_is_the_configurations(db: Db, db_url: str) -> None:
    async with (
        agent(db_url, "--scope", "project:x") as one,
        agent(db_url, "--scope", "project:y") as other,
        agent(db_url) as outside,
    ):
        own = await one.answer("remember", body="Deploys happen on Tuesdays.")
        assert own["scope"] == "project:x"
        shared = await one.answer("remember", body="I use pnpm, not npm.", everywhere=True)
        assert "scope" not in shared
        corrected = await one.answer("correct", target=own["id"], body="Deploys happen on Mondays.")
        assert corrected["scope"] == "project:x"

        async def told(session: Agent) -> list[set[str]]:
            listed = (await session.answer("list"))["memories"]
            recalled = (await session.answer("recall", query="When do deploys happen?"))["memories"]
            return [{memory["body"] for memory in memories} for memories in (listed, recalled)]

        everything = {corrected["body"], shared["body"]}
        assert await told(one) == [everything] * 2
        assert await told(other) == [{shared["body"]}] * 2
        assert await told(outside) == [everything] * 2


async def test_what_is_remembered_already_is_not_written_again(db: Db, db_url: str) -> None:
    async with agent(db_url) as session:
        first = await session.answer("remember", body="I use pnpm, not npm.")
        assert "already" not in first
        again = await session.answer("remember", body=" I use pnpm, not npm.")
        assert again == first | {"already": True}
        assert len((await session.answer("list"))["memories"]) == 1


async def test_remember_tells_what_is_similar(db_url: str) -> None:
    async with agent(db_url, "--scope", "project:x") as session, agent(db_url, "--scope", "y") as other:
        old = await session.answer("remember", body="I use pnpm, not npm.")
        await other.answer("remember", body="I use pnpm, not bun.")
        unrelated = await session.answer("remember", body="Deploys happen on Tuesdays.")
        assert "similar" not in unrelated and "advice" not in unrelated
        new = await session.answer("remember", body="I use yarn, not npm.")
        assert [each["id"] for each in new["similar"]] == [old["id"]]
        assert "replacement" in new["advice"]
        again = await session.answer("remember", body="I use yarn, not npm.")
        assert again["already"] and "similar" not in again
        both = await session.refusal("correct", target=old["id"], body="x", replacement=new["id"])
        assert both.startswith("arguments_invalid (replacement): ")
        for _ in range(2):  # a call may be repeated
            told = await session.answer("correct", target=old["id"], replacement=new["id"])
            assert told["id"] == new["id"]
        listed = (await session.answer("list"))["memories"]
        assert {each["id"] for each in listed} == {new["id"], unrelated["id"]}
        refused = await session.refusal("correct", target=old["id"], replacement=unrelated["id"])
        assert refused.startswith("not_supersedable (target): ")
        assert "memories_body_shape (body)" in await session.refusal("correct", target=new["id"])


async def test_search_finds_what_to_correct(db_url: str) -> None:
    async with agent(db_url) as session:
        old = await session.answer("remember", body="I use npm.")
        new = await session.answer("correct", target=old["id"], body="I use pnpm, not npm.")
        await session.answer("remember", body="Deploys happen on Tuesdays.")
        found = (await session.answer("search", query="npm", maximum=1))["memories"]
        assert [each["id"] for each in found] == [new["id"]]
        assert found[0]["eligible"] and found[0]["score"] > 0
        found = (await session.answer("search", query="npm", include_superseded=True))["memories"]
        assert {old["id"], new["id"]} <= {each["id"] for each in found}
        (superseded,) = (each for each in found if each["id"] == old["id"])
        assert not superseded["eligible"] and superseded["superseded_by_id"] == new["id"]
        assert (await session.answer("search", query=""))["memories"] == []


async def test_a_page_after_a_memory_that_is_gone(db_url: str) -> None:
    async with agent(db_url) as session:
        written = [(await session.answer("remember", body=f"{n}"))["id"] for n in range(4)][::-1]
        page = await session.answer("list", page_size=2)
        assert [each["id"] for each in page["memories"]] == written[:2]
        await session.answer("forget", id=written[1])
        page = await session.answer("list", page_size=2, after=page["after"])
        assert [each["id"] for each in page["memories"]] == written[2:]
        by_id = await session.answer("list", after=written[2])
        assert [each["id"] for each in by_id["memories"]] == written[3:]
        refused = await session.refusal("list", after=f"{written[2]} yesterday")
        assert refused.startswith("argument_invalid (after): ")


async def test_the_life_of_a_memory(db: Db, db_url: str, log: Path) -> None:
    async with agent(db_url, "--account", "me", log=log) as session:
        first = await session.answer("remember", body=f"  {PRIVATE} are in npm. ", source_ref="a talk")
        assert (first["body"], first["bucket"]) == (f"{PRIVATE} are in npm.", "user")
        assert "user_id" not in first
        second = await session.answer("correct", target=first["id"], body=f"{PRIVATE} are in pnpm.")
        assert second["source_ref"] == "a talk"
        learned = await session.answer("remember", body="Tests run with pnpm test.", bucket="learned")

        result = await session.call_tool("recall", {"query": "Install pnpm."})
        assert isinstance(result, types.CallToolResult)
        told = result.structured_content
        assert told
        assert told["backend"] == ("hybrid" if ready() else "lexical")
        assert told["dropped"] == 0
        assert {memory["id"] for memory in told["memories"]} == {second["id"], learned["id"]}
        note, ids = texts(result)
        assert note == told["note"]
        assert f"[From memory: user, just now] {PRIVATE} are in pnpm." in note.splitlines()
        assert re.findall(r"[0-9a-f-]{36}", ids) == [memory["id"] for memory in told["memories"]]

        chain = (await session.answer("history", id=second["id"]))["memories"]
        assert [memory["id"] for memory in chain] == [first["id"], second["id"]]
        assert chain[0]["superseded_by_id"] == second["id"]

        page = await session.answer("list", page_size=1)
        assert [memory["id"] for memory in page["memories"]] == [learned["id"]]
        page = await session.answer("list", page_size=1, after=page["after"])
        assert [memory["id"] for memory in page["memories"]] == [second["id"]]
        page = await session.answer("list", page_size=1, after=page["after"])
        assert page == {"memories": []}
        everything = await session.answer("list", include_superseded=True)
        assert len(everything["memories"]) == 3
        assert "after" not in everything
        assert len((await session.answer("list", bucket="learned"))["memories"]) == 1

        assert (await session.answer("forget", id=second["id"]))["id"] == second["id"]
        assert len((await session.answer("list"))["memories"]) == 1
    rows = db.execute(
        "select u.external_ref, m.id from memstore.memories m join memstore.users u on u.id = m.user_id"
    )
    assert set(rows) == {("me", UUID(first["id"])), ("me", UUID(learned["id"]))}


@pytest.mark.long
async def test_nothing_to_recall(db_url: str) -> None:
    async with agent(db_url) as session:
        for query in ("", "npm"):
            result = await session.call_tool("recall", {"query": query})
            assert isinstance(result, types.CallToolResult)
            assert not result.is_error
            assert texts(result) == ["Nothing to recall."]
        assert await session.answer("list") == {"memories": []}


@pytest.mark.long
async def test_a_repeated_call_writes_once(db: Db, db_url: str) -> None:
    async with agent(db_url) as session:
        for _ in range(2):
            memory = await session.answer("remember", body="one", id=UNKNOWN)
        for _ in range(2):
            await session.answer("correct", target=memory["id"], body="two", id=UNKNOWN.replace("4", "5"))
        assert "id_taken (id): " in await session.refusal("remember", body=PRIVATE, id=UNKNOWN)
    assert db.execute("select count(*) from memstore.memories").fetchone() == (2,)


@pytest.mark.long
async def test_accounts_are_apart(db_url: str) -> None:
    async with agent(db_url, "--account", "one") as one, agent(db_url, MEMSTORE_ACCOUNT="two") as two:
        memory = await one.answer("remember", body=f"{PRIVATE} of one")
        await two.answer("remember", body="Mine.")
        assert len((await two.answer("list", include_superseded=True))["memories"]) == 1
        assert PRIVATE not in json.dumps(await two.answer("recall", query=PRIVATE))
        for tool in ("forget", "history"):
            foreign = await two.refusal(tool, id=memory["id"])
            assert foreign.startswith("memory_not_found (id): ")
            assert foreign == await two.refusal(tool, id=UNKNOWN)
        foreign = await two.refusal("correct", target=memory["id"], body="Mine.")
        assert foreign.startswith("not_supersedable (target): ")
        assert foreign == await two.refusal("correct", target=UNKNOWN, body="Mine.")
        assert "memory_not_found" in await two.refusal("list", after=memory["id"])
        assert len((await one.answer("list"))["memories"]) == 1


async def test_claims(db: Db, db_url: str, log: Path) -> None:
    claim: dict[str, Any] = {"body": "pnpm needs a lockfile.", "slug": "sys:pnpm", "tier": "glass"}
    async with (
        agent(db_url, "--claims", "--account", "author", log=log) as author,
        agent(db_url, "--claims", "--account", "other") as other,
    ):
        refused = await author.refusal("propose", **claim, evidence_refs=[])
        assert refused.startswith(
            "memories_evidence_refs_shape (evidence_refs): A system memory needs evidence: "
        )
        proposed = await author.answer("propose", **claim, evidence_refs=EVIDENCE, as_of="2026-08-25")
        assert (proposed["as_of"], proposed["evidence_refs"]) == ("2026-08-25", EVIDENCE)
        today = await author.answer("propose", **{**claim, "slug": "sys:b"}, evidence_refs=EVIDENCE)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", today["as_of"])
        about = {"memory_id": proposed["id"]}
        assert await other.answer("records", **about) == {"status": "candidate", "records": []}

        db.execute("select memstore.configure(system_recall_enabled => true)")
        steward = db.execute("select memstore.create_user(external_ref => 'steward')").fetchone()
        assert steward
        db.execute("select memstore.set_steward(%s, true)", steward)
        db.execute(
            "select memstore.record_admission(%s, %s, 'admitted', 'So it is.')", [*steward, proposed["id"]]
        )
        result = await other.call_tool("recall", {"query": "Which lockfile?"})
        assert isinstance(result, types.CallToolResult)
        note, ids = texts(result)
        assert note == "[From memory: (system, as of 2026-08-25, admitted)] pnpm needs a lockfile."
        assert ids.endswith(f": {proposed['id']}")

        argument = await other.answer("challenge", **about, ground=PRIVATE, evidence_refs=EVIDENCE)
        assert (argument["status"], argument.pop("effect")) == ("suspended", "in_effect")
        assert [record["role"] for record in argument["records"]] == ["admission", "challenge"]
        assert argument["records"][1]["ground"] == PRIVATE
        assert argument["records"][1]["effect"] == "in_effect"
        assert "effect" not in argument["records"][0]
        assert await author.answer("records", **about) == argument
        second = await author.answer("challenge", **about, ground=PRIVATE)
        assert (second["status"], second["effect"]) == ("suspended", "without_evidence")
        refused = await other.refusal("challenge", **about, ground=" ")
        assert refused.startswith("memory_admissions_ground_shape (ground): ")
        missing = await other.refusal("challenge", memory_id=UNKNOWN, ground=PRIVATE)
        assert missing.startswith("record_target_not_found (memory_id): There is no such claim.")
        corrected = await author.answer("correct", target=proposed["id"], body="No.", evidence_refs=EVIDENCE)
        assert corrected["slug"] == "sys:pnpm"


# What is refused.


REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("remember", {"body": " "}, ["memories_body_shape (body): The body has 1 to 2,000 characters"]),
    ("remember", {"body": f"{PRIVATE:x<2001}"}, ["memories_body_shape (body): The body has 1 to 2,000"]),
    (
        "remember",
        {"body": "", "bucket": "mine", "source_ref": "x" * 201, "language": "no"},
        [
            "memories_bucket_shape (bucket): The bucket is user, learned or system.",
            "memories_body_shape (body): The body has",
            "memories_source_ref_shape (source_ref): The source has",
            "memories_language_shape (language): The language is",
        ],
    ),
    (
        "remember",
        {"body": PRIVATE, "bucket": "system"},
        ["memories_slug_shape (slug): A system memory needs"],
    ),
    ("remember", {"body": PRIVATE, "id": "mine"}, ["value_malformed (id): id is no UUID."]),
    ("remember", {"body": f"{PRIVATE}\0"}, ["text_not_storable (body): body holds a NUL character"]),
    (
        "forget",
        {"id": UNKNOWN},
        ["memory_not_found (id): The account has no such memory. search and"],
    ),
    ("history", {"id": UNKNOWN}, ["memory_not_found (id): The account has no such memory."]),
    ("correct", {"target": UNKNOWN, "body": "x"}, ["not_supersedable (target): The memory cannot be"]),
    ("list", {"page_size": 201}, ["argument_invalid (page_size): `page_size` must be 1 to 200."]),
    ("list", {"page_size": 10**30}, ["value_malformed: A value doesn't have the form of its type."]),
    ("recall", {"query": "npm", "maximum_attached": -1}, ["argument_invalid (maximum_attached): "]),
]


async def test_refusals(db: Db, db_url: str, log: Path) -> None:
    async with agent(db_url, log=log) as session:
        for tool, arguments, refused in REFUSED:
            lines = (await session.refusal(tool, **arguments)).splitlines()
            for words in refused:
                assert any(line.startswith(words) for line in lines), lines
    assert db.execute("select count(*) from memstore.memories").fetchone() == (0,)


@pytest.mark.long
async def test_what_is_superseded_or_too_much_is_refused(run: Run, db_url: str) -> None:
    async with agent(db_url, "--account", "full") as session:
        first = await session.answer("remember", body="one")
        await session.answer("correct", target=first["id"], body="two")
        again = await session.refusal("correct", target=first["id"], body="three")
        assert again.startswith("not_supersedable (target): ")
        run("configure", "--account", "full", "maximum_live_memories=1")
        full = await session.refusal("remember", body=PRIVATE)
        assert full.startswith("quota_reached: ")
        assert "correct or forget" in full


@pytest.mark.long
async def test_an_account_that_was_erased_begins_anew(db: Db, db_url: str) -> None:
    async with agent(db_url, "--account", "me") as session:
        await session.answer("remember", body="one")
        db.execute("select memstore.delete_user(memstore.find_user('me'))")
        await session.answer("remember", body="two")
        assert len((await session.answer("list"))["memories"]) == 1


OF_ANOTHER_FORM: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("remember", {"body": PRIVATE, name: UNKNOWN}, name)
        for name in ("account", "user_id", "actor", "self", "external_ref", "embedding", "method")
    ),
    ("list", {"account": "other"}, "account"),
    ("remember", {}, "body"),
    ("remember", {"body": None}, "body"),
    ("remember", {"body": 1}, "body"),
    ("remember", {"body": [PRIVATE]}, "body"),
    ("remember", {"body": {"text": PRIVATE}}, "body"),
    ("remember", {"body": PRIVATE, "source_ref": [PRIVATE]}, "source_ref"),
    ("list", {"page_size": PRIVATE}, "page_size"),
    ("list", {"include_superseded": PRIVATE}, "include_superseded"),
    ("correct", {"target": 7, "body": PRIVATE}, "target"),
    ("correct", {"target": UNKNOWN, "body": "x", "evidence_refs": PRIVATE}, "evidence_refs"),
    ("correct", {"target": UNKNOWN, "body": "x", "evidence_refs": [PRIVATE]}, "evidence_refs.0"),
]


@pytest.mark.long
async def test_arguments_of_another_form(db: Db, db_url: str, log: Path) -> None:
    async with agent(db_url, log=log) as session:
        for tool, arguments, wrong in OF_ANOTHER_FORM:
            refused = await session.refusal(tool, **arguments)
            assert refused.startswith(f"arguments_invalid ({wrong}): ")
    assert db.execute("select count(*) from memstore.memories").fetchone() == (0,)


@pytest.mark.long
async def test_texts_arrive_as_they_are(db_url: str) -> None:
    async with agent(db_url) as session:
        for text in (
            '{"a": 1}',
            "null",
            "[1]",
            "12",
            '"',
            "a\nb\u2028c",
            "李明 \U0001f600",
            "[From memory: x] y",
        ):
            memory = await session.answer("remember", body=text, source_ref=text)
            assert (memory["body"], memory["source_ref"]) == (text, text)


@pytest.mark.long
async def test_a_store_out_of_reach(log: Path) -> None:
    async with agent(UNREACHABLE, log=log) as session:
        assert len((await session.list_tools()).tools) == 7
        result = await session.call_tool("recall", {"query": PRIVATE})
        assert isinstance(result, types.CallToolResult)
        assert not result.is_error
        assert result.structured_content == {
            "memories": [],
            "claims": [],
            "dropped": 0,
            "backend": "unavailable",
        }
        assert texts(result) == ["The store can't be reached: nothing was recalled."]
        refused = await session.refusal("remember", body=PRIVATE)
        assert refused.startswith("store_unavailable: The store can't be reached: ")
    assert "memstore: recall found nothing. The store can't be reached" in log.read_text()


@pytest.mark.long
async def test_a_database_without_memstore(db: Db, db_url: str) -> None:
    db.execute("drop schema memstore cascade")
    async with agent(db_url) as session:
        assert "memstore migrate" in await session.refusal("list")


@pytest.mark.long
async def test_a_call_that_waits_holds_up_no_other(db: Db, db_url: str) -> None:
    async with agent(db_url, "--account", "me") as session:
        await session.answer("list")
        with db.transaction():
            db.execute("select from memstore.users for update")
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: session.answer("remember", body="one"))
                with psycopg.connect(db_url, autocommit=True) as other:
                    await anyio.to_thread.run_sync(wait_until, lambda: waiting(other))
                    await session.send_ping()
                    assert await session.answer("list") == {"memories": []}
                db.execute("commit")
        assert len((await session.answer("list"))["memories"]) == 1


def waiting(connection: Db) -> bool:
    query = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )
    return connection.execute(query).fetchone() == (1,)


# The process.


@pytest.mark.parametrize(("how", "code"), [(None, 0), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_ends_while_a_call_waits(db: Db, db_url: str, how: signal.Signals | None, code: int) -> None:
    server = Server("--database-url", db_url)
    server.call(1, "remember", body="one")
    assert server.receive()["id"] == 1
    with db.transaction(), psycopg.connect(db_url, autocommit=True) as other:
        db.execute("select from memstore.users for update")
        server.call(2, "remember", body="two")
        wait_until(lambda: waiting(other))
        ended, said = server.end(how)
    assert ended == code
    assert "Traceback" not in said


@pytest.mark.long
def test_a_client_that_leaves(db_url: str) -> None:
    server = Server("--database-url", db_url)
    assert server.process.stdout
    server.process.stdout.close()
    server.call(1, "list")
    assert server.end(None) == (0, "")


@pytest.mark.long
def test_lines_that_are_no_messages(db_url: str) -> None:
    server = Server("--database-url", db_url)
    for line in (
        b"",
        b"\xff\xfe\0",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0"}',
        json.dumps({"jsonrpc": "2.0", "method": PRIVATE, "params": {"body": PRIVATE}}).encode(),
    ):
        server.write(line)
    for id, parameters in enumerate(([], {}, {"name": []}, {"name": "remember", "arguments": PRIVATE}), 10):
        server.send({"id": id, "method": "tools/call", "params": parameters})
    server.call(99, "list")
    answers: list[dict[str, Any]] = []
    while not answers or answers[-1].get("id") != 99:
        answers.append(server.receive())
    assert answers.pop()["result"]["structuredContent"] == {"memories": []}
    assert PRIVATE not in json.dumps(answers)
    assert all("error" in answer for answer in answers)
    code, said = server.end(None)
    assert code == 0
    assert PRIVATE not in said
    assert "Traceback" not in said


def test_a_missing_extra_is_one_line(db_url: str) -> None:
    program = "import sys; sys.modules['mcp'] = None\nfrom memstore.cli import main\nmain()"
    command = [sys.executable, "-c", program, "mcp", "--database-url", db_url]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "memstore: memstore mcp needs more packages: pip install 'pg-memstore[mcp]'\n"


@pytest.mark.long
async def test_the_configuration_of_the_readme(db_url: str) -> None:
    (block,) = [
        block for block in re.findall(r"```json\n(.*?)```", README, re.DOTALL) if "mcpServers" in block
    ]
    (entry,) = json.loads(block)["mcpServers"].values()
    scripts = Path(sys.executable).parent
    assert Path(entry["command"]).name == "memstore"
    parameters = StdioServerParameters(
        command=str(scripts / "memstore"),
        args=entry["args"],
        env={**entry.get("env", {}), "MEMSTORE_DATABASE_URL": db_url},
    )
    async with stdio_client(parameters) as streams, Agent(*streams) as session:
        await session.initialize()
        await session.answer("remember", body="I use pnpm, not npm.")
    with psycopg.connect(db_url) as connection:
        (account,) = connection.execute("select external_ref from memstore.users").fetchall()
    # The account of the commands: what `memstore remember` wrote, the agent is told.
    assert account == (DEFAULT_ACCOUNT,)


LINES: list[tuple[bytes, int | str | None, int | str]] = [
    # A line, the id of its answer, and the error's code or what the result says.
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall",'
     b' "arguments": {"query": "pnpm \\ud83d"}}}', 1, "I use pnpm"),
    (b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall",'
     b' "arguments": {"query": "pnpm \\u0000"}}}', 2, "I use pnpm"),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "recall",'
     b' "arguments": {"query": "pnpm \xff\xed\xa0\xbd"}}}', 3, "I use pnpm"),
    (b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "remember",'
     b' "arguments": {"body": "private words \\ud83d"}}}', 4, "text_not_storable (body)"),
    (b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "remember",'
     b' "arguments": {"body": "private words \xff"}}}', 5, "text_not_storable (body)"),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "correct",'
     b' "arguments": {"target": "00000000-0000-4000-8000-000000000000", "body": "y",'
     b' "evidence_refs": [{"kind": "\\udc00"}]}}}',
     6, "text_not_storable (evidence_refs)"),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\ud83d"}}', 7, -32602),
    (b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "list",'
     b' "arguments": {"private words \\ud83d": 1}}}', 8, "arguments_invalid"),
    (b'{"jsonrpc": "2.0", "id": 9, "method": "\\ud83d"}', 9, -32601),
    (b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 10, "method": "ping"}', 10, "{}"),
    (b' \xef\xbb\xbf {"jsonrpc": "2.0", "id": "eleven", "method": "ping"} \r', "eleven", "{}"),
    (b'{"jsonrpc": "2.0", "id": 12, "method": "ping", "params": [1]}', 12, -32600),
    (b'{"jsonrpc": "1.0", "id": 13, "method": "ping"}', 13, -32600),
    (b'{"id": 14, "method": "ping"}', 14, -32600),
    (b'{"jsonrpc": "2.0", "id": 15}', 15, -32600),
    (b'{"jsonrpc": "2.0", "id": 16, "method": 5}', 16, -32600),
    (b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', None, -32600),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None, -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None, -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', None, -32600),
    (b'{"jsonrpc": "2.0", "id": 17, "method": "ping", "params": {"a": NaN}}', None, -32700),
    (b'{"jsonrpc": "2.0", "id": 18, "method": "ping"', None, -32700),
    (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5000 + b', "method": "ping"}', None, -32700),
    (b'[{"jsonrpc": "2.0", "id": 19, "method": "ping"}]', None, -32600),
    (b'"private words"', None, -32600),
    (b"\xff\xfe{\0}\0", None, -32700),
    (b"[" * 100_000, None, -32700),
    (b'{"jsonrpc": "2.0", "id": 21, "method": "ping", "params": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
     21, -32600 if sys.version_info < (3, 14) else "{}"),  # its limit is the C stack's
    (b'{"jsonrpc": "2.0", "id": 20, "method": "tools/call", "params": {"name": "recall", "arguments":'
     b' {"query": ' + b"[" * 900 + b"]" * 900 + b"}}}", 20, "arguments_invalid (query)"),
]  # fmt: skip


def test_every_line_with_an_id_has_an_answer(db_url: str) -> None:
    server = Server("--database-url", db_url)
    server.call("first", "remember", body="I use pnpm, not npm.")
    server.receive()
    for line, id, expected in LINES:
        server.write(line)
        answer = server.receive()
        assert answer["id"] == id, line
        if isinstance(expected, int):
            assert answer.get("error", {}).get("code") == expected, line
        else:
            assert expected in json.dumps(answer["result"]), line
        assert PRIVATE not in json.dumps(answer)
    code, said = server.end(None)
    assert code == 0
    assert PRIVATE not in said
    assert "Traceback" not in said


def test_calls_that_are_cancelled_are_not_waited_for(db: Db, db_url: str) -> None:
    server = Server("--database-url", db_url)
    server.call(1, "remember", body="one")
    server.receive()
    with db.transaction(), psycopg.connect(db_url, autocommit=True) as other:
        db.execute("select from memstore.users for update")
        server.call(2, "remember", body="two")
        wait_until(lambda: waiting(other))
        server.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        before = time.monotonic()
        assert server.end(None)[0] == 0
        assert time.monotonic() - before < 8
