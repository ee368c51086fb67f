"""The pages of an account's memories, and of what recall makes of them."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response, StreamingResponse

from memstore.errors import MemoryNotFound, MemstoreError
from memstore.models import Memory
from memstore.serve.pages import Page, given, to

_PAGE: Final = 25
_FOUND: Final = 100
_EXPORTED: Final = 1000  # memories a call


async def memories(page: Page) -> Response:
    """Lists them, or those that are about something."""
    return await _memories(page)


async def _memories(
    page: Page, form: Mapping[str, Any] | None = None, refusal: MemstoreError | None = None
) -> Response:
    query, bucket, scope, after = (page.query(name) for name in ("q", "bucket", "scope", "after"))
    past = page.query("past") is not None
    narrowed: dict[str, Any] = {"bucket": bucket, "scopes": [scope] if scope else None}
    store = page.store
    capped = False
    try:
        if query and not past:
            explained = await store.explain_recall(None, query, scopes=narrowed["scopes"], page_size=_FOUND)
            capped = len(explained) == _FOUND
            found = [
                each.memory for each in explained if each.score > 0 and bucket in (None, each.memory.bucket)
            ]
        elif query:
            found = await store.search_memories(
                None, query, include_superseded=True, page_size=_PAGE, after=after, **narrowed
            )
        else:
            found = await store.list_memories(
                None, include_superseded=past, page_size=_PAGE, after=after, **narrowed
            )
        chains: dict[UUID, list[Memory]] = defaultdict(list)
        for each in await store.memory_histories(None, [memory.id for memory in found]):
            if each.memory.id != each.id:
                chains[each.id].append(each.memory)
    except MemstoreError as error:
        return await page.refused(error)
    return await page.render(
        "memories.html",
        422 if refusal else 200,
        found=found,
        chains=chains,
        query=query,
        bucket=bucket,
        scope=scope,
        past=past,
        ranked=bool(query and not past),
        capped=capped,
        after=found[-1].id if len(found) == _PAGE and not (query and not past) else None,
        first=after is None,
        form=form or {},
        refusal=refusal,
    )


async def remember(page: Page) -> Response:
    """Remembers one thing."""
    form = await page.form()
    try:
        await page.store.insert_memory(
            None, form.get("body", ""), scope=given(form, "scope"), id=given(form, "id")
        )
    except MemstoreError as error:
        return await _memories(page, form, error)
    return to("/memories")


async def memory(page: Page) -> Response:
    """Shows one with its chain."""
    return await _memory(page)


async def _memory(
    page: Page, form: Mapping[str, Any] | None = None, refusal: MemstoreError | None = None
) -> Response:
    try:
        # The chain is of the account's memories; a claim's has pages of its own.
        found = await page.store.get_memory(None, page.id)
        chain = await page.store.memory_histories(None, [found.id])
    except MemstoreError as error:
        return await page.refused(error)
    return await page.render(
        "memory.html",
        422 if refusal else 200,
        memory=found,
        chain=[each.memory for each in chain],
        form=form or {},
        refusal=refusal,
    )


async def correct(page: Page) -> Response:
    """Corrects one, by a text or by an earlier one, which holds again."""
    form = await page.form()
    body, scope = form.get("body", ""), form.get("scope")
    try:
        if again := given(form, "again"):
            earlier = await page.store.get_memory(None, again)
            body, scope = earlier.body, earlier.scope or ""
        made = await page.store.supersede_memory(
            None,
            page.id,
            body,
            scope=scope,
            id=given(form, "id"),
        )
    except MemstoreError as error:
        return await _memory(page, form, error)
    return to(f"/memories/{made.id}")


async def forget(page: Page) -> Response:
    """Forgets one, or all of its chain."""
    try:
        await _forget(page, page.id, await page.form())
    except MemstoreError as error:
        return await page.refused(error)
    return to("/memories")


async def _forget(page: Page, id: UUID | str, form: Mapping[str, Any]) -> None:
    if form.get("history"):
        await page.store.delete_history(None, id)
    else:
        await page.store.delete_memory(None, id)


async def forget_several(page: Page) -> Response:
    """Forgets those that were chosen, after a page that says what goes."""
    form, chosen = await page.form(), await page.several("chosen")
    try:
        if not form.get("sure"):
            return await _what_goes(page, chosen)
        for id in chosen:
            with suppress(MemoryNotFound):  # gone with another one's history, or by the same form before
                await _forget(page, id, form)
    except MemstoreError as error:
        return await page.refused(error)
    return to("/memories")


async def _what_goes(page: Page, chosen: list[str]) -> Response:
    chains = await page.store.memory_histories(None, chosen)
    memories = [each.memory for each in chains if each.memory.id == each.id]
    return await page.render("forget.html", memories=memories, others=len(chains) - len(memories))


async def export(page: Page) -> Response:
    """Gives all of them, as import_memories takes them."""

    async def lines() -> AsyncIterator[str]:
        yield json.dumps(first, ensure_ascii=False) + "\n"
        after = None
        while True:
            exported = await page.store.export_memories(None, page_size=_EXPORTED, after=after)
            for each in exported:
                yield json.dumps(each, ensure_ascii=False) + "\n"
            if len(exported) < _EXPORTED:
                return
            after = str(exported[-1]["id"])

    try:
        first = await page.store.export_account(None)
    except MemstoreError as error:
        return await page.refused(error)
    headers = {"Content-Disposition": 'attachment; filename="memories.jsonl"'}
    return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)


async def recall(page: Page) -> Response:
    """Shows what recall would say for a turn, and why."""
    turn, scope = page.query("turn"), page.query("scope")
    values: dict[str, Any] = {"turn": turn, "scope": scope}
    scopes = [scope] if scope else None
    if turn:
        try:
            values["answer"] = await page.store.recall(None, turn, scopes=scopes, strict=True)
            values["explained"] = await page.store.explain_recall(None, turn, scopes=scopes)
        except MemstoreError as error:
            return await page.refused(error)
    return await page.render("recall.html", **values)
