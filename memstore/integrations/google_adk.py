"""Google ADK's memory service over memories: `MemstoreMemoryService`.

A user is an account, by `user_id`; an application is a scope of it. An event becomes a memory of the bucket
`learned`, labelled with its author, whose source is its session; a text beyond the 2,000 characters of a body
becomes several. Which events of a session were added is an item beside them, since of a memory that was
deleted the database knows nothing any more.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from memstore import AsyncStore, ItemChanged, Memory

_Metadata = Mapping[str, object]
_BODY: Final = 1800  # characters, which leaves room for the author's label
_FOUND: Final = 10


class MemstoreMemoryService(BaseMemoryService):
    """A `BaseMemoryService` over a `memstore.AsyncStore`, which belongs to the caller.

    An event that was added before is not added again, also where its memory was deleted since. An account
    holds 200 live memories unless the operator says otherwise (`set_maximum_live_memories`); beyond, a call
    raises `memstore.QuotaReached` and adds nothing.
    """

    def __init__(self, store: AsyncStore, *, found: int = _FOUND) -> None:
        """Takes the store, and how many memories a search returns at most."""
        self._store = store
        self._found = found

    async def add_session_to_memory(self, session: Session) -> None:
        """Adds the events of a session that have text."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: _Metadata | None = None,
    ) -> None:
        """Adds events that have text; `custom_metadata` are kept with each."""
        given: dict[str, list[dict[str, object]]] = {}
        for event in events:
            text = _text_of(event.content)
            if text and not event.partial:
                time = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
                named = f"{app_name}/{user_id}/{session_id}/{event.id}"
                more = {"author": event.author, "timestamp": time, **(custom_metadata or {})}
                given[event.id] = _items(named, app_name, event.author, text, session_id, more)
        path = {"namespace": ("added events", app_name), "key": str(session_id)}
        while given:
            actor = await self._store.create_user(external_ref=user_id)
            found = await self._store.get_items(actor, [path])
            known, version = (dict(found[0].value), found[0].version) if found else ({}, 0)
            if not (given := {event: items for event, items in given.items() if event not in known}):
                return
            await self._store.insert_memories(actor, chain.from_iterable(given.values()))
            value = known | dict.fromkeys(given, 1)
            # Where another has changed it, the next round adds what is missing: what is there has its ids.
            with suppress(ItemChanged):
                await self._store.put_items(actor, [path | {"value": value, "if_version": version}])
                return

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: _Metadata | None = None,
    ) -> None:
        """Adds memories; an `id` makes it safe to repeat."""
        items = []
        for entry in memories:
            named = entry.id and f"{app_name}/{user_id}/{entry.id}"
            given = {"author": entry.author, "timestamp": entry.timestamp}
            more = {name: value for name, value in given.items() if value is not None}
            more |= entry.custom_metadata | dict(custom_metadata or {})
            items += _items(named, app_name, entry.author, _text_of(entry.content), None, more)
        if items:
            await self._store.insert_memories(await self._store.create_user(external_ref=user_id), items)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Finds the memories of the application, and those of none, that fit the query best."""
        actor = await self._store.find_user(user_id)
        ranked = await self._store.rank_memories(actor, query, scopes=[app_name]) if actor else []
        best = [each.memory for each in ranked if each.score > 0 and each.eligible][: self._found]
        return SearchMemoryResponse(memories=list(map(_entry, best)))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Deletes a memory by the id that a search returned, else raises `memstore.MemoryNotFound`."""
        actor = await self._store.find_user(user_id)
        if actor is not None and memory_id is not None:
            await self._store.delete_memory(actor, memory_id)


def _text_of(content: types.Content | None) -> str:
    parts: Iterable[Any] = (content and content.parts) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def _items(
    named: str | None, scope: str, author: str | None, text: str, session: str | None, metadata: _Metadata
) -> list[dict[str, object]]:
    """The memories of a text, whose ids follow from its name where it has one."""
    bodies = [text] if len(text) <= _BODY else textwrap.wrap(text, _BODY, replace_whitespace=False)
    items: list[dict[str, object]] = []
    for number, body in enumerate(bodies):
        item: dict[str, object] = {
            "body": f"{author}: {body}" if author else body,
            "bucket": "learned",
            "scope": scope,
            "source_ref": session,
            "metadata": dict(metadata),
        }
        if named:
            item["id"] = uuid5(NAMESPACE_URL, f"{named}/{number}")
        items.append(item)
    return items


def _entry(memory: Memory) -> MemoryEntry:
    metadata = dict(memory.metadata or {})
    author, time = metadata.pop("author", None), metadata.pop("timestamp", None)
    body = memory.body.removeprefix(f"{author}: ")
    return MemoryEntry(
        id=str(UUID(str(memory.id))),
        content=types.Content(role="model" if author != "user" else "user", parts=[types.Part(text=body)]),
        author=author if isinstance(author, str) else None,
        timestamp=str(time or memory.inserted_at.isoformat()),
        custom_metadata=metadata,
    )
