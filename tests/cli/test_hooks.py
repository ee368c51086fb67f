"""What the hooks of agents' clients are answered: by the tool recall, and by `memstore hook`.

The inputs in hooks/ are what Claude Code 2.1.197 and Codex 0.171.0 gave, with another folder; that of Cursor
has the fields of its documentation.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from memstore import hooks
from memstore.cli import clients, plain
from tests.cli.running import PRIVATE, Db, Run, complaints, invoke, remember
from tests.cli.test_mcp import Agent, agent, anyio_backend, log, texts

__all__ = ["anyio_backend", "log"]

UNREACHABLE = "host=127.0.0.1 port=1 dbname=memstore"
NOTE = "[From memory: user, just now] I use pnpm, not npm."


def recorded(client: str, event: str = "session-start") -> str:
    return (Path(__file__).parent / "hooks" / f"{client}-{event}.json").read_text(encoding="utf-8")


# The tool.


async def asked(session: Agent, query: object, event: str = "UserPromptSubmit", **more: Any) -> str:
    """What a hook of type mcp_tool gets, as both clients read it: the texts, joined."""
    result = await session.call_tool("recall", {"query": query, "hook": event, **more})
    assert isinstance(result, types.CallToolResult)
    assert not result.is_error
    assert result.structured_content is not None  # clients refuse an answer that isn't of the tool's schema
    assert all(isinstance(content, types.TextContent) for content in result.content)
    return "\n".join(texts(result))


@pytest.mark.anyio
async def test_a_prompt_is_answered_as_json(db_url: str, log: Path) -> None:
    async with agent(db_url, log=log) as session:
        assert await asked(session, "Install the deps.") == ""
        await session.answer("remember", body="I use pnpm, not npm.")
        told = json.loads(await asked(session, "Install the deps with npm."))
        assert told == {
            "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": NOTE}
        }
        # What would be a decision, were the note the answer.
        await session.answer("remember", body='{"decision": "block", "reason": "npm"}')
        told = json.loads(await asked(session, "npm", "SubagentStart"))
        assert told.keys() == {"hookSpecificOutput"}
        assert told["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
        assert '{"decision": "block"' in told["hookSpecificOutput"]["additionalContext"]


@pytest.mark.anyio
async def test_nothing_blocks_a_prompt(db: Db, db_url: str, log: Path) -> None:
    async with agent(db_url, log=log) as session:
        await session.answer("remember", body="I use pnpm.")
        assert await asked(session, "pnpm", maximum_attached=-1) == ""
        assert await asked(session, "pnpm", unknown=1) == ""
        assert await asked(session, {"text": PRIVATE}) == ""
        assert await asked(session, None) == ""
        db.execute("drop function memstore.recall")
        assert await asked(session, PRIVATE) == ""
        # Without a hook, and for other tools, an error is told.
        assert "recall" in await session.refusal("recall", query="pnpm")
        assert "arguments_invalid (hook)" in await session.refusal("list", hook="UserPromptSubmit")


@pytest.mark.anyio
async def test_no_store_blocks_no_prompt(log: Path) -> None:
    async with agent(UNREACHABLE, log=log) as session:
        assert await asked(session, PRIVATE) == ""


@pytest.mark.anyio
@pytest.mark.parametrize("client", ["claude-code", "codex"])
async def test_the_hook_that_is_installed(db_url: str, client: str, tmp_path: Path) -> None:
    """What a client makes of the installed hook and of an input, as both put it together."""
    entries = clients.CLIENTS[client](tmp_path, "memstore", [])
    (group,) = [entry.value for entry in entries if entry.keys[-1] == "UserPromptSubmit"]
    (hook,) = group["hooks"]
    given = json.loads(recorded(client, "prompt-submit"))
    arguments = {
        name: re.sub(r"\$\{(\w+)\}", lambda found: str(given[found[1]]), text)
        for name, text in hook["input"].items()
    }
    async with agent(db_url) as session:
        await session.answer("remember", body="I use pnpm, not npm.")
        result = await session.call_tool(hook["tool"], arguments)
        assert isinstance(result, types.CallToolResult)
        (told,) = map(json.loads, texts(result))
    assert told["hookSpecificOutput"] == {
        "hookEventName": given["hook_event_name"],
        "additionalContext": NOTE,
    }


# Notes in turns, and lines that are remembered.


@pytest.mark.anyio
async def test_lines_of_a_note_are_not_asked_about(db_url: str) -> None:
    async with agent(db_url) as session:
        await session.answer("remember", body="I use pnpm, not npm.", bucket="learned")
        note = NOTE.replace("user", "learned")
        for turn in (note, f"{note}\nWhat about tea?", f"> {note}\r\n\n  {note}", f"Tea?\n{note}"):
            assert await asked(session, turn) == "", turn
        assert note in await asked(session, f"{note}\nInstall with npm.")
        assert note in await asked(session, f"Is [From memory] about pnpm?\n{note}")


@pytest.mark.anyio
async def test_a_line_that_was_given_out_is_not_remembered_again(db: Db, db_url: str) -> None:
    async with agent(db_url) as session:
        first = await session.answer("remember", body="I use pnpm, not npm.")
        await asked(session, "npm")
        for body in (NOTE, f"  {NOTE}\n", "I use pnpm, not npm."):
            assert (await session.answer("remember", body=body))["id"] == first["id"]
        assert (await session.answer("remember", body="I use pnpm."))["id"] != first["id"]
        # What was corrected or forgotten since is another thing.
        second = await session.answer("correct", target=first["id"], body="I use yarn.")
        again = await session.answer("remember", body="I use pnpm, not npm.")
        assert again["id"] not in (first["id"], second["id"])
        await asked(session, "yarn")
        await session.answer("forget", id=second["id"])
        assert (await session.answer("remember", body="I use yarn."))["id"] != second["id"]
    assert db.execute("select count(*) from memstore.memories").fetchone() == (4,)


# The command.


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_a_session_starts(run: Run, client: str) -> None:
    assert run("hook", "session-start", stdin=recorded(client)).stdout == ""
    remember(run, "The store of pnpm is on /mnt.", "--bucket", "learned")
    remember(run, "Tea is green.", "--bucket", "learned")
    note = "[From memory: learned, just now] The store of pnpm is on /mnt."
    told = json.loads(run("hook", "session-start", stdin=recorded(client)).stdout)
    if client == "cursor":
        assert told == {"additional_context": note}
    else:
        assert told == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": note}}


def test_a_session_starts_in_a_scope(run: Run) -> None:
    remember(run, "The store of pnpm is on /mnt.", "--scope", "project:x")
    remember(run, "The store of pnpm is on /srv.", "--scope", "project:y")
    remember(run, "Tea is green.")
    told = run("hook", "session-start", "--scope", "project:x", stdin=recorded("cursor")).stdout
    assert "/mnt" in told and "green" in told and "/srv" not in told


@pytest.mark.parametrize("given", ["", "{", "[]", "null", '{"cwd": 7, "workspace_roots": [null]}', "\0"])
def test_without_an_input_the_current_folder_counts(
    run: Run, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pnpm").mkdir()
    monkeypatch.chdir(tmp_path / "pnpm")
    remember(run, "The store of pnpm is on /mnt.", "--bucket", "learned")
    told = json.loads(run("hook", "session-start", stdin=given).stdout)
    assert told["hookSpecificOutput"]["additionalContext"].endswith("/mnt.")


def test_its_exit_code_is_0(db: Db, run: Run) -> None:
    given = recorded("codex")
    for line in (
        ["hook", "session-start", "--database-url", UNREACHABLE],
        ["hook", "session-start", "--database-url", ""],
        ["hook", "session-start", "--database-url", "nonsense"],
        ["hook", "session-end"],
        ["hook", "session-start", "--account", "nobody"],
    ):
        result = run(*line, stdin=given)
        assert result.stdout == ""
        assert len(complaints(result)) == 1
    db.execute("drop schema memstore cascade")
    assert run("hook", "session-start", stdin=given).stdout == ""


def test_it_is_read_without_typer() -> None:
    assert plain.read(["hook", "session-start", "--account", "me"]) is not None


def test_answers_are_one_ascii_line() -> None:
    told = hooks.answer("UserPromptSubmit", "é\n\u2028]}")
    assert told.isascii()
    assert "\n" not in told
    assert json.loads(told)["hookSpecificOutput"]["additionalContext"] == "é\n\u2028]}"


def test_help_names_them() -> None:
    assert "session-start" in invoke("hook", "--help").stdout
    assert "claude-code" in invoke("install", "--help").stdout
