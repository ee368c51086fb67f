"""Each generated file is what would be written today."""

from __future__ import annotations

import psycopg
import pytest

from tests.generate import AGAIN, LISTS, PAGES, path_of


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == LISTS[name](), AGAIN


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, db: psycopg.Connection) -> None:
    assert path_of(name).read_text(encoding="utf-8") == PAGES[name](db), AGAIN
