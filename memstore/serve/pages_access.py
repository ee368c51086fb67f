"""The page of who reaches the memories: tokens."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from memstore.api.aio import AsyncFunctions
from memstore.errors import MemstoreError
from memstore.models import NewToken
from memstore.serve.address import Address
from memstore.serve.pages import Page, given, to

# What scopes are called. Which there are the database says: one without a word here has its name.
WORDS: Final = {
    "recall": "read the memories",
    "remember": "remember and correct",
    "forget": "delete memories",
    "claims": "propose and challenge shared claims",
    "steward": "decide on claims",
    "operator": "read the store's figures",
}


class Tokens:
    """The page and its forms.

    Args:
        store: The store, by which a session makes tokens.
        address: Where agents reach it.
    """

    def __init__(self, store: AsyncFunctions, address: Address) -> None:
        self._store = store
        self._address = address

    async def show(self, page: Page) -> Response:
        """Lists the tokens."""
        return await self._show(page)

    async def _show(
        self,
        page: Page,
        form: Mapping[str, Any] | None = None,
        chosen: list[str] | None = None,
        refusal: MemstoreError | None = None,
        made: NewToken | None = None,
    ) -> Response:
        return await page.render(
            "access.html",
            422 if refusal else 200,
            tokens=await page.store.list_tokens(None),
            now=datetime.now(UTC),
            scopes={
                name: WORDS.get(name, name)
                for name in dict.fromkeys([*WORDS, *page.visitor.access.scopes])
                if name in page.visitor.access.scopes
            },
            form=form or {},
            chosen=["recall", "remember"] if chosen is None else chosen,
            refusal=refusal,
            made=made,
            url=self._address.url,
        )

    async def make(self, page: Page) -> Response:
        """Makes a token, and shows its secret this once."""
        form, chosen = await page.form(), await page.several("scopes")
        days = given(form, "lifetime") or ""
        whole = int(days) if days.isascii() and days.isdigit() and len(days) < 7 else 0
        try:
            made = await self._store.delegate_token(
                page.visitor.digest,
                form.get("name", ""),
                scopes=chosen,
                lifetime=timedelta(days=whole),
                id=given(form, "id"),
            )
        except MemstoreError as error:
            return await self._show(page, form, chosen, error)
        return await self._show(page, made=made)

    async def revoke(self, page: Page) -> Response:
        """Revokes one."""
        try:
            await page.store.revoke_token(None, page.id)
        except MemstoreError as error:
            return await page.refused(error)
        return to("/access")
