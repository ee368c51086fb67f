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
        ("May I ask? May I?", [], []),
        ("What may I do? A march on Bern.", [], []),
        ("What was it in May", [5], []),
        ("since  March\n1999", [3], [1999]),
        ("Juneau, 20245, 1899 and 2100", [], []),
        ("2025-06-01", [], [2025]),
        ("x" * 512 + " in June 2024", [], []),
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
