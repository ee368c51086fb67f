"""0012: the shares that a store has by default follow the defaults, those that somebody chose stay."""

from __future__ import annotations

import psycopg
import pytest

from memstore import schema
from tests.upgrades.stores import apply_up_to

BEFORE = "0011-text-search-comments"


@pytest.mark.parametrize(
    ("had", "has"),
    [((0.5, 0.1), (0.6, 0.4)), ((0.7, 0.1), (0.7, 0.4)), ((0.5, 0), (0.6, 0)), ((0, 0.5), (0, 0.5))],
)
def test_shares_of_a_store_that_is_upgraded(
    database: str, had: tuple[float, float], has: tuple[float, float]
) -> None:
    apply_up_to(database, BEFORE)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("update memstore.settings set previous_share = %s, next_share = %s", had)
        schema.migrate(database)
        found = db.execute(
            "select previous_share, next_share, speaker_share, source_share from memstore.settings"
        ).fetchall()
    assert found == [(*has, 0.4, 0.3)]
