"""Of the tests that run in the peers' environment: a store, and an account of each test's own."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from memstore import AsyncStore, Store

URL = os.environ["MEMSTORE_PEERS_URL"]


@pytest.fixture
def url() -> str:
    return URL


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(URL) as store:
        yield store


@pytest.fixture
async def async_store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore(URL) as store:
        yield store


@pytest.fixture
def customer() -> str:
    return f"customer-{uuid.uuid4().hex[:12]}"
