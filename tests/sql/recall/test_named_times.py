"""The months and years that a turn names, and what they change."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

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


RANKED = "select (memory).id, score from memstore.rank_memories(%s, %s)"


def test_memories_of_one_time_rank_as_without(db: psycopg.Connection) -> None:
    """As what was imported without its times; the scores, too, where all are of what is named."""
    actor = account_of(db, "account-1")
    for body in ("We met in Bern.", "Anna met Tom", "Tom is here", "nothing"):
        raw_insert(db, actor, body, inserted_at="2026-05-01 00:00:00+00", source_ref=body[:4])
    for turn, factor in (("Who met Tom in May 2026?", 1), ("Who met Tom in 2025?", 1.4)):
        dated = rows(db, RANKED, actor, turn)
        db.execute("select memstore.configure(time_share => 0)")
        plain = rows(db, RANKED, actor, turn)
        db.execute("select memstore.configure(time_share => 0.4)")
        assert len(plain) == 4 and [row for row, _ in dated] == [row for row, _ in plain]
        assert [score for _, score in dated] == pytest.approx(
            [score / factor for _, score in plain], abs=1e-6
        )


def test_scores_stay_below_1_and_superseded_memories_change_none(db: psycopg.Connection) -> None:
    actor = account_of(db, "account-1")
    db.execute("select memstore.configure(time_share => 1, source_share => 1, speaker_share => 1)")
    live = raw_insert(db, actor, "Anna: we met in June", inserted_at="2024-06-01", source_ref="a")
    raw_insert(db, actor, "Anna: we met in July", inserted_at="2024-07-01", source_ref="a")
    turn = "Where did Anna and we met in June 2024?"
    before = rows(db, RANKED, actor, turn)
    assert before[0][0] == live and all(0 < score <= 1 for _, score in before)
    raw_insert(
        db,
        actor,
        "Anna: we met in June",
        inserted_at="2024-06-02",
        superseded_at="2024-08-01",
        source_ref="a",
    )
    assert rows(db, RANKED, actor, turn) == before
    everything = rows(
        db,
        "select (memory).id, score, eligible from memstore.rank_memories(%s, %s, include_superseded => true)",
        actor,
        turn,
    )
    assert len(everything) == 3 and {(row, score) for row, score, _ in everything} >= set(before)
    assert [eligible for _, _, eligible in everything].count(True) == 2


@pytest.mark.parametrize(
    "read",
    [
        "select (memory).id, score from memstore.similar_memories(%s, 'We met in June 2024')",
        "select (item).key, score from memstore.search_items(%s, query => 'We met in June 2024')",
    ],
)
def test_what_compares_texts_takes_no_notice_of_times(db: psycopg.Connection, read: str) -> None:
    actor = account_of(db, "account-1")
    raw_insert(db, actor, "We met in July 2024", inserted_at="2024-06-01")
    raw_insert(db, actor, "We met in June 2024.", inserted_at="2024-07-01")
    db.execute(
        "select memstore.put_items(%s, %s)",
        [
            actor,
            Jsonb([{"namespace": ["a"], "key": key, "value": {"text": f"We met in {key}"}} for key in "xy"]),
        ],
    )
    answers = []
    for share in (0, 1):
        db.execute("select memstore.configure(time_share => %s)", [share])
        answers.append(rows(db, read, actor))
    assert answers[0] == answers[1] and answers[0]
