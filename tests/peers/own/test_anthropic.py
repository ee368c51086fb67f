"""Claude's memory tool: its commands in a loop with a client, races of edits, and paths."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError

from memstore import Store
from memstore.integrations.anthropic import AsyncMemstoreMemoryTool, MemstoreMemoryTool


@pytest.fixture
def tool(store: Store, customer: str) -> MemstoreMemoryTool:
    return MemstoreMemoryTool(store, store.create_user(external_ref=customer))


def run(tool: MemstoreMemoryTool, command: str, **arguments: Any) -> str:
    """As a client does it, by the JSON that the model wrote."""
    return str(tool.call({"command": command, **arguments}))


def test_a_session(tool: MemstoreMemoryTool) -> None:
    run(tool, "create", path="/memories/notes/a.txt", file_text="one\ntwo\n")
    run(tool, "str_replace", path="/memories/notes/a.txt", old_str="two", new_str="zwei")
    run(tool, "insert", path="/memories/notes/a.txt", insert_line=1, insert_text="between")
    assert "     2\tbetween\n     3\tzwei" in run(tool, "view", path="/memories/notes/a.txt")
    assert "/memories/notes/a.txt" in run(tool, "view", path="/memories")
    run(tool, "rename", old_path="/memories/notes", new_path="/memories/old/notes")
    assert "/memories/old/notes/" in run(tool, "view", path="/memories")
    run(tool, "delete", path="/memories/old")
    with pytest.raises(ToolError, match="does not exist"):
        run(tool, "view", path="/memories/old")
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


@pytest.mark.parametrize(
    "path", ["/memories/../x", "/memories/a/../../x", "/etc/passwd", "/memoriesx/a", "memories"]
)
def test_no_path_leaves(tool: MemstoreMemoryTool, path: str) -> None:
    for command in ("view", "delete"):
        with pytest.raises(ToolError):
            run(tool, command, path=path)
    with pytest.raises(ToolError):
        run(tool, "create", path=path, file_text="x")


def test_dots_are_resolved_by_the_text(tool: MemstoreMemoryTool) -> None:
    run(tool, "create", path="/memories/a/./b/../c.txt", file_text="x")
    assert "x" in run(tool, "view", path="/memories/a/c.txt")


def test_edits_of_two_at_once_are_both_kept(tool: MemstoreMemoryTool, store: Store, customer: str) -> None:
    run(tool, "create", path="/memories/a.txt", file_text="")

    def insert(number: int) -> None:
        own = MemstoreMemoryTool(store, store.find_user(customer))
        for line in range(5):
            run(own, "insert", path="/memories/a.txt", insert_line=0, insert_text=f"{number}.{line}")

    threads = [threading.Thread(target=insert, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = run(tool, "view", path="/memories/a.txt")
    assert all(f"{number}.{line}" in shown for number in range(3) for line in range(5))


def test_a_rename_is_refused_whole(tool: MemstoreMemoryTool) -> None:
    run(tool, "create", path="/memories/a/1", file_text="1")
    run(tool, "create", path="/memories/b/1", file_text="2")
    for target in ("/memories/b", "/memories/b/1", "/memories/a/c", "/memories"):
        with pytest.raises(ToolError):
            run(tool, "rename", old_path="/memories/a", new_path=target)
    assert "1" in run(tool, "view", path="/memories/a/1")


def test_what_is_too_much_is_told(tool: MemstoreMemoryTool) -> None:
    for text in ("x" * 1_000_001, "a\0b"):
        with pytest.raises(ToolError):
            run(tool, "create", path="/memories/a.txt", file_text=text)


def test_another_account_sees_none(tool: MemstoreMemoryTool, store: Store, customer: str) -> None:
    run(tool, "create", path="/memories/a.txt", file_text="x")
    other = MemstoreMemoryTool(store, store.create_user(external_ref=f"{customer}-2"))
    assert "a.txt" not in run(other, "view", path="/memories")
    tool.clear_all_memory()
    assert "a.txt" not in run(tool, "view", path="/memories")


def answers(*contents: list[dict[str, Any]]) -> tuple[httpx2.MockTransport, list[Any]]:
    """The service, which answers these, one after the other; and what it was sent."""
    waiting, sent = list(contents), []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        content = waiting.pop(0)
        ends = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": content,
            "stop_reason": ends,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return httpx2.Response(200, json=message)

    return httpx2.MockTransport(answer), sent


def use(**command: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": command}]


DONE = [{"type": "text", "text": "Done."}]
NOTE = {"path": "/memories/notes.md", "file_text": "Ship on Friday.\n"}
ASKED: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Go on."}],
}


def test_a_program(store: Store, customer: str) -> None:
    """As the documentation of the tool has it: the runner does what the model asks for, and tells it."""
    actor = store.create_user(external_ref=customer)
    transport, sent = answers(use(command="create", **NOTE), use(command="view", path="/etc/passwd"), DONE)
    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))
    runner = client.beta.messages.tool_runner(tools=[MemstoreMemoryTool(store, actor)], **ASKED)
    assert runner.until_done().content[0].text == "Done."
    assert sent[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    (_, first, second) = (each["messages"][-1] for each in sent)
    assert "created successfully" in str(first["content"])
    assert second["content"][0]["is_error"] and "must start with /memories" in str(second["content"])
    assert store.get_items(actor, [{"namespace": ["memories"], "key": "notes.md"}])


async def test_a_program_in_an_event_loop(store: Store, customer: str) -> None:
    async def converse(number: int) -> str:
        actor = store.create_user(external_ref=f"{customer}-{number}")
        text = f"Of {number}."
        transport, sent = answers(
            use(command="create", **NOTE | {"file_text": text}), use(command="view", path=NOTE["path"]), DONE
        )
        client = AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=transport))
        tools = [AsyncMemstoreMemoryTool(store, actor)]
        await client.beta.messages.tool_runner(tools=tools, **ASKED).until_done()
        return str(sent[-1]["messages"][-1]["content"])

    told = await asyncio.gather(*map(converse, range(10)))
    assert all(f"Of {number}." in each for number, each in enumerate(told))
