"""The migrations one by one, down and up again, and a store through pg_dump and pg_restore."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from yoyo import read_migrations

from memstore import schema
from tests.databases import YOYO_TABLES, admin_conninfo, dump, empty_database, names, program, run, yoyo

if TYPE_CHECKING:
    from tests.conftest import Server

FILES = schema._migration_files()
MIGRATIONS = [path.stem for path in FILES]


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    with empty_database(server) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def fresh(server: Server) -> str:
    with empty_database(server) as conninfo:
        schema.migrate(conninfo)
        return dump(conninfo)


def apply_up_to(conninfo: str, name: str) -> None:
    """These migrations alone, without the code layer, which belongs to the newest."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("create schema if not exists memstore")
    with schema._backend(conninfo) as backend:
        backend.init_database()
        migrations = read_migrations(str(schema.migrations_dir())).filter(lambda m: m.id <= name)
        backend.apply_migrations_only(backend.to_apply(migrations))


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
        schema.migrate(database)
        for steps in range(1, len(MIGRATIONS) + 1):
            for name in reversed(MIGRATIONS[-steps:]):
                roll_back(database, name)
            with psycopg.connect(database) as connection:
                assert names(connection, "select migration_id from memstore._yoyo_migration") == set(
                    MIGRATIONS[:-steps]
                )
            assert schema.migrate(database) == MIGRATIONS[-steps:]
            assert dump(database) == fresh

    def test_each_step_leaves_what_was_before(self, server: Server, database: str) -> None:
        """No rest of a migration stays behind: the dump is that of the migrations before it."""
        schema.migrate(database)
        for name, before in zip(reversed(MIGRATIONS), reversed(MIGRATIONS[:-1]), strict=False):
            roll_back(database, name)
            with empty_database(server) as reference:
                apply_up_to(reference, before)
                assert dump(database) == dump(reference)


# Rows that a store may have had before a migration, as the tables then were.
OLD_ROWS: dict[str, str] = {
    "0003": "insert into memstore.users (id, external_ref, maximum_live_memories, live_memories)"
    " values ('00000000-0000-4000-8000-000000000001', 'old', 200, 0);"
    " insert into memstore.embedding_models values ('old', 2, true)",
    "0004": "insert into memstore.memories (user_id, body, language, embedding, embedding_model)"
    " values ('00000000-0000-4000-8000-000000000001', 'Old Straße', 'english', '{1,0}', 'old');"
    " insert into memstore.memories (id, user_id, body, language, bucket, slug, tier, as_of, admission,"
    " evidence_refs) values ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000001',"
    " 'c', 'english', 'system', 'sys:c', 'glass', '2026-01-02', 'candidate',"
    """ '[{"kind": "url", "ref": "r", "digest": "d"}]');"""
    " update memstore.users set live_memories = 2",
}


@pytest.mark.parametrize("name", MIGRATIONS)
def test_rolls_forward_with_data(name: str, fresh: str, database: str) -> None:
    for earlier in MIGRATIONS[: MIGRATIONS.index(name) + 1]:
        apply_up_to(database, earlier)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(OLD_ROWS.get(earlier[:4], "").encode())
    schema.migrate(database)
    assert dump(database) == fresh
    if name >= "0004":
        with psycopg.connect(database) as connection:
            assert connection.execute(
                "select (r.memory).body from memstore.rank_memories(memstore.find_user('old'), 'strasse') r"
            ).fetchall() == [("Old Straße",)]
            assert connection.execute("select status from memstore.derive_statuses()").fetchall() == [
                ("candidate",)
            ]


# Accounts, chains, merges, deletions, claims with records, an erased account, and ceilings that are reached.
STORE = """
select memstore.create_user(external_ref => ref) from unnest('{a,b,s,gone}'::text[]) ref;
select memstore.set_steward(memstore.find_user('s'), true);
select memstore.register_embedding_model('registered', 3), memstore.configure(maximum_attached => 7);
create function pg_temp.account(ref text) returns uuid language sql as 'select memstore.find_user(ref)';
create function pg_temp.memory(n integer) returns uuid language sql as $$
  select ('00000000-0000-4000-8000-0000000000' || n)::uuid
$$;
select memstore.insert_memory(
  pg_temp.account('a'), format(E'Straße 上海 %s\ttab \\ backslash', n), id => pg_temp.memory(n),
  embedding => array[1, n], embedding_model => 'm')
from generate_series(10, 14) n;
select memstore.supersede_memory(pg_temp.account('a'), pg_temp.memory(10), 'corrected');
select memstore.supersede_with(pg_temp.account('a'), pg_temp.memory(11), pg_temp.memory(12));
select memstore.supersede_with(pg_temp.account('a'), pg_temp.memory(12), pg_temp.memory(13));
select memstore.supersede_memory(pg_temp.account('a'), pg_temp.memory(14), 'x', id => pg_temp.memory(15));
select memstore.supersede_memory(pg_temp.account('a'), pg_temp.memory(15), 'y');
select memstore.delete_memory(pg_temp.account('a'), pg_temp.memory(15));
select memstore.insert_memory(pg_temp.account('b'), 'nur hier', 'learned', 'task-1', language => 'german');
select memstore.insert_memory(
  pg_temp.account(o.owner), 'claim ' || n, 'system', slug => 'sys:x', tier => 'glass', as_of => '2026-01-02',
  admission => 'candidate', evidence_refs => '[{"kind": "url", "ref": "r", "digest": "d"}]',
  id => pg_temp.memory(n::integer))
from unnest('{s,s,s,b,b,gone}'::text[]) with ordinality o (owner, position)
cross join lateral (select 19 + o.position) c (n);
select memstore.record_admission(
  pg_temp.account('s'), pg_temp.memory(n), case n when 24 then 'rejected' else 'admitted' end, 'ground')
from generate_series(20, 24) n;
select memstore.challenge_memory(
  pg_temp.account(ref), pg_temp.memory(n), 'wrong', '[{"kind": "url", "ref": "r", "digest": "d"}]')
from generate_series(20, 23) n, unnest('{a,gone}'::text[]) ref;
select memstore.challenge_memory(pg_temp.account('b'), pg_temp.memory(20), 'without evidence');
select memstore.refute_challenge(pg_temp.account('s'), challenge_id, 'no')
from (select challenge_id from memstore.open_challenges where memory_id = pg_temp.memory(21) limit 1) c;
select memstore.promote_memory(
  pg_temp.account('s'), pg_temp.memory(22), 'a-stance', '[{"kind": "url", "ref": "r", "digest": "d"}]');
select memstore.supersede_memory(
  pg_temp.account('s'), pg_temp.memory(23), 'a correction',
  evidence_refs => '[{"kind": "url", "ref": "r", "digest": "d"}]');
select memstore.delete_user(pg_temp.account('gone'));
select memstore.set_maximum_live_memories(id, live_memories) from memstore.users where external_ref < 'c';
"""


def fill(conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as db:
        for statement in STORE.split(";\n"):
            db.execute(statement.encode())


def content(conninfo: str) -> dict[str, list[Any]]:
    """All rows of all tables, generated columns included, without when the code was loaded."""
    with psycopg.connect(conninfo) as connection:
        tables = names(
            connection,
            "select relname::text from pg_class"
            " where relnamespace = 'memstore'::regnamespace and relkind = 'r'",
        )
        return {
            table: [
                row[0]
                for row in connection.execute(
                    f"select to_jsonb(t) - 'changes' from memstore.{table} t order by t::text".encode()
                )
            ]
            for table in tables - YOYO_TABLES - {"deployment"}
        }


def restore(conninfo: str, archive: Path, *options: str) -> None:
    run([program("pg_restore"), "--exit-on-error", *options, "-d", conninfo, str(archive)])


@pytest.fixture(scope="module")
def source(server: Server) -> Iterator[str]:
    """A store of an ordinary role, which restores it too."""
    with psycopg.connect(admin_conninfo(server), autocommit=True) as admin:
        admin.execute("create role memstore_restorer")
        try:
            with empty_database(server, owner="memstore_restorer") as conninfo:
                conninfo = make_conninfo(conninfo, options="-c role=memstore_restorer")
                schema.migrate(conninfo)
                fill(conninfo)
                yield conninfo
        finally:
            admin.execute("drop role memstore_restorer")


@pytest.fixture
def target(server: Server, source: str) -> Iterator[str]:
    with empty_database(server, owner="memstore_restorer") as conninfo:
        yield make_conninfo(conninfo, options="-c role=memstore_restorer")


@pytest.fixture(scope="module")
def archive(source: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Row-level security doesn't hold for the owner, so the dump is whole."""
    path = tmp_path_factory.mktemp("archive") / "whole"
    run([program("pg_dump"), "-Fc", "-n", "memstore", "-f", str(path), "-d", source])
    return path


@pytest.fixture(scope="module")
def data(source: str, archive: Path) -> Path:
    """Only in a dump of data alone do the tables come in the order of the foreign keys."""
    path = archive.with_name("data")
    run([program("pg_dump"), "-Fc", "--data-only", "-n", "memstore", "-f", str(path), "-d", source])
    return path


class TestDumpAndRestore:
    def test_whole(self, source: str, target: str, archive: Path) -> None:
        restore(target, archive)
        assert content(target) == content(source)
        # PostgreSQL reads back the parentheses that it prints, and then prints fewer around an AND in an AND.
        parentheses = str.maketrans("", "", "()")
        restored, original = (dump(conninfo, "-n", "memstore") for conninfo in (target, source))
        assert restored.translate(parentheses) == original.translate(parentheses)
        self._works(target)

    def test_schema_then_data(self, source: str, target: str, archive: Path, data: Path) -> None:
        """The triggers are there when the rows come: they count them once, and refuse none."""
        restore(target, archive, "--schema-only")
        restore(target, data)
        assert content(target) == content(source)
        self._works(target)

    def test_schema_then_data_without_triggers(self, source: str, target: str, archive: Path) -> None:
        restore(target, archive, "--schema-only")
        restore(make_conninfo(target, options=""), archive, "--data-only", "--disable-triggers")
        assert content(target) == content(source)
        self._works(target)

    def test_data_into_an_installed_store(self, source: str, target: str, data: Path) -> None:
        schema.migrate(target)
        tables = "users", "embedding_models", "memories", "memory_admissions"
        restore(target, data, *[f"--table={table}" for table in tables])
        restored, original = content(target), content(source)
        for table in restored.keys() - {"settings"}:
            assert restored[table] == original[table], table
        self._works(target)

    def test_above_a_lowered_ceiling(self, source: str, target: str, archive: Path) -> None:
        """Rows alone can't be told from new ones: such a store is restored whole, or without triggers."""
        with psycopg.connect(source, autocommit=True) as connection:
            connection.execute("select memstore.set_maximum_live_memories(memstore.find_user('a'), 1)")
            try:
                path = archive.with_name("lowered")
                run([program("pg_dump"), "-Fc", "-n", "memstore", "-f", str(path), "-d", source])
                restore(target, path)
                assert content(target) == content(source)
            finally:
                connection.execute(
                    "select memstore.set_maximum_live_memories(id, live_memories) from memstore.users"
                    " where external_ref = 'a'"
                )

    def test_as_plain_sql_without_a_search_path(self, source: str, target: str, tmp_path: Path) -> None:
        path = tmp_path / "dump.sql"
        run([program("pg_dump"), "-n", "memstore", "--inserts", "-f", str(path), "-d", source])
        run([program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target, "-f", str(path)])
        assert content(target) == content(source)

    @staticmethod
    def _works(conninfo: str) -> None:
        schema.migrate(conninfo)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            recall = "select note from memstore.recall(memstore.find_user('a'), 'strasse 上海')"
            assert "Straße" in str(connection.execute(recall).fetchone())
            with pytest.raises(psycopg.Error) as caught:
                connection.execute("select memstore.insert_memory(memstore.find_user('a'), 'x')")
            assert caught.value.diag.constraint_name == "quota_reached"
            assert not connection.execute(
                "select from memstore.derive_statuses() d"
                " left join memstore.claim_statuses s using (memory_id)"
                " where d.status <> coalesce(s.status, 'candidate')"
            ).fetchall()
