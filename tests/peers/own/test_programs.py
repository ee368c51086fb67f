"""Programs as a user writes them: agents with tools, workers that fork, event loops that come and go."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from memstore import AsyncStore, Store
from memstore.integrations.langgraph import AsyncMemstoreStore, MemstoreStore


class Scripted(GenericFakeChatModel):
    """A model that says what it is told to, and takes tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Scripted:
        return self


def embed(texts: list[str]) -> list[list[float]]:
    return [[1 + text.count(letter) for letter in "abc"] for text in texts]


INDEX: Any = {"dims": 3, "embed": embed, "fields": ["content"], "model": "letters"}


@tool
def manage_memory(content: str, key: str, runtime: ToolRuntime) -> str:
    """Keep something for later, as LangMem's tool does it."""
    namespace = ("memories", runtime.config["configurable"]["langgraph_user_id"])
    runtime.store.put(namespace, key, {"content": content})
    return f"created memory {key}"


@tool
def search_memory(query: str, runtime: ToolRuntime) -> str:
    """Look for what was kept."""
    namespace = ("memories", runtime.config["configurable"]["langgraph_user_id"])
    return json.dumps([item.value for item in runtime.store.search(namespace, query=query)])


def script(name: str, **arguments: Any) -> Any:
    call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
    return iter([AIMessage("", tool_calls=[call]), AIMessage("Done.")])


ASKED: Any = {"messages": [("user", "Go on.")]}
KEEP = {"name": "manage_memory", "content": "abba", "key": "k"}
FIND = {"name": "search_memory", "query": "ab"}


def agent(items: Any, call: dict[str, str]) -> Any:
    tools = [manage_memory, search_memory]
    return create_agent(Scripted(messages=script(**call)), tools=tools, store=items)


def of(customer: str) -> Any:
    return {"configurable": {"langgraph_user_id": customer}}


def test_an_agent_with_tools(store: Store, customer: str) -> None:
    items = MemstoreStore(store, account_segment=1, index=INDEX)
    agent(items, KEEP).invoke(ASKED, of(customer))
    assert "abba" in agent(items, FIND).invoke(ASKED, of(customer))["messages"][-2].content
    assert agent(items, FIND).invoke(ASKED, of(f"{customer}-2"))["messages"][-2].content == "[]"


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_an_agent_with_tools_in_an_event_loop(url: str, customer: str, kind: str) -> None:
    """Tools that aren't coroutines run in threads, and call the store from there."""
    with Store(url) as store:
        async with AsyncStore(url) as async_store:
            items: Any = (
                MemstoreStore(store, account_segment=1, index=INDEX)
                if kind == "sync"
                else AsyncMemstoreStore(async_store, account_segment=1, index=INDEX)
            )
            users = [f"{customer}-{number}" for number in range(8)]
            await asyncio.gather(*(agent(items, KEEP).ainvoke(ASKED, of(user)) for user in users))
            told = await asyncio.gather(*(agent(items, FIND).ainvoke(ASKED, of(user)) for user in users))
            assert all("abba" in answer["messages"][-2].content for answer in told)


def test_workers_that_fork(store: Store, customer: str) -> None:
    """Of a store that was used before, each worker puts and reads what is its own."""
    items = MemstoreStore(store, account_segment=0, index=INDEX)
    items.put((customer, "parent"), "k", {"content": "before"})
    workers = []
    for number in range(4):
        worker = os.fork()
        if worker == 0:
            failed = 1
            try:
                for turn in range(25):
                    space = (customer, f"worker {number}")
                    items.put(space, str(turn), {"content": f"abc {turn}"})
                    found = items.search(space, query="abc", limit=100)
                    assert len(found) == turn + 1
                    assert items.get((customer, "parent"), "k").value == {"content": "before"}
                failed = 0
            finally:
                os._exit(failed)
        workers.append(worker)
    for turn in range(25):
        items.put((customer, "parent"), str(turn), {"content": "meanwhile"})
    assert [os.waitpid(worker, 0)[1] for worker in workers] == [0] * 4
    assert len(items.search((customer,), limit=1000)) == 1 + 5 * 25


def test_event_loops_that_come_and_go(url: str, store: Store, customer: str) -> None:
    items = MemstoreStore(store, account=customer)

    async def turn(number: int) -> int:
        await items.aput(("a",), f"sync {number}", {})
        async with AsyncMemstoreStore.from_conn_string(url, account=customer) as own:
            await asyncio.gather(*(own.aput(("a",), f"{number} {n}", {}) for n in range(10)))
            return len(await own.asearch(("a",), limit=1000))

    assert [asyncio.run(turn(number)) for number in range(3)] == [11, 22, 33]


async def test_a_store_of_another_event_loop(url: str, customer: str) -> None:
    """It is refused, or answers: it doesn't hang."""
    async with AsyncMemstoreStore.from_conn_string(url, account=customer) as items:
        await items.aput(("a",), "k", {})

        def other() -> Any:
            async def work() -> Any:
                return await items.aget(("a",), "k")

            return asyncio.run(asyncio.wait_for(work(), 5))

        (outcome,) = await asyncio.gather(asyncio.to_thread(other), return_exceptions=True)
        assert not isinstance(outcome, TimeoutError)
        assert isinstance(outcome, RuntimeError) or outcome.value == {}
        assert (await items.aget(("a",), "k")).value == {}
