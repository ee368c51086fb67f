"""System recall by meaning: the signs of embeddings, the nearest by them, and their scores."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import sqrt
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from memstore import schema
from tests.databases import empty_database
from tests.sql import model
from tests.sql.support import EVIDENCE, SYSTEM, account_of, rows, steward_of, value
from tests.sql.world import World, at, check

if TYPE_CHECKING:
    from tests.servers import Server

NEAREST = 320
WIDTH = 24


@pytest.fixture
def world(scratch: psycopg.Connection) -> World:
    scratch.execute("select memstore.configure(system_recall_enabled => true)")
    return World(scratch)


def signs(db: psycopg.Connection) -> dict[UUID, tuple[str, str]]:
    """What is kept of each claim, checked against what it follows from."""
    check(db)
    return {
        claim: (name, bits)
        for claim, name, bits in rows(
            db, "select memory_id, embedding_model, signs::text from memstore.claim_signs"
        )
    }


@pytest.mark.parametrize(
    "embedding, expected",
    [
        ("'{1,-1,0,-0,1e-6,-1e-6}'", "100010"),
        ("'{-1}'", "0"),
        ("array_fill(1::real, array[16000])", "1" * 16000),
        ("null", None),
    ],
)
def test_the_signs_of_an_embedding(scratch: psycopg.Connection, embedding: str, expected: str | None) -> None:
    assert value(scratch, f"select memstore.sign_bits({embedding}::real[])::text") == expected


# What is kept.


def test_a_claim_has_signs_while_it_is_admitted_and_live(world: World) -> None:
    claim = world.claim(embedding=[1.0, -1.0], embedding_model="model")
    assert signs(world.db) == {}
    world.verdict(claim)
    assert signs(world.db) == {claim: ("model", "10")}
    challenge = world.challenge(claim)
    assert signs(world.db) == {}
    world.refute(challenge)
    assert signs(world.db) == {claim: ("model", "10")}
    world.verdict(claim, "rejected")
    assert signs(world.db) == {}
    world.verdict(claim)
    world.correct(claim, "author")
    assert signs(world.db) == {}


def test_a_claim_without_an_embedding_has_none(world: World) -> None:
    world.admitted(2)
    assert signs(world.db) == {}


def set_embedding(world: World, claim: UUID, embedding: list[float] | None, name: str | None) -> None:
    world.do("set_embedding", "author", id=claim, embedding=embedding, embedding_model=name)


def update(world: World, claim: UUID, embedding: list[float] | None, name: str | None) -> None:
    world.db.execute(
        "update memstore.memories set embedding = %s, embedding_model = %s where id = %s",
        [embedding, name, claim],
    )


@pytest.mark.parametrize("change", [set_embedding, update])
def test_signs_follow_the_embedding(world: World, change: Callable[..., None]) -> None:
    (claim,) = world.admitted(1)
    for embedding, name, bits in (
        ([1.0, -1.0], "model", "10"),
        ([-1.0, 1.0], "model", "01"),
        ([-1.0, 1.0], "another", "01"),
        ([-1.0, 1.0, 1.0], "wider", "011"),
    ):
        change(world, claim, embedding, name)
        assert signs(world.db) == {claim: (name, bits)}
    change(world, claim, None, None)
    assert signs(world.db) == {}
    world.db.execute("select memstore.forget_embedding_model('wider')")


def test_an_embedding_before_the_admission_counts(world: World) -> None:
    claim = world.claim(embedding=[1.0, -1.0], embedding_model="model")
    set_embedding(world, claim, [-1.0, 1.0], "model")
    world.verdict(claim)
    assert signs(world.db) == {claim: ("model", "01")}


def test_many_embeddings_change_in_one_turn(world: World) -> None:
    world.admitted(3)
    changes = "select changes from memstore.claim_counter"
    before = value(world.db, changes)
    world.db.execute("update memstore.memories set embedding = '{1, -1}', embedding_model = 'model'")
    assert value(world.db, changes) == before + 1
    assert set(signs(world.db).values()) == {("model", "10")}
    world.db.execute("update memstore.memories set embedding = '{1, -1}', updated_at = clock_timestamp()")
    assert value(world.db, changes) == before + 1


def test_an_embedding_of_an_account_s_own_memory_takes_no_turn(world: World) -> None:
    world.memory("author")
    before = value(world.db, "select changes from memstore.claim_counter")
    world.db.execute("update memstore.memories set embedding = '{1, -1}', embedding_model = 'model'")
    assert value(world.db, "select changes from memstore.claim_counter") == before


@pytest.mark.parametrize(
    "statement", ["select memstore.delete_user(%s)", "select memstore.delete_memory(%s, %s)"]
)
def test_signs_go_with_their_claim(world: World, statement: str) -> None:
    claim = world.claim(embedding=[1.0, -1.0], embedding_model="model")
    world.verdict(claim)
    world.db.execute(statement.encode(), [world.account("author"), claim][: statement.count("%s")])
    assert signs(world.db) == {}


# What is found.


def cosine(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def bulk(db: psycopg.Connection, claims: list[tuple[Any, ...]]) -> None:
    """Admits claims: id, author, body, when it was written, embedding, model."""
    with db.cursor() as cursor:
        cursor.executemany(
            "insert into memstore.memories (id, user_id, body, language, bucket, slug, tier, as_of,"
            " admission, evidence_refs, inserted_at, updated_at, embedding, embedding_model)"
            " values (%s, %s, %s, 'simple', 'system', 'sys:x', 'glass', '2026-01-02', 'candidate',"
            " %s, %s, %s, %s, %s)",
            [
                (i, author, body, Jsonb([EVIDENCE]), when, when, e, m)
                for i, author, body, when, e, m in claims
            ],
        )
    db.execute(
        "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
        " select id, %s, 'admission', 'admitted', 'yes' from memstore.memories where bucket = 'system'",
        [steward_of(db, "steward")],
    )


def add_pgvector(db: psycopg.Connection) -> None:
    """Compare embeddings and signs through it from now on."""
    if not rows(db, "select from pg_available_extensions where name = 'vector'"):
        pytest.skip("no pgvector")
    db.execute("create extension vector")
    db.execute("select memstore.compile_scores()")


@pytest.mark.parametrize("pgvector", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_nearest_by_signs_are_compared_in_full(world: World, seed: int, pgvector: bool) -> None:
    """Against the definition in Python: ties at the border, words beyond it, other models and widths."""
    if pgvector:
        add_pgvector(world.db)
    world.db.execute("select memstore.configure(maximum_system_pool => 2000, semantic_floor => 0.1)")
    chance = random.Random(seed)
    authors = [world.account(f"author-{n}") for n in range(700)]

    def draw(width: int) -> list[float]:
        return [chance.gauss(0, 1) for _ in range(width)]

    turn = draw(WIDTH)
    claims = []
    for number, author in enumerate(authors):
        name, width = chance.choices([("model", WIDTH), ("another", WIDTH), ("wider", WIDTH + 1)], [8, 1, 1])[
            0
        ]
        body = "alpha" if number % 50 == 0 else "omega"
        # Few moments, so that the order among equals comes down to ids.
        claims.append((UUID(int=chance.getrandbits(128)), author, body, at(number % 3), draw(width), name))
    bulk(world.db, claims)
    assert signs(world.db).keys() == {claim[0] for claim in claims}

    def differing(embedding: list[float]) -> int:
        return sum((x > 0) != (y > 0) for x, y in zip(embedding, turn, strict=True))

    comparable = [c for c in claims if c[5] == "model"]
    by_distance = sorted(comparable, key=lambda c: (differing(c[4]), -c[3].timestamp(), c[0]))
    assert differing(by_distance[NEAREST - 1][4]) == differing(by_distance[NEAREST][4])
    near = {claim[0] for claim in by_distance[:NEAREST]}
    expected = [
        model.Claim(
            claim[0],
            claim[1],
            frozenset([claim[2]]),
            claim[3],
            similarity=cosine(claim[4], turn)
            if claim[5] == "model" and (claim[0] in near or claim[2] == "alpha")
            else None,
        )
        for claim in claims
    ]
    assert any(c.words == {"alpha"} and c.similarity and c.id not in near for c in expected)
    score = model.ranked(["alpha"], expected, (0, 0.1), hybrid=True)
    pool = model.pool(list(score), 2000)
    found = rows(
        world.db,
        "select (memory).id, score, semantic_score"
        " from memstore.rank_claims(%s, 'alpha', %s::real[], 'model')",
        world.account("reader"),
        turn,
    )
    assert [claim for claim, _, _ in found] == [claim.id for claim in pool]
    for (_, told, semantic), claim in zip(found, pool, strict=True):
        assert told == pytest.approx(score[claim], abs=2e-6)
        expected_semantic = None if claim.similarity is None else max(claim.similarity, 0)
        assert semantic == pytest.approx(expected_semantic, abs=2e-6)


@pytest.mark.parametrize("pgvector", [False, True])
@pytest.mark.parametrize("embedding, name", [([1.0, 0.0, 0.0], "model"), ([1.0, 0.0], "another")])
def test_what_cannot_be_compared_is_found_by_words(
    world: World, embedding: list[float], name: str, pgvector: bool
) -> None:
    if pgvector:
        add_pgvector(world.db)
    claim = world.claim(embedding=[1.0, 0.0], embedding_model="model", body="alpha", language="simple")
    world.verdict(claim)
    found = (
        "select (memory).id, lexical_score, semantic_score from memstore.rank_claims(%s, %s, %s::real[], %s)"
    )
    reader = world.account("reader")
    assert rows(world.db, found, reader, "alpha", embedding, name) == [(claim, 1.0, None)]
    assert rows(world.db, found, reader, "beta", embedding, name) == []


def test_a_pgvector_without_a_distance_of_bits_is_not_asked_for_it(scratch: psycopg.Connection) -> None:
    """Before 0.7.0."""
    compiled = "select pg_get_functiondef(oid) ~ '<~>' from pg_proc where proname = 'nearest_claims'"
    assert not value(scratch, compiled)
    add_pgvector(scratch)
    assert value(scratch, compiled)
    scratch.execute("alter extension vector drop operator <~> (bit, bit)")
    scratch.execute("select memstore.compile_scores()")
    assert not value(scratch, compiled)


def test_an_account_has_its_share_of_the_claims_considered(world: World) -> None:
    """Many of one account, and one of another that is as near."""
    flood, other = world.account("flood"), world.account("other")
    bulk(
        world.db,
        [
            (UUID(int=n + 1), other if n == 5 else flood, "omega", at(n % 7), [1.0, 0.1], "model")
            for n in range(NEAREST)
        ],
    )
    found = rows(
        world.db,
        "select (memory).user_id from memstore.rank_claims(%s, 'alpha', '{1, 0.1}', 'model')",
        world.account("reader"),
    )
    assert sorted(found) == sorted([(flood,)] * 10 + [(other,)])


# In a store of many claims.

MANY = 9_000


@pytest.fixture(scope="module")
def large(server: Server) -> Iterator[str]:
    with empty_database(server) as conninfo:
        schema.migrate(conninfo)
        with psycopg.connect(conninfo, autocommit=True) as db:
            db.execute("select memstore.configure(system_recall_enabled => true)")
            db.execute("set jit = off")
            author = account_of(db, "author")
            db.execute("select memstore.set_maximum_live_memories(%s, 100000)", [author])
            rows(
                db,
                "insert into memstore.memories (user_id, body, bucket, slug, tier, as_of, admission,"
                " evidence_refs, embedding, embedding_model)"
                " select %s, 'Claim ' || n, 'system', 'sys:x', 'glass', '2026-01-02', 'candidate', %s,"
                " array(select sin(n * 7919.0 * g) from generate_series(1, 32) g)::real[], 'model'"
                " from generate_series(1, %s::integer) n",
                author,
                Jsonb(SYSTEM["evidence_refs"]),
                MANY,
            )
            rows(
                db,
                "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
                " select id, %s, 'admission', 'admitted', 'yes' from memstore.memories",
                steward_of(db, "steward"),
            )
        yield conninfo


TURN = "array(select cos(g * 1.5) from generate_series(1, 32) g)::real[]"
COUNTED = """
select relname, seq_tup_read, coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
where schemaname = 'memstore' and relname in ('memories', 'admitted_claims', 'claim_signs') order by 1
"""


@pytest.mark.parametrize("words", ["claim", "claim 17", "nothing"])
@pytest.mark.parametrize("statistics", [False, True])
def test_a_turn_reads_the_signs_and_few_rows(large: str, statistics: bool, words: str) -> None:
    with psycopg.connect(large, autocommit=True) as db:
        if statistics:
            db.execute("vacuum analyze")
        reader = account_of(db, "reader")
        for _ in range(7):
            with db.transaction(force_rollback=True):
                before = rows(db, COUNTED)
                rows(db, f"select * from memstore.rank_claims(%s, %s, {TURN}, 'model')", reader, words)
                after = rows(db, COUNTED)
        read = {
            name: (whole - whole_before, fetched - fetched_before)
            for (name, whole, fetched), (_, whole_before, fetched_before) in zip(after, before, strict=True)
        }
        # By words 800; by meaning 320; the pool's 40.
        assert read["memories"][0] == read["admitted_claims"][0] == 0
        assert read["memories"][1] <= 800 + NEAREST + 40
        assert read["admitted_claims"][1] <= 800
        # All once, and a sample of their pages.
        assert MANY <= read["claim_signs"][0] <= 1.2 * MANY and read["claim_signs"][1] == 0


@pytest.mark.parametrize("pgvector", [False, True])
def test_the_bound_leaves_none_of_the_nearest_out(large: str, pgvector: bool) -> None:
    """Wherever the rows lie: the sample is of their pages."""
    nearest = (
        "select s.memory_id from memstore.claim_signs s order by"
        f" bit_count(s.signs # memstore.sign_bits({TURN})), s.inserted_at desc, s.memory_id limit {NEAREST}"
    )
    found = "select (memory).id, score from memstore.rank_claims(%s, 'nothing', " + TURN + ", 'model')"
    with psycopg.connect(large, autocommit=True) as db, db.transaction(force_rollback=True):
        if pgvector:
            add_pgvector(db)
        db.execute("select memstore.configure(maximum_system_pool => 100000, semantic_floor => 0)")
        reader = account_of(db, "reader")
        sampled = "select count(*) from memstore.claim_signs tablesample system (5) repeatable (0)"
        assert value(db, sampled) > NEAREST
        expected = rows(
            db,
            "select s.id from memstore.similarities("
            f"array({nearest}), {TURN}, 'model') s where round(1e6 * s.similarity) > 0",
        )
        before = rows(db, found, reader)
        # One account has a quarter of the places.
        assert len(before) == -(-len(expected) // 4)
        assert {claim for claim, _ in before} <= {claim for (claim,) in expected}
        db.execute("create temporary table moved on commit drop as table memstore.claim_signs")
        db.execute("delete from memstore.claim_signs")
        db.execute("insert into memstore.claim_signs select * from moved order by signs")
        assert rows(db, found, reader) == before


@pytest.mark.parametrize("pgvector", [False, True])
def test_what_is_as_far_as_the_bound_is_among_the_nearest(large: str, pgvector: bool) -> None:
    """All are as far as any can be."""
    with psycopg.connect(large, autocommit=True) as db, db.transaction(force_rollback=True):
        if pgvector:
            add_pgvector(db)
        db.execute(f"update memstore.claim_signs set signs = ~ memstore.sign_bits({TURN})")
        nearest = f"select count(*) from memstore.nearest_claims({TURN}, 'model', {NEAREST})"
        assert value(db, nearest) == NEAREST
