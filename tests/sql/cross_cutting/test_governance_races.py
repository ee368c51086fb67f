"""Stewards, challengers and authors at once: no wrong status, and no deadlock for anybody."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from threading import Barrier, Thread
from time import monotonic
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.sql.racing import Call, held, until, waiting
from tests.sql.support import EVIDENCE, live_count, rows, value
from tests.sql.world import EVIDENCE_TEXT, World, check

Connect = Callable[..., psycopg.Connection]

CALLERS = 16
ROUNDS = 20
SECONDS = 3.0
"""No round starts later: under the higher levels all but one caller at a time start over."""

ANSWERS = {
    "not_supersedable",
    "memory_not_found",
    "challenge_not_found",
    "record_target_not_found",
    "quota_reached",
    "actor_unknown",
}
"""What a call may be told when another one was quicker."""

PLAIN_ANSWERS = {
    "memory_is_immutable",
    "memory_admissions_memory_id_fkey",
    "memories_superseded_by_id_fkey",
    "memories_user_id_fkey",  # insert_retired, of an account that is being erased
    "40P01",
}
"""What anybody may be told beside statements of the owner, who keeps to no order of locks."""

RECORDS = {
    "admit": "select memstore.record_admission(%(steward)s, %(claim)s, 'admitted', 'x')",
    "reject": "select memstore.record_admission(%(steward)s, %(claim)s, 'rejected', 'x')",
    "challenge": f"select memstore.challenge_memory(%(actor)s, %(claim)s, 'x', '{EVIDENCE_TEXT}')",
    "remark": "select memstore.challenge_memory(%(actor)s, %(claim)s, 'x')",
    "refute": "select memstore.refute_challenge(%(steward)s, %(challenge)s, 'x')",
}
CHANGES = {
    "correct": "select memstore.supersede_memory(%(steward)s, %(claim)s, 'It builds.',"
    f" evidence_refs => '{EVIDENCE_TEXT}')",
    "correct_own": "select memstore.supersede_memory(%(author)s, %(claim)s, 'x',"
    f" evidence_refs => '{EVIDENCE_TEXT}', embedding => '{{1,0}}', embedding_model => %(model)s)",
    "promote": f"select memstore.promote_memory(%(steward)s, %(claim)s, 's', '{EVIDENCE_TEXT}')",
    "delete": "select memstore.delete_memory(%(author)s, %(claim)s)",
    "propose": "select memstore.insert_memory(%(author)s, 'It builds.', 'system', slug => 'sys:b',"
    f" tier => 'glass', as_of => '2026-01-01', admission => 'candidate', evidence_refs => '{EVIDENCE_TEXT}',"
    " embedding => '{1,0}', embedding_model => %(model)s)",
    "embed": "select memstore.set_embedding(%(author)s, %(claim)s, '{1,-1}', %(model)s)",
    "unembed": "select memstore.set_embedding(%(author)s, %(claim)s, null, null)",
}
ERASURE = {
    "challenge_and_leave": "with c as materialized (select memstore.create_user() as id), d as materialized"
    f" (select c.id, memstore.challenge_memory(c.id, %(claim)s, 'x', '{EVIDENCE_TEXT}') as r,"
    f" memstore.insert_memory(c.id, 'x', 'system', slug => 'sys:b', tier => 'glass', as_of => '2026-01-01',"
    f" admission => 'candidate', evidence_refs => '{EVIDENCE_TEXT}') as m from c) select id from d",
}

SOME = "array(select id from memstore.memories where bucket = 'system' and not promoted"
SOME += " order by random() limit 3)"
ADMIT = "insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground)"
ADMITTED = "%(steward)s, 'admission', 'admitted', 'x'"
PLAIN = {
    "admit_some": f"{ADMIT} select unnest({SOME}), {ADMITTED} returning id",
    "retire_some": "update memstore.memories set superseded_by_id = %(claim)s,"
    f" superseded_at = clock_timestamp() where id = any ({SOME}) and id <> %(claim)s"
    " and superseded_at is null returning id",
    "retire_and_admit": "with r as (update memstore.memories set superseded_by_id = %(other)s,"
    " superseded_at = clock_timestamp() where id = %(claim)s and id <> %(other)s returning id)"
    f" {ADMIT} select id, {ADMITTED} from r returning id",
    "embed_some": "update memstore.memories set embedding = '{-1,1}', embedding_model = %(model)s"
    f" where id = any ({SOME}) returning id",
    "delete_some": f"delete from memstore.memories where id = any ({SOME}) returning id",
    "insert_retired": "with c as (insert into memstore.memories (user_id, body, bucket, slug, tier, as_of,"
    " admission, evidence_refs, inserted_at, superseded_at, superseded_by_id)"
    " select user_id, 'It built once.', bucket, slug, tier, as_of, admission, evidence_refs,"
    " '2020-01-01', '2020-01-02', id from memstore.memories where id = %(claim)s returning id)"
    f" {ADMIT} select id, {ADMITTED} from c returning id",
}
"""Statements of the owner."""


MODELS = ["model-1", "model-2", "model-3", "model-4"]
"""Of embedding models, which come and go with the claims that have them."""


def pick(db: psycopg.Connection, chance: random.Random) -> dict[str, object]:
    """Some claim with its author, and some open challenge."""
    claims = rows(db, "select id, user_id from memstore.memories where bucket = 'system' and not promoted")
    challenges = rows(db, "select challenge_id from memstore.open_challenges")
    claim, author = chance.choice(claims) if claims else (uuid4(), uuid4())
    challenge = chance.choice(challenges)[0] if challenges else uuid4()
    other = chance.choice(claims)[0] if claims else uuid4()
    model = chance.choice(MODELS)
    return {"claim": claim, "author": author, "challenge": challenge, "other": other, "model": model}


def work(
    db: psycopg.Connection, calls: dict[str, str], seed: int, told: Counter[str], world: dict[str, list[UUID]]
) -> None:
    chance = random.Random(seed)
    until = monotonic() + SECONDS
    for _ in range(ROUNDS):
        name = chance.choice(list(calls))
        who = {"steward": chance.choice(world["stewards"]), "actor": chance.choice(world["challengers"])}
        while monotonic() < until:
            try:
                with db.transaction():
                    cursor = db.execute(calls[name].encode(), {**pick(db, chance), **who})
                    left = cursor.fetchall()
                if name == "challenge_and_leave":
                    db.execute("select memstore.delete_user(%s)", left[0])
                told["done"] += 1
            except psycopg.errors.SerializationFailure:
                told["again"] += 1
                continue
            except psycopg.Error as error:
                told[error.diag.constraint_name or error.sqlstate or "?"] += 1
            break


@pytest.mark.long
@pytest.mark.parametrize(
    "level", [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE]
)
@pytest.mark.parametrize(
    "calls",
    [RECORDS, RECORDS | CHANGES, RECORDS | CHANGES | ERASURE, RECORDS | CHANGES | ERASURE | PLAIN],
)
def test_sixteen_at_once(
    db: psycopg.Connection, connect: Connect, level: IsolationLevel, calls: dict[str, str]
) -> None:
    world = World(db)
    for n in range(9):
        for claim in world.admitted(1, f"author-{n % 3}"):
            world.challenge(claim, "challenger-0")
    people = {
        "stewards": [world.account(f"steward-{n}") for n in range(4)],
        "challengers": [world.account(f"challenger-{n}") for n in range(4)],
    }
    told: Counter[str] = Counter()
    barrier = Barrier(CALLERS)

    def run(connection: psycopg.Connection, seed: int) -> None:
        connection.execute("set deadlock_timeout = '50ms'")
        connection.isolation_level = level
        barrier.wait()
        work(connection, calls, seed, told, people)

    threads = [Thread(target=run, args=(connect(), seed)) for seed in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(db)
    for (account,) in rows(db, "select id from memstore.users"):
        live_count(db, account)
    assert rows(db, "select * from memstore.verify_store() where violations > 0") == []
    allowed = ANSWERS | PLAIN_ANSWERS if PLAIN.keys() <= calls.keys() else ANSWERS
    assert set(told) <= allowed | {"done", "again"}, told
    assert told["done"] > CALLERS and (told["again"] or level is IsolationLevel.READ_COMMITTED), told


def test_a_stale_snapshot_is_told_to_start_over(db: psycopg.Connection, connect: Connect) -> None:
    world = World(db)
    claim, other = world.admitted(2)
    account = world.account("a")
    for level in (IsolationLevel.REPEATABLE_READ, IsolationLevel.SERIALIZABLE):
        late = connect()
        late.isolation_level = level
        with pytest.raises(psycopg.errors.SerializationFailure), late.transaction():
            value(late, "select count(*) from memstore.memories")
            world.do("challenge_memory", "b", memory_id=claim, ground="x", evidence_refs=[EVIDENCE])
            late.execute("select memstore.challenge_memory(%s, %s, 'x')", [account, other])
        check(db)


# Orders of locks that once met: each caller is stopped by a lock of ours until the other one waits too.


def both(
    db: psycopg.Connection,
    connect: Connect,
    hold: tuple[str, UUID],
    first: tuple[str, *tuple[object, ...]],
    second: tuple[str, *tuple[object, ...]],
) -> set[str | None]:
    """The errors of two calls: the first one is stopped by ``hold`` until the second one waits or is done."""
    connections = connect(), connect()
    for connection in connections:
        connection.execute("set deadlock_timeout = '50ms'")
    with held(connect, *hold):
        one = Call(connections[0], *first)
        until(lambda: not one.is_alive() or waiting(db, connections[0]))
        two = Call(connections[1], *second)
        until(lambda: not two.is_alive() or waiting(db, connections[1]))
    errors = {one.name_of_error, two.name_of_error}
    check(db)
    return errors


DELETE = "select memstore.delete_memory(%s, %s)"
ERASE = "select memstore.delete_user(%s)"
HOLD_MEMORY = "select from memstore.memories where id = %s for no key update"


def test_a_refutation_and_the_deletion_of_its_claim(db: psycopg.Connection, connect: Connect) -> None:
    """The deletion waits for a predecessor of the claim, with the claim locked."""
    world = World(db)
    author, steward = world.account("author"), world.account("steward")
    old = world.claim(id=UUID(int=2))
    world.correct(old, "author", id=UUID(int=1))
    claim = UUID(int=1)
    challenge = world.challenge(claim)
    errors = both(
        db,
        connect,
        (HOLD_MEMORY, old),
        (DELETE, author, claim),
        ("select memstore.refute_challenge(%s, %s, 'x')", steward, challenge),
    )
    assert errors <= {None, "challenge_not_found"}


def test_deletions_of_two_neighbours_of_a_chain(db: psycopg.Connection, connect: Connect) -> None:
    """a, superseded by b of a steward, superseded by c of another one: b goes, and c."""
    world = World(db)
    a, b, c = UUID(int=3), UUID(int=2), UUID(int=1)
    world.claim(id=a)
    world.correct(a, "steward", id=b)
    world.correct(b, "steward-2", id=c)
    errors = both(
        db,
        connect,
        (HOLD_MEMORY, a),
        (DELETE, world.account("steward"), b),
        (DELETE, world.account("steward-2"), c),
    )
    assert errors == {None}
    assert rows(db, "select id, superseded_by_id from memstore.memories") == [(a, None)]


def test_an_erasure_and_the_deletion_of_a_claim_that_it_challenged(
    db: psycopg.Connection, connect: Connect
) -> None:
    """The erasure has the counter and wants the record; the deletion has the record and wants the counter."""
    world = World(db)
    stays, goes = world.admitted(2)
    world.claim("leaver")
    record = world.challenge(stays, "leaver")
    world.challenge(goes, "leaver")
    errors = both(
        db,
        connect,
        ("select from memstore.memory_admissions where id = %s for no key update", record),
        (ERASE, world.account("leaver")),
        (DELETE, world.account("author"), goes),
    )
    assert errors == {None}
    assert rows(db, "select ground from memstore.memory_admissions where role = 'challenge'") == [
        ("[erased]",)
    ]


def test_an_erasure_and_the_deletion_of_a_neighbour(db: psycopg.Connection, connect: Connect) -> None:
    """a of the leaver, superseded by b of another steward, superseded by c of the leaver: b goes too."""
    world = World(db)
    a, b, c = UUID(int=1), UUID(int=2), UUID(int=3)
    world.claim("steward", id=a)
    world.correct(a, "steward-2", id=b)
    world.correct(b, "steward", id=c)
    errors = both(
        db,
        connect,
        (HOLD_MEMORY, c),
        (ERASE, world.account("steward")),
        (DELETE, world.account("steward-2"), b),
    )
    assert errors == {None}
    assert rows(db, "select id from memstore.memories") == []


CORRECT = f"select memstore.supersede_memory(%s, %s, 'x', evidence_refs => '{EVIDENCE_TEXT}')"
RETIRE = (
    "update memstore.memories set superseded_by_id = %s, superseded_at = clock_timestamp()"
    " where id = any (%s)"
)


def test_a_statement_of_the_owner_and_a_correction_for_the_same_account(
    db: psycopg.Connection, connect: Connect
) -> None:
    """The correction has the account and wants the counter: the statement takes the account first, too."""
    world = World(db)
    one, two, target = world.admitted(3)
    errors = both(
        db,
        connect,
        (HOLD_MEMORY, one),
        (
            CORRECT,
            world.account("author"),
            one,
        ),
        (RETIRE, target, [two]),
    )
    assert errors == {None}
    assert rows(db, "select memory_id from memstore.admitted_claims") == [(target,)]


EMBED = "select memstore.set_embedding(%s, %s, '{1, -1}', 'model')"
ADMISSION = "select memstore.record_admission(%s, %s, 'admitted', 'x')"


@pytest.mark.parametrize("order", [1, -1])
def test_an_admission_and_an_embedding(db: psycopg.Connection, connect: Connect, order: int) -> None:
    """Whichever has the counter, the other one sees what it did."""
    world = World(db)
    claim = world.claim()
    calls = (EMBED, world.account("author"), claim), (ADMISSION, world.account("steward"), claim)
    holder, waiter = connect(), connect()
    (first, *params), second = calls[::order]
    with holder.transaction():
        holder.execute(first.encode(), params)
        late = Call(waiter, *second)
        until(lambda: waiting(db, waiter))
    late.join()
    assert late.name_of_error is None
    check(db)
    assert rows(db, "select memory_id, signs::text from memstore.claim_signs") == [(claim, "10")]


def test_many_claims_leave_recall_in_one_turn(db: psycopg.Connection) -> None:
    world = World(db)
    target, *claims = world.admitted(5)
    changes = "select changes from memstore.claim_counter"
    before = value(db, changes)
    db.execute(RETIRE, [target, claims])
    assert value(db, changes) == before + 1
    check(db)
    # Nor do a pointer that moves, a superseded claim's embedding, and a memory of an account's own.
    db.execute(
        "update memstore.memories set embedding = '{1}', embedding_model = 'model' where id = any (%s)",
        [claims],
    )
    db.execute("update memstore.memories set updated_at = clock_timestamp()")
    mine, better = world.memory(), world.memory()
    db.execute(RETIRE, [better, [mine]])
    assert value(db, changes) == before + 1


@pytest.mark.parametrize("given", ["embedding => '{1}', embedding_model => 'new'", f"id => '{UUID(int=9)}'"])
def test_an_insert_and_a_correction_that_name_the_same(
    db: psycopg.Connection, connect: Connect, given: str
) -> None:
    """A correction has the account and wants a model's name or an id; the insert takes the account first."""
    world = World(db)
    actor, old = world.account("author"), world.memory()
    errors = both(
        db,
        connect,
        (HOLD_MEMORY, old),
        (f"select memstore.supersede_memory(%s, %s, 'x', {given})", actor, old),
        (f"select memstore.insert_memory(%s, 'y', {given})", actor),
    )
    assert errors <= {None, "id_taken"}
