"""Concurrent writers: real connections, started together, and never a wrong state whatever their order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.types.json import Jsonb

from tests.databases import long_but
from tests.sql.racing import Connect, Work, at_once
from tests.sql.support import (
    SYSTEM,
    account_of,
    insert,
    live_count,
    raw_insert,
    refused,
    rows,
    steward_of,
    supersede,
    value,
)

ISOLATIONS = [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE]
# What a caller at these levels repeats the transaction for; a deadlock is none of it.
SERIALIZATION_FAILURE = "40001"


def hammer(
    connect: Connect, rounds: int, *work: Work, isolation: IsolationLevel | None = None
) -> Counter[Any]:
    """Each repeats its call in its own connection; what came back: errors by name, and the rest as ok."""

    def repeat(function: Work) -> Work:
        def many(connection: psycopg.Connection) -> Counter[Any]:
            seen: Counter[Any] = Counter()
            for _ in range(rounds):
                try:
                    function(connection)
                    seen["ok"] += 1
                except psycopg.Error as error:
                    seen[error.diag.constraint_name or error.diag.sqlstate] += 1
            return seen

        return many

    total: Counter[Any] = Counter()
    for seen in at_once(connect, *map(repeat, work), isolation=isolation):
        total += seen
    return total


def assert_sound(db: psycopg.Connection) -> None:
    """What holds whatever the order: counts, ceilings, chains without forks or loops, statuses, models."""
    assert not rows(
        db,
        "select u.id, u.live_memories, m.count from memstore.users u cross join lateral ("
        "  select count(*) from memstore.memories m"
        "  where m.user_id = u.id and m.superseded_at is null and not m.promoted) m"
        " where u.live_memories <> m.count",
    )
    assert not rows(
        db,
        "select from memstore.verify_store() where invariant = 'candidates' and violations > 0",
    )
    assert not rows(
        db,
        "with recursive chain as ("
        "  select id as first, id, superseded_by_id from memstore.memories"
        "  union all"
        "  select c.first, m.id, m.superseded_by_id from chain c"
        "  join memstore.memories m on m.id = c.superseded_by_id"
        ") cycle id set looped using path select first from chain where looped",
    )
    assert not rows(
        db,
        "select o.id from memstore.memories o join memstore.memories n on n.id = o.superseded_by_id"
        " where n.superseded_at <= o.superseded_at"
        " or n.user_id <> o.user_id and o.bucket <> 'system'",
    )
    assert not rows(
        db,
        "select from memstore.memories m left join memstore.users u on u.id = m.user_id where u.id is null",
    )
    assert not rows(
        db,
        "select d.memory_id from memstore.derive_statuses() d"
        " left join memstore.claim_statuses s on s.memory_id = d.memory_id"
        " where d.status <> coalesce(s.status, 'candidate')",
    )
    assert not rows(
        db,
        "select m.id from memstore.memories m join memstore.embedding_models e on e.name = m.embedding_model"
        " where cardinality(m.embedding) <> e.dimensions",
    )


@pytest.fixture(autouse=True)
def sound_afterwards(db: psycopg.Connection) -> Iterator[None]:
    yield
    assert_sound(db)


@pytest.fixture(params=long_but(ISOLATIONS[0], ISOLATIONS), ids=lambda level: level.name.lower())
def isolation(request: pytest.FixtureRequest) -> IsolationLevel:
    level: IsolationLevel = request.param
    return level


def allowed(isolation: IsolationLevel, *others: str) -> set[str]:
    """The errors that may come back at this level."""
    return {*others, *([] if isolation == IsolationLevel.READ_COMMITTED else [SERIALIZATION_FAILURE])}


def names(outcomes: list[Any]) -> set[Any]:
    return {outcome for outcome in outcomes if isinstance(outcome, str)}


DELETE = "select memstore.delete_memory(%s, %s)"
ERASE = "select memstore.delete_user(%s)"
MERGE = "select memstore.supersede_with(%s, %s, %s)"
EVIDENCE = Jsonb(SYSTEM["evidence_refs"])


def run(query: str, *params: object) -> Work:
    return lambda connection: rows(connection, query, *params)


def writing(account: UUID, body: str | None = None, **fields: object) -> Work:
    """Another body each time, unless it is given."""
    return lambda connection: insert(connection, account, body or str(uuid4()), **fields)["id"]


def correcting(account: UUID, target: UUID, body: str = "y", **fields: object) -> Work:
    return lambda connection: supersede(connection, account, target, body, **fields)["id"]


def correcting_claim(account: UUID, target: UUID) -> Work:
    return correcting(account, target, evidence_refs=SYSTEM["evidence_refs"])


def claims(db: psycopg.Connection, first: UUID, *others: UUID) -> list[UUID]:
    """A chain of claims, each by another account than the one before."""
    chain = [insert(db, first, "x", **SYSTEM)["id"]]
    for account in others:
        chain.append(supersede(db, account, chain[-1], "y", evidence_refs=SYSTEM["evidence_refs"])["id"])
    return chain


def any_id(connection: psycopg.Connection, choose: random.Random, where: str, *params: object) -> UUID:
    ids = rows(connection, f"select id from memstore.memories where {where} order by id", *params)
    memory: UUID = choose.choice(ids)[0] if ids else uuid4()
    return memory


class TestInsert:
    def test_the_ceiling(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        db.execute("select memstore.set_maximum_live_memories(%s, 5)", [account])
        outcomes = at_once(connect, *[writing(account)] * 20, isolation=isolation)
        assert names(outcomes) <= allowed(isolation, "quota_reached")
        if isolation == IsolationLevel.READ_COMMITTED:
            assert outcomes.count("quota_reached") == 15
            assert live_count(db, account) == 5
        assert 1 <= live_count(db, account) <= 5

    def test_the_ceiling_by_plain_insert(self, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        db.execute("select memstore.set_maximum_live_memories(%s, 5)", [account])
        outcomes = at_once(connect, *[lambda c: raw_insert(c, account)] * 20)
        assert outcomes.count("quota_reached") == 15
        assert live_count(db, account) == 5

    def test_one_id(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account, id = account_of(db, "a"), uuid4()
        outcomes = at_once(connect, *[writing(account, "x", id=id)] * 20, isolation=isolation)
        assert id in outcomes
        assert set(outcomes) <= {id, *allowed(isolation)}
        assert live_count(db, account) == 1

    def test_one_content(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        """Twenty writers of one thing without an id, half of them by batches that write it twice."""
        account = account_of(db, "a")
        batch = "select id from memstore.insert_memories(%s, %s)"
        one = writing(account, "x", scope="project:x")
        two = run(batch, account, Jsonb([{"body": "x", "scope": "project:x"}] * 2))
        outcomes = at_once(connect, *[one, two] * 10, isolation=isolation)
        ((memory,),) = rows(db, "select id from memstore.memories")
        assert names(outcomes) <= allowed(isolation)
        written = [outcome for outcome in outcomes if not isinstance(outcome, str)]
        assert written
        assert all(outcome in (memory, [(memory,)] * 2) for outcome in written)

    def test_one_id_of_two_contents(self, db: psycopg.Connection, connect: Connect) -> None:
        account, other, id = account_of(db, "a"), account_of(db, "b"), uuid4()
        work = writing(account, "x", id=id), writing(account, "y", id=id), writing(other, "x", id=id)
        assert Counter(at_once(connect, *work * 6)) == {id: 6, "id_taken": 12}

    def test_crossed_batches(self, db: psycopg.Connection, connect: Connect) -> None:
        """The same ids, and the same new models, in opposite orders."""
        account, other = account_of(db, "a"), account_of(db, "b")
        batch = "select memstore.insert_memories(%s, %s)"
        for number in range(10):
            items: list[dict[str, Any]] = [{"body": "x", "id": str(uuid4())} for _ in range(20)]
            models = [
                {"body": name, "embedding": [1], "embedding_model": f"{name}-{number}"} for name in "abcdefgh"
            ]
            outcomes = at_once(
                connect,
                run(batch, account, Jsonb(items)),
                run(batch, account, Jsonb(items[::-1])),
                run(batch, account, Jsonb(models)),
                run(batch, other, Jsonb(models[::-1])),
            )
            assert not names(outcomes)
            db.execute("delete from memstore.memories")


class TestSupersede:
    def test_one_row(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        target = insert(db, account, "x")["id"]
        outcomes = at_once(connect, *[correcting(account, target)] * 20, isolation=isolation)
        assert sum(isinstance(outcome, UUID) for outcome in outcomes) == 1
        assert names(outcomes) <= allowed(isolation, "not_supersedable")
        assert value(db, "select count(*) from memstore.memories") == 2
        assert live_count(db, account) == 1

    def test_a_repeated_call(self, db: psycopg.Connection, connect: Connect) -> None:
        account, id = account_of(db, "a"), uuid4()
        target = insert(db, account, "x")["id"]
        assert set(at_once(connect, *[correcting(account, target, id=id)] * 20)) == {id}

    def test_at_the_ceiling(self, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        targets = [insert(db, account, str(number))["id"] for number in range(10)]
        db.execute("select memstore.set_maximum_live_memories(%s, 7)", [account])
        corrections = [correcting(account, target) for target in targets]
        outcomes = at_once(connect, *corrections, *[writing(account)] * 5)
        assert outcomes[10:] == ["quota_reached"] * 5
        assert not names(outcomes[:10])

    def test_embedded_memories_of_many_accounts(self, db: psycopg.Connection, connect: Connect) -> None:
        """They share the model's row."""

        def corrections(account: UUID) -> Work:
            fields = {"embedding": [1.0], "embedding_model": "m"}
            latest = insert(db, account, "x", **fields)["id"]

            def correct(connection: psycopg.Connection) -> None:
                nonlocal latest
                latest = supersede(connection, account, latest, "y", **fields)["id"]

            return correct

        assert set(hammer(connect, 10, *[corrections(account_of(db, ref)) for ref in "abcd"])) == {"ok"}


class TestMerge:
    def test_crossed(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        for _ in range(15):
            a, b = insert(db, account, "a")["id"], insert(db, account, "b")["id"]
            merges = run(MERGE, account, a, b), run(MERGE, account, b, a)
            outcomes = at_once(connect, *merges, isolation=isolation)
            assert sum(isinstance(outcome, list) for outcome in outcomes) == 1
            assert names(outcomes) <= allowed(isolation, "not_supersedable")

    @pytest.mark.long
    def test_crossed_by_plain_update(
        self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        """The owner's own statements may deadlock, and never loop."""
        account = account_of(db, "a")
        point = (
            "update memstore.memories set superseded_by_id = %s, superseded_at = clock_timestamp()"
            " where id = %s"
        )
        for _ in range(5):
            a, b = insert(db, account, "a")["id"], insert(db, account, "b")["id"]
            outcomes = at_once(connect, run(point, a, b), run(point, b, a), isolation=isolation)
            assert len(names(outcomes)) >= 1
            assert names(outcomes) <= allowed(isolation, "not_supersedable", "40P01")

    def test_a_ring(self, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        for _ in range(5):
            ids = [insert(db, account, str(number), id=uuid4())["id"] for number in range(6)]
            ring = zip(ids, ids[1:] + ids[:1], strict=True)
            outcomes = at_once(connect, *[run(MERGE, account, a, b) for a, b in ring])
            assert names(outcomes) == {"not_supersedable"}


@pytest.mark.long
class TestAllAtOnce:
    def test_delete_correct_and_merge(
        self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        account = account_of(db, "a")
        embedded: dict[str, Any] = {"embedding": [1.0], "embedding_model": "m"}
        for number in range(8):
            insert(db, account, str(number), **embedded)

        def act(seed: int) -> Work:
            choose = random.Random(seed)

            def one(connection: psycopg.Connection) -> None:
                a, b = (any_id(connection, choose, "user_id = %s", account) for _ in range(2))
                work = [
                    writing(account),
                    run(DELETE, account, a),
                    correcting(account, a),
                    correcting(account, a, **embedded),
                    run(MERGE, account, a, b),
                    run("select memstore.set_embedding(%s, %s, '{2}', 'n')", account, a),
                ]
                choose.choice(work)(connection)

            return one

        seen = hammer(connect, 30, *map(act, range(6)), isolation=isolation)
        assert set(seen) <= {"ok", *allowed(isolation, "not_supersedable", "memory_not_found")}
        assert seen["ok"] > 10

    def test_a_chain_taken_apart(self, db: psycopg.Connection, connect: Connect) -> None:
        """Each deletion moves its predecessors' pointers to a row that another one deletes."""
        account = account_of(db, "a")
        for _ in range(6):
            chain = [insert(db, account, "x")["id"]]
            for _ in range(7):
                chain.append(supersede(db, account, chain[-1], "y")["id"])
            assert not names(at_once(connect, *[run(DELETE, account, id) for id in chain]))
            assert live_count(db, account) == 0

    def test_stewards_and_each_others_claims(
        self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        stewards = [steward_of(db, f"s{number}") for number in range(3)]
        for number, steward in enumerate(stewards * 3):
            insert(db, steward, f"x{number}", **SYSTEM)

        def act(steward: UUID, seed: int) -> Work:
            choose = random.Random(seed)

            def one(connection: psycopg.Connection) -> None:
                claim = any_id(connection, choose, "superseded_at is null and bucket = 'system'")
                own = any_id(connection, choose, "user_id = %s", steward)
                work = [
                    writing(steward, **SYSTEM),
                    correcting_claim(steward, claim),
                    correcting_claim(steward, own),
                    run(DELETE, steward, own),
                    run("select memstore.record_admission(%s, %s, 'admitted', 'g')", steward, claim),
                    run("select memstore.challenge_memory(%s, %s, 'g', %s)", steward, claim, EVIDENCE),
                    run("select memstore.promote_memory(%s, %s, 'stance', %s)", steward, claim, EVIDENCE),
                ]
                choose.choice(work)(connection)

            return one

        workers = [act(steward, seed) for seed, steward in enumerate(stewards * 2)]
        seen = hammer(connect, 30, *workers, isolation=isolation)
        refusals = "not_supersedable", "memory_not_found", "record_target_not_found"
        assert set(seen) <= {"ok", *allowed(isolation, *refusals)}
        assert seen["ok"] > 10

    def test_an_author_and_a_steward(self, db: psycopg.Connection, connect: Connect) -> None:
        """Both correct the author's claim, or take back what they wrote: their rows are in one chain."""
        author, steward = steward_of(db, "a"), steward_of(db, "s")
        for _ in range(12):
            first, second, third = claims(db, author, steward, author)
            outcomes = at_once(
                connect,
                run(DELETE, author, first),
                run(DELETE, steward, second),
                run(DELETE, author, third),
                correcting_claim(steward, third),
            )
            assert names(outcomes) <= {"not_supersedable"}


class TestErasure:
    def test_writers(self, db: psycopg.Connection, connect: Connect) -> None:
        for number in range(8):
            account = account_of(db, f"a{number}")
            target = insert(db, account, "x")["id"]

            def plainly(connection: psycopg.Connection, account: UUID = account) -> UUID:
                return raw_insert(connection, account, language="english")

            work = writing(account), correcting(account, target), run(DELETE, account, target), plainly
            outcomes = at_once(connect, run(ERASE, account), *work * 3)
            assert isinstance(outcomes[0], list)
            assert names(outcomes) <= {
                "actor_unknown",
                "not_supersedable",
                "memory_not_found",
                "memories_user_id_fkey",
            }
            assert not rows(db, "select from memstore.users where id = %s", account)
            with refused("actor_unknown"):
                insert(db, account, "z")

    def test_twice(self, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        insert(db, account, "x")
        outcomes = at_once(connect, *[lambda c: value(c, ERASE, account)] * 6)
        assert Counter(outcomes) == {1: 1, "actor_unknown": 5}

    def test_beside_a_steward_of_the_same_chain(self, db: psycopg.Connection, connect: Connect) -> None:
        for number in range(10):
            a, b = steward_of(db, f"a{number}"), steward_of(db, f"b{number}")
            chain = claims(db, a, b, a, b, a)
            outcomes = at_once(
                connect,
                run(ERASE, a),
                run(DELETE, b, chain[1]),
                run(DELETE, b, chain[3]),
                correcting_claim(b, chain[4]),
                run("select memstore.promote_memory(%s, %s, 'stance', %s)", b, chain[4], EVIDENCE),
            )
            assert names(outcomes) <= {"not_supersedable"}

    def test_two_accounts_of_one_chain(self, db: psycopg.Connection, connect: Connect) -> None:
        for number in range(10):
            a, b = steward_of(db, f"a{number}"), steward_of(db, f"b{number}")
            claims(db, a, b, a, b)
            assert not names(at_once(connect, run(ERASE, a), run(ERASE, b)))


class TestAccounts:
    def test_one_external_ref(
        self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        outcomes = at_once(connect, *[lambda c: account_of(c, "a")] * 20, isolation=isolation)
        assert len({outcome for outcome in outcomes if isinstance(outcome, UUID)}) == 1
        assert names(outcomes) <= allowed(isolation)
        assert value(db, "select count(*) from memstore.users") == 1

    def test_one_external_ref_and_two_ids(self, db: psycopg.Connection, connect: Connect) -> None:
        create = "select memstore.create_user(%s, %s)"
        a, b = uuid4(), uuid4()
        outcomes = at_once(connect, *[run(create, a, "x"), run(create, b, "x"), run(create, a, "y")] * 4)
        assert names(outcomes) == {"id_taken"}


class TestEmbeddingModels:
    def test_two_widths(self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account = account_of(db, "a")
        for number in range(5):
            model = f"m{number}"
            work = [writing(account, embedding=[1.0] * width, embedding_model=model) for width in (2, 3)]
            outcomes = at_once(connect, *work * 4, isolation=isolation)
            assert names(outcomes) <= allowed(isolation, "embedding_dimensions_differ")
            stored = (
                "select distinct cardinality(embedding) from memstore.memories where embedding_model = %s"
            )
            assert len(rows(db, stored, model)) == 1

    def test_the_last_embedding_and_the_next(
        self, isolation: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        """A name that goes with its last embedding, while others write their first, in two widths."""

        def come_and_go(account: UUID, width: int) -> Work:
            written: list[UUID] = []

            def one(connection: psycopg.Connection) -> None:
                if written:
                    rows(connection, DELETE, account, written[0])
                    written.pop()
                else:
                    fields = {"embedding": [1.0] * width, "embedding_model": "m"}
                    written.append(insert(connection, account, "x", **fields)["id"])

            return one

        workers = [come_and_go(account_of(db, f"a{number}"), 2 + number % 2) for number in range(6)]
        seen = hammer(connect, 30, *workers, isolation=isolation)
        assert set(seen) <= {"ok", *allowed(isolation, "embedding_dimensions_differ")}
        db.execute("delete from memstore.memories")
        insert(db, account_of(db, "a0"), "x", embedding=[1.0] * 7, embedding_model="m")

    @pytest.mark.parametrize("level", [IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE])
    def test_a_name_left_behind_is_free(
        self, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        """It was locked when its last embedding went: anybody may have it."""
        account = account_of(db, "a")
        memory = insert(db, account, "x", embedding=[1.0] * 2, embedding_model="m")["id"]
        holder, stale = connect(autocommit=False), connect(autocommit=False)
        rows(holder, "select from memstore.embedding_models for key share")
        stale.isolation_level = level
        rows(stale, DELETE, account, memory)
        stale.commit()
        holder.rollback()
        assert value(db, "select name from memstore.embedding_models") == "m"
        insert(db, account, "x", embedding=[1.0] * 7, embedding_model="m")
        with refused("embedding_dimensions_differ"):
            insert(db, account, "y", embedding=[1.0] * 2, embedding_model="m")

    def test_models_swapped(self, db: psycopg.Connection, connect: Connect) -> None:
        def swap(account: UUID, *models: str) -> Work:
            memory = insert(db, account, "x", embedding=[1.0], embedding_model=models[-1])["id"]
            turns = cycle(models)
            query = "select memstore.set_embedding(%s, %s, '{1}', %s)"
            return lambda connection: rows(connection, query, account, memory, next(turns))

        a, b, c, d = (account_of(db, ref) for ref in "abcd")
        workers = swap(a, "m", "n"), swap(b, "n", "m"), swap(c, "m", "n"), swap(d, "n", "m")
        assert set(hammer(connect, 10, *workers)) == {"ok"}

    def test_a_stale_snapshot(self, db: psycopg.Connection, connect: Connect) -> None:
        """It can't see the row that uses the name, and may only be told to try again."""
        a, b = account_of(db, "a"), account_of(db, "b")
        memory = insert(db, a, "x", embedding=[1.0], embedding_model="m")["id"]
        stale = connect(autocommit=False)
        stale.isolation_level = IsolationLevel.REPEATABLE_READ
        rows(stale, "select from memstore.memories")
        insert(db, b, "y", embedding=[1.0], embedding_model="m")
        try:
            rows(stale, DELETE, a, memory)
            stale.commit()
        except psycopg.Error as error:
            assert error.sqlstate == SERIALIZATION_FAILURE
            stale.rollback()

    def test_a_deletion_blocks_no_writer(self, db: psycopg.Connection, connect: Connect) -> None:
        """Accounts that use one model don't block each other."""
        a, b = account_of(db, "a"), account_of(db, "b")
        memory, _ = (insert(db, a, body, embedding=[1.0], embedding_model="m")["id"] for body in "xz")
        other = connect(autocommit=False)
        rows(other, DELETE, a, memory)
        db.execute("set lock_timeout = '2s'")
        insert(db, b, "y", embedding=[1.0], embedding_model="m")
        other.rollback()


def test_a_foreign_account_is_not_locked(db: psycopg.Connection, connect: Connect) -> None:
    """Nobody can hold up another account, or tell by waiting that an id is one of its memories."""
    a, b = account_of(db, "a"), account_of(db, "b")
    memory = insert(db, a, "x")["id"]
    other = connect(autocommit=False)
    insert(other, a, "y")
    rows(other, "select from memstore.memories where id = %s for update", memory)
    db.execute("set lock_timeout = '2s'")
    with refused("not_supersedable"):
        supersede(db, b, memory, "z")
    with refused("not_supersedable"):
        rows(db, MERGE, b, memory, uuid4())
    with refused("memory_not_found"):
        rows(db, DELETE, b, memory)
    other.rollback()
