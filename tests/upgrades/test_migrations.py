"""The migrations one by one, with data: up by each of the three ways, down, and up again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from yoyo import read_migrations

from memstore import SchemaOutdated, Store, schema
from tests.databases import WAYS, YOYO_TABLES, dump, empty_database, long_but, names, yoyo
from tests.upgrades.stores import (
    MIGRATIONS,
    apply_up_to,
    broken,
    content,
    fill,
    synthesise,
    without_what_came_later,
)

if TYPE_CHECKING:
    from tests.servers import Server

FILES = schema.migration_files()


def roll_back(conninfo: str, name: str) -> None:
    """One migration, as ``yoyo rollback --revision`` does it where none after it is applied."""
    with schema._backend(conninfo) as backend, backend.lock():
        migrations = read_migrations(str(schema.migrations_dir())).filter(lambda m: m.id == name)
        backend.rollback_migrations(backend.to_rollback(migrations))


def relations(connection: psycopg.Connection) -> set[str]:
    return names(
        connection, "select relname::text from pg_class where relnamespace = 'memstore'::regnamespace"
    )


class TestFiles:
    def test_names_are_numbered_without_gaps(self) -> None:
        assert [int(path.name[:4]) for path in FILES] == list(range(1, len(FILES) + 1))
        for path in FILES:
            assert re.fullmatch(r"\d{4}-[a-z0-9]+(-[a-z0-9]+)*\.sql", path.name)

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_each_says_what_and_can_be_rolled_back(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("-- What: ")
        head = text[: text.index("\n\n")]
        assert "Locks:" in head
        assert "Clients:" in head
        assert path.with_suffix(".rollback.sql").exists()

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_each_records_itself(self, path: Path) -> None:
        insert = f"insert into memstore.deployment (name) values ('{path.stem}');"
        assert path.read_text(encoding="utf-8").count(insert) == 1


@pytest.fixture(scope="module", params=long_but(MIGRATIONS[-2], MIGRATIONS))
def start(request: pytest.FixtureRequest, server: Server) -> Iterator[tuple[str, str]]:
    """A migration, and the conninfo of a store at it, with data."""
    with empty_database(server) as conninfo:
        synthesise(conninfo, request.param)
        yield request.param, conninfo


class TestForward:
    @pytest.mark.parametrize("way", long_but("migrate", WAYS))
    def test_with_data(self, way: str, start: tuple[str, str], fresh: str, server: Server) -> None:
        name, conninfo = start
        with empty_database(server, like=conninfo) as database:
            before = content(database)
            WAYS[way](database)
            if way == "yoyo" and name == MIGRATIONS[-1]:
                # Nothing is pending, so yoyo has no reason to load the code.
                schema.migrate(database)
            assert dump(database) == fresh
            assert without_what_came_later(content(database), before) == {
                k: v for k, v in before.items() if v
            }
            assert broken(database) == []

    def test_then_it_works(self, start: tuple[str, str], server: Server) -> None:
        name, conninfo = start
        with empty_database(server, like=conninfo) as database:
            with Store(database) as store, pytest.raises(SchemaOutdated) as caught:
                store.find_user("a")
            assert "memstore migrate" in (caught.value.hint or "")
            schema.migrate(database)
            with Store(database) as store:
                actor = store.create_user(external_ref="a")
                store.insert_memory(actor, "Die Straße.")
                found = [ranked.memory.body for ranked in store.rank_memories(actor, "strasse")]
                assert "Die Straße." in found
                if name >= "0004":
                    assert "Both, in the Straße." not in found  # superseded
                    (claim,) = store.memory_history(actor, "00000000-0000-4000-8000-000000000025")
                    assert store.memory_status(actor, claim.id) == "candidate"
            assert broken(database) == []


@pytest.mark.long
class TestRollback:
    def test_of_everything(self, database: str) -> None:
        schema.migrate(database)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("select memstore.create_user()")
            yoyo(database, "rollback", "--all")
            assert relations(connection) - names(
                connection,
                "select indexrelid::regclass::name::text from pg_index where indrelid::regclass::text like"
                " any(array['memstore.\\_yoyo%', 'memstore.yoyo%'])",
            ) == YOYO_TABLES | {f"{table}_pkey" for table in YOYO_TABLES}
            for catalog, column in (("pg_proc", "pronamespace"), ("pg_policy", None), ("pg_type", None)):
                if column:
                    query = f"select from {catalog} where {column} = 'memstore'::regnamespace"
                    assert not connection.execute(query.encode()).fetchall()
            assert not connection.execute("select from memstore._yoyo_migration").fetchall()
        schema.migrate(database)

    def test_each_step_and_again(self, fresh: str, database: str) -> None:
        """With data, of which what the remaining migrations know stays."""
        for steps in range(1, len(MIGRATIONS) + 1):
            schema.migrate(database)
            with psycopg.connect(database) as connection:
                if not connection.execute("select from memstore.users").fetchall():
                    fill(database)
            before = content(database)
            for name in reversed(MIGRATIONS[-steps:]):
                roll_back(database, name)
            with psycopg.connect(database) as connection:
                assert names(connection, "select migration_id from memstore._yoyo_migration") == set(
                    MIGRATIONS[:-steps]
                )
            after = content(database)
            if "items" not in after:  # whose models' names went with them
                before["embedding_models"] = [
                    each for each in before["embedding_models"] if each["name"] != "of items"
                ]
            assert without_what_came_later(before, after) == {k: v for k, v in after.items() if v}
            assert schema.migrate(database) == MIGRATIONS[-steps:]
            assert dump(database) == fresh
            again = content(database)
            if "users" in after and "items" not in after:
                for user in (*before["users"], *again["users"]):
                    del user["stored_items"], user["maximum_items"]
            if "memories" in after and "scope" not in after["memories"][0]:
                for memory in (*before["memories"], *again["memories"]):
                    del memory["scope"], memory["metadata"]
            if "users" in after and "memories" not in after:
                # What recall can attach is counted from the memories that are there.
                assert {str(user.pop("candidates")) for user in again["users"]} == {"{}"}
                for user in before["users"]:
                    del user["candidates"]
            assert {k: again[k] for k in after} == {k: before[k] for k in after}
            # The rollback of the memories leaves the accounts' counts of them.
            if "memories" in after or "users" not in after:
                assert broken(database) == []

    def test_each_step_leaves_what_was_before(self, server: Server, database: str) -> None:
        """No rest of a migration stays: the dump is that of the migrations before it, without code."""
        schema.migrate(database)
        fill(database)
        for name, before in zip(reversed(MIGRATIONS), reversed(MIGRATIONS[:-1]), strict=False):
            roll_back(database, name)
            with empty_database(server) as reference:
                apply_up_to(reference, before)
                with psycopg.connect(reference, autocommit=True) as connection:
                    connection.execute("select memstore.drop_code()")
                assert dump(database).splitlines() == dump(reference).splitlines(), (
                    f"after the rollback of {name}"
                )
