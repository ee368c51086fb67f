"""LangGraph's store: accounts by a label, refusals of one caller, paths that look alike, and programs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from memstore import AsyncStore, InvalidValue, Store
from memstore.integrations.langgraph import AsyncMemstoreStore, MemstoreStore


def embed(texts: list[str]) -> list[list[float]]:
    """Of a text how many it has of three letters."""
    return [[1 + text.count(letter) for letter in "abc"] for text in texts]


class TestAccounts:
    def test_a_label_names_it(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account_segment=1)
        items.put(("memories", customer, "a"), "k", {"n": 1})
        items.put(("memories", f"{customer}-2", "a"), "k", {"n": 2})
        found = items.search(("memories", customer))
        assert [(item.namespace, item.value) for item in found] == [(("memories", customer, "a"), {"n": 1})]
        actor = store.find_user(customer)
        assert actor is not None and len(store.search_items(actor)) == 1
        store.delete_user(actor)
        assert items.get(("memories", customer, "a"), "k") is None
        assert items.search(("memories", f"{customer}-2"))[0].value == {"n": 2}
        items.put(("memories", customer, "a"), "k", {"n": 3})
        assert items.get(("memories", customer, "a"), "k").value == {"n": 3}

    def test_what_does_not_reach_it_is_refused(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account_segment=1)
        for attempt in (
            lambda: items.search(("memories",)),
            lambda: items.search(()),
            lambda: items.put(("memories",), "k", {}),
            lambda: items.list_namespaces(),
            lambda: items.list_namespaces(prefix=("memories", "*", "a")),
            lambda: items.list_namespaces(suffix=("memories", customer)),
        ):
            with pytest.raises(ValueError, match="names no account"):
                attempt()
        assert items.list_namespaces(prefix=("memories", customer)) == []

    def test_one_batch_of_several(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account_segment=0)
        spaces = [(f"{customer}-{n}", "a") for n in range(3)]
        items.batch([PutOp(space, "k", {"n": n}) for n, space in enumerate(spaces)])
        read = items.batch([GetOp(space, "k") for space in reversed(spaces)] + [SearchOp(spaces[1])])
        assert [item.value["n"] for item in read[:3]] == [2, 1, 0] and len(read[3]) == 1

    def test_fixed(self, store: Store, customer: str) -> None:
        actor = store.create_user(external_ref=customer)
        MemstoreStore(store, account=customer).put(("a",), "k", {"n": 1})
        assert MemstoreStore(store, account=actor).get(("a",), "k").value == {"n": 1}
        with pytest.raises(ValueError, match="not both"):
            MemstoreStore(store, account=customer, account_segment=0)


class TestPathsThatLookAlike:
    """Two cases that LangGraph had in public."""

    def test_a_label_that_begins_as_another(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account=customer)
        items.put(("user", "1"), "k", {})
        items.put(("user", "10"), "k", {})
        assert [item.namespace for item in items.search(("user", "1"))] == [("user", "1")]

    def test_a_pattern_is_a_label(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account=customer)
        items.put(("user_1",), "k", {})
        items.put(("userx1",), "k", {})
        assert [item.namespace for item in items.search(("user_1",))] == [("user_1",)]
        assert items.search(("%",)) == []


class TestIndex:
    def test_the_score_is_the_cosine_or_both(self, store: Store, customer: str) -> None:
        index: Any = {"dims": 3, "embed": embed, "fields": ["text"], "model": "letters"}
        by_meaning = MemstoreStore(store, account=customer, index=index)
        fused = MemstoreStore(store, account=customer, index=index | {"ranking": "fused"})
        by_meaning.put(("a",), "near", {"text": "aaaa"})
        by_meaning.put(("a",), "word", {"text": "the word"})
        by_meaning.put(("a",), "hidden", {"text": "aaaa"}, index=False)
        assert [item.key for item in by_meaning.search(("a",), query="aaaa word")] == [
            "near",
            "word",
            "hidden",
        ]
        assert by_meaning.search(("a",), query="aaaa")[0].score == pytest.approx(1)
        assert fused.search(("a",), query="word")[0].key == "word"

    def test_without_it_words_count(self, store: Store, customer: str) -> None:
        items = MemstoreStore(store, account=customer)
        items.put(("a",), "1", {"text": "I like pizza"})
        items.put(("a",), "2", {"text": "I like sushi"})
        assert items.search(("a",), query="pizzas")[0].key == "1"

    @pytest.mark.parametrize("index", [{"distance_type": "l2"}, {"ranking": "best"}])
    def test_what_it_can_not_do_is_refused(self, store: Store, index: Any) -> None:
        with pytest.raises(ValueError, match="index"):
            MemstoreStore(store, account="a", index={"dims": 3, "embed": embed, **index})


class TestBatching:
    async def test_a_refusal_is_told_to_its_caller_alone(
        self, async_store: AsyncStore, customer: str
    ) -> None:
        items = AsyncMemstoreStore(async_store, account=customer)
        results = await asyncio.gather(
            items.aput(("a",), "1", {"n": 1}),
            items.aput(("a",), "", {"n": 2}),
            items.asearch(("a",), filter={"n": {"$in": [1]}}),
            items.aput(("a",), "3", {"n": 3}),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), InvalidValue, InvalidValue, type(None)]
        assert {item.key for item in await items.asearch(("a",))} == {"1", "3"}

    async def test_one_that_goes_leaves_the_others(self, async_store: AsyncStore, customer: str) -> None:
        items = AsyncMemstoreStore(async_store, account=customer)
        gone = asyncio.ensure_future(items.aput(("a",), "1", {}))
        await asyncio.sleep(0)
        gone.cancel()
        await items.aput(("a",), "2", {})
        assert "2" in {item.key for item in await items.asearch(("a",))}


def test_list_conditions(store: Store, customer: str) -> None:
    items = MemstoreStore(store, account=customer)
    for space in (("a", "b"), ("a", "c"), ("d", "b")):
        items.put(space, "k", {})
    conditions = (MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("b",)))
    assert items.batch([ListNamespacesOp(conditions, None, 10, 0)]) == [[("a", "b")]]


def test_a_program(url: str, customer: str) -> None:
    """As LangGraph's guide to long-term memory has it."""

    def remember(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
        namespace = (config["configurable"]["user_id"], "memories")
        last = state["messages"][-1].content
        known = [item.value["data"] for item in store.search(namespace, query=str(last))]
        store.put(namespace, str(len(known)), {"data": last})
        return {"messages": [("ai", f"I know: {known}")]}

    with MemstoreStore.from_conn_string(url, account_segment=0) as store:
        store.setup()
        builder = StateGraph(MessagesState)
        builder.add_node("remember", remember)
        builder.add_edge(START, "remember")
        builder.add_edge("remember", END)
        graph = builder.compile(store=store)
        config: Any = {"configurable": {"user_id": customer}}
        graph.invoke({"messages": [("user", "My name is Bob")]}, config)
        answer = graph.invoke({"messages": [("user", "What is my name?")]}, config)
    assert answer["messages"][-1].content == "I know: ['My name is Bob']"


def test_deepagents_files(store: Store, customer: str) -> None:
    files = StoreBackend(
        namespace=lambda runtime: (customer, "files"), store=MemstoreStore(store, account_segment=0)
    )
    assert not files.write("/notes/plan.md", "Ship on Tuesday.\n").error
    assert not files.edit("/notes/plan.md", "Tuesday", "Friday").error
    assert "Friday" in str(files.read("/notes/plan.md"))
    assert "/notes/plan.md" in str(files.grep("Friday"))
    assert "/notes/" in str(files.ls("/"))
