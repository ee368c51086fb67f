"""Google ADK's memory service: a session is added, and another one finds it."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from memstore import AsyncStore, QuotaReached
from memstore.integrations.google_adk import MemstoreMemoryService

APP = "support"


def said(text: str, author: str = "user") -> Event:
    return Event(
        id=uuid.uuid4().hex, author=author, content=types.Content(role=author, parts=[types.Part(text=text)])
    )


def texts(response: Any) -> list[str]:
    return [entry.content.parts[0].text for entry in response.memories]


class Answering(BaseAgent):
    """An agent without a model: it answers with what it finds of the user's words."""

    async def _run_async_impl(self, ctx: Any) -> Any:
        query = ctx.user_content.parts[0].text
        found = await ctx.memory_service.search_memory(app_name=APP, user_id=ctx.user_id, query=query)
        yield Event(
            author=self.name,
            content=types.Content(role="model", parts=[types.Part(text=f"I found: {texts(found)}")]),
        )


async def test_a_program(async_store: AsyncStore, customer: str) -> None:
    memory, sessions = MemstoreMemoryService(async_store), InMemorySessionService()
    runner = Runner(
        agent=Answering(name="answering"), app_name=APP, session_service=sessions, memory_service=memory
    )

    async def turn(session: str, text: str) -> str:
        await sessions.create_session(app_name=APP, user_id=customer, session_id=session)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        answer = ""
        async for event in runner.run_async(user_id=customer, session_id=session, new_message=message):
            answer = event.content.parts[0].text
        stored = await sessions.get_session(app_name=APP, user_id=customer, session_id=session)
        await memory.add_session_to_memory(stored)
        await memory.add_session_to_memory(stored)
        return answer

    assert await turn("1", "My favourite project is Alpha.") == "I found: []"
    assert "My favourite project is Alpha." in await turn("2", "Which project is my favourite?")
    actor = await async_store.find_user(customer)
    assert len(await async_store.list_memories(actor)) == 4


async def test_users_and_applications_are_apart(async_store: AsyncStore, customer: str) -> None:
    memory = MemstoreMemoryService(async_store)
    await memory.add_events_to_memory(
        app_name=APP, user_id=customer, events=[said("Alpha one")], session_id="s"
    )
    for app, user, number in ((APP, customer, 1), ("other", customer, 0), (APP, f"{customer}-2", 0)):
        found = await memory.search_memory(app_name=app, user_id=user, query="alpha")
        assert len(found.memories) == number
    (entry,) = (await memory.search_memory(app_name=APP, user_id=customer, query="alpha")).memories
    assert (entry.author, entry.content.parts[0].text) == ("user", "Alpha one")
    await memory.delete_memory(app_name=APP, user_id=customer, memory_id=entry.id)
    assert not (await memory.search_memory(app_name=APP, user_id=customer, query="alpha")).memories


@pytest.mark.parametrize("forget", ["service", "store", "all"])
async def test_a_deleted_event_stays_deleted(async_store: AsyncStore, customer: str, forget: str) -> None:
    """Whoever deleted it, also in a session that goes on, which is added as a whole again."""
    memory, sessions = MemstoreMemoryService(async_store), InMemorySessionService()
    session = await sessions.create_session(app_name=APP, user_id=customer, session_id="s")
    for text in ("Alpha one", "Alpha two"):
        await sessions.append_event(session, said(text))
    await memory.add_session_to_memory(session)
    found = (await memory.search_memory(app_name=APP, user_id=customer, query="alpha")).memories
    (one,) = [entry for entry in found if "one" in entry.content.parts[0].text]
    actor = await async_store.find_user(customer)
    if forget == "service":
        await memory.delete_memory(app_name=APP, user_id=customer, memory_id=one.id)
    elif forget == "store":
        await async_store.delete_memory(actor, one.id)
    else:
        await async_store.delete_scope(actor, APP)
    await sessions.append_event(session, said("Alpha three"))
    # Of two at once neither brings it back, nor adds one twice.
    await asyncio.gather(*(memory.add_session_to_memory(session) for _ in range(4)))
    found = await memory.search_memory(app_name=APP, user_id=customer, query="alpha")
    left = {"Alpha three"} if forget == "all" else {"Alpha two", "Alpha three"}
    assert sorted(texts(found)) == sorted(left)
    # After an erasure nothing is known of it.
    await async_store.delete_user(actor)
    await memory.add_session_to_memory(session)
    found = await memory.search_memory(app_name=APP, user_id=customer, query="alpha")
    assert set(texts(found)) == {"Alpha one", "Alpha two", "Alpha three"}


async def test_long_and_empty_texts(async_store: AsyncStore, customer: str) -> None:
    memory = MemstoreMemoryService(async_store)
    events = [said("word " * 2000 + "unicorn"), said("   "), Event(id="x", author="user")]
    for _ in range(2):
        await memory.add_events_to_memory(app_name=APP, user_id=customer, events=events)
    actor = await async_store.find_user(customer)
    assert 5 < len(await async_store.list_memories(actor)) < 9
    found = await memory.search_memory(app_name=APP, user_id=customer, query="unicorn")
    assert texts(found)[0].endswith("unicorn")


async def test_memories_and_the_ceiling(async_store: AsyncStore, customer: str) -> None:
    memory = MemstoreMemoryService(async_store)
    entry = MemoryEntry(
        id="1", content=types.Content(parts=[types.Part(text="Beta")]), custom_metadata={"k": 1}
    )
    for _ in range(2):
        await memory.add_memory(app_name=APP, user_id=customer, memories=[entry])
    (found,) = (await memory.search_memory(app_name=APP, user_id=customer, query="beta")).memories
    assert found.custom_metadata == {"k": 1}
    with pytest.raises(QuotaReached):
        await memory.add_events_to_memory(
            app_name=APP, user_id=customer, events=[said(f"event {n}") for n in range(300)]
        )
    actor = await async_store.find_user(customer)
    assert len(await async_store.list_memories(actor)) == 1
