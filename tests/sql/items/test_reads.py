"""The functions that read, renew and export items, and those that delete what has expired."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from tests.sql.items.items import delete, embedded, found, get, item, keys, put
from tests.sql.support import SECRET, account_of, call, refused, rows, value

EXPIRE = "update memstore.items set expires_at = now() - interval '1 second' where ttl_seconds is not null"


def namespaces(db: psycopg.Connection, account: UUID, **arguments: object) -> list[list[str]]:
    return [
        row["list_item_namespaces"] for row in call(db, "list_item_namespaces", actor=account, **arguments)
    ]


@pytest.fixture
def labels(undone: psycopg.Connection, holder: UUID) -> Iterator[psycopg.Connection]:
    """Namespaces that look alike, each with its own path as the key."""
    for path in (
        ["a"],
        ["a", "b"],
        ["a", "bc"],
        ["ab"],
        ["a.b"],
        ["a", "b", "c"],
        ["a%"],
        ["a\x01"],
        ["a_", "b"],
        ["A"],
    ):
        put(undone, holder, item(path, "/".join(path)))
    yield undone


class TestSearchInANamespace:
    @pytest.mark.parametrize(
        ("prefix", "within"),
        [
            ([], {"a", "a/b", "a/bc", "ab", "a.b", "a/b/c", "a%", "a\x01", "a_/b", "A"}),
            (["a"], {"a", "a/b", "a/bc", "a/b/c"}),
            (["a", "b"], {"a/b", "a/b/c"}),
            (["a", "b", "c", "d"], set()),
            (["a%"], {"a%"}),
            (["%"], set()),
            (["a_"], {"a_/b"}),
            (["a\x01"], {"a\x01"}),
            ([""], set()),
        ],
    )
    def test_labels_are_whole(
        self, labels: psycopg.Connection, holder: UUID, prefix: list[str], within: set[str]
    ) -> None:
        assert set(keys(labels, holder, namespace=prefix, page_size=100)) == within

    def test_another_account_sees_none(self, labels: psycopg.Connection, holder: UUID) -> None:
        assert keys(labels, account_of(labels, "other"), namespace=["a"]) == []


FILTERS: list[tuple[dict[str, object] | None, set[str]]] = [
    ({}, {"1", "2", "3", "4"}),
    (None, {"1", "2", "3", "4"}),
    ({"n": 10}, {"1"}),
    ({"n": 10.0}, {"1"}),
    ({"n": {"$gt": 9}}, {"1", "2"}),
    ({"n": {"$gte": 10, "$lt": 100}}, {"1"}),
    ({"n": {"$ne": 10}}, {"2", "3", "4"}),
    ({"n": {"$lt": "9"}}, {"3"}),
    ({"n": None}, {"4"}),
    ({"n": {"$ne": None}}, {"1", "2", "3"}),
    ({"text": "o'clock \" \\ é"}, {"1"}),
    ({"tags": ["x", "y"]}, {"2"}),
    ({"tags": "x"}, set()),
    ({"tags": {"$ne": ["x", "y"]}}, {"3"}),
    ({"deep": {"a": {"$gt": 1}}}, {"3"}),
    ({"deep": {"a": 1}}, {"2"}),
    ({"deep": {"$eq": {"a": 1}}, "n": 100}, {"2"}),
    ({"done": True}, {"1"}),
    ({"done": {"$eq": False}}, {"2"}),
    ({"k.e y": 1}, {"4"}),
    ({"none": {"$ne": 1}}, set()),
]


class TestFilter:
    @pytest.fixture
    def store(self, undone: psycopg.Connection, holder: UUID) -> psycopg.Connection:
        put(
            undone,
            holder,
            item("a", "1", {"n": 10, "text": "o'clock \" \\ é", "done": True}),
            item("a", "2", {"n": 100, "tags": ["x", "y"], "deep": {"a": 1}, "done": False}),
            item("a", "3", {"n": "10", "tags": ["y", "x"], "deep": {"a": {"$gt": 1}}}),
            item("a", "4", {"n": None, "k.e y": 1}),
        )
        return undone

    @pytest.mark.parametrize(("filter", "passing"), FILTERS)
    def test_what_passes(
        self, store: psycopg.Connection, holder: UUID, filter: object, passing: set[str]
    ) -> None:
        assert set(keys(store, holder, filter=filter)) == passing

    @pytest.mark.parametrize(
        "filter",
        [
            [],
            "7",
            {"$gt": 1},
            {"n": {"$in": [1]}},
            {"n": {"$gt": True}},
            {"n": {"$gt": None}},
            {"n": {"$lt": [1]}},
            {"n": {"$gt": 1, SECRET: 2}},
            {f"${SECRET}": 2},
        ],
    )
    def test_another_form(self, store: psycopg.Connection, holder: UUID, filter: object) -> None:
        with refused("argument_invalid", "filter"):
            keys(store, holder, filter=filter)


class TestRanking:
    @pytest.fixture
    def store(self, undone: psycopg.Connection, holder: UUID) -> psycopg.Connection:
        put(
            undone,
            holder,
            item("a", "pnpm", {"text": "We install with pnpm.", "n": 5}, embeddings=[embedded(1, 0)]),
            item(
                "a",
                "npm",
                {"list": ["installed", {"by": "npm"}]},
                embeddings=[embedded(0, 1), embedded(3, 4, field="x")],
            ),
            item("a", "tea", {"text": "Tea, not coffee."}, embeddings=[embedded(-1, 0)]),
            item("a", "hidden", {"text": "pnpm install"}, indexed=False),
        )
        return undone

    def test_by_words(self, store: psycopg.Connection, holder: UUID) -> None:
        ranked = found(store, holder, query="Do we install things with pnpm?")
        assert [key for key, _ in ranked] == ["pnpm", "npm", "tea", "hidden"]
        scores = [score for _, score in ranked]
        assert scores[0] > scores[1] > scores[2] == 0 and scores[3] is None  # type: ignore[operator]
        assert found(store, holder, query="pnpm")[0] == ("pnpm", 1.0)

    def test_by_meaning_the_nearest_field_counts(self, store: psycopg.Connection, holder: UUID) -> None:
        ranked = found(store, holder, embedding=[3, 4], embedding_model="m")
        assert [key for key, _ in ranked] == ["npm", "pnpm", "tea", "hidden"]
        assert [score and round(score, 6) for _, score in ranked] == [1, 0.6, -0.6, None]

    def test_by_both(self, store: psycopg.Connection, holder: UUID) -> None:
        ranked = found(store, holder, query="tea", embedding=[3, 4], embedding_model="m")
        assert ranked == [("tea", 0.6), ("npm", 0.4), ("pnpm", 0.24), ("hidden", None)]

    def test_by_neither_the_newest_come_first(self, store: psycopg.Connection, holder: UUID) -> None:
        put(store, holder, item("a", "tea", {"again": 1}))
        for query in (None, " "):
            assert found(store, holder, query=query, page_size=1) == [("tea", None)]

    def test_what_does_not_compare(self, store: psycopg.Connection, holder: UUID) -> None:
        for vector, model in (([1, 0], "other"), ([1, 0, 0], "m")):
            assert {score for _, score in found(store, holder, embedding=vector, embedding_model=model)} == {
                None
            }
        assert found(store, holder, query="tea", embedding=[0, 0], embedding_model="m")[0] == ("tea", 1.0)

    def test_pages(self, store: psycopg.Connection, holder: UUID) -> None:
        whole = keys(store, holder, query="pnpm")
        assert [keys(store, holder, query="pnpm", page_size=1, skip=n) for n in range(5)] == [
            *([key] for key in whole),
            [],
        ]
        for size in (0, 10_001):
            with refused("argument_invalid", "page_size"):
                keys(store, holder, page_size=size)
        with refused("argument_invalid", "skip"):
            keys(store, holder, skip=-1)
        for labels in ("{{a,b},{c,d}}", "{{a}}", "[2:3]={a,b}"):
            with refused("argument_invalid", "namespace"):
                value(store, "select count(*) from memstore.search_items(%s, %s)", holder, labels)

    def test_each_in_its_language(self, store: psycopg.Connection, holder: UUID) -> None:
        put(store, holder, item("a", "de", {"text": "Die Häuser"}, language="german"))
        assert found(store, holder, query="ein Haus")[0] == ("de", 1.0)

    def test_with_pgvector_and_without(self, store: psycopg.Connection, holder: UUID) -> None:
        plain = found(store, holder, embedding=[0.3, 0.4], embedding_model="m")
        if not rows(store, "select from pg_available_extensions where name = 'vector'"):
            pytest.skip("no pgvector")
        store.execute("create extension vector schema public")
        store.execute("select memstore.compile_item_similarities()")
        assert "vector" in value(store, "select prosrc from pg_proc where proname = 'item_similarities'")
        through = found(store, holder, embedding=[0.3, 0.4], embedding_model="m")
        assert [key for key, _ in through] == [key for key, _ in plain]
        assert [score for _, score in through] == pytest.approx([score for _, score in plain])
        store.execute("drop extension vector")
        assert found(store, holder, embedding=[0.3, 0.4], embedding_model="m") == plain

    def test_the_best_of_many_are_all_found(self, undone: psycopg.Connection, holder: UUID) -> None:
        """Beside a thousand of another account that are nearer."""
        other = account_of(undone, "other")
        put(undone, other, *(item("a", str(n), embeddings=[embedded(1, 0.0001 * n)]) for n in range(1000)))
        put(
            undone,
            holder,
            *(item("a", str(n), {"odd": n % 2}, embeddings=[embedded(1, n)]) for n in range(300)),
        )
        best = keys(undone, holder, embedding=[1, 0], embedding_model="m", filter={"odd": 1})
        assert best == [str(n) for n in range(1, 21, 2)]


class TestNamespaces:
    @pytest.mark.parametrize(
        ("conditions", "listed"),
        [
            ([{"match": "prefix", "path": ["a", "*"]}], [["a", "b"], ["a", "b", "c"], ["a", "bc"]]),
            ([{"match": "suffix", "path": ["b"]}], [["a", "b"], ["a_", "b"]]),
            ([{"match": "suffix", "path": ["a", "*"]}], [["a", "b"], ["a", "bc"]]),
            (
                [{"match": "prefix", "path": ["a"]}, {"match": "suffix", "path": ["b"]}],
                [["a", "b"]],
            ),
            ([{"match": "prefix", "path": ["a", "b", "c", "d"]}], []),
        ],
    )
    def test_conditions(
        self, labels: psycopg.Connection, holder: UUID, conditions: object, listed: object
    ) -> None:
        assert namespaces(labels, holder, conditions=conditions) == listed

    def test_depth_and_pages(self, labels: psycopg.Connection, holder: UUID) -> None:
        tops = [["A"], ["a"], ["a\x01"], ["a%"], ["a.b"], ["a_"], ["ab"]]
        assert namespaces(labels, holder, maximum_depth=1) == tops
        assert namespaces(labels, holder, maximum_depth=1, page_size=2, skip=3) == tops[3:5]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("conditions", {}),
            ("conditions", [{"match": SECRET, "path": []}]),
            ("conditions", [{"match": "prefix"}]),
            ("path", [{"match": "prefix", "path": SECRET}]),
            ("maximum_depth", 0),
            ("page_size", 0),
            ("skip", -1),
        ],
    )
    def test_another_form(self, undone: psycopg.Connection, holder: UUID, field: str, value: object) -> None:
        argument = "conditions" if field == "path" else field
        with refused("argument_invalid", field):
            namespaces(undone, holder, **{argument: value})


class TestTimeToLive:
    @pytest.fixture
    def store(self, undone: psycopg.Connection, holder: UUID) -> psycopg.Connection:
        put(
            undone,
            holder,
            item(["a", "gone"], "gone", {"text": "x"}, ttl_seconds=60, embeddings=[embedded(1)]),
            item("a", "stays", {"text": "x"}),
        )
        undone.execute(EXPIRE)
        put(undone, holder, item("a", "lives", {"text": "x"}, ttl_seconds=0.5e9))
        return undone

    def test_what_expired_is_absent(self, store: psycopg.Connection, holder: UUID) -> None:
        assert [row["key"] for row in get(store, holder, (["a", "gone"], "gone"), ("a", "stays"))] == [
            "stays"
        ]
        for query in (None, "x"):
            assert set(keys(store, holder, query=query)) == {"stays", "lives"}
        assert namespaces(store, holder) == [["a"]]
        assert [e["key"] for (e,) in rows(store, "select memstore.export_items(%s)", holder)] == [
            "lives",
            "stays",
        ]
        assert value(store, "select memstore.export_account(%s) ->> 'items'", holder) == "2"

    def test_renewal(self, store: psycopg.Connection, holder: UUID) -> None:
        (before,) = get(store, holder, ("a", "lives"))
        wanted = [
            {"namespace": n, "key": k}
            for n, k in ((["a", "gone"], "gone"), (["a"], "stays"), (["a"], "lives"))
        ]
        store.execute("update memstore.items set expires_at = now() + interval '1 hour' where key = 'lives'")
        assert call(store, "renew_items", actor=holder, keys=wanted * 2) == [{"renew_items": 1}]
        (after,) = get(store, holder, ("a", "lives"))
        assert after["expires_at"] > before["expires_at"] and after["version"] == before["version"]
        with refused("argument_invalid", "keys"):
            call(store, "renew_items", actor=holder, keys=[{SECRET: 1}])

    def test_deletion(self, store: psycopg.Connection, holder: UUID) -> None:
        other = account_of(store, "other")
        put(store, other, item("a", "gone", ttl_seconds=60))
        store.execute(EXPIRE)
        put(store, holder, item("a", "lives", ttl_seconds=60))
        assert call(store, "delete_expired_items", actor=holder) == [{"delete_expired_items": 1}]
        assert call(store, "delete_expired_items", actor=holder) == [{"delete_expired_items": 0}]
        assert rows(store, "select from memstore.item_embeddings") == []
        assert value(store, "select count(*) from memstore.items") == 3

    def test_pruning(self, store: psycopg.Connection, holder: UUID) -> None:
        for number in range(5):
            put(store, account_of(store, f"other {number}"), item("a", "gone", ttl_seconds=60))
        store.execute(EXPIRE)
        assert [value(store, "select memstore.prune_items(4)") for _ in range(3)] == [4, 3, 0]
        assert value(store, "select sum(stored_items) from memstore.users") == 1
        with refused("argument_invalid", "maximum"):
            value(store, "select memstore.prune_items(0)")


class TestExport:
    def test_an_import_gives_the_same(self, undone: psycopg.Connection, holder: UUID) -> None:
        put(
            undone,
            holder,
            item(["b"], "k", {"x": None, "deep": [1, {"y": None}]}, ttl_seconds=1e6, language="german"),
            item(
                ["a", "b"],
                "k",
                {"n": 1e-7},
                embeddings=[embedded(0.1, -2), embedded(7, field="x", model="n")],
            ),
            item(["a"], "k", indexed=False),
        )
        undone.execute("update memstore.items set inserted_at = '2020-01-01 00:00:00.000001Z'")
        exported = [e for (e,) in rows(undone, "select memstore.export_items(%s)", holder)]
        assert [e["namespace"] for e in exported] == [["a"], ["a", "b"], ["b"]]
        other = account_of(undone, "other")
        call(undone, "configure", maximum_items=1)
        with refused("quota_reached"):
            call(undone, "import_items", user_id=other, items=exported)
        for new in (3, 0):
            assert call(undone, "import_items", user_id=other, items=exported, raise_maximum=True) == [
                {"import_items": new}
            ]
        assert [e for (e,) in rows(undone, "select memstore.export_items(%s)", other)] == exported
        assert value(undone, "select maximum_items from memstore.users where id = %s", other) == 3
        assert rows(undone, "select from memstore.verify_store() where violations > 0") == []

    def test_pages(self, undone: psycopg.Connection, holder: UUID) -> None:
        put(undone, holder, *(item(["a", str(n % 3)], str(n)) for n in range(10)))
        whole = [e for (e,) in rows(undone, "select memstore.export_items(%s)", holder)]
        after, read = None, []
        while page := [
            row["export_items"]
            for row in call(undone, "export_items", actor=holder, page_size=3, after=after)
        ]:
            read += page
            after = psycopg.types.json.Jsonb(page[-1])
        assert read == whole and len(whole) == 10

    @pytest.mark.parametrize(
        "after", ["{}", '{"namespace": "a", "key": "k"}', '{"namespace": [1], "key": "k"}', "[]"]
    )
    def test_another_form(self, undone: psycopg.Connection, holder: UUID, after: str) -> None:
        with refused("argument_invalid", "after"):
            rows(undone, "select memstore.export_items(%s, after => %s)", holder, after)


def test_other_keys(undone: psycopg.Connection, holder: UUID) -> None:
    assert get(undone, holder) == []
    put(undone, holder, item("a", "k"))
    assert len(get(undone, holder, ("a", "k"), ("a", "k"))) == 2
    wrong: object
    for wrong in (
        {},
        [{"namespace": SECRET, "key": "k"}],
        [{"namespace": ["a"], "key": 1}],
        [{"id": SECRET}],
    ):
        with refused("argument_invalid"):
            call(undone, "get_items", actor=holder, keys=wrong)
    assert get(undone, account_of(undone, "other"), ("a", "k")) == []
    put(undone, holder, delete("a", "k"))
    with refused("actor_unknown"):
        get(undone, UUID(int=9), ("a", "k"))


def test_recall_reads_no_items(undone: psycopg.Connection, holder: UUID) -> None:
    put(undone, holder, item("a", "k", {"text": "We use pnpm."}))
    assert call(undone, "recall", actor=holder, query="pnpm")[0]["note"] is None


def test_row_level_security(db: psycopg.Connection, account: UUID) -> None:
    """A role that may read the table sees its account's, by its binding or by the setting."""
    other = account_of(db, "other")
    put(db, account, item("a", "mine", embeddings=[embedded(1)]))
    put(db, other, item("a", "theirs"))
    db.execute("create role item_reader; grant usage on schema memstore to item_reader")
    try:
        db.execute("grant select on memstore.items, memstore.item_embeddings to item_reader")
        db.execute("set role item_reader")
        assert rows(db, "select key from memstore.items") == []
        db.execute(f"set memstore.actor = '{account}'")
        assert rows(db, "select key from memstore.items") == [("mine",)]
        assert rows(db, "select from memstore.item_embeddings") == []
    finally:
        db.execute("reset role; drop owned by item_reader; drop role item_reader")


def test_rebuilt_words(db: psycopg.Connection, account: UUID) -> None:
    put(db, account, item("a", "k", {"text": "streets"}), item("a", "l", {"text": "roads"}, indexed=False))
    db.execute("set session_replication_role = replica")
    db.execute("alter table memstore.items alter column search_vector drop expression")
    db.execute("update memstore.items set search_vector = 'wrong' where key = 'k'")
    db.execute("reset session_replication_role")
    assert rows(db, "select read, rebuilt from memstore.rebuild_words()") == [(2, 1)]
