"""What a race, an erasure, a restore or a plain statement must not leave behind, at each isolation level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import IsolationLevel

from tests.sql.racing import Call, Connect, until, waiting
from tests.sql.support import (
    EVIDENCE,
    SYSTEM,
    account_of,
    call,
    insert,
    live_count,
    places,
    raw_copy,
    refused,
    row_of,
    rows,
    supersede,
    value,
)
from tests.sql.world import EVIDENCE_TEXT, World, check, plain_record

SERIALIZABLE = pytest.param(IsolationLevel.SERIALIZABLE, marks=pytest.mark.long)
LEVELS = [IsolationLevel.READ_COMMITTED, IsolationLevel.REPEATABLE_READ, SERIALIZABLE]
SNAPSHOTS = LEVELS[1:]
STALE = "40001"
ERASE = "select memstore.delete_user(%s)"
UNMARK = "select memstore.set_steward(%s, false)"
INSERT = "select memstore.insert_memory(%s, 'x')"
MARKER = "qzvxkwj"


@pytest.fixture(autouse=True)
def sound_afterwards(db: psycopg.Connection) -> Iterator[None]:
    yield
    assert rows(db, "select invariant from memstore.verify_store() where violations > 0") == []


@pytest.fixture(params=LEVELS, ids=["read_committed", "repeatable_read", "serializable"])
def level(request: pytest.FixtureRequest) -> IsolationLevel:
    result: IsolationLevel = request.param
    return result


def at(connect: Connect, level: IsolationLevel) -> psycopg.Connection:
    connection = connect()
    # Not isolation_level, which autocommit ignores.
    rows(connection, f"set default_transaction_isolation = '{level.name.lower().replace('_', ' ')}'")
    return connection


def told_late(
    db: psycopg.Connection,
    connection: psycopg.Connection,
    change: tuple[str, *tuple[object, ...]],
    late: tuple[str, *tuple[object, ...]],
    commit: bool = True,
) -> str | None:
    """What a call is told that waited for a change, which was then committed, or rolled back."""
    with db.transaction(force_rollback=not commit):
        rows(db, *change)
        blocked = Call(connection, *late)
        until(lambda: not blocked.is_alive() or waiting(db, connection))
    return blocked.name_of_error


def told_stale(
    connection: psycopg.Connection, change: Any, late: tuple[str, *tuple[object, ...]]
) -> str | None:
    """What a call is told whose snapshot is older than a change."""
    try:
        with connection.transaction():
            rows(connection, "select count(*) from memstore.memories")
            change()
            rows(connection, *late)
    except psycopg.Error as error:
        return error.diag.constraint_name or error.sqlstate
    return None


STEWARDS = {
    "admit": ("select memstore.record_admission(%s, %s, 'admitted', 'x')", "steward_required"),
    "refute": (
        "select memstore.refute_challenge(%s, (select challenge_id from memstore.open_challenges"
        " where memory_id = %s), 'x')",
        "steward_required",
    ),
    "promote": (f"select memstore.promote_memory(%s, %s, 's', '{EVIDENCE_TEXT}')", "steward_required"),
    "correct": (
        f"select memstore.supersede_memory(%s, %s, 'x', evidence_refs => '{EVIDENCE_TEXT}')",
        "not_supersedable",
    ),
}


class TestStewards:
    """An account that is no steward any more does nothing as one."""

    @pytest.mark.parametrize("name", STEWARDS)
    def test_unmarked_while_it_waits(
        self, name: str, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        world = World(db)
        (claim,) = world.admitted(1)
        world.challenge(claim)
        steward = world.account("steward")
        query, refusal = STEWARDS[name]
        error = told_late(db, at(connect, level), (UNMARK, steward), (query, steward, claim))
        assert error == (refusal if level is IsolationLevel.READ_COMMITTED else STALE)
        assert check(db)[claim] == "suspended"

    @pytest.mark.parametrize("name", STEWARDS)
    @pytest.mark.parametrize("level", SNAPSHOTS)
    def test_unmarked_since_its_snapshot(
        self, name: str, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        world = World(db)
        (claim,) = world.admitted(1)
        world.challenge(claim)
        steward = world.account("steward")
        late = (STEWARDS[name][0], steward, claim)
        assert told_stale(at(connect, level), lambda: rows(db, UNMARK, steward), late) == STALE
        assert check(db)[claim] == "suspended"

    def test_two_transactions_that_judge_and_insert(self, db: psycopg.Connection, connect: Connect) -> None:
        """Neither holds a lock on the account that the other one shares and then wants alone."""
        world = World(db)
        one, two = world.claims(2)
        steward = world.account("steward")
        other = connect()
        with db.transaction():
            rows(db, STEWARDS["admit"][0], steward, one)
            blocked = Call(other, STEWARDS["admit"][0], steward, two)
            until(lambda: not blocked.is_alive() or waiting(db, other))
            rows(db, INSERT, steward)
        assert blocked.name_of_error is None
        rows(other, INSERT, steward)


def names_of_models(db: psycopg.Connection) -> set[str]:
    return {name for (name,) in rows(db, "select name from memstore.embedding_models")}


def embedded(db: psycopg.Connection, account: UUID, model: str = MARKER) -> UUID:
    memory: UUID = insert(db, account, f"of {model}", embedding=[1.0], embedding_model=model)["id"]
    return memory


EMBEDDED = f"select memstore.insert_memory(%s, 'x', embedding => '{{1}}', embedding_model => '{MARKER}')"


class TestNamesOfModels:
    """They may be texts of an account's: the last one that uses a name takes it along."""

    def test_erased(self, level: IsolationLevel, db: psycopg.Connection, connect: Connect) -> None:
        account, other = account_of(db, "a"), account_of(db, "b")
        embedded(db, account)
        embedded(db, account, "kept")
        embedded(db, other, "kept")
        rows(at(connect, level), ERASE, account)
        assert names_of_models(db) == {"kept"}
        assert places(db, MARKER) == set()

    def test_the_last_embedding(
        self, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        account = account_of(db, "a")
        one, two = embedded(db, account), embedded(db, account, "two")
        connection = at(connect, level)
        rows(connection, "select memstore.delete_memory(%s, %s)", account, one)
        rows(connection, "select memstore.set_embedding(%s, %s, null, null)", account, two)
        assert names_of_models(db) == set()

    @pytest.mark.parametrize("commits", [True, False])
    def test_erased_while_another_one_has_the_name(
        self, commits: bool, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        account, other = account_of(db, "a"), account_of(db, "b")
        embedded(db, account)
        error = told_late(db, at(connect, level), (EMBEDDED, other), (ERASE, account), commits)
        assert error is None
        assert names_of_models(db) == ({MARKER} if commits else set())
        assert live_count(db, other) == commits

    @pytest.mark.parametrize("level", SNAPSHOTS)
    def test_a_writer_that_an_older_snapshot_does_not_have(
        self, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        account, other = account_of(db, "a"), account_of(db, "b")
        embedded(db, account)
        late = (ERASE, account)
        assert told_stale(at(connect, level), lambda: embedded(db, other), late) in (None, STALE)
        assert names_of_models(db) == {MARKER}

    def test_forgotten_while_another_one_has_the_name(
        self, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        call(db, "register_embedding_model", name=MARKER, dimensions=1)
        forget = (f"select memstore.forget_embedding_model('{MARKER}')",)
        account = account_of(db, "a")
        assert told_late(db, at(connect, level), (EMBEDDED, account), forget) is None
        assert rows(db, "table memstore.embedding_models") == [(MARKER, 1, False)]
        rows(db, ERASE, account)
        assert names_of_models(db) == set()


class TestCorrectionsOfAnErasedAuthor:
    def test_no_source_of_another_account(self, db: psycopg.Connection) -> None:
        world = World(db)
        author, steward = world.account("author"), world.account("steward")
        claim = insert(db, author, "x", source_ref=MARKER, **SYSTEM)["id"]
        own = supersede(db, author, claim, "y", evidence_refs=[EVIDENCE])
        assert own["source_ref"] == MARKER
        given: dict[str, Any] = {"evidence_refs": [EVIDENCE], "id": uuid4()}
        theirs = supersede(db, steward, own["id"], "z", **given)
        assert theirs["source_ref"] is None
        assert supersede(db, steward, own["id"], "z", **given) == theirs
        call(db, "delete_user", actor=author)
        assert places(db, MARKER) == set()

    def test_a_source_that_is_given(self, db: psycopg.Connection) -> None:
        world = World(db)
        claim = insert(db, world.account("author"), "x", source_ref="a", **SYSTEM)["id"]
        assert world.correct(claim, "steward", source_ref="b")["source_ref"] == "b"

    def test_what_stays(self, db: psycopg.Connection) -> None:
        """As delete_user's page says."""
        world = World(db)
        author = world.account("author")
        claim = insert(db, author, "x", entity=MARKER, **SYSTEM)["id"]
        better = world.correct(claim, "steward")["id"]
        call(db, "delete_user", actor=author)
        assert (row_of(db, better)["entity"], row_of(db, better)["slug"]) == (MARKER, SYSTEM["slug"])


def restored(connection: psycopg.Connection, live_memories: int, maximum_live_memories: int) -> UUID:
    """An account as a dump of rows has it, with counts of its own."""
    account = uuid4()
    query = "copy memstore.users (id, live_memories, candidates, maximum_live_memories) from stdin"
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        copy.write_row([account, live_memories, '{"english": [9, 9]}', maximum_live_memories])
    return account


COPIED = {"bucket": "user", "body": "x", "language": "english", "inserted_at": "2026-01-01"}
DEAD = {"superseded_at": "2026-01-02"}
TOMBSTONE = {**SYSTEM, "body": "At use-pnpm.", "stance": "use-pnpm"}
ROWS: dict[str, list[dict[str, Any]]] = {
    "live": [{}],
    "superseded": [DEAD],
    "a tombstone": [TOMBSTONE],
    "two": [{}, {}],
    "one of each": [{}, DEAD],
}
RESTORING = "select set_config('search_path', '', false), set_config('check_function_bodies', 'off', false)"
DEAD_ROW = (
    "insert into memstore.memories (user_id, body, language, inserted_at, superseded_at)"
    " values (%s, 'x', 'english', '2026-01-01', '2026-01-02')"
)
RECORD = "insert into memstore.memory_admissions (user_id, memory_id, role, ground)"
RECORD += " values (%s, %s, 'challenge', 'x')"


class TestErasedAccounts:
    """No row of one comes after it, by whatever statement."""

    @staticmethod
    def erased(world: World) -> UUID:
        leaver = world.account("leaver")
        world.challenge(world.claim(), "leaver")
        call(world.db, "delete_user", actor=leaver)
        assert value(world.db, "select erased_at is not null from memstore.users where id = %s", leaver)
        return leaver

    @pytest.mark.parametrize("restoring", [False, True])
    def test_memories(self, restoring: bool, db: psycopg.Connection, connect: Connect) -> None:
        world = World(db)
        leaver, other = self.erased(world), world.account("other")
        connection = connect()
        if restoring:
            rows(connection, RESTORING)
        for kind in ROWS.values():
            for beside in ([], [{"user_id": other}]):
                items = [*beside, *({"user_id": leaver, **row} for row in kind)]
                with refused("actor_unknown", "user_id"):
                    raw_copy(connection, [{**COPIED, **item} for item in items])

    @pytest.mark.parametrize("role", ["admission", "challenge", "refutation"])
    def test_records(self, role: str, db: psycopg.Connection) -> None:
        world = World(db)
        (claim,) = world.admitted(1)
        challenge = world.challenge(claim)
        given: dict[str, dict[str, object]] = {
            "admission": {"verdict": "rejected"},
            "challenge": {"evidence_refs": [EVIDENCE]},
            "refutation": {"challenge_id": challenge},
        }
        leaver = self.erased(world)
        with refused("actor_unknown", "user_id"):
            plain_record(db, memory_id=claim, user_id=leaver, role=role, ground="[erased]", **given[role])
        assert check(db)[claim] == "suspended"

    def test_records_that_are_restored(self, db: psycopg.Connection, connect: Connect) -> None:
        """As a dump has them, without their texts."""
        world = World(db)
        claim, leaver = world.claim(), self.erased(world)
        connection = connect()
        rows(connection, RESTORING)
        erased = [{"kind": "url", "ref": "[erased]", "digest": "[erased]"}]
        row: dict[str, Any] = {"memory_id": claim, "user_id": leaver, "role": "challenge"}
        for texts in ({"ground": "x"}, {"ground": "[erased]", "evidence_refs": [EVIDENCE]}):
            with refused("actor_unknown", "user_id"):
                plain_record(connection, **row, **texts)
        plain_record(connection, **row, ground="[erased]", evidence_refs=erased)
        check(db)

    @pytest.mark.parametrize("statement", [DEAD_ROW, RECORD])
    def test_written_while_it_leaves(
        self, statement: str, level: IsolationLevel, db: psycopg.Connection, connect: Connect
    ) -> None:
        world = World(db)
        leaver, claim = world.account("leaver"), world.claim()
        world.challenge(world.claim(), "leaver")
        late = (statement, leaver, claim) if statement.count("%s") == 2 else (statement, leaver)
        error = told_late(db, at(connect, level), (ERASE, leaver), late)
        assert error == ("actor_unknown" if level is IsolationLevel.READ_COMMITTED else STALE)

    @pytest.mark.parametrize("statement", [DEAD_ROW, RECORD])
    @pytest.mark.parametrize("level", SNAPSHOTS)
    @pytest.mark.parametrize("has_memories", [False, True])
    def test_erased_since_the_snapshot(
        self,
        has_memories: bool,
        statement: str,
        level: IsolationLevel,
        db: psycopg.Connection,
        connect: Connect,
    ) -> None:
        world = World(db)
        leaver = value(db, "select memstore.create_user()")
        claim = world.claim()
        call(db, "challenge_memory", actor=leaver, memory_id=claim, ground="x")
        if has_memories:
            insert(db, leaver, "x")
        late = (statement, leaver, claim) if statement.count("%s") == 2 else (statement, leaver)
        assert told_stale(at(connect, level), lambda: rows(db, ERASE, leaver), late) == STALE


class TestTombstones:
    """They aren't counted, so nothing but the chain's trigger changes their accounts."""

    @pytest.mark.parametrize("level", SNAPSHOTS)
    @pytest.mark.parametrize("same_account", [True, False])
    @pytest.mark.parametrize("of", ["tombstone", "claim"])
    @pytest.mark.parametrize("by", ["update", "insert"])
    def test_superseded_in_an_older_snapshot(
        self,
        by: str,
        of: str,
        same_account: bool,
        level: IsolationLevel,
        db: psycopg.Connection,
        connect: Connect,
    ) -> None:
        """What points at it meanwhile was superseded later than it."""
        world = World(db)
        target = world.tombstone() if of == "tombstone" else world.claim("steward")
        author = "steward" if same_account else "author"
        old = world.claim(author)
        point = {
            "update": (
                "update memstore.memories set superseded_by_id = %s, superseded_at = '2100-01-01'"
                " where id = %s",
                target,
                old,
            ),
            "insert": (
                "insert into memstore.memories (user_id, body, bucket, slug, tier, as_of, admission,"
                " evidence_refs, superseded_by_id, superseded_at)"
                " select user_id, body, bucket, slug, tier, as_of, admission, evidence_refs, %s, '2100-01-01'"
                " from memstore.memories where id = %s",
                target,
                old,
            ),
        }[by]
        correct = STEWARDS["correct"][0]
        late = (correct, world.account("steward"), target)
        assert told_stale(at(connect, level), lambda: rows(db, *point), late) == STALE


class TestCounts:
    @pytest.mark.parametrize(
        ("column", "wrong"),
        [("live_memories", "7"), ("candidates", """'{"english": [7, 7]}'"""), ("restored_memories", "7")],
    )
    def test_an_update_is_refused(self, column: str, wrong: str, db: psycopg.Connection) -> None:
        account = account_of(db, "a")
        insert(db, account, "x")
        with refused("count_is_kept", column):
            db.execute(f"update memstore.users set {column} = {wrong}".encode())
        db.execute(f"update memstore.users set {column} = {column}, maximum_live_memories = 7".encode())
        assert live_count(db, account) == 1

    @pytest.mark.parametrize("number", [5, 1_000_000])
    def test_none_is_smuggled_in(self, number: int, db: psycopg.Connection, connect: Connect) -> None:
        """By a session that looks like a restore's, which may give an account any ceiling, and no count."""
        connection = connect()
        rows(connection, RESTORING)
        account = restored(connection, live_memories=number, maximum_live_memories=2)
        assert live_count(db, account) == 0
        raw_copy(connection, [{**COPIED, "user_id": account}])
        assert live_count(db, account) == 1
        insert(db, account, "y")
        with refused("quota_reached", "actor"):
            insert(db, account, "z")

    def test_a_ceiling_that_was_lowered(self, db: psycopg.Connection, connect: Connect) -> None:
        """A restore brings back what is above it, a row a statement, and then no more."""
        connection = connect()
        rows(connection, RESTORING)
        account = restored(connection, live_memories=3, maximum_live_memories=1)
        for number in range(1, 4):
            raw_copy(connection, [{**COPIED, "user_id": account}])
            assert live_count(db, account) == number
        with refused("quota_reached", "actor"):
            raw_copy(connection, [{**COPIED, "user_id": account}])
        assert rows(db, "select restored_memories from memstore.users") == [(None,)]
