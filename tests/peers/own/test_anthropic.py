"""Claude's memory tool: its commands in a loop with a client, races of edits, and paths."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from memstore import Store
from memstore.integrations.anthropic import MemstoreMemoryTool


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
