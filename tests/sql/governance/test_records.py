"""Records: what the table refuses from plain INSERTs, what functions refuse, and that none is updated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from threading import Barrier, Thread
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.sql.support import EVIDENCE, SECRET, call, refused, row_of, rows, value
from tests.sql.world import NOBODY, World, at, check, plain_record, read_records

BLANK = "\t\n\u00a0\u2003\u3000 "
ROLES = ("admission", "challenge", "refutation")
ENDS = {"kind": "url", "ref": "r" * 2000, "digest": "d" * 200}


@pytest.fixture
def world(scratch: psycopg.Connection) -> World:
    return World(scratch)


class Stage:
    """Two claims with an open challenge each, what is no claim, and a good record of each role."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.claim, self.other = world.admitted(2)
        self.challenge = world.challenge(self.claim)
        self.challenge_of_other = world.challenge(self.other)
        self.verdict = world.verdict(self.claim)
        self.refutation = world.refute(world.challenge(self.claim))
        self.tombstone = world.tombstone()
        self.user_memory = world.memory()
        self.learned_memory = world.memory(bucket="learned")
        self.steward = world.account("steward")
        self.nobody = NOBODY

    def good(self, role: str) -> dict[str, object]:
        of_role: Mapping[str, dict[str, object]] = {
            "admission": {"verdict": "admitted"},
            "challenge": {"evidence_refs": [EVIDENCE]},
            "refutation": {"challenge_id": self.challenge},
        }
        shared = {"memory_id": self.claim, "user_id": self.steward, "ground": "Because."}
        return {"role": role, **shared, **of_role[role]}

    def insert(self, role: str, /, **changes: object) -> UUID:
        """Strings that name a part of the stage stand for its id."""
        columns = {
            name: getattr(self, item) if name.endswith("_id") and isinstance(item, str) else item
            for name, item in {**self.good(role), **changes}.items()
        }
        return plain_record(self.world.db, **columns)


@pytest.fixture
def stage(world: World) -> Stage:
    return Stage(world)


def illegal() -> Iterator[tuple[str, dict[str, object], str]]:
    """(role, what is wrong with it, the rule)."""
    for role in ROLES:
        # Of a refutation also the challenge is of another memory then: a test of its own.
        for target in ("user_memory", "learned_memory", "tombstone", "nobody") * (role != "refutation"):
            yield role, {"memory_id": target}, "memory_id_fkey"
        yield role, {"memory_id": None}, "memory_id_shape"
        yield role, {"user_id": None}, "user_id_shape"
        yield role, {"user_id": "nobody"}, "user_id_fkey"
        for ground in (None, "", BLANK, "g" * 2001):
            yield role, {"ground": ground}, "ground_shape"
        for moment in (None, "infinity", "-infinity"):
            yield role, {"inserted_at": moment}, "inserted_at_shape"
    for wrong in (None, "", "opinion", "Challenge"):
        yield "challenge", {"role": wrong, "evidence_refs": None}, "role_shape"

    for verdict in (None, "", "candidate", "suspended", "Admitted", "admitted "):
        yield "admission", {"verdict": verdict}, "verdict_shape"
    for role in ("challenge", "refutation"):
        for verdict in ("admitted", "rejected", ""):
            yield role, {"verdict": verdict}, "verdict_shape"

    for role in ("admission", "challenge"):
        yield role, {"challenge_id": "challenge"}, "challenge_id_shape"
    yield "refutation", {"challenge_id": None}, "challenge_id_shape"
    for target in ("challenge_of_other", "verdict", "refutation", "nobody", "claim"):
        yield "refutation", {"challenge_id": target}, "challenge_id_fkey"
    yield "refutation", {"memory_id": "other"}, "challenge_id_fkey"

    for role in ("admission", "refutation"):
        for evidence in ([EVIDENCE], []):
            yield role, {"evidence_refs": evidence}, "evidence_refs_shape"
    for malformed in (
        [],
        {},
        EVIDENCE,
        "url",
        0,
        [None],
        [[EVIDENCE]],
        [EVIDENCE] * 21,
        [EVIDENCE, {}],
        *([{name: EVIDENCE[name] for name in EVIDENCE if name != missing}] for missing in EVIDENCE),
        *([{**EVIDENCE, name: wrong}] for name in EVIDENCE for wrong in ("", BLANK, None, 1, [name])),
        [{**EVIDENCE, "kind": "hearsay"}],
        [{**ENDS, "ref": "r" * 2001}],
        [{**ENDS, "digest": "d" * 201}],
    ):
        yield "challenge", {"evidence_refs": malformed}, "evidence_refs_shape"


@pytest.mark.parametrize(("role", "changes", "rule"), list(illegal()))
def test_the_table_refuses(stage: Stage, role: str, changes: dict[str, object], rule: str) -> None:
    before = read_records(stage.world.db)
    with refused(f"memory_admissions_{rule}"), stage.world.db.transaction():
        stage.insert(role, **changes)
    assert read_records(stage.world.db) == before
    check(stage.world.db)


def test_the_table_refuses_a_null_as_evidence(stage: Stage) -> None:
    """JSON's null is malformed; SQL's is absent."""
    with refused("memory_admissions_evidence_refs_shape"), stage.world.db.transaction():
        stage.world.db.execute(
            "insert into memstore.memory_admissions (memory_id, user_id, role, ground, evidence_refs)"
            " values (%s, %s, 'challenge', 'x', 'null')",
            [stage.claim, stage.steward],
        )


@pytest.mark.parametrize("target", ["user_memory", "learned_memory", "tombstone", "nobody", "other", "claim"])
def test_a_refutation_is_about_a_claim_and_a_challenge_of_it(stage: Stage, target: str) -> None:
    if target == "claim":
        stage.insert("refutation", memory_id=target)
        return
    with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught, stage.world.db.transaction():
        stage.insert("refutation", memory_id=target)
    assert caught.value.diag.constraint_name in {
        "memory_admissions_challenge_id_fkey",
        "memory_admissions_memory_id_fkey",
    }


@pytest.mark.parametrize("role", ROLES)
def test_an_id_is_taken_once(stage: Stage, role: str) -> None:
    with refused("memory_admissions_pkey"), stage.world.db.transaction():
        stage.insert(role, id=stage.challenge)


@pytest.mark.parametrize(
    ("role", "changes"),
    [
        *((role, {"ground": ground}) for role in ROLES for ground in ("x", "g" * 2000, "\U0001f600" * 2000)),
        *((role, {"user_id": "steward", "inserted_at": at(-9e9)}) for role in ROLES),
        ("admission", {"verdict": "rejected"}),
        *(
            ("challenge", {"evidence_refs": refs})
            for refs in (None, [ENDS] * 20, [{**EVIDENCE, "kind": "memory"}])
        ),
    ],
)
def test_the_table_takes(stage: Stage, role: str, changes: dict[str, object]) -> None:
    stage.insert(role, **changes)
    check(stage.world.db)


def test_slugs_are_generated(stage: Stage) -> None:
    for role, slug in {
        "admission": f"adm:{stage.claim}",
        "challenge": f"chl:{stage.claim}",
        "refutation": f"ref:{stage.challenge}",
    }.items():
        record = stage.insert(role)
        assert (
            value(stage.world.db, "select slug from memstore.memory_admissions where id = %s", record) == slug
        )
        with pytest.raises(psycopg.errors.GeneratedAlways), stage.world.db.transaction():
            stage.insert(role, slug=slug)


@pytest.mark.parametrize(
    ("column", "literal"),
    [("memory_bucket", "user"), ("memory_promoted", True), ("challenge_role", "admission")],
)
def test_the_literals_of_the_foreign_keys_are_nobody_s_to_say(
    stage: Stage, column: str, literal: object
) -> None:
    with pytest.raises(psycopg.errors.GeneratedAlways), stage.world.db.transaction():
        stage.insert("challenge", **{column: literal})


COLUMNS: dict[str, Callable[[Stage], object]] = {
    "id": lambda stage: uuid4(),
    "memory_id": lambda stage: stage.other,
    "user_id": lambda stage: stage.world.account("b"),
    "role": lambda stage: "admission",
    "verdict": lambda stage: "rejected",
    "challenge_id": lambda stage: stage.challenge_of_other,
    "ground": lambda stage: "Otherwise.",
    "evidence_refs": lambda stage: None,
    "inserted_at": lambda stage: at(77),
}


@pytest.mark.parametrize("column", [*COLUMNS, "slug", "memory_bucket", "memory_promoted", "challenge_role"])
@pytest.mark.parametrize("record", ["verdict", "challenge", "refutation"])
def test_no_column_of_a_record_changes(stage: Stage, record: str, column: str) -> None:
    db, id = stage.world.db, getattr(stage, record)
    new = sql.Literal(COLUMNS[column](stage)) if column in COLUMNS else sql.SQL("default")
    for query in (
        "update memstore.memory_admissions set {column} = {new} where id = {id}",
        "update memstore.memory_admissions set {column} = {same} where id = {id}",
        "insert into memstore.memory_admissions (id, memory_id, user_id, role, ground)"
        " select id, memory_id, user_id, 'challenge', 'x' from memstore.memory_admissions where id = {id}"
        " on conflict (id) do update set {column} = {new}",
    ):
        with refused("record_is_immutable"), db.transaction():
            db.execute(
                sql.SQL(query).format(
                    column=sql.Identifier(column),
                    new=new,
                    same=sql.Identifier(column) if column in COLUMNS else sql.SQL("default"),
                    id=sql.Literal(id),
                )
            )


@pytest.mark.parametrize(
    "statement",
    [
        "delete from memstore.memory_admissions",
        "delete from memstore.memory_admissions where role = 'refutation'",
        "with gone as (delete from memstore.memory_admissions returning id) table gone",
        "truncate memstore.memory_admissions",
        "truncate memstore.memory_admissions, memstore.claim_statuses cascade",
        "truncate memstore.memories cascade",
        "truncate memstore.users cascade",
        "update memstore.memory_admissions"
        " set ground = '[erased]', evidence_refs = memstore.erase_evidence(evidence_refs)",
        "update memstore.memory_admissions set ground = '[erased]' where role = 'admission'",
        "merge into memstore.memory_admissions r using memstore.memories m on m.id = r.memory_id"
        " when matched then delete",
    ],
)
def test_no_record_goes_by_itself(stage: Stage, statement: str) -> None:
    before = check(stage.world.db)
    stage.world.db.execute("set constraints all immediate")
    with refused("record_is_immutable"), stage.world.db.transaction():
        stage.world.db.execute(statement.encode())
    assert check(stage.world.db) == before


def test_a_claim_with_records_stays_a_claim(stage: Stage) -> None:
    for change in ("bucket = 'user'", "stance = 'some-stance'", "id = gen_random_uuid()"):
        with pytest.raises(psycopg.Error) as caught, stage.world.db.transaction():
            stage.world.db.execute(
                f"update memstore.memories set {change} where id = %s".encode(), [stage.claim]
            )
        assert caught.value.diag.constraint_name
    check(stage.world.db)


def test_an_account_with_records_stays(stage: Stage) -> None:
    stage.world.challenge(stage.claim, "writer")
    with refused("memory_admissions_user_id_fkey"), stage.world.db.transaction():
        stage.world.db.execute("delete from memstore.users where external_ref = 'writer'")


@pytest.mark.parametrize("plainly", [False, True])
def test_records_go_with_their_memory(stage: Stage, plainly: bool) -> None:
    world = stage.world
    world.refute(stage.challenge_of_other)
    if plainly:
        world.db.execute("delete from memstore.memories where id = %s", [stage.claim])
    else:
        world.do("delete_memory", "author", id=stage.claim)
    assert {r.memory_id for r in read_records(world.db)} == {stage.other}
    assert check(world.db) == {stage.other: "admitted"}


def test_an_erased_account_s_texts_change_to_erased_and_to_nothing_else(stage: Stage) -> None:
    world = stage.world
    record = world.challenge(stage.claim, "leaver")
    keep = world.challenge(stage.claim, "stayer")
    leaver = world.account("leaver")
    # As delete_user leaves it, but for the texts.
    world.db.execute(
        "update memstore.users set erased_at = now(), external_ref = null where id = %s", [leaver]
    )
    erased = "ground = '[erased]', evidence_refs = memstore.erase_evidence(evidence_refs)"
    for id, change in (
        (keep, erased),
        (record, "ground = '[erased]'"),
        (record, "evidence_refs = memstore.erase_evidence(evidence_refs)"),
        (record, "ground = '[erased]', evidence_refs = null"),
        (record, "ground = 'Otherwise.', evidence_refs = memstore.erase_evidence(evidence_refs)"),
        (record, f"{erased}, inserted_at = now()"),
        (record, f"{erased}, id = gen_random_uuid()"),
        (record, f"{erased}, user_id = '{stage.steward}'"),
        (record, f"{erased}, memory_id = '{stage.other}'"),
    ):
        with refused("record_is_immutable"), world.db.transaction():
            world.db.execute(f"update memstore.memory_admissions set {change} where id = %s".encode(), [id])
    world.db.execute(f"update memstore.memory_admissions set {erased} where id = %s".encode(), [record])
    check(world.db)


# The functions.


def arguments_of(function: str, stage: Stage) -> dict[str, Any]:
    """A good call of a function, by a steward."""
    of_function: Mapping[str, dict[str, Any]] = {
        "record_admission": {"memory_id": stage.claim, "verdict": "rejected", "ground": "Because."},
        "challenge_memory": {"memory_id": stage.claim, "ground": "Because.", "evidence_refs": [EVIDENCE]},
        "refute_challenge": {"challenge_id": stage.challenge, "ground": "Because."},
        "promote_memory": {"target": stage.claim, "stance": "some-stance", "evidence_refs": [EVIDENCE]},
        "list_claims": {},
        "list_records": {"memory_id": stage.claim},
        "memory_status": {"memory_id": stage.claim},
        "rank_claims": {"query": "builds"},
        "recall": {"query": "builds"},
        "delete_user": {},
    }
    return of_function[function]


FUNCTIONS = (
    *("record_admission", "challenge_memory", "refute_challenge", "promote_memory", "list_claims"),
    *("list_records", "memory_status", "rank_claims", "recall", "delete_user"),
)
STEWARDS_ONLY = ("record_admission", "refute_challenge", "promote_memory", "list_claims")


def erased_account(world: World) -> UUID:
    """An account that left a record behind."""
    world.challenge(world.claim(), "leaver")
    account = world.account("leaver")
    world.db.execute("select memstore.delete_user(%s)", [account])
    return account


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_actor_has_to_exist(stage: Stage, function: str) -> None:
    db = stage.world.db
    db.execute("select memstore.configure(system_recall_enabled => true)")
    for actor in (None, NOBODY, erased_account(stage.world)):
        with refused("actor_unknown", "actor"), db.transaction():
            call(db, function, actor=actor, **arguments_of(function, stage))


@pytest.mark.parametrize("function", STEWARDS_ONLY)
def test_a_stranger_learns_nothing(stage: Stage, function: str) -> None:
    """Real or invented, right or malformed: an account that is no steward gets one answer."""
    db, good = stage.world.db, arguments_of(function, stage)
    tries: list[dict[str, object]] = [good]
    for name in good:
        wrongs: tuple[object, ...] = (None, "", SECRET)
        if name.endswith("_id") or name == "target":
            wrongs = (
                None,
                NOBODY,
                stage.tombstone,
                stage.user_memory,
                stage.verdict,
                stage.challenge_of_other,
            )
        elif name == "evidence_refs":
            wrongs = (None, [], [{}])
        tries += [{**good, name: wrong} for wrong in wrongs]
    if function == "list_claims":
        tries = [{}, {"status": "nonsense"}, {"page_size": 0}, {"after": stage.claim}, {"after": NOBODY}]
    answers = set()
    for arguments in tries:
        for name in ("stranger", "author"):
            with refused("steward_required", "actor") as caught, db.transaction():
                call(db, function, actor=stage.world.account(name), **arguments)
            answers.add((caught.value.diag.message_primary, caught.value.diag.message_detail))
    assert len(answers) == 1


def test_an_unmarked_steward_is_none(stage: Stage) -> None:
    db = stage.world.db
    former = stage.world.account("steward-2")
    db.execute("select memstore.set_steward(%s, false)", [former])
    for function in STEWARDS_ONLY:
        with refused("steward_required", "actor"), db.transaction():
            call(db, function, actor=former, **arguments_of(function, stage))


@pytest.mark.parametrize("target", ["user_memory", "learned_memory", "tombstone", "nobody", "verdict", None])
@pytest.mark.parametrize("function", ["record_admission", "challenge_memory", "list_records"])
def test_what_is_no_claim_takes_no_record(stage: Stage, function: str, target: str | None) -> None:
    db = stage.world.db
    arguments = {**arguments_of(function, stage), "memory_id": target and getattr(stage, target)}
    before = read_records(db)
    with refused("record_target_not_found", "memory_id"), db.transaction():
        call(db, function, actor=stage.steward, **arguments)
    assert read_records(db) == before


@pytest.mark.parametrize("challenge", ["verdict", "refutation", "claim", "nobody", None])
def test_a_refutation_names_a_challenge(stage: Stage, challenge: str | None) -> None:
    with refused("challenge_not_found", "challenge_id"), stage.world.db.transaction():
        stage.world.do(
            "refute_challenge",
            "steward",
            challenge_id=challenge and getattr(stage, challenge),
            ground="Because.",
        )


@pytest.mark.parametrize("function", ["record_admission", "challenge_memory", "refute_challenge"])
@pytest.mark.parametrize("ground", [None, "", BLANK, SECRET + "g" * 2000])
def test_a_record_needs_a_ground(stage: Stage, function: str, ground: str | None) -> None:
    arguments = {**arguments_of(function, stage), "ground": ground}
    if function == "challenge_memory":
        arguments["evidence_refs"] = [{**EVIDENCE, "ref": SECRET}]
    with refused("memory_admissions_ground_shape", "ground"), stage.world.db.transaction():
        stage.world.do(function, "steward", **arguments)


@pytest.mark.parametrize("verdict", [None, "", "candidate", "suspended", "Admitted", SECRET])
def test_a_verdict_is_admitted_or_rejected(stage: Stage, verdict: str | None) -> None:
    with refused("memory_admissions_verdict_shape", "verdict"), stage.world.db.transaction():
        stage.world.do("record_admission", "steward", memory_id=stage.claim, verdict=verdict, ground=SECRET)


@pytest.mark.parametrize("evidence", [[], {}, SECRET, [{}], [{**EVIDENCE, "ref": SECRET, "digest": " "}]])
def test_malformed_evidence_is_not_absent(stage: Stage, evidence: object) -> None:
    with refused("memory_admissions_evidence_refs_shape", "evidence_refs"), stage.world.db.transaction():
        stage.world.do(
            "challenge_memory",
            "a",
            memory_id=stage.claim,
            ground=SECRET,
            evidence_refs=Jsonb(evidence),
        )


def test_texts_are_trimmed_and_other_keys_of_evidence_dropped(stage: Stage) -> None:
    record = stage.world.do(
        "challenge_memory",
        "a",
        memory_id=stage.claim,
        ground=f"{BLANK}It was renamed. {BLANK}",
        evidence_refs=[
            {"kind": " url", "ref": f"{BLANK}https://example.org", "digest": "sha256:0a\n", "note": "x"}
        ],
    )
    assert record["ground"] == "It was renamed."
    assert record["evidence_refs"] == [{"kind": "url", "ref": "https://example.org", "digest": "sha256:0a"}]
    assert record["slug"] == f"chl:{stage.claim}"


@pytest.mark.parametrize("function", ["record_admission", "challenge_memory", "refute_challenge"])
def test_a_record_as_it_is_returned_and_listed(stage: Stage, function: str) -> None:
    record = stage.world.do(function, "steward", **arguments_of(function, stage))
    listed = call(stage.world.db, "list_records", actor=stage.world.account("reader"), memory_id=stage.claim)
    assert listed[-1] == record
    assert [(r["inserted_at"], r["id"]) for r in listed] == sorted(
        (r["inserted_at"], r["id"]) for r in listed
    )
    assert {r["memory_id"] for r in listed} == {stage.claim} and len(listed) == 6
    assert record["user_id"] == stage.steward
    assert isinstance(record["inserted_at"], datetime)


def test_the_author_and_any_other_account_may_challenge(stage: Stage) -> None:
    for name in ("author", "stranger", "steward"):
        record = stage.world.do("challenge_memory", name, memory_id=stage.claim, ground="No.")
        assert record["role"] == "challenge" and record["evidence_refs"] is None
    check(stage.world.db)


def test_a_steward_s_queue(world: World) -> None:
    claims = world.claims(5)
    for claim, verdict in zip(claims, ["admitted", "rejected", "admitted", "admitted"], strict=False):
        world.verdict(claim, verdict)
    world.challenge(claims[2])
    world.challenge(claims[2], evidenced=False)
    world.refute(world.challenge(claims[2], "b"))
    world.challenge(claims[4], evidenced=False)
    world.tombstone()
    world.correct(claims[3], "author", id=UUID(int=77))
    expected = [
        (claims[0], "admitted", 0),
        (claims[1], "rejected", 0),
        (claims[2], "suspended", 2),
        (claims[4], "candidate", 1),
        (UUID(int=77), "candidate", 0),
    ]
    query = "select (memory).id, status, open_challenges from memstore.list_claims(%s, %s, %s, %s)"
    steward = world.account("steward")
    assert rows(world.db, query, steward, None, None, None) == expected
    assert rows(world.db, query, steward, None, 2, claims[1]) == expected[2:4]
    # A page goes on from a claim that was superseded in between.
    assert rows(world.db, query, steward, None, 50, claims[3]) == expected[3:]
    for status in ("candidate", "admitted", "rejected", "suspended"):
        found = rows(world.db, query, steward, status, 50, None)
        assert found == [row for row in expected if row[1] == status]
    for arguments, name, field in (
        ((steward, "tombstone", 50, None), "argument_invalid", "status"),
        ((steward, None, 0, None), "argument_invalid", "page_size"),
        ((steward, None, 201, None), "argument_invalid", "page_size"),
        ((steward, None, 50, NOBODY), "memory_not_found", "after"),
    ):
        with refused(name, field), world.db.transaction():
            rows(world.db, query, *arguments)


# 200 open challenges an account.

MANY = (
    "insert into memstore.memory_admissions (memory_id, user_id, role, ground)"
    " select %s, %s, 'challenge', 'x' from generate_series(1, %s)"
)


def test_an_account_has_200_open_challenges_at_most(world: World) -> None:
    claim, candidate = world.admitted(1)[0], world.claim()
    account = world.account("a")
    world.db.execute(MANY, [claim, account, 199])
    last = world.challenge(candidate)
    for number in (1, 5):
        with refused("quota_reached", "actor"), world.db.transaction():
            world.db.execute(MANY, [candidate, account, number])
    with refused("quota_reached", "actor"), world.db.transaction():
        world.do("challenge_memory", "a", memory_id=claim, ground=SECRET, evidence_refs=[EVIDENCE])
    world.challenge(claim, "b")
    check(world.db)
    world.refute(last)
    world.do("challenge_memory", "a", memory_id=claim, ground="x", evidence_refs=[EVIDENCE])
    with refused("quota_reached", "actor"), world.db.transaction():
        world.challenge(claim)
    # Those of a deleted claim aren't open any more.
    world.db.execute("delete from memstore.memories where id = %s", [claim])
    world.challenge(candidate)
    check(world.db)


def test_one_statement_holds_200_open_challenges_at_most(world: World) -> None:
    claim, account = world.claim(), world.account("a")
    with refused("quota_reached"), world.db.transaction():
        world.db.execute(MANY, [claim, account, 201])
    world.db.execute(MANY, [claim, account, 200])
    check(world.db)


def test_a_challenge_that_comes_with_the_refutation_of_another_finds_room(world: World) -> None:
    claim, account = world.claim(), world.account("a")
    world.db.execute(MANY, [claim, account, 200])
    world.db.execute(
        "insert into memstore.memory_admissions (memory_id, user_id, role, challenge_id, ground)"
        " select %(claim)s, %(account)s, 'challenge', null, 'x' union all"
        " (select memory_id, %(account)s, 'refutation', id, 'x' from memstore.memory_admissions limit 1)",
        {"claim": claim, "account": account},
    )
    assert value(world.db, "select count(*) from memstore.open_challenges") == 200
    check(world.db)


def test_the_quota_says_what_it_is_about(world: World) -> None:
    claim, account = world.claim(), world.account("a")
    world.db.execute(MANY, [claim, account, 200])
    with refused("quota_reached") as caught, world.db.transaction():
        world.do("challenge_memory", "a", memory_id=claim, ground="x")
    assert "challenge" in f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}".lower()


def test_the_quota_holds_against_concurrent_writers(
    db: psycopg.Connection, connect: Callable[..., psycopg.Connection]
) -> None:
    world = World(db)
    claim, account = world.admitted(1)[0], world.account("a")
    db.execute(MANY, [claim, account, 190])
    barrier = Barrier(8)

    def write(connection: psycopg.Connection, plainly: bool) -> None:
        barrier.wait()
        for _ in range(4):
            with suppress(psycopg.errors.DatabaseError):
                if plainly:
                    connection.execute(MANY, [claim, account, 1])
                else:
                    connection.execute("select memstore.challenge_memory(%s, %s, 'x')", [account, claim])

    threads = [Thread(target=write, args=(connect(), n % 2 == 0)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value(db, "select count(*) from memstore.memory_admissions where role = 'challenge'") == 200
    check(db)


def test_no_error_of_the_bucket_tells_a_text(world: World) -> None:
    """What a refused call was given, and what stands in the rows it met, is in no part of the error."""
    claim = world.claim(body=f"It builds: {SECRET}.", entity=SECRET)
    challenge = world.do(
        "challenge_memory", "a", memory_id=claim, ground=SECRET, evidence_refs=[{**EVIDENCE, "ref": SECRET}]
    )
    for function, by, arguments in (
        ("challenge_memory", "a", {"memory_id": NOBODY, "ground": SECRET}),
        ("refute_challenge", "a", {"challenge_id": challenge["id"], "ground": SECRET}),
        ("refute_challenge", "steward", {"challenge_id": NOBODY, "ground": SECRET}),
        ("record_admission", "steward", {"memory_id": claim, "verdict": SECRET, "ground": SECRET}),
        ("promote_memory", "steward", {"target": claim, "stance": SECRET + " ", "evidence_refs": []}),
        (
            "promote_memory",
            "steward",
            {"target": claim, "stance": SECRET.upper(), "evidence_refs": [EVIDENCE]},
        ),
        ("supersede_memory", "a", {"target": claim, "body": SECRET, "evidence_refs": [EVIDENCE]}),
        ("supersede_memory", "author", {"target": claim, "body": SECRET, "evidence_refs": [{"ref": SECRET}]}),
    ):
        with pytest.raises(psycopg.Error) as caught, world.db.transaction():
            world.do(function, by, **arguments)
        diag = caught.value.diag
        told = (
            diag.message_primary,
            diag.message_detail,
            diag.message_hint,
            diag.context,
            diag.internal_query,
        )
        assert diag.constraint_name and not [part for part in told if SECRET in (part or "").lower()]
    assert row_of(world.db, claim)["superseded_at"] is None
