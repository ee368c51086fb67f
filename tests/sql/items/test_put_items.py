"""put_items: writes by path, whole calls or nothing; versions, times to live, the maximum, embeddings."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.sql.items.items import delete, embedded, get, item, put
from tests.sql.racing import Call, Connect, until, waiting
from tests.sql.support import SECRET, account_of, call, refused, rows, value

PATHS: list[tuple[list[str], str]] = [
    (["a"], "k"),
    (["a", "k"], "k"),
    (["ak"], "k"),
    (["a"], "K"),
    (["a", "b.c", "%", "_", "\\", "{}", '"', " ", "Straße", "null"], "*"),
    ([str(label) for label in range(32)], "x" * 1946),
    (["x" * 1999], "k"),
]


def stored(db: psycopg.Connection, account: UUID) -> int:
    """The account's count of items, checked against the rows."""
    ((kept, counted),) = rows(
        db,
        "select stored_items, (select count(*) from memstore.items i where i.user_id = u.id)"
        " from memstore.users u where id = %s",
        account,
    )
    assert kept == counted
    return int(kept)


def test_paths_are_compared_exactly(undone: psycopg.Connection, holder: UUID) -> None:
    versions = put(undone, holder, *(item(*path, {"n": n}) for n, path in enumerate(PATHS)))
    assert len(set(versions)) == len(PATHS)
    read = get(undone, holder, *reversed(PATHS))
    assert [row["value"]["n"] for row in read] == list(reversed(range(len(PATHS))))
    assert [(row["namespace"], row["key"]) for row in read] == [(list(n), k) for n, k in reversed(PATHS)]


def test_a_put_overwrites_all_of_it(undone: psycopg.Connection, holder: UUID) -> None:
    first = put(
        undone,
        holder,
        item("a", "k", {"one": 1}, ttl_seconds=60, embeddings=[embedded(1, 2)], language="german"),
    )
    second = put(undone, holder, item("a", "k", {"two": 2}))
    assert second > first
    ((language, indexed, ttl, expires, embeddings),) = rows(
        undone,
        "select language, indexed, ttl_seconds, expires_at, (select count(*) from memstore.item_embeddings)"
        " from memstore.items",
    )
    assert (language, indexed, ttl, expires, embeddings) == ("english", True, None, None, 0)
    (read,) = get(undone, holder, ("a", "k"))
    assert read["value"] == {"two": 2} and read["inserted_at"] < read["updated_at"]
    assert rows(undone, "select name from memstore.embedding_models") == []


def test_a_deletion(undone: psycopg.Connection, holder: UUID) -> None:
    put(undone, holder, item("a", "k", embeddings=[embedded(1)]), item("a", "l"))
    assert put(undone, holder, delete("a", "k"), delete("a", "none"), item("a", "l"))[:2] == [None, None]
    assert [row["key"] for row in get(undone, holder, ("a", "k"), ("a", "l"))] == ["l"]
    assert stored(undone, holder) == 1


def test_of_nothing(undone: psycopg.Connection, holder: UUID) -> None:
    assert put(undone, holder) == []


def test_of_all_kinds_at_once(undone: psycopg.Connection, holder: UUID) -> None:
    """The versions come in the order of the items."""
    put(undone, holder, *(item("a", str(n)) for n in range(0, 9, 3)))
    changes = [
        item("a", "x"),
        delete("a", "0"),
        item("a", "6"),
        item("a", "y"),
        item("a", "3"),
        delete("a", "z"),
    ]
    versions = put(undone, holder, *changes)
    assert [version is None for version in versions] == [False, True, False, False, False, True]
    read = {row["key"]: row["version"] for row in get(undone, holder, *(("a", c["key"]) for c in changes))}
    expected = zip(changes, versions, strict=True)
    assert read == {change["key"]: version for change, version in expected if version is not None}


def test_of_another_account(undone: psycopg.Connection, holder: UUID) -> None:
    other = account_of(undone, "other")
    put(undone, holder, item("a", "k", {"mine": 1}))
    put(undone, other, item("a", "k", {"theirs": 1}))
    put(undone, other, delete("a", "k"))
    assert get(undone, holder, ("a", "k"))[0]["value"] == {"mine": 1}
    with refused("actor_unknown", "actor"):
        put(undone, UUID(int=9), item("a", "k"))


class TestVersions:
    def test_each_change_has_a_new_one(self, undone: psycopg.Connection, holder: UUID) -> None:
        seen = set()
        for change in (item("a", "k"), item("a", "k"), delete("a", "k"), item("a", "k")):
            (version,) = put(undone, holder, change)
            assert version not in seen
            seen.add(version)

    def test_if_version(self, undone: psycopg.Connection, holder: UUID) -> None:
        (first,) = put(undone, holder, item("a", "k", {"n": 1}, if_version=0))
        with refused("item_changed", "if_version", "MS018"):
            put(undone, holder, item("a", "other"), item("a", "k", {SECRET: SECRET}, if_version=0))
        assert get(undone, holder, ("a", "other")) == []
        (second,) = put(undone, holder, item("a", "k", {"n": 2}, if_version=first))
        for wrong in (first, 0, -1, 10**17):
            with refused("item_changed", "if_version"):
                put(undone, holder, item("a", "k", if_version=wrong))
            with refused("item_changed", "if_version"):
                put(undone, holder, delete("a", "k", if_version=wrong))
        put(undone, holder, delete("a", "k", if_version=second))
        with refused("item_changed", "if_version"):
            put(undone, holder, item("a", "k", if_version=second))

    def test_a_rename_is_one_call(self, undone: psycopg.Connection, holder: UUID) -> None:
        undone.execute("select memstore.set_maximum_items(%s, 1)", [holder])
        (version,) = put(undone, holder, item("a", "old", {"n": 1}))
        put(undone, holder, item("a", "new", {"n": 1}, if_version=0), delete("a", "old", if_version=version))
        assert [row["key"] for row in get(undone, holder, ("a", "old"), ("a", "new"))] == ["new"]

    def test_an_expired_item_is_absent(self, undone: psycopg.Connection, holder: UUID) -> None:
        (old,) = put(undone, holder, item("a", "k", ttl_seconds=60))
        undone.execute(
            "update memstore.items set expires_at = now() - interval '1 s', inserted_at = '2020-01-01Z'"
        )
        with refused("item_changed", "if_version"):
            put(undone, holder, item("a", "k", if_version=old))
        put(undone, holder, item("a", "k", {"again": 1}, if_version=0))
        (read,) = get(undone, holder, ("a", "k"))
        assert read["inserted_at"].year > 2020

    def test_two_writers(self, db: psycopg.Connection, connect: Connect, account: UUID) -> None:
        """The second waits, finds another version, and is told so; at REPEATABLE READ it is told 40001."""
        (version,) = put(db, account, item("a", "k"))
        late = (
            'select memstore.put_items(%s, \'[{"namespace": ["a"], "key": "k", "value": {}, "if_version": '
            + str(version)
            + "}]')"
        )
        for level, told in (("read committed", "item_changed"), ("repeatable read", "40001")):
            other = connect()
            rows(other, f"set default_transaction_isolation = '{level}'")
            (version,) = put(db, account, item("a", "k"))
            late = (
                'select memstore.put_items(%s, \'[{"namespace": ["a"], "key": "k", "value": {},'
                f' "if_version": {version}}}]\')'
            )
            with db.transaction():
                put(db, account, item("a", "k"))
                blocked = Call(other, late, account)
                until(lambda: not blocked.is_alive() or waiting(db, other))  # noqa: B023
            assert blocked.name_of_error == told


class TestMaximum:
    def test_it_is_of_the_settings_or_the_accounts_own(
        self, undone: psycopg.Connection, holder: UUID
    ) -> None:
        assert value(undone, "select maximum_items from memstore.settings") == 10_000
        call(undone, "configure", maximum_items=2)
        put(undone, holder, item("a", "1"), item("a", "2"))
        with refused("quota_reached", "actor"):
            put(undone, holder, item("a", "3"))
        put(undone, holder, item("a", "1", {"over": 1}))
        undone.execute("select memstore.set_maximum_items(%s, 3)", [holder])
        put(undone, holder, item("a", "3"))
        undone.execute("select memstore.set_maximum_items(%s, 0)", [holder])
        put(undone, holder, item("a", "1", {"over": 2}), delete("a", "2"))
        with refused("quota_reached", "actor"):
            put(undone, holder, item("a", "2"))
        undone.execute("select memstore.set_maximum_items(%s)", [holder])
        with refused("quota_reached", "actor"):
            put(undone, holder, item("a", "2"), item("a", "4"))
        assert stored(undone, holder) == 2

    def test_also_of_plain_sql(self, undone: psycopg.Connection, holder: UUID) -> None:
        call(undone, "configure", maximum_items=5)
        fill = (
            "insert into memstore.items (user_id, namespace, key, value)"
            " select %s, '{a}', n::text, '{}' from generate_series(1, %s::integer) n"
        )
        with refused("quota_reached", "actor"):
            rows(undone, fill, holder, 6)
        rows(undone, fill, holder, 5)
        assert stored(undone, holder) == 5
        rows(undone, "delete from memstore.items where key <> '1'")
        assert stored(undone, holder) == 1
        with refused("count_is_kept", "stored_items"):
            undone.execute("update memstore.users set stored_items = 0")

    def test_writers_of_one_account(self, db: psycopg.Connection, connect: Connect, account: UUID) -> None:
        db.execute("select memstore.set_maximum_items(%s, 1)", [account])
        one = 'select memstore.put_items(%s, \'[{"namespace": ["a"], "key": "2", "value": {}}]\')'
        other = connect()
        with db.transaction():
            put(db, account, item("a", "1"))
            blocked = Call(other, one, account)
            until(lambda: not blocked.is_alive() or waiting(db, other))
        assert blocked.name_of_error == "quota_reached"


class TestPlainSql:
    """What a plain statement can't do either."""

    def test_a_version_is_given(self, undone: psycopg.Connection, holder: UUID) -> None:
        (first,) = put(undone, holder, item("a", "k"))
        rows(
            undone,
            "insert into memstore.items (user_id, namespace, key, value, version)"
            " values (%s, '{b}', 'k', '{}', 1)",
            holder,
        )
        assert get(undone, holder, ("b", "k"))[0]["version"] > first

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ("value = '{\"x\": 1}'", "version"),
            ("key = 'x'", "version"),
            ("version = version - 1", "version"),
            ("user_id = memstore.create_user()", "user_id"),
            ("id = gen_random_uuid()", "user_id"),
        ],
    )
    def test_a_change_needs_another(
        self, undone: psycopg.Connection, holder: UUID, change: str, field: str
    ) -> None:
        put(undone, holder, item("a", "k"))
        with refused("item_is_kept", field, "MS019"):
            undone.execute(f"update memstore.items set {change}".encode())

    def test_an_erased_account_gets_none(self, db: psycopg.Connection, account: UUID) -> None:
        from tests.sql.world import World

        world = World(db)
        (claim,) = world.admitted(1)
        leaver = world.account("leaver")
        call(db, "challenge_memory", actor=leaver, memory_id=claim, ground="x")
        call(db, "delete_user", actor=leaver)
        with refused("actor_unknown", "user_id"):
            rows(
                db,
                "insert into memstore.items (user_id, namespace, key, value, language)"
                " values (%s, '{a}', 'k', '{}', 'english')",
                leaver,
            )


class TestEmbeddings:
    def models(self, db: psycopg.Connection) -> list[tuple[str, int]]:
        return rows(db, "select name, dimensions from memstore.embedding_models order by name")

    def test_a_name_lives_as_long_as_its_embeddings(self, undone: psycopg.Connection, holder: UUID) -> None:
        put(undone, holder, item("a", "1", embeddings=[embedded(1, 2), embedded(1, field="x", model="n")]))
        assert self.models(undone) == [("m", 2), ("n", 1)]
        call(undone, "insert_memory", actor=holder, body="x", embedding=[1], embedding_model="n")
        put(undone, holder, item("a", "1"))
        assert self.models(undone) == [("n", 1)]
        put(undone, holder, item("a", "1", embeddings=[embedded(3, model="n")]))
        undone.execute("delete from memstore.memories")
        assert self.models(undone) == [("n", 1)]
        call(undone, "delete_user", actor=holder)
        assert self.models(undone) == []

    def test_one_number_of_dimensions(self, undone: psycopg.Connection, holder: UUID) -> None:
        put(undone, holder, item("a", "1", embeddings=[embedded(1, 2)]))
        for attempt in (
            lambda: put(undone, holder, item("a", "2", embeddings=[embedded(1, 2, 3)])),
            lambda: put(undone, holder, item("a", "2", embeddings=[embedded(1), embedded(1, 2, field="x")])),
            lambda: call(undone, "insert_memory", actor=holder, body="x", embedding=[1], embedding_model="m"),
            lambda: undone.execute(
                "update memstore.item_embeddings set embedding = '{1}', embedding_model = 'm'"
            ),
        )[:3]:
            with refused("embedding_dimensions_differ", "embedding"):
                attempt()
        # The only one of its model may have another number.
        put(undone, holder, item("a", "1", embeddings=[embedded(1, 2, 3)]))
        assert self.models(undone) == [("m", 3)]

    def test_registered_models_only(self, undone: psycopg.Connection, holder: UUID) -> None:
        call(undone, "configure", registered_models_only=True)
        with refused("embedding_model_unregistered", "embedding_model"):
            put(undone, holder, item("a", "1", embeddings=[embedded(1)]))
        undone.execute("select memstore.register_embedding_model('m', 1)")
        put(undone, holder, item("a", "1", embeddings=[embedded(1)]))
        undone.execute("select memstore.forget_embedding_model('m', true)")
        assert rows(undone, "select from memstore.item_embeddings") == []
        assert self.models(undone) == []


BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("items_namespace_shape", item([], SECRET)),
    ("items_namespace_shape", item([SECRET, ""], "k")),
    ("items_namespace_shape", item([SECRET] * 33, "k")),
    ("items_key_shape", item([SECRET], "")),
    ("items_key_shape", item([SECRET], "é" * 993)),
    ("items_key_shape", item(["x" * 1999], "é")),
    ("items_value_shape", item([SECRET], "k", [SECRET])),
    ("items_value_shape", item([SECRET], "k", SECRET)),
    ("items_value_shape", item([SECRET], "k", {"x": "y" * 1_000_000})),
    ("items_ttl_seconds_shape", item([SECRET], "k", ttl_seconds=0)),
    ("items_ttl_seconds_shape", item([SECRET], "k", ttl_seconds=-1e14)),
    ("items_ttl_seconds_shape", item([SECRET], "k", ttl_seconds=9e14)),
    ("items_language_shape", item([SECRET], "k", language=SECRET)),
    ("item_embeddings_field_shape", item([SECRET], "k", embeddings=[embedded(1, field="")])),
    (
        "item_embeddings_field_shape",
        item([SECRET], "k", embeddings=[{"embedding": [1], "embedding_model": "m"}]),
    ),
    ("item_embeddings_embedding_shape", item([SECRET], "k", embeddings=[embedded(0)])),
    ("item_embeddings_embedding_shape", item([SECRET], "k", embeddings=[embedded()])),
    ("item_embeddings_embedding_shape", item([SECRET], "k", embeddings=[embedded(10**60)])),
    ("item_embeddings_embedding_model_shape", item([SECRET], "k", embeddings=[embedded(1, model="")])),
]
MALFORMED: list[tuple[str, Any]] = [
    ("items", None),
    ("items", {}),
    ("items", [1]),
    ("items", [{"namespace": ["a"], "key": "k", "value": {}, SECRET: 1}]),
    ("items", [item("a", "k"), item("a", "k")]),
    ("items", [item("a", "k")] * 10_001),
    ("value", [{"namespace": ["a"], "key": SECRET}]),
    ("namespace", [item("a", "k") | {"namespace": SECRET}]),
    ("namespace", [item("a", "k") | {"namespace": ["a", None]}]),
    ("key", [item("a", "k") | {"key": [SECRET]}]),
    ("ttl_seconds", [item("a", "k", ttl_seconds=SECRET)]),
    ("ttl_seconds", [item("a", "k", ttl_seconds=10**400)]),
    ("if_version", [item("a", "k", if_version=1.5)]),
    ("if_version", [item("a", "k", if_version=10**30)]),
    ("indexed", [item("a", "k", indexed=SECRET)]),
    ("embeddings", [item("a", "k", embeddings={SECRET: [1]})]),
    ("embeddings", [item("a", "k", embeddings=[embedded(1), embedded(1)])]),
    ("embeddings", [item("a", "k", embeddings=[embedded(1, field=str(n)) for n in range(101)])]),
    (
        "embedding",
        [item("a", "k", embeddings=[{"field": "x", "embedding": [SECRET], "embedding_model": "m"}])],
    ),
]


class TestRefusals:
    @pytest.mark.parametrize(("rule", "broken"), BROKEN)
    def test_a_broken_rule(
        self, undone: psycopg.Connection, holder: UUID, rule: str, broken: dict[str, Any]
    ) -> None:
        with refused(rule, None, "23514") as caught:
            put(undone, holder, item("other", "k"), broken)
        assert (caught.value.diag.message_primary or "").startswith("Item 2: ")
        assert SECRET not in str(caught.value.diag.message_detail)
        assert stored(undone, holder) == 0

    @pytest.mark.parametrize(("field", "items"), MALFORMED)
    def test_another_form(self, undone: psycopg.Connection, holder: UUID, field: str, items: object) -> None:
        with refused("argument_invalid", field):
            call(undone, "put_items", actor=holder, items=items)

    def test_nothing_is_logged(self, db: psycopg.Connection, account: UUID, unlogged: None) -> None:
        for _, broken in BROKEN:
            with pytest.raises(psycopg.Error):
                put(db, account, broken)
        for _, items in MALFORMED:
            with pytest.raises(psycopg.Error):
                call(db, "put_items", actor=account, items=items)


def test_item_violations(undone: psycopg.Connection) -> None:
    broken = {"namespace": ["a", ""], "key": "", "value": [], "ttl_seconds": 0}
    assert [row["field"] for row in call(undone, "item_violations", item=broken)] == [
        "namespace",
        "key",
        "value",
        "ttl_seconds",
    ]
    assert call(undone, "item_violations", item=item("a", "k")) == []
    assert call(undone, "item_violations", item=delete("a", "k")) == []
    with refused("argument_invalid", "items"):
        call(undone, "item_violations", item=[1])


def test_a_large_call_is_linear(db: psycopg.Connection, account: UUID) -> None:
    """10,000 items, written and overwritten, with embeddings."""
    many = [item("a", str(n), {"n": n}, embeddings=[embedded(1, n)]) for n in range(10_000)]
    db.execute("set statement_timeout = '60s'")
    assert len(put(db, account, *many)) == 10_000
    assert len(put(db, account, *many)) == 10_000
    assert stored(db, account) == 10_000
