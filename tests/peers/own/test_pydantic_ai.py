"""The store of Pydantic AI's harness: its protocol, and an agent that writes and reads a notebook."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import Memory
from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    SearchableMemoryStore,
)

from memstore import AsyncStore
from memstore.integrations.pydantic_ai import MemstoreMemoryStore


@pytest.fixture
async def notebook(async_store: AsyncStore, customer: str) -> MemstoreMemoryStore:
    return MemstoreMemoryStore(async_store, await async_store.create_user(external_ref=customer))


async def test_versions(notebook: MemstoreMemoryStore) -> None:
    assert isinstance(notebook, MemoryStore) and isinstance(notebook, SearchableMemoryStore)
    first = await notebook.write("a/MEMORY.md", "one", expected_version=None)
    assert not first.existed
    file = await notebook.read("a/MEMORY.md", max_chars=2)
    assert file is not None and (file.content, file.truncated, file.version) == ("on", True, first.version)
    with pytest.raises(MemoryConflictError):
        await notebook.write("a/MEMORY.md", "two", expected_version=None)
    second = await notebook.write("a/MEMORY.md", "two", expected_version=first.version)
    with pytest.raises(MemoryConflictError):
        await notebook.delete("a/MEMORY.md", expected_version=first.version)
    assert (await notebook.delete("a/MEMORY.md", expected_version=second.version)).existed
    assert await notebook.read("a/MEMORY.md", max_chars=9) is None
    assert not (await notebook.delete("a/MEMORY.md", expected_version=None)).existed


async def test_operations(notebook: MemstoreMemoryStore) -> None:
    once = MemoryOperation("1", "f")
    assert await notebook.get_operation(once) is None
    done = await notebook.write("a.md", "one", expected_version=None, operation=once)
    again = await notebook.write("a.md", "one", expected_version=None, operation=once)
    assert again.replayed and again.version == done.version
    with pytest.raises(MemoryOperationConflictError):
        await notebook.write("b.md", "two", expected_version=None, operation=MemoryOperation("1", "other"))
    file = await notebook.read("a.md", max_chars=9)
    assert file is not None and file.operation_id == "1"


async def test_lists_and_searches(notebook: MemstoreMemoryStore) -> None:
    for path in ("a/1.md", "a/2.md", "a/b/3.md", "ab/4.md", "5.md"):
        await notebook.write(path, f"The tide tables of {path}", expected_version=None)
    assert await notebook.list_paths("a/", limit=9) == ["a/1.md", "a/2.md", "a/b/3.md"]
    assert await notebook.list_paths("a", limit=2) == ["a/1.md", "a/2.md"]
    assert len(await notebook.list_paths(limit=9)) == 5
    bounds: Any = {"max_files": 9, "max_chars": 100, "max_file_chars": 100}
    found = await notebook.search("a/", "tides", limit=1, **bounds)
    assert [match.path for match in found.matches] in (["a/1.md"], ["a/2.md"]) and found.truncated
    assert (await notebook.search("a/", "unicorn", limit=9, **bounds)).matches == []


async def test_a_program(notebook: MemstoreMemoryStore) -> None:
    """The model writes a note in one run, and finds it among its messages in the next."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.function_tools and len(messages) == 1 and "write it down" in str(messages):
            return ModelResponse([ToolCallPart("write_memory", {"content": "The user is called Bob."})])
        return ModelResponse([TextPart("Bob" if "called Bob" in str(messages) else "nobody")])

    agent = Agent(FunctionModel(model), capabilities=[Memory(notebook)])
    await agent.run("write it down")
    assert (await agent.run("What is my name?")).output == "Bob"
