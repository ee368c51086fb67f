"""Recall of a large account reads the operator's indexes, and gives what looking at each memory gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from memstore import schema
from tests.sql.ranking import (
    LABELS,
    LANGUAGES,
    START,
    WORDS,
    Memory,
    Shares,
    configure,
    exact_scores,
    first_of_each_body,
    is_named,
    lexemes,
    ranking_scores,
)
from tests.sql.support import account_of, call_one, raw_insert, rows, value

THRESHOLD = 5000
"""Live memories from which on an account's words are read from the indexes."""

INDEXES = ("memories_account_words_idx", "memories_account_sources_idx")


def install_option(db: psycopg.Connection) -> None:
    """What sql/options/large_accounts.sql does, statement by statement, as psql sends it."""
    text = (schema.sql_dir() / "options" / "large_accounts.sql").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("--", "\\"))]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            db.execute(statement.encode())


def at_threshold(db: psycopg.Connection, threshold: int) -> None:
    """Has the indexes read from so many memories on; the rest of the rule stays."""
    definition: str = value(db, "select pg_get_functiondef('memstore.words_are_indexed(uuid)'::regprocedure)")
    assert definition.count(f"< {THRESHOLD} ") == 1
    db.execute(definition.replace(f"< {THRESHOLD} ", f"< {threshold} ").encode())


@pytest.fixture
def large(db: psycopg.Connection) -> psycopg.Connection:
    """A store in which each account counts as large, and each word as rare."""
    install_option(db)
    at_threshold(db, 0)
    db.execute(
        "create or replace function memstore.words_are_rare("
        "actor uuid, query text, languages text[], counts bigint[]) returns boolean"
        " language sql stable return true"
    )
    return db


@contextmanager
def unindexed(db: psycopg.Connection) -> Iterator[None]:
    """No account counts as large meanwhile."""
    at_threshold_again = "create or replace function memstore.words_are_indexed(actor uuid) returns boolean"
    original = value(db, "select pg_get_functiondef('memstore.words_are_indexed(uuid)'::regprocedure)")
    db.execute(f"{at_threshold_again} language sql stable return false".encode())
    yield
    db.execute(original.encode())


class Told(NamedTuple):
    """What a recall says; of the memories their ids."""

    ids: list[UUID]
    dropped: int
    unembedded: int
    backend: str
    note: str | None


def told(db: psycopg.Connection, actor: UUID, query: str, **bounds: object) -> Told:
    row = call_one(db, "recall", actor=actor, query=query, **bounds)
    ids = [UUID(memory["id"]) for memory in row["memories"]]
    return Told(ids, row["dropped"], row["unembedded"], row["backend"], row["note"])


def scored(db: psycopg.Connection, actor: UUID, query: str, *, indexed: bool) -> dict[UUID, float]:
    """The scores above 0, read from the indexes or not."""
    function = sql.SQL(
        "score_indexed_memories(%(actor)s, %(query)s, c.languages, c.counts, null, null, false, false)"
        if indexed
        else "score_memories("
        "%(actor)s, %(query)s, null, null, c.languages, c.counts, null, null, false, false)"
    )
    found = db.execute(
        sql.SQL(
            "select s.id, s.score from memstore.count_candidates(%(actor)s, null, null) c, memstore.{} s"
        ).format(function),
        {"actor": actor, "query": query},
    )
    return {row: score for row, score in found if score > 0}


BLANK_TURNS = ["", " \n", "the", "-!|", "zebra"]
"""A turn of nothing, of stop words, of no words, and of one that no memory has."""

MEMORIES = st.lists(
    st.builds(
        Memory,
        language=st.sampled_from(LANGUAGES),
        bucket=st.sampled_from(["user", "learned", "learned"]),
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
        label=st.sampled_from(LABELS),
        age=st.integers(0, 2),
        source=st.sampled_from([None, None, "a", "b"]),
        superseded=st.sampled_from([False] * 5 + [True]),
    ),
    max_size=24,
)
TURNS = st.one_of(
    st.lists(st.sampled_from([*WORDS, "zebra"]), min_size=1, max_size=6).map(" ".join),
    st.sampled_from(BLANK_TURNS),
)
SHARES = st.sampled_from(
    [
        Shares(0, 0, 0, 0),
        Shares(0.6, 0.4, 0.4, 0.3),
        Shares(0, 1, 1, 1),
        Shares(1, 1, 0, 1),
        Shares(1e-9, 0, 0.5, 0),
    ]
)
COUNTS = [0, 1, 2, 8, 2**31 - 1]
SIZES = [0, 12, 40, 2**31 - 1]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    memories=MEMORIES,
    turn=TURNS,
    floor=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    shares=SHARES,
    one_source=st.booleans(),
)
def test_the_indexes_change_nothing(
    large: psycopg.Connection,
    memories: list[Memory],
    turn: str,
    floor: float,
    shares: Shares,
    one_source: bool,
) -> None:
    """Recall from the indexes, recall from each memory, and the rules read in Python say the same."""
    db = large
    with db.transaction(force_rollback=True):
        configure(db, floor, shares)
        # A source of several languages has its neighbours within each.
        if not one_source:
            memories = [m._replace(source=m.source and f"{m.source} {m.language}") for m in memories]
        actor = account_of(db, "large")
        for other in (actor, account_of(db, "other")):
            stored = {}
            for memory in memories:
                moment = START - timedelta(days=memory.age)
                replaced = {"superseded_at": moment} if memory.superseded else {}
                row = raw_insert(
                    db,
                    other,
                    memory.body,
                    language=memory.language,
                    bucket=memory.bucket,
                    source_ref=memory.source,
                    inserted_at=moment,
                    **replaced,
                )
                stored[row] = memory
            if other == actor:
                mine = stored
        assert value(db, "select memstore.words_are_indexed(%s)", actor)
        answers = [told(db, actor, turn, **bounds(n, size)) for n in COUNTS for size in SIZES]
        from_indexes = scored(db, actor, turn, indexed=True)
        with unindexed(db):
            assert not value(db, "select memstore.words_are_indexed(%s)", actor)
            assert answers == [told(db, actor, turn, **bounds(n, size)) for n in COUNTS for size in SIZES]
        assert from_indexes == pytest.approx(scored(db, actor, turn, indexed=False), rel=1e-12)

        live = {row: memory for row, memory in mine.items() if not memory.superseded}
        covered = {
            row: round(score, 6)
            for row, score in exact_scores(
                live,
                {row: set(lexemes(db, m.language, m.body)) for row, m in live.items()},
                {language: lexemes(db, language, turn) for language in LANGUAGES},
                shares,
            ).items()
        }
        named = {row for row, memory in live.items() if is_named(db, memory, turn)}
        scores = ranking_scores(live, covered, named, shares)

    eligible = [] if not turn.strip() else [r for r in live if live[r].bucket == "user" or covered[r] > floor]
    eligible.sort(key=lambda row: (-round(scores[row], 6), live[row].age, row))
    eligible = first_of_each_body(eligible, live)
    expected = []
    for n in COUNTS:
        for size in SIZES:
            left, ids = size, []
            for row in eligible[:n]:
                if len(live[row].body) <= left:
                    left -= len(live[row].body)
                    ids.append(row)
            expected.append((ids, len(eligible) - len(ids)))
    assert [(answer.ids, answer.dropped) for answer in answers] == expected


def bounds(memories: int, characters: int) -> dict[str, int]:
    return {"maximum_attached": memories, "maximum_attached_characters": characters}


def test_the_indexes_are_read_from_the_threshold_on(db: psycopg.Connection, account: UUID) -> None:
    db.execute("select memstore.set_maximum_live_memories(%s, 10000)", [account])
    db.execute(
        "insert into memstore.memories (user_id, body) select %s, 'memory ' || n"
        " from generate_series(1, %s) n",
        [account, THRESHOLD - 1],
    )
    indexed = "select memstore.words_are_indexed(%s)"
    assert value(db, indexed, account) is False
    raw_insert(db, account, "the last one")
    assert value(db, indexed, account) is False
    install_option(db)
    assert value(db, indexed, account) is True
    answer = told(db, account, "memory 77, the last one")
    assert answer.ids and answer.dropped == THRESHOLD - len(answer.ids)
    with unindexed(db):
        assert told(db, account, "memory 77, the last one") == answer
    for index in INDEXES:
        with db.transaction(force_rollback=True):
            db.execute(sql.SQL("drop index memstore.{}").format(sql.Identifier(index)))
            assert value(db, indexed, account) is False
            assert told(db, account, "memory 77, the last one") == answer
    db.execute("delete from memstore.memories where body = 'the last one'")
    assert value(db, indexed, account) is False


def scans(db: psycopg.Connection, actor: UUID, query: str) -> tuple[int, int]:
    """How often a recall has read each of the two indexes."""
    counts = (
        "select pg_stat_get_xact_numscans(to_regclass('memstore.' || i.name)) from unnest(%s::text[])"
        " with ordinality i (name, place) order by i.place"
    )
    with db.transaction():
        before = rows(db, counts, list(INDEXES))
        told(db, actor, query)
        after = rows(db, counts, list(INDEXES))
    words, sources = (now - then for (now,), (then,) in zip(after, before, strict=True))
    return words, sources


def test_common_words_are_read_without_the_indexes(db: psycopg.Connection, account: UUID) -> None:
    """Where one in fifteen memories has a word of the turn they are read, where one in fourteen has not."""
    install_option(db)
    db.execute("select memstore.set_maximum_live_memories(%s, 10000)", [account])
    db.execute(
        "insert into memstore.memories (user_id, body, language, source_ref)"
        " select %s, 'x' || case when n %% 15 = 0 then ' rare' else '' end"
        " || case when n %% 14 = 0 then ' common' else '' end,"
        " case when n %% 2 = 0 then 'german' else 'english' end, 'source ' || n / 8"
        " from generate_series(1, %s) n",
        [account, THRESHOLD],
    )
    turns = ("rare", "common", "rare and common", "nothing")
    assert [scans(db, account, turn)[1] > 0 for turn in turns] == [True, False, False, False]
    answers = [told(db, account, turn) for turn in turns]
    with unindexed(db):
        assert answers == [told(db, account, turn) for turn in turns]


def test_statistics_lead_to_no_other_index(db: psycopg.Connection, account: UUID) -> None:
    """Of a store whose other accounts have one memory each: before it was analyzed, and since."""
    install_option(db)
    db.execute("select memstore.set_maximum_live_memories(%s, 10000)", [account])
    db.execute(
        "insert into memstore.users (id) select gen_random_uuid() from generate_series(1, %s)", [THRESHOLD]
    )
    db.execute("insert into memstore.memories (user_id, body) select id, 'other' from memstore.users")
    db.execute("vacuum analyze")
    db.execute(
        "insert into memstore.memories (user_id, body, source_ref)"
        " select %s, 'note ' || n, 'source ' || n / 8 from generate_series(1, %s) n",
        [account, THRESHOLD],
    )
    for statement in ("select", "vacuum analyze"):
        db.execute(statement)
        # Once to see that the words are rare, and once to read the memories that have them.
        assert scans(db, account, "77") == (2, 1)


def test_indexes_of_earlier_versions_go(db: psycopg.Connection) -> None:
    for index in ("memories_words_idx", "memories_sources_idx"):
        db.execute(f"create index {index} on memstore.memories (user_id)".encode())
    install_option(db)
    assert not value(
        db, "select count(*) from pg_class where relname in ('memories_words_idx', 'memories_sources_idx')"
    )


def test_the_option_can_be_repeated(large: psycopg.Connection) -> None:
    found = "select count(*) from pg_index where indexrelid::regclass::text = any (%s) and indisvalid"
    names = [f"memstore.{index}" for index in INDEXES]
    assert value(large, found, names) == len(INDEXES)
    install_option(large)
    assert value(large, found, names) == len(INDEXES)
    # Nothing else is altered than what the fixture replaced.
    assert {name for _, name, _ in rows(large, "select * from memstore.altered_objects()")} == {
        "words_are_indexed(uuid)",
        "words_are_rare(uuid,text,text[],bigint[])",
    }
