"""similar_memories: what a new body may correct or repeat."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.recall.test_large_accounts import large
from tests.sql.support import account_of, insert, raw_insert, refused, rows, value

__all__ = ["large"]

_SIMILAR = (
    "select (memory).body, score, identical"
    " from memstore.similar_memories(%s, %s, %s::real[], %s, %s::text[], %s, %s)"
)


def similar(
    db: psycopg.Connection,
    account: UUID,
    body: str | None,
    embedding: list[float] | None = None,
    scopes: list[str] | None = None,
    filter: str | None = None,
    maximum: int | None = 3,
) -> list[tuple[Any, ...]]:
    return rows(db, _SIMILAR, account, body, embedding, embedding and "m", scopes, filter, maximum)


def test_the_score_is_that_of_rank_memories_without_shares(undone: psycopg.Connection, holder: UUID) -> None:
    """And neither neighbours, label nor source count, whatever the settings."""
    for number, body in enumerate(["npm: alpha beta", "beta", "gamma", "delta alpha"]):
        raw_insert(
            undone,
            holder,
            body,
            bucket=["user", "learned"][number % 2],
            source_ref="s",
            embedding=[1, number],
            embedding_model="m",
        )
    undone.execute("select memstore.configure(score_share => 1, user_floor => 1)")
    answers = []
    for shares in (0.9, 0):
        undone.execute(
            "select memstore.configure(previous_share => %s, next_share => %s, speaker_share => %s,"
            " source_share => %s)",
            [shares] * 4,
        )
        for embedding in (None, [1.0, 0.5]):
            answers.append(similar(undone, holder, "npm alpha", embedding))
            ranked = rows(
                undone,
                "select (memory).body, score from memstore.rank_memories(%s, 'npm alpha', %s::real[], 'm')"
                " where score >= %s limit 3",
                holder,
                embedding,
                0.35 if embedding else 0.25,
            )
            if shares == 0:
                assert [(body, score) for body, score, _ in answers[-1]] == ranked
    assert answers[:2] == answers[2:]
    assert [len(answer) for answer in answers[:2]] == [2, 3]


@pytest.mark.parametrize(("cosine", "found"), [(0.88, True), (0.87, False)])
def test_the_floor_with_an_embedding(
    scratch: psycopg.Connection, holder: UUID, cosine: float, found: bool
) -> None:
    raw_insert(scratch, holder, "y", embedding=[cosine, (1 - cosine**2) ** 0.5], embedding_model="m")
    assert bool(similar(scratch, holder, "x", [1, 0])) is found


@pytest.mark.parametrize(
    ("body", "cosine", "found"),
    [
        ("alpha beta gamma", 0.39, False),
        ("alpha beta gamma", 0.41, True),
        ("alpha beta", 0.2, True),
        ("beta gamma delta", 0.41, False),
    ],
)
def test_a_word_that_both_have_is_not_enough(
    scratch: psycopg.Connection, holder: UUID, body: str, cosine: float, found: bool
) -> None:
    """A third of the words isn't, without a meaning that is near; half of them is."""
    embedding = [cosine, (1 - cosine**2) ** 0.5]
    raw_insert(scratch, holder, "alpha epsilon", embedding=embedding, embedding_model="m")
    raw_insert(scratch, holder, "beta", embedding=[-1, 0], embedding_model="m")
    raw_insert(scratch, holder, "gamma", embedding=[-1, 0], embedding_model="m")
    bodies = {each for each, *_ in similar(scratch, holder, body, [1, 0])}
    assert ("alpha epsilon" in bodies) is found


def test_what_has_no_embedding_that_compares_needs_words_alone(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    raw_insert(scratch, holder, "alpha beta", embedding=[0, 1], embedding_model="other")
    raw_insert(scratch, holder, "alpha gamma")
    raw_insert(scratch, holder, "alpha delta", embedding=[0, 1], embedding_model="m")
    raw_insert(scratch, holder, "zeta")
    found = {body for body, *_ in similar(scratch, holder, "alpha epsilon", [1, 0])}
    assert found == {"alpha beta", "alpha gamma"} or not found
    assert {body for body, *_ in similar(scratch, holder, "alpha", [1, 0])} == found | {
        "alpha beta",
        "alpha gamma",
        "alpha delta",
    }


def by_words(db: psycopg.Connection, account: UUID, body: str) -> list[str]:
    """The bodies with a lexical score of at least 0.25, in a store without neighbours."""
    return [
        found
        for (found,) in rows(
            db,
            "select (memory).body from memstore.rank_memories(%s, %s) where lexical_score >= 0.25"
            " order by lexical_score desc, (memory).inserted_at desc, (memory).id",
            account,
            body,
        )
    ]


def test_the_floor_without_an_embedding(scratch: psycopg.Connection, holder: UUID) -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    for number in range(1, 8):
        insert(scratch, holder, " ".join(words[:number]))
    numbers = set()
    for first in range(8):
        body = " ".join(words[first:] + ["zebra"] * (first % 2))
        expected = by_words(scratch, holder, body)
        numbers.add(len(expected))
        assert [found for found, *_ in similar(scratch, holder, body, maximum=9)] == expected
    assert len(numbers) > 2


def test_identical_bodies_come_first_and_need_no_score(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "the of", source_ref="a")
    insert(scratch, holder, "the of", bucket="learned")
    insert(scratch, holder, "the of", scope="project:x")
    raw_insert(scratch, holder, "the of", superseded_at="9999-01-01")
    assert similar(scratch, holder, "\tthe of ") == [("the of", 0, True)] * 3
    assert similar(scratch, holder, "the of", [1, 0]) == [("the of", 0, True)] * 3
    assert similar(scratch, holder, "the of", scopes=[]) == [("the of", 0, True)] * 2
    insert(scratch, holder, "alpha")
    insert(scratch, holder, "alpha beta")
    assert similar(scratch, holder, "alpha", maximum=1) == [("alpha", 1, True)]
    assert [identical for *_, identical in similar(scratch, holder, "alpha")] == [True, False]


def test_what_is_narrowed_away_is_absent(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha beta", scope="project:x")
    insert(scratch, holder, "alpha beta gamma", scope="project:y", metadata={"k": 1})
    insert(scratch, holder, "alpha")
    bodies = {
        narrow: {body for body, *_ in similar(scratch, holder, "alpha", scopes=scopes, filter=filter)}
        for narrow, scopes, filter in (
            ("x", ["project:x"], None),
            ("y", ["project:y"], None),
            ("none", [], None),
            ("k", None, '{"k": 1}'),
        )
    }
    assert bodies == {
        "x": {"alpha beta", "alpha"},
        "y": {"alpha beta gamma", "alpha"},
        "none": {"alpha"},
        "k": {"alpha beta gamma"},
    }


def test_claims_and_superseded_memories_are_none(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_insert(scratch, holder, "alpha", superseded_at="9999-01-01")
    insert(
        scratch,
        holder,
        "alpha",
        bucket="system",
        slug="sys:a",
        tier="glass",
        as_of="2026-01-01",
        admission="candidate",
        evidence_refs=[{"kind": "url", "ref": "r", "digest": "d"}],
    )
    assert similar(scratch, holder, "alpha") == []


@pytest.mark.parametrize("body", [None, "", " \n", "x" * 3000])
def test_any_body_may_be_asked_for(scratch: psycopg.Connection, holder: UUID, body: str | None) -> None:
    insert(scratch, holder, "alpha")
    assert similar(scratch, holder, body) == []


def test_maximum(undone: psycopg.Connection, holder: UUID) -> None:
    for number in range(5):
        insert(undone, holder, f"alpha {number}")
    for maximum, most in ((0, 0), (1, 1), (4, 4), (9, 5), (None, 3)):
        assert len(similar(undone, holder, "alpha", maximum=maximum)) == most
    with refused("argument_invalid", "maximum", "MS012"):
        similar(undone, holder, "alpha", maximum=-1)
    with refused("argument_invalid", "filter", "MS012"):
        similar(undone, holder, "alpha", filter='{"$or": 1}')


def test_the_operators_indexes_change_no_answer(large: psycopg.Connection) -> None:
    large.execute("select memstore.configure(maximum_live_memories => 5000)")
    account = account_of(large, "a")
    large.execute(
        "insert into memstore.memories (user_id, body) select %s, 'note ' || n || ' of topic ' || n %% 7"
        " from generate_series(1, 2000) n",
        [account],
    )
    assert value(large, "select memstore.words_are_indexed(%s)", account)
    for body, number in (("note 17 of topic 3", 3), ("Topic 3?", 9), ("1999", 1), ("zebra", 0)):
        found = [each for each, *_ in similar(large, account, body, maximum=9)]
        assert found == by_words(large, account, body)[:9]
        assert len(found) >= min(number, 1)
