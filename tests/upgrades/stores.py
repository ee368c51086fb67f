"""Stores with data of every kind: as each migration leaves the tables, and as the API fills them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
from yoyo import read_migrations

from memstore import schema
from tests.databases import YOYO_TABLES, names

MIGRATIONS = [path.stem for path in schema.migration_files()]

ROWS = Path(__file__).with_name("rows")
"""What a store may have had when a migration was the newest, as plain SQL: no trigger has seen it."""

IDS = """
create function pg_temp.id(n integer) returns uuid language sql as $$
  select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid
$$
"""


def apply_up_to(conninfo: str, name: str) -> None:
    """These migrations alone, without the code layer, which belongs to the newest."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("create schema if not exists memstore")
    with schema._backend(conninfo) as backend:
        backend.init_database()
        migrations = read_migrations(str(schema.migrations_dir())).filter(lambda m: m.id <= name)
        backend.apply_migrations_only(backend.to_apply(migrations))


def synthesise(conninfo: str, name: str) -> None:
    """A store at this migration, with the rows that it may have had; without the code of that time."""
    for earlier in MIGRATIONS[: MIGRATIONS.index(name) + 1]:
        apply_up_to(conninfo, earlier)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute(IDS)
            if (rows := ROWS / f"{earlier}.sql").exists():
                connection.execute(rows.read_bytes())


# Accounts, chains, merges, deletions, scopes, claims with records, items, tokens, an erased one, full ones.
# A statement is left out where a function of it isn't there: delete_scope came with the arguments.
_CALLS = """
select memstore.create_user(external_ref => ref) from unnest('{a,b,s,gone}'::text[]) ref;
select memstore.set_steward(memstore.find_user('s'), true);
select memstore.create_token(memstore.find_user(ref), 'laptop', scopes => '{recall,forget}')
from unnest('{a,b,gone}'::text[]) ref;
select memstore.create_login(memstore.find_user('a'));
select memstore.revoke_token(memstore.find_user('b'), id) from memstore.list_tokens(memstore.find_user('b'));
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
select memstore.delete_scope(pg_temp.account('b'), 'project:y'), memstore.insert_memory(
  pg_temp.account('b'), 'scoped', scope => 'project:x',
  metadata => '{"k": [1, "%"]}', id => pg_temp.memory(30));
select memstore.delete_scope(pg_temp.account('b'), 'project:y'), memstore.supersede_memory(
  pg_temp.account('b'), pg_temp.memory(30), 'scoped again', metadata => '{"k": 1e-7}');
select memstore.insert_memory(
  pg_temp.account(o.owner), 'claim ' || n, 'system', slug => 'sys:x', tier => 'glass', as_of => '2026-01-02',
  admission => 'candidate', evidence_refs => '[{"kind": "url", "ref": "r", "digest": "d"}]',
  id => pg_temp.memory(n::integer), embedding => array[n, -1]::real[], embedding_model => 'm')
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
select memstore.put_items(pg_temp.account(ref), jsonb_build_array(
  '{"namespace": ["kept", "a.b"], "key": "%", "value": {"text": "Straße"}, "ttl_seconds": 1e8}'::jsonb,
  '{"namespace": ["kept"], "key": "k", "value": {"n": 1e-7}, "embeddings":
    [{"field": "$", "embedding": [1, 2], "embedding_model": "of items"}]}'::jsonb))
from unnest('{s,b,gone}'::text[]) ref;
select memstore.put_items(
  pg_temp.account('s'), '[{"namespace": ["kept"], "key": "gone", "value": null}]');
select memstore.import_items(pg_temp.account('s'), '[{"namespace": ["kept"], "key": "past", "value": {},
  "ttl_seconds": 1, "expires_at": "2026-01-02T03:04:05Z"}]');
select memstore.set_maximum_items(pg_temp.account('b'), 1);
select memstore.delete_user(pg_temp.account('gone'));
select memstore.set_maximum_live_memories(id, live_memories) from memstore.users where external_ref < 'c';
"""


def fill(conninfo: str) -> None:
    """Writes something of every kind through the functions that the store has."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        functions = "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
        there = names(connection, functions)
        for statement in _CALLS.split(";\n"):
            if there.issuperset(re.findall(r"memstore\.(\w+)\(", statement)):
                connection.execute(statement.encode())


def content(conninfo: str) -> dict[str, list[Any]]:
    """All rows of all tables, generated columns included, without when the code was loaded.

    Of settings that are as by default, that they are.
    """
    with psycopg.connect(conninfo) as connection:
        tables = names(
            connection,
            "select relname::text from pg_class"
            " where relnamespace = to_regnamespace('memstore') and relkind = 'r'",
        )
        found = {
            table: [
                row[0]
                for row in connection.execute(
                    f"select to_jsonb(t) - 'changes' - 'has_twins' from memstore.{table} t"
                    " order by t::text".encode()
                )
            ]
            for table in tables - YOYO_TABLES - {"deployment"}
        }
        defaults: dict[str, Any] = dict(
            connection.execute(
                "select a.attname, pg_get_expr(d.adbin, d.adrelid)::jsonb"
                " from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum"
                " where d.adrelid = to_regclass('memstore.settings')"
            ).fetchall()
        )
        # A setting that nobody chose may follow its default to another.
        for settings in found.get("settings", ()):
            settings |= {name: "default" for name, value in defaults.items() if settings[name] == value}
        return found


def without_what_came_later(
    later: dict[str, list[Any]], earlier: dict[str, list[Any]]
) -> dict[str, list[Any]]:
    """The tables and columns of ``later`` that ``earlier`` had."""
    columns = {table: set().union(*rows) for table, rows in earlier.items()}
    return {
        table: [{key: row[key] for key in row if key in columns[table]} for row in later[table]]
        for table in earlier
        if earlier[table]
    }


def broken(conninfo: str) -> list[tuple[Any, ...]]:
    """What verify_store() finds."""
    with psycopg.connect(conninfo) as connection:
        return connection.execute(
            "select invariant, violations, example from memstore.verify_store() where violations > 0"
        ).fetchall()
