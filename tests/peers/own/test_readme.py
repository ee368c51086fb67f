"""The lines of README.md's section on frameworks, with the frameworks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from google.adk.agents import BaseAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness import Memory

from memstore import AsyncStore, Store

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```py\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def builder() -> StateGraph[MessagesState]:
    graph = StateGraph(MessagesState)
    graph.add_node("node", lambda state: {"messages": []})
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph


def test_there_is_one_for_each() -> None:
    modules = {path.stem for path in (Path(__file__).parents[3] / "memstore/integrations").glob("[a-z]*.py")}
    assert set(re.findall(r"memstore\.integrations\.(\w+)", "".join(BLOCKS))) == modules
    assert all(len(list(filter(None, block.splitlines()))) == 3 for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS)
async def test_it_runs(block: str, url: str, customer: str) -> None:
    async with AsyncStore(url) as async_store:
        with Store(url) as store:
            given: dict[str, Any] = {
                "actor": store.create_user(external_ref=customer),
                "agent": BaseAgent(name="agent"),
                "Agent": Agent,
                "async_store": async_store,
                "builder": builder(),
                "client": Anthropic(api_key="none"),
                "Memory": Memory,
                "messages": [{"role": "user", "content": "x"}],
                "model": TestModel() if "pydantic" in block else "claude",
                "Runner": Runner,
                "sessions": InMemorySessionService(),
                "store": store,
            }
            exec(block.replace("postgresql://support_bot@host/agents", url), given)
