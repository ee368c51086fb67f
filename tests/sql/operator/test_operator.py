"""The operator's functions: settings, stewards, ceilings, embedding models, imports."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.support import (
    EVIDENCE,
    SECRET,
    SYSTEM,
    account_of,
    call,
    call_one,
    insert,
    live_count,
    raw_insert,
    refused,
    row_of,
    rows,
    steward_of,
    supersede,
    value,
)

DEFAULTS = {
    "maximum_live_memories": 200,
    "maximum_attached": 8,
    "maximum_attached_characters": 2000,
    "lexical_floor": 0,
    "semantic_floor": 0.3,
    "previous_share": 0.6,
    "next_share": 0.4,
    "speaker_share": 0.4,
    "time_share": 0.4,
    "source_share": 0.3,
    "system_recall_enabled": False,
    "maximum_system_pool": 40,
    "registered_models_only": False,
    "user_floor": 0,
    "score_share": 0,
}


def settings(db: psycopg.Connection) -> dict[str, Any]:
    row = call_one(db, "configure")
    return {name: row[name] for name in DEFAULTS}


# configure


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


def test_the_settings_at_first(db: psycopg.Connection) -> None:
    assert settings(db) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("maximum_live_memories", 0),
        ("maximum_attached", 0),
        ("maximum_attached_characters", 0),
        ("maximum_system_pool", 0),
        ("lexical_floor", 1),
        ("semantic_floor", 0),
        ("semantic_floor", 1),
        ("speaker_share", 0),
        ("speaker_share", 1),
        ("time_share", 0),
        ("time_share", 1),
        ("source_share", 0),
        ("source_share", 1),
        ("system_recall_enabled", True),
        ("user_floor", 1),
        ("score_share", 1),
    ],
)
def test_one_changes_and_the_others_stay(name: str, content: object, db: psycopg.Connection) -> None:
    row = call_one(db, "configure", **{name: content})
    assert {name: row[name] for name in DEFAULTS} == settings(db) == {**DEFAULTS, name: content}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, -1) for name in DEFAULTS if name.startswith("maximum")),
        *((f"{name}_floor", bad) for name in ("lexical", "semantic", "user") for bad in (-0.1, 1.1)),
        *(
            (f"{name}_share", bad)
            for name in ("speaker", "source", "score")
            for bad in (-0.1, 1.1, float("nan"))
        ),
        *(
            (f"{name}_floor", float(bad))
            for name in ("lexical", "semantic", "user")
            for bad in ("nan", "inf")
        ),
    ],
)
def test_a_setting_out_of_bounds(name: str, content: object, db: psycopg.Connection) -> None:
    with refused(f"settings_{name}_shape", name):
        call(db, "configure", **{name: content})
    for stored in (content, None):
        with refused(f"settings_{name}_shape"):
            db.execute(f"update memstore.settings set {name} = %s".encode(), [stored])
    assert settings(db) == DEFAULTS


def test_all_broken_settings_are_named(db: psycopg.Connection) -> None:
    with refused("settings_maximum_attached_shape") as refusal:
        call(db, "configure", maximum_attached=-1, lexical_floor=2, semantic_floor=1)
    detail = json.loads(refusal.value.diag.message_detail or "")
    assert [item["field"] for item in detail] == ["maximum_attached", "lexical_floor"]
    assert settings(db) == DEFAULTS


def test_there_is_one_row_of_settings(db: psycopg.Connection) -> None:
    with refused("settings_pkey"):
        db.execute("insert into memstore.settings default values")
    with refused("settings_singleton_shape"):
        db.execute("insert into memstore.settings (singleton) values (false)")


def test_the_ceiling_of_new_accounts(db: psycopg.Connection, account: UUID) -> None:
    call(db, "configure", maximum_live_memories=1)
    new = account_of(db, "new")
    insert(db, new, "x")
    with refused("quota_reached"):
        insert(db, new, "y")
    for body in "xy":
        insert(db, account, body)
    plain = value(db, "insert into memstore.users default values returning maximum_live_memories")
    assert plain == 1


# set_steward and set_maximum_live_memories


def test_stewards_are_marked_and_unmarked(db: psycopg.Connection, account: UUID) -> None:
    for steward in (True, True, False):
        call(db, "set_steward", user_id=account, steward=steward)
        assert rows(db, "select steward from memstore.users") == [(steward,)]
    with refused("users_steward_shape", "steward"):
        call(db, "set_steward", user_id=account, steward=None)


def test_a_ceiling_below_what_the_account_holds(db: psycopg.Connection, account: UUID) -> None:
    memories = [insert(db, account, body)["id"] for body in "abc"]
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=1)
    assert live_count(db, account) == 3
    for memory in memories:
        with refused("quota_reached", "actor"):
            insert(db, account, "x")
        call(db, "delete_memory", actor=account, id=memory)
    insert(db, account, "x")


@pytest.mark.parametrize("ceiling", [-1, None])
def test_a_ceiling_out_of_bounds(ceiling: int | None, db: psycopg.Connection, account: UUID) -> None:
    with refused("users_maximum_live_memories_shape", "maximum_live_memories"):
        call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=ceiling)


@pytest.mark.parametrize("user_id", [None, UUID(int=1)])
def test_an_unknown_account(user_id: UUID | None, db: psycopg.Connection) -> None:
    with refused("actor_unknown"):
        call(db, "set_steward", user_id=user_id, steward=True)
    with refused("actor_unknown"):
        call(db, "set_maximum_live_memories", user_id=user_id, maximum_live_memories=1)
    with refused("actor_unknown"):
        call(db, "import_memories", user_id=user_id, memories=[])


# embedding models


def models(db: psycopg.Connection) -> list[tuple[str, int, bool]]:
    return rows(db, "select name, dimensions, registered from memstore.embedding_models order by name")


def test_a_registered_model_fixes_the_dimensions_and_stays(db: psycopg.Connection, account: UUID) -> None:
    for _ in range(2):
        call(db, "register_embedding_model", name=" model ", dimensions=2)
    with refused("embedding_dimensions_differ", "embedding"):
        insert(db, account, SECRET, embedding=[1], embedding_model="model")
    memory = insert(db, account, "x", embedding=[1, 2], embedding_model="model")["id"]
    call(db, "delete_memory", actor=account, id=memory)
    assert models(db) == [("model", 2, True)]


def test_a_model_in_use_is_registered_as_it_is(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "x", embedding=[1, 2], embedding_model="model")
    with refused("embedding_dimensions_differ", "embedding"):
        call(db, "register_embedding_model", name="model", dimensions=3)
    assert models(db) == [("model", 2, False)]
    call(db, "register_embedding_model", name="model", dimensions=2)
    assert models(db) == [("model", 2, True)]


def test_a_forgotten_model_goes_with_its_last_embedding(db: psycopg.Connection, account: UUID) -> None:
    call(db, "register_embedding_model", name="unused", dimensions=2)
    call(db, "register_embedding_model", name="model", dimensions=2)
    memory = insert(db, account, "x", embedding=[1, 2], embedding_model="model")["id"]
    for name in ("model", "unused", "no such model", None):
        call(db, "forget_embedding_model", name=name)
    assert models(db) == [("model", 2, False)]
    call(db, "set_embedding", actor=account, id=memory, embedding=None, embedding_model=None)
    assert models(db) == []


@pytest.mark.parametrize(
    ("name", "dimensions", "field"),
    [
        ("", 2, "name"),
        ("\u3000", 2, "name"),
        ("x" * 201, 2, "name"),
        ("x", 0, "dimensions"),
        ("x", 16_001, "dimensions"),
        ("x", None, "dimensions"),
    ],
)
def test_a_model_out_of_bounds(name: str, dimensions: int | None, field: str, db: psycopg.Connection) -> None:
    with refused(f"embedding_models_{field}_shape", field):
        call(db, "register_embedding_model", name=name, dimensions=dimensions)
    assert models(db) == []


def test_a_model_without_a_name(db: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        call(db, "register_embedding_model", name=None, dimensions=2)
    assert refusal.value.diag.constraint_name == "embedding_models_name_shape"


def test_the_bounds_of_a_model(db: psycopg.Connection) -> None:
    call(db, "register_embedding_model", name="x", dimensions=1)
    call(db, "register_embedding_model", name="x" * 200, dimensions=16_000)
    assert len(models(db)) == 2


# import_memories


def import_all(db: psycopg.Connection, account: UUID, *items: object) -> list[dict[str, Any]]:
    return call(db, "import_memories", user_id=account, memories=list(items))


def dump(db: psycopg.Connection, account: UUID) -> list[dict[str, Any]]:
    return [
        item
        for (item,) in rows(
            db,
            "select to_jsonb(m) - '{user_id,promoted,search_vector}'::text[] from memstore.memories m"
            " where user_id = %s order by inserted_at, id",
            account,
        )
    ]


@pytest.fixture
def history(db: psycopg.Connection, account: UUID) -> list[dict[str, Any]]:
    """A chain, a merge, a row whose correction was deleted, a claim with its correction, and a tombstone."""
    first = insert(
        db, account, "Memory 1.", source_ref="run 7", embedding=[0.1, -2e5], embedding_model="model"
    )
    third = supersede(db, account, first["id"], "Memory 3.", language="danish")
    second = insert(db, account, "Memory 2.", bucket="learned")
    call(db, "supersede_with", actor=account, target=second["id"], replacement=third["id"])
    supersede(db, account, third["id"], "上海 \N{GRINNING FACE} \"'\\")
    orphan = insert(db, account, "Memory 4.")
    gone = supersede(db, account, orphan["id"], "Memory 5.")
    call(db, "delete_memory", actor=account, id=gone["id"])
    claim = insert(db, account, "x", **SYSTEM, entity="npm")
    supersede(db, account, claim["id"], "y", evidence_refs=[EVIDENCE])
    return dump(db, account)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_round_trip(zone: str, db: psycopg.Connection, account: UUID, history: list[dict[str, Any]]) -> None:
    db.execute("select set_config('timezone', %s, false)", [zone])
    zoned = dump(db, account)
    live = live_count(db, account)
    call(db, "delete_user", actor=account)
    account = account_of(db, "account-1")
    tombstone = {"id": str(uuid4()), "body": "At use-pnpm.", **SYSTEM, "stance": "use-pnpm"}
    items = [*zoned[::-1], tombstone]
    imported = import_all(db, account, *items)
    assert [str(memory["id"]) for memory in imported] == [item["id"] for item in items]
    assert [item for item in dump(db, account) if item["id"] != tombstone["id"]] == zoned
    assert live_count(db, account) == live
    assert import_all(db, account, *items) == imported
    (stored,) = rows(db, "select promoted from memstore.memories where id = %s", tombstone["id"])
    assert stored == (True,)


def test_times_are_now_unless_given(db: psycopg.Connection, account: UUID) -> None:
    before = value(db, "select clock_timestamp()")
    new, old = import_all(db, account, {"body": "x"}, {"body": "y", "inserted_at": "2026-01-02T03:04:05Z"})
    assert before <= new["inserted_at"] == new["updated_at"] <= value(db, "select clock_timestamp()")
    assert old["inserted_at"] == old["updated_at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("style", ["SQL, DMY", "German, MDY", "Postgres, YMD"])
def test_times_do_not_depend_on_the_session(style: str, db: psycopg.Connection, account: UUID) -> None:
    db.execute(
        "select set_config('datestyle', %s, false), set_config('timezone', 'Asia/Kolkata', false)", [style]
    )
    item = {"body": "x", "superseded_at": "2999-02-01T03:04:05.000006+00"}
    items = [item, item | {"inserted_at": "2026-02-01T03:04:05.000006Z"}]
    db.execute("select count(*) from memstore.import_memories(%s, %s)", [account, Jsonb(items)])
    db.execute("set datestyle = 'ISO'")
    new, old = sorted((row["inserted_at"] for row in dump_rows(db)), reverse=True)
    assert abs(new - value(db, "select clock_timestamp()")) < timedelta(minutes=5)
    assert old == datetime(2026, 2, 1, 3, 4, 5, 6, tzinfo=UTC)
    assert {row["superseded_at"] for row in dump_rows(db)} == {datetime(2999, 2, 1, 3, 4, 5, 6, tzinfo=UTC)}


def dump_rows(db: psycopg.Connection) -> list[dict[str, Any]]:
    return [row_of(db, memory) for (memory,) in rows(db, "select id from memstore.memories")]


@pytest.mark.parametrize(
    ("key", "content"),
    [
        *(
            ("inserted_at", content)
            for content in (7, "", "now", "infinity", "2026-01-02", "2026-01-02T03:04:05")
        ),
        *(("inserted_at", f"2026-01-02T{time}Z") for time in ("24:00:00", "03:60:00", "3:04:05", "03:04:60")),
        *(("superseded_at", f"{day}T03:04:05Z") for day in ("2026-02-29", "0000-01-01", "10000-01-01")),
        ("updated_at", "2026-01-02T03:04:05 Europe/Paris"),
        ("updated_at", "2026-01-02T03:04:05+25:00"),
        ("superseded_by_id", "x"),
        ("stance", 7),
        ("promoted", True),
        ("search_vector", "'x'"),
        ("user_id", str(UUID(int=1))),
    ],
    ids=str,
)
def test_a_value_of_another_type(key: str, content: object, db: psycopg.Connection, account: UUID) -> None:
    with refused("argument_invalid") as refusal:
        import_all(db, account, {"body": "x"}, {"body": SECRET, key: content})
    assert (refusal.value.diag.message_primary or "").startswith("Item 2: ")
    assert live_count(db, account) == 0


def test_a_pointer_that_no_correction_could_have_left(db: psycopg.Connection, account: UUID) -> None:
    foreign = insert(db, account_of(db, "other"), "x")["id"]
    claim = insert(db, account, "x", **SYSTEM)["id"]
    dead = insert(db, account, "x", id=UUID(int=1))["id"]
    supersede(db, account, dead, "y")
    before = rows(db, "select m from memstore.memories m order by id")
    ids = [str(uuid4()) for _ in range(2)]
    late = {"superseded_at": "2999-01-01T00:00:00Z"}
    for pointer in (foreign, claim, dead, ids[0]):
        with refused("not_supersedable"):
            import_all(db, account, {"id": ids[0], "body": "x", "superseded_by_id": str(pointer), **late})
    with refused("not_supersedable"):
        import_all(
            db,
            account,
            {"id": ids[0], "body": "x", "superseded_by_id": ids[1], **late},
            {"id": ids[1], "body": "x", "superseded_by_id": ids[0], **late},
        )
    with refused("memories_superseded_by_id_fkey"):
        import_all(db, account, {"id": ids[0], "body": "x", "superseded_by_id": str(uuid4()), **late})
    with refused("memories_superseded_at_shape", "superseded_at"):
        import_all(db, account, {"id": ids[0], "body": "x", "superseded_by_id": str(claim)})
    assert rows(db, "select m from memstore.memories m order by id") == before


def test_a_pointer_to_a_row_that_is_there(db: psycopg.Connection, account: UUID) -> None:
    live = insert(db, account, "x")["id"]
    (memory,) = import_all(
        db, account, {"body": "y", "superseded_by_id": str(live), "superseded_at": "2999-01-01T00:00:00Z"}
    )
    assert memory["superseded_by_id"] == live
    assert live_count(db, account) == 1


def test_an_id_that_is_taken(db: psycopg.Connection, account: UUID) -> None:
    taken = insert(db, account_of(db, "other"), "x")["id"]
    with refused("id_taken", "id") as refusal:
        import_all(db, account, {"body": "y"}, {"id": str(taken), "body": "x"})
    assert (refusal.value.diag.message_primary or "").startswith("Item 2: ")
    assert live_count(db, account) == 0


def test_an_import_counts_live_rows_only(db: psycopg.Connection, account: UUID) -> None:
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=1)
    dead = {"body": "x", "superseded_at": "2999-01-01T00:00:00Z"}
    import_all(db, account, dead, {"body": "x"}, dead)
    assert live_count(db, account) == 1
    new = str(uuid4())
    with refused("quota_reached", "actor"):
        import_all(db, account, {"body": "x", "id": new}, {**dead, "superseded_by_id": new})
    assert live_count(db, account) == 1


def test_the_rules_hold(db: psycopg.Connection, account: UUID) -> None:
    with refused("memories_stance_shape", "stance") as refusal:
        import_all(db, account, {"body": "x"}, {"body": f"At A b. {SECRET}", "stance": "A b"})
    assert (refusal.value.diag.message_primary or "").startswith("Item 2: ")
    with refused("memories_stance_shape", "stance"):
        import_all(db, account, {**SYSTEM, "body": SECRET, "stance": "use-pnpm"})
    assert not rows(db, "select from memstore.memories")


def test_a_steward_is_no_operator(db: psycopg.Connection) -> None:
    """What is granted is the API, without the operator's functions, whichever the actor is."""
    steward_of(db, "steward")
    names = {name for (name,) in rows(db, "select name from memstore.api_functions")}
    assert not names & {"configure", "set_steward", "set_maximum_live_memories", "import_memories"}


def test_only_registered_models(db: psycopg.Connection, account: UUID) -> None:
    """By whatever way an embedding comes, while the setting is on."""
    held = insert(db, account, "x", embedding=[1], embedding_model="taken")["id"]
    call(db, "configure", registered_models_only=True)
    call(db, "register_embedding_model", name="model", dimensions=2)
    for name in ("new", "taken"):
        given: dict[str, Any] = {"embedding": [1], "embedding_model": name}
        items = [{"body": "new", **given}]
        for function, arguments in (
            ("insert_memory", {"actor": account, "body": "new", **given}),
            ("supersede_memory", {"actor": account, "target": held, "body": "y", **given}),
            ("set_embedding", {"actor": account, "id": held, **given}),
            ("insert_memories", {"actor": account, "memories": items}),
            ("import_memories", {"user_id": account, "memories": items}),
        ):
            with refused("embedding_model_unregistered", "embedding_model"):
                call(db, function, **arguments)
        with refused("embedding_model_unregistered", "embedding_model"):
            raw_insert(db, account, **given)
    insert(db, account, "new", embedding=[1, 2], embedding_model="model")
    with refused("embedding_dimensions_differ", "embedding"):
        insert(db, account, "newer", embedding=[1], embedding_model="model")
    call(db, "configure", registered_models_only=False)
    insert(db, account, "newest", embedding=[1], embedding_model="new")


def test_a_name_that_an_account_took_with_another_length(db: psycopg.Connection, account: UUID) -> None:
    """The operator clears it from all memories, and registers it as it is."""
    claim = insert(db, account, "x", embedding=[1], embedding_model="model", **SYSTEM)["id"]
    memory = insert(db, account, "x", embedding=[1], embedding_model="model")
    other = insert(db, account, "y", embedding=[1], embedding_model="other")
    steward = steward_of(db, "steward")
    call(db, "record_admission", actor=steward, memory_id=claim, verdict="admitted", ground="x")
    call(db, "forget_embedding_model", name="model", clear=True)
    call(db, "register_embedding_model", name="model", dimensions=2)
    stored = row_of(db, memory["id"])
    assert (stored["embedding"], stored["embedding_model"], stored["body"]) == (None, None, "x")
    assert row_of(db, other["id"])["embedding"] == [1]
    assert call(db, "set_embedding", actor=account, id=claim, embedding=[1, 2], embedding_model="model")
    assert rows(db, "select invariant from memstore.verify_store() where violations > 0") == []


def test_a_registered_name_is_cleared_too(db: psycopg.Connection, account: UUID) -> None:
    call(db, "register_embedding_model", name="model", dimensions=1)
    insert(db, account, "x", embedding=[1], embedding_model="model")
    call(db, "forget_embedding_model", name="model", clear=True)
    assert models(db) == []


def test_an_import_raises_a_ceiling_that_is_too_low(db: psycopg.Connection, account: UUID) -> None:
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=2)
    insert(db, account, "x", id=UUID(int=1))
    items = [{"body": "x", "id": str(UUID(int=number))} for number in range(1, 5)]
    dead = {"body": "y", "inserted_at": "2026-01-02T03:04:05Z", "superseded_at": "2026-01-02T03:04:05Z"}
    with refused("quota_reached", "actor"):
        call(db, "import_memories", user_id=account, memories=[*items, dead])
    call(db, "import_memories", user_id=account, memories=[*items, dead], raise_ceiling=True)
    ceiling = "select live_memories, maximum_live_memories from memstore.users where id = %s"
    assert rows(db, ceiling, account) == [(4, 4)]
    with refused("quota_reached", "actor"):
        insert(db, account, "z")
    call(db, "set_maximum_live_memories", user_id=account, maximum_live_memories=100)
    call(db, "import_memories", user_id=account, memories=items, raise_ceiling=True)
    assert rows(db, ceiling, account) == [(4, 100)]
