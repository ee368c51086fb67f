"""The pages of claims: an account's own, and for stewards the queue and the verdicts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from memstore.errors import MemoryNotFound, MemstoreError
from memstore.models import Memory
from memstore.serve.pages import Page, evidence_of, given, to

_PAGE: Final = 25


async def claims(page: Page) -> Response:
    """Lists the account's own, with what the records say of them."""
    return await _claims(page)


async def _claims(
    page: Page,
    form: Mapping[str, Any] | None = None,
    evidence: list[dict[str, object]] | None = None,
    refusal: MemstoreError | None = None,
) -> Response:
    status, after = page.query("status"), page.query("after")
    try:
        found = await page.store.list_own_claims(None, status=status, page_size=_PAGE, after=after)
    except MemstoreError as error:
        return await page.refused(error)
    return await page.render(
        "claims.html",
        422 if refusal else 200,
        found=found,
        status=status,
        after=found[-1].memory.id if len(found) == _PAGE else None,
        form=form or {},
        evidence=evidence or [],
        refusal=refusal,
        today=datetime.now(UTC).date(),
    )


async def propose(page: Page) -> Response:
    """Proposes one."""
    form, evidence = await page.form(), await _evidence(page)
    try:
        made = await page.store.insert_memory(
            None,
            form.get("body", ""),
            bucket="system",
            slug=given(form, "slug"),
            tier=given(form, "tier"),
            entity=given(form, "entity"),
            as_of=datetime.now(UTC).date(),
            admission="candidate",
            evidence_refs=evidence,
            id=given(form, "id"),
        )
    except MemstoreError as error:
        return await _claims(page, form, evidence, error)
    return to(f"/claims/{made.id}")


async def queue(page: Page) -> Response:
    """Lists the live claims of all accounts, oldest first; for stewards."""
    status, after = page.query("status"), page.query("after")
    try:
        counts = await page.store.count_claims(None)
        found = await page.store.list_claims(None, status=status, page_size=_PAGE, after=after)
    except MemstoreError as error:
        return await page.refused(error)
    return await page.render(
        "queue.html",
        found=found,
        counts=counts,
        total=sum(each.claims for each in counts),
        status=status,
        after=found[-1].memory.id if len(found) == _PAGE else None,
    )


async def claim(page: Page) -> Response:
    """Shows one with the argument about it."""
    return await _claim(page)


async def _claim(
    page: Page,
    form: Mapping[str, Any] | None = None,
    evidence: list[dict[str, object]] | None = None,
    refusal: MemstoreError | None = None,
) -> Response:
    try:
        records = await page.store.list_records(None, page.id)
        status = await page.store.memory_status(None, page.id)
        chain = await _chain(page)
    except MemstoreError as error:
        return await page.refused(error)
    answers = {record.challenge_id: record for record in records if record.role == "refutation"}
    return await page.render(
        "claim.html",
        422 if refusal else 200,
        id=page.id,
        claim=next((each for each in chain if each.id == page.id), None),
        chain=chain,
        status=status,
        records=records,
        answers=answers,
        form=form or {},
        evidence=evidence or [],
        refusal=refusal,
        following=page.query("status"),
    )


async def _chain(page: Page) -> list[Memory]:
    """Gives the claim's chain; of another account's claim, which stewards alone may read, nothing."""
    try:
        return await page.store.memory_history(None, page.id)
    except MemstoreError as error:
        if isinstance(error, MemoryNotFound) or error.name == "scope_missing":
            return []
        raise


async def challenge(page: Page) -> Response:
    """Challenges one."""
    form, evidence = await page.form(), await _evidence(page)
    try:
        await page.store.challenge_memory(
            None,
            page.id,
            form.get("ground", ""),
            evidence_refs=evidence or None,
            id=given(form, "id"),
        )
    except MemstoreError as error:
        return await _claim(page, {**form, "form": "challenge"}, evidence, error)
    return to(f"/claims/{page.id}")


async def judge(page: Page) -> Response:
    """Records a verdict."""
    form = await page.form()
    try:
        await page.store.record_admission(
            None,
            page.id,
            form.get("verdict", ""),
            form.get("ground", ""),
            id=given(form, "id"),
        )
    except MemstoreError as error:
        return await _claim(page, {**form, "form": "verdict"}, None, error)
    # On to the next one, for who works through a part of the queue.
    status = given(form, "status")
    return to(f"/claims/queue?{urlencode({'status': status})}" if status else f"/claims/{page.id}")


async def refute(page: Page) -> Response:
    """Answers a challenge."""
    form = await page.form()
    try:
        await page.store.refute_challenge(
            None, form.get("challenge", ""), form.get("ground", ""), id=given(form, "id")
        )
    except MemstoreError as error:
        return await _claim(page, {**form, "form": form.get("challenge", "")}, None, error)
    return to(f"/claims/{page.id}")


async def promote(page: Page) -> Response:
    """Moves one to a knowledge base."""
    form, evidence = await page.form(), await _evidence(page)
    try:
        await page.store.promote_memory(None, page.id, form.get("stance", ""), evidence)
    except MemstoreError as error:
        return await _claim(page, {**form, "form": "promotion"}, evidence, error)
    return to("/claims/queue")


async def _evidence(page: Page) -> list[dict[str, object]]:
    parts = [await page.several(name) for name in ("evidence_kind", "evidence_ref", "evidence_digest")]
    return evidence_of(*parts)
