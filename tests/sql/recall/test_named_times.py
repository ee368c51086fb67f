"""The months and years that a turn names, and what they change."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.support import account_of, raw_insert, rows, value


@pytest.mark.parametrize(
    ("turn", "months", "years"),
    [
        ("What did Anna do in June?", [6], []),
        ("in JUNE or december 2024", [6, 12], [2024]),
        ("when did they meet in may", [5], []),
        ("since  March\n1999", [3], [1999]),
        ("from April to June, or between May and August", [4, 5, 6, 8], []),
        ("on May 23, 2023, and the 3rd of August", [5, 8], [2023]),
        ("before 7 May, last October, this June", [5, 6, 10], []),
        ("MARCH 2026 AND mid-april", [3, 4], [2026]),
        ("2025-06-01 and 2024-12", [6, 12], [2024, 2025]),
        ("2026 or 2026; 2025/2026", [], [2025, 2026]),
        ("September?", [9], []),
        # Words, names, and parts of others.
        ("May I ask? May I?", [], []),
        ("What may I do? A march on Bern. An august guest.", [], []),
        ("This may be; step 2 may fail; of 5 march", [], []),
        ("What did April give to June and August?", [], []),
        ("Juneau, Maya, Septembers, in Mayfair, Decemberish", [], []),
        # Months of other languages, but for those that are written as in English.
        ("Was war im Mai, im März und im November?", [11], []),
        ("en mayo, en mars, in marzo, в мае", [], []),
        # Numbers.
        ("20245, 1899, 2100, 12024 and 2024x", [], []),
        ("$2000, 2000 €, €2024, #2024, 2024%, 2,024, 2000.50 and v2024", [], [2000]),
        ("2024年6月", [], [2024]),
        ("2024-13 2024-0612", [], [2024]),
        ("x" * 512 + " in June 2024", [], []),
        (" in June 2024" * 200, [6], [2024]),
        ("", [], []),
    ],
)
def test_times_that_a_turn_names(
    db: psycopg.Connection, turn: str, months: list[int], years: list[int]
) -> None:
    assert rows(db, "select t.months, t.years from memstore.query_times(%s) t", turn) == [(months, years)]


def test_a_memory_of_the_month_comes_first(db: psycopg.Connection) -> None:
    """In UTC, whatever the session's zone; and only where the turn names one."""
    actor = account_of(db, "account-1")
    in_june = raw_insert(db, actor, "We met.", inserted_at="2024-06-30 23:59:59+00")
    in_july = raw_insert(db, actor, "We met again.", inserted_at="2024-07-01 00:00:00+00")
    db.execute("set time zone 'Asia/Tokyo'")
    for turn, first, share in (
        ("Who met in June 2024?", in_june, 0.4),
        ("Who met in July?", in_july, 0.4),
        ("Who met?", in_july, 0.4),
        ("Who met in June 2024?", in_july, 0.0),
    ):
        db.execute("select memstore.configure(time_share => %s)", [share])
        best = "select (memory).id from memstore.rank_memories(%s, %s) limit 1"
        assert value(db, best, actor, turn) == first, (turn, share)
