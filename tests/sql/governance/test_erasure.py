"""An account that leaves: its records stay without their texts, and no status changes by them."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.sql.support import EVIDENCE, SECRET, call, refused, rows, steward_of, value
from tests.sql.world import World, check, read_records

MARKED = {"kind": "receipt", "ref": f"run {SECRET}", "digest": f"sha256:{SECRET}"}
ERASED = {"kind": "receipt", "ref": "[erased]", "digest": "[erased]"}


@pytest.fixture
def world(scratch: psycopg.Connection) -> World:
    return World(scratch)


def erase(world: World, name: str) -> UUID:
    account = world.account(name)
    world.db.execute("select memstore.delete_user(%s)", [account])
    return account


def user(world: World, account: UUID) -> list[tuple[object, ...]]:
    return rows(
        world.db,
        "select external_ref, steward, live_memories, maximum_live_memories, erased_at is not null"
        " from memstore.users where id = %s",
        account,
    )


def test_no_status_changes_by_the_records_of_an_account_that_leaves(world: World) -> None:
    admitted, rejected, suspended, queued, answered, spared = claims = world.claims(6)
    for claim in claims:
        verdict = "rejected" if claim == rejected else "admitted"
        world.record("admission", claim, "steward-2", verdict=verdict)
    for claim in (suspended, spared, queued):
        world.challenge(claim, "leaver")
    world.challenge(admitted, "leaver", evidenced=False)
    challenge = world.challenge(answered, "b")
    world.record("refutation", answered, "steward-2", challenge_id=challenge)
    expected = dict.fromkeys(claims, "admitted")
    expected |= {rejected: "rejected", suspended: "suspended", spared: "suspended"}
    assert check(world.db) == expected
    for name in ("leaver", "steward-2"):
        erase(world, name)
        assert check(world.db) == expected
    # Its challenges stay open, and move up and are answered as anybody's.
    first, *_ = (
        r.id
        for r in sorted(read_records(world.db), key=lambda r: r.place)
        if r.memory_id == suspended and r.role == "challenge"
    )
    world.do("refute_challenge", "steward", challenge_id=first, ground="x")
    assert check(world.db) == expected | {suspended: "admitted", queued: "suspended"}


@pytest.mark.parametrize("evidence", [None, [MARKED], [MARKED, {**MARKED, "kind": "url"}]])
def test_the_texts_become_erased(world: World, evidence: list[dict[str, str]] | None) -> None:
    claim = world.admitted(1)[0]
    kept = world.challenge(claim, "stayer", ground=SECRET, evidence_refs=[MARKED])
    world.challenge(claim, "leaver", ground=SECRET, evidence_refs=evidence)
    account = erase(world, "leaver")
    query = "select ground, evidence_refs from memstore.memory_admissions where user_id = %s"
    erased = evidence and [{**ERASED, "kind": item["kind"]} for item in evidence]
    assert rows(world.db, query, account) == [("[erased]", erased)]
    assert value(world.db, "select ground from memstore.memory_admissions where id = %s", kept) == SECRET


def test_all_roles_lose_their_grounds(world: World) -> None:
    claim = world.claim()
    world.record("admission", claim, "steward-2", verdict="admitted", ground=SECRET)
    challenge = world.challenge(claim, "a")
    world.record("refutation", claim, "steward-2", challenge_id=challenge, ground=SECRET)
    account = erase(world, "steward-2")
    query = "select role, ground from memstore.memory_admissions where user_id = %s order by role"
    assert rows(world.db, query, account) == [("admission", "[erased]"), ("refutation", "[erased]")]


def test_a_bare_id_stays_and_can_do_nothing(world: World) -> None:
    claim = world.admitted(1)[0]
    challenge = world.do(
        "challenge_memory", "steward-2", memory_id=claim, ground="x", evidence_refs=[EVIDENCE]
    )
    account = erase(world, "steward-2")
    assert user(world, account) == [(None, False, 0, 0, True)]
    for function, arguments in (
        ("challenge_memory", {"memory_id": claim, "ground": "x"}),
        ("record_admission", {"memory_id": claim, "verdict": "rejected", "ground": "x"}),
        ("refute_challenge", {"challenge_id": challenge["id"], "ground": "x"}),
        ("promote_memory", {"target": claim, "stance": "s", "evidence_refs": [EVIDENCE]}),
        ("supersede_memory", {"target": claim, "body": "x", "evidence_refs": [EVIDENCE]}),
        ("insert_memory", {"body": "x"}),
        ("list_claims", {}),
        ("list_records", {"memory_id": claim}),
        ("memory_status", {"memory_id": claim}),
        ("recall", {"query": "x"}),
        ("delete_user", {}),
    ):
        with refused("actor_unknown", "actor"), world.db.transaction():
            call(world.db, function, actor=account, **arguments)
    with refused("actor_unknown", "user_id"), world.db.transaction():
        world.db.execute("select memstore.set_steward(%s, true)", [account])
    with refused("users_steward_shape"), world.db.transaction():
        world.db.execute("update memstore.users set steward = true where id = %s", [account])
    # An account that is made under the same name is another one.
    assert steward_of(world.db, "steward-2") != account


@pytest.mark.parametrize("own", [False, True])
def test_without_records_on_others_claims_the_row_goes(world: World, own: bool) -> None:
    world.memory("leaver")
    if own:
        world.challenge(world.claim("leaver"), "leaver")
    account = erase(world, "leaver")
    assert user(world, account) == []
    assert read_records(world.db) == [] and check(world.db) == {}


def test_the_records_on_its_claims_go(world: World) -> None:
    own, other = world.claim("leaver"), world.claim()
    for claim in (own, other):
        world.verdict(claim)
        world.refute(world.challenge(claim, "a"))
        world.challenge(claim, "b")
    assert world.suspended([own, other]) == [True, False]
    erase(world, "leaver")
    assert {r.memory_id for r in read_records(world.db)} == {other}
    assert check(world.db) == {other: "suspended"}


def test_what_a_steward_answered_stays_answered(world: World) -> None:
    claim = world.admitted(1)[0]
    world.challenge(claim)
    replacement = world.correct(claim, "steward-2")
    assert world.status(claim) == "admitted"
    account = erase(world, "steward-2")
    assert world.status(claim) == "admitted" and world.status(replacement["id"]) is None
    assert user(world, account) == [(None, False, 0, 0, True)]
    chain = "select superseded_at is not null, superseded_by_id from memstore.memories where id = %s"
    assert rows(world.db, chain, claim) == [(True, None)]


def columns_with(db: psycopg.Connection, marker: str) -> list[str]:
    """The columns of all tables of the schema, and of their statistics, that have a text somewhere."""
    found = []
    columns = rows(
        db,
        "select table_schema || '.' || table_name, table_schema, table_name, column_name"
        " from information_schema.columns join information_schema.tables using (table_schema, table_name)"
        " where table_type = 'BASE TABLE' and table_schema = 'memstore'"
        " union all select 'pg_catalog.pg_statistic', 'pg_catalog', 'pg_statistic', 'stavalues' || n"
        " from generate_series(1, 5) n",
    )
    for table, schema, name, column in columns:
        query = sql.SQL("select count(*) from {} where {}::text ilike {}").format(
            sql.Identifier(schema, name), sql.Identifier(column), sql.Literal(f"%{marker}%")
        )
        row = db.execute(query).fetchone()
        if row and row[0]:
            found.append(f"{table}.{column}")
    return found


@pytest.mark.parametrize("keys", [MARKED, {**MARKED, "note": SECRET}])
def test_no_table_keeps_a_text(db: psycopg.Connection, keys: dict[str, str]) -> None:
    """Also not where a plain INSERT left more in the evidence than functions do, nor in statistics."""
    marker = SECRET.partition("-")[0]
    world = World(db)
    claim = world.admitted(1)[0]
    fields = {"entity": SECRET, "source_ref": SECRET, "evidence_refs": [keys], "slug": f"sys:{SECRET}"}
    own = world.claim("leaver", f"It builds {SECRET}.", **fields)
    world.verdict(own)
    for target in (claim, own):
        for _ in range(20):
            world.challenge(target, "leaver", ground=SECRET, evidence_refs=[keys])
    db.execute("update memstore.users set external_ref = %s where id = %s", [SECRET, world.account("leaver")])
    account = value(db, "select memstore.find_user(%s)", SECRET)
    db.execute("analyze")
    before = columns_with(db, marker)
    assert len(before) > 5
    assert {"memstore.admitted_claims.search_vector", "memstore.claim_words.lexeme"} <= set(before)
    db.execute("select memstore.delete_user(%s)", [account])
    assert columns_with(db, marker) == []
    check(db)


def test_chains_of_others_go_on_without_the_links_of_an_account_that_leaves(world: World) -> None:
    steward_of(world.db, "leaver")
    stayer = steward_of(world.db, "stayer")
    first = world.claim()
    second = world.correct(first, "leaver")["id"]
    third = world.correct(second, "leaver")["id"]
    last = world.correct(third, "stayer")["id"]
    erase(world, "leaver")
    assert rows(
        world.db,
        "select id, superseded_by_id, superseded_at is null from memstore.memories"
        " where id = any (%s) order by inserted_at",
        [first, second, third, last],
    ) == [(first, last, False), (last, None, True)]
    history = call(world.db, "memory_history", actor=stayer, id=last)
    assert [memory["id"] for memory in history] == [first, last]
