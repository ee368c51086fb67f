"""DeepAgents' files by its StoreBackend: each operation as its documentation has it, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from memstore import AsyncStore, Store
from memstore.integrations.langgraph import AsyncMemstoreStore, MemstoreStore

Do = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
async def files(request: Any, url: str, customer: str) -> Any:
    """Does an operation of the back end, in one way or the other."""
    if request.param == "sync":
        with Store(url) as store:
            backend = StoreBackend(
                namespace=lambda _: (customer, "files"), store=MemstoreStore(store, account_segment=0)
            )

            async def do(name: str, *arguments: Any, **options: Any) -> Any:
                return await asyncio.to_thread(getattr(backend, name), *arguments, **options)

            yield do
    else:
        async with AsyncStore(url) as async_store:
            items = AsyncMemstoreStore(async_store, account_segment=0)
            backend = StoreBackend(namespace=lambda _: (customer, "files"), store=items)

            async def ado(name: str, *arguments: Any, **options: Any) -> Any:
                return await getattr(backend, f"a{name}")(*arguments, **options)

            yield ado


def paths(result: Any) -> list[str]:
    assert not result.error
    found = result.entries if hasattr(result, "entries") else result.matches
    return [each["path"] for each in found or []]


async def text(files: Do, path: str, **window: int) -> str:
    read = await files("read", path, **window)
    assert not read.error
    return str(read.file_data["content"])


async def test_write_and_read(files: Do) -> None:
    assert (await files("read", "/none.md")).error
    for content in ("one\ntwo\nthree", "1\n2\n3", ""):
        written = await files("write", "/a.md", content)
        assert not written.error and written.path == "/a.md"
        if content:
            assert await text(files, "/a.md") == content
    await files("write", "/lines.md", "\n".join(map(str, range(100))))
    assert (await text(files, "/lines.md", offset=10, limit=3)).split() == ["10", "11", "12"]
    assert (await files("read", "/lines.md", offset=100)).error
    kept = "häuser 李明 \u2028 \\ % _ ' \"\ttab \U0001f600"
    await files("write", "/päth/%_*.md", kept)
    assert await text(files, "/päth/%_*.md") == kept


async def test_edit(files: Do) -> None:
    await files("write", "/a.md", "red blue red")
    assert (await files("edit", "/none.md", "a", "b")).error
    assert (await files("edit", "/a.md", "green", "b")).error
    assert (await files("edit", "/a.md", "red", "b")).error
    assert await text(files, "/a.md") == "red blue red"
    edited = await files("edit", "/a.md", "red", "green", replace_all=True)
    assert (edited.error, edited.occurrences) == (None, 2)
    assert (await files("edit", "/a.md", "blue", "red")).occurrences == 1
    assert await text(files, "/a.md") == "green red green"


async def test_ls_glob_and_grep(files: Do) -> None:
    given = {"/a.md": "alpha (x)", "/src/b.py": "beta", "/src/deep/c.py": "alpha", "/srcs/d.py": "delta"}
    for path, content in given.items():
        await files("write", path, content)
    assert paths(await files("ls", "/")) == ["/a.md", "/src/", "/srcs/"]
    assert (
        paths(await files("ls", "/src")) == paths(await files("ls", "/src/")) == ["/src/b.py", "/src/deep/"]
    )
    assert paths(await files("ls", "/none")) == []
    assert set(paths(await files("glob", "*.py"))) == {"/src/b.py", "/src/deep/c.py", "/srcs/d.py"}
    assert set(paths(await files("glob", "*.py", path="/src/deep"))) == {"/src/deep/c.py"}
    assert set(paths(await files("grep", "alpha"))) == {"/a.md", "/src/deep/c.py"}
    # A literal, not a pattern.
    assert paths(await files("grep", "(x)")) == ["/a.md"] and paths(await files("grep", "al.ha")) == []
    assert paths(await files("grep", "alpha", path="/src")) == ["/src/deep/c.py"]
    assert paths(await files("grep", "alpha", glob="*.md")) == ["/a.md"]


async def test_delete(files: Do) -> None:
    for path in ("/a.md", "/src/b.py", "/src/deep/c.py", "/srcs/d.py", "/s*/e.py"):
        await files("write", path, "x")
    assert (await files("delete", "/none")).error
    assert (await files("delete", "/s*")).path == "/s*"
    assert paths(await files("ls", "/")) == ["/a.md", "/src/", "/srcs/"]
    assert not (await files("delete", "/src")).error
    assert not (await files("delete", "/a.md")).error
    assert paths(await files("glob", "*")) == ["/srcs/d.py"]


async def test_uploads_and_downloads(files: Do) -> None:
    binary = bytes(range(256))
    uploaded = await files("upload_files", [("/a.bin", binary), ("/b.txt", "ö".encode())])
    assert [(each.path, each.error) for each in uploaded] == [("/a.bin", None), ("/b.txt", None)]
    downloaded = await files("download_files", ["/b.txt", "/none", "/a.bin"])
    assert [each.content for each in downloaded] == ["ö".encode(), None, binary]
    assert downloaded[1].error == "file_not_found"
    assert (await files("edit", "/a.bin", "a", "b")).error


async def test_more_files_than_a_page(files: Do) -> None:
    await files("upload_files", [(f"/many/{number:03}.md", b"x") for number in range(230)])
    assert len(paths(await files("ls", "/many"))) == 230
    assert not (await files("delete", "/many")).error
    assert paths(await files("ls", "/")) == []


@pytest.mark.parametrize("others", [("1", "10"), ("a_b", "axb"), ("a", "A"), ("a.b", "a.c")])
def test_no_namespace_reaches_another(store: Store, customer: str, others: tuple[str, str]) -> None:
    items = MemstoreStore(store, account=customer)

    def backend(name: str) -> StoreBackend:
        return StoreBackend(namespace=lambda _: (name.replace(".", "-"), "files"), store=items)

    mine, other = map(backend, others)
    mine.write("/a.md", "mine")
    assert paths(other.ls("/")) == paths(other.grep("mine")) == []
    assert other.read("/a.md").error and other.delete("/a.md").error
    assert mine.read("/a.md").file_data["content"] == "mine"


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to, and takes tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        return self


def calls(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1", "type": "tool_call"}])


def agent(items: Any, customer: str, *script: AIMessage) -> Any:
    """As DeepAgents' page on long-term memory has it: /memories/ is kept, other files are of the thread."""
    return create_deep_agent(
        model=Scripted(messages=iter(script)),
        store=items,
        backend=CompositeBackend(
            default=StateBackend(),
            routes={"/memories/": StoreBackend(namespace=lambda _: (customer, "files"))},
        ),
    )


ASKED: Any = {"messages": [("user", "Go on.")]}
WRITE = calls("write_file", file_path="/memories/plan.md", content="Ship on Friday.")
DRAFT = calls("write_file", file_path="/draft.md", content="Of this thread.")
READ = calls("read_file", file_path="/memories/plan.md")


def test_a_program(store: Store, customer: str) -> None:
    items = MemstoreStore(store, account_segment=0)
    agent(items, customer, WRITE, DRAFT, AIMessage("Done.")).invoke(ASKED)
    # Of another thread, and after the process has come again.
    told = agent(items, customer, READ, AIMessage("Done.")).invoke(ASKED)
    assert "Ship on Friday." in str(told["messages"][-2].content)
    assert [item.key for item in items.search((customer,))] == ["/plan.md"]
    store.delete_user(store.find_user(customer))
    told = agent(items, customer, READ, AIMessage("Done.")).invoke(ASKED)
    assert "not found" in str(told["messages"][-2].content)


async def test_a_program_in_an_event_loop(async_store: AsyncStore, customer: str) -> None:
    items = AsyncMemstoreStore(async_store, account_segment=0)
    agents = [agent(items, f"{customer}-{number}", WRITE, AIMessage("Done.")) for number in range(5)]
    await asyncio.gather(*(each.ainvoke(ASKED) for each in agents))
    told = await agent(items, f"{customer}-3", READ, AIMessage("Done.")).ainvoke(ASKED)
    assert "Ship on Friday." in str(told["messages"][-2].content)
