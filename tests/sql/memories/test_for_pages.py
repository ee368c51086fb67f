"""Searching, histories of many, and forgetting a whole chain."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from tests.sql.support import SYSTEM, account_of, call, insert, refused, rows, steward_of, supersede, value


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.fixture
def account(db: psycopg.Connection) -> UUID:
    return account_of(db, "holder")


def chain(db: psycopg.Connection, account: UUID, *bodies: str) -> list[UUID]:
    """The ids of memories of which each replaces the one before."""
    ids = [insert(db, account, bodies[0])["id"]]
    ids += (supersede(db, account, ids[-1], body)["id"] for body in bodies[1:])
    return ids


def bodies(db: psycopg.Connection, account: UUID, query: str, **given: object) -> list[str]:
    return [row["body"] for row in call(db, "search_memories", actor=account, query=query, **given)]


class TestSearchMemories:
    def test_every_word_in_any_language(self, db: psycopg.Connection, account: UUID) -> None:
        insert(db, account, "The deploys run on Tuesdays.")
        insert(db, account, "Deploys need a review.")
        insert(db, account, "Les déploiements se font le mardi.", language="french")
        insert(db, account, "李明在上海工作")
        assert bodies(db, account, "deploy") == ["Deploys need a review.", "The deploys run on Tuesdays."]
        assert bodies(db, account, "tuesday deploy") == ["The deploys run on Tuesdays."]
        assert bodies(db, account, "deploiement mardi") == ["Les déploiements se font le mardi."]
        assert bodies(db, account, "上海") == ["李明在上海工作"]
        for nothing in ("", " ", "!?", "'", "\\", "the", None):
            assert bodies(db, account, nothing) == []  # type: ignore[arg-type]

    def test_superseded_ones_where_asked(self, db: psycopg.Connection, account: UUID) -> None:
        chain(db, account, "I use pnpm.", "I use bun.")
        assert bodies(db, account, "pnpm") == []
        assert bodies(db, account, "pnpm", include_superseded=True) == ["I use pnpm."]

    def test_pages_and_what_narrows(self, db: psycopg.Connection, account: UUID) -> None:
        ids = [
            insert(db, account, f"Port {number}", scope=f"project:{number % 2}")["id"] for number in range(5)
        ]
        insert(db, account, "Port of call", bucket="learned", metadata={"k": 1})
        assert bodies(db, account, "port", page_size=2, bucket="user") == ["Port 4", "Port 3"]
        assert bodies(db, account, "port", page_size=2, after=ids[3]) == ["Port 2", "Port 1"]
        assert bodies(db, account, "port", scopes=["project:1"], bucket="user") == ["Port 3", "Port 1"]
        assert bodies(db, account, "port", filter={"k": 1}) == ["Port of call"]
        assert bodies(db, account_of(db, "other"), "port") == []

    def test_refusals(self, db: psycopg.Connection, account: UUID) -> None:
        for given, name, field in (
            ({"bucket": "x"}, "argument_invalid", "bucket"),
            ({"page_size": 0}, "argument_invalid", "page_size"),
            ({"after": uuid4()}, "memory_not_found", None),
        ):
            with refused(name, field):
                bodies(db, account, "x", **given)
        with refused("actor_unknown", "actor"):
            bodies(db, None, "x")  # type: ignore[arg-type]


class TestMemoryHistories:
    def test_each_is_that_of_memory_history(self, db: psycopg.Connection, account: UUID) -> None:
        first, second = chain(db, account, "a", "b", "c"), chain(db, account, "d")
        other = chain(db, account_of(db, "other"), "x", "y")
        asked = [first[1], *second, other[0], uuid4(), first[1], None]
        found = rows(
            db, "select id, (memory).id from memstore.memory_histories(%s, %s::uuid[])", account, asked
        )
        expected = sorted([(first[1], [*first]), (second[0], second)])
        assert found == [(id, member) for id, members in expected for member in members]

    def test_a_merge(self, db: psycopg.Connection, account: UUID) -> None:
        a, b = (insert(db, account, body)["id"] for body in "ab")
        rows(db, "select memstore.supersede_with(%s, %s, %s)", account, a, b)
        for id in (a, b):
            found = rows(db, "select (memory).id from memstore.memory_histories(%s, array[%s])", account, id)
            assert found == [(a,), (b,)]

    def test_a_claim_that_a_steward_corrected(self, db: psycopg.Connection, account: UUID) -> None:
        claim = insert(db, account, "c", **SYSTEM)["id"]
        judge = steward_of(db, "judge")
        supersede(db, judge, claim, "d", evidence_refs=SYSTEM["evidence_refs"])
        found = rows(db, "select (memory).id from memstore.memory_histories(%s, array[%s])", account, claim)
        assert found == [(claim,)]

    def test_refusals(self, db: psycopg.Connection, account: UUID) -> None:
        many = [uuid4() for _ in range(201)]
        with refused("argument_invalid", "ids"):
            rows(db, "select memstore.memory_histories(%s, %s)", account, many)
        with refused("actor_unknown", "actor"):
            rows(db, "select memstore.memory_histories(null, %s)", many)


class TestDeleteHistory:
    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_all_of_it_from_anywhere(self, db: psycopg.Connection, account: UUID, place: int) -> None:
        ids = chain(db, account, "a", "b", "c")
        insert(db, account, "stays")
        assert value(db, "select memstore.delete_history(%s, %s)", account, ids[place]) == 3
        assert rows(db, "select body from memstore.memories") == [("stays",)]
        assert value(db, "select live_memories from memstore.users where id = %s", account) == 1

    def test_what_is_anothers_stays(self, db: psycopg.Connection, account: UUID) -> None:
        """A steward's correction between two of the account's own claims' rows keeps its place."""
        judge = steward_of(db, "judge")
        evidence = SYSTEM["evidence_refs"]
        first = insert(db, account, "a", **SYSTEM)["id"]
        second = supersede(db, judge, first, "b", evidence_refs=evidence)["id"]
        assert value(db, "select memstore.delete_history(%s, %s)", judge, second) == 1
        assert rows(db, "select id, superseded_by_id, superseded_at is null from memstore.memories") == [
            (first, None, False)
        ]
        rows(db, "select memstore.set_steward(%s, true)", account)
        third = insert(db, account, "c", **SYSTEM)["id"]
        fourth = supersede(db, judge, third, "d", evidence_refs=evidence)["id"]
        fifth = supersede(db, account, fourth, "e", evidence_refs=evidence)["id"]
        sixth = supersede(db, account, fifth, "f", evidence_refs=evidence)["id"]
        last = supersede(db, judge, sixth, "g", evidence_refs=evidence)["id"]
        assert value(db, "select memstore.delete_history(%s, %s)", account, fifth) == 3
        left = "select id, superseded_by_id from memstore.memories where user_id = %s order by inserted_at"
        assert rows(db, left, judge) == [(fourth, last), (last, None)]
        assert [
            row for row in rows(db, "select invariant, violations from memstore.verify_store()") if row[1]
        ] == []

    def test_refusals(self, db: psycopg.Connection, account: UUID) -> None:
        other = insert(db, account_of(db, "other"), "x")["id"]
        for id in (other, uuid4(), None):
            with refused("memory_not_found", "id"):
                rows(db, "select memstore.delete_history(%s, %s)", account, id)
        with refused("actor_unknown", "actor"):
            rows(db, "select memstore.delete_history(null, %s)", other)
