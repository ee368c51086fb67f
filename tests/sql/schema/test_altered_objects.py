"""altered_objects: each way to switch a rule off by plain SQL is told; what the operator may do isn't."""

from __future__ import annotations

import psycopg
import pytest

from memstore import schema
from tests.sql.recall.test_large_accounts import INDEXES, install_option
from tests.sql.support import account_of, call, rows, steward_of, value
from tests.sql.work import work

ANOTHER = "pg_monitor"
"""A role that every server has."""

# The statements by the object that they alter.
DIFFERENT = {
    "trigger memories.memories_fixed": [
        "alter table memories disable trigger memories_fixed",
        "alter table memories enable replica trigger memories_fixed",
        "alter table memories enable always trigger memories_fixed",
        "create or replace trigger memories_fixed after update on memories for each row"
        " when (new.id <> old.id) execute function refuse_memory_change()",
    ],
    "constraint memories.memories_body_shape": [
        "alter table memories drop constraint memories_body_shape, add constraint memories_body_shape"
        " check (true)",
        "alter table memories drop constraint memories_body_shape, add constraint memories_body_shape"
        " check (body_is_valid(body, stance)) not valid",
        "comment on constraint memories_body_shape on memories is 'Anything.'",
    ],
    "constraint memories.memories_tier_shape": [
        # The nesting alone: a restore changes it where it means the same.
        "alter table memories drop constraint memories_tier_shape, add constraint memories_tier_shape check"
        " (case bucket when 'system' then tier is not null or tier = any ('{ledger,glass}')"
        " else tier is null end)",
    ],
    "constraint memories.memories_user_id_fkey": [
        "alter table memories drop constraint memories_user_id_fkey, add constraint memories_user_id_fkey"
        " foreign key (user_id) references users (id) not valid",
        "alter table memories alter constraint memories_user_id_fkey deferrable initially deferred",
        "alter table memories drop constraint memories_user_id_fkey, add constraint memories_user_id_fkey"
        " foreign key (user_id) references users (id) on delete cascade",
    ],
    "table memories": [
        "alter table memories disable row level security",
        "alter table memories force row level security",
        f"alter table memories owner to {ANOTHER}",
    ],
    "table admitted_claims": ["alter table admitted_claims set unlogged"],
    "policy memories.memories_of_actor": [
        "alter policy memories_of_actor on memories using (true)",
        f"alter policy memories_of_actor on memories to {ANOTHER}",
    ],
    "function hold_chain()": [
        "create or replace function hold_chain() returns trigger language plpgsql as"
        " 'begin return null; end'",
    ],
    "function is_restore()": [
        "create or replace function is_restore() returns boolean language sql stable as 'select true'",
    ],
    "function trim_text(text)": [
        "create or replace function trim_text(content text) returns text language sql immutable as"
        " 'select content'",
        "alter function trim_text(text) called on null input",
    ],
    "function memories_obey(memories)": [
        "create or replace function memories_obey(candidate memories) returns boolean language sql immutable"
        " as 'select true'",
    ],
    "function find_user(text)": [
        "alter function find_user reset search_path",
        "alter function find_user set search_path = public",
        "alter function find_user security invoker",
        f"alter function find_user owner to {ANOTHER}",
        "alter function find_user volatile",
        "alter function find_user strict",
        "alter function find_user leakproof",
        "alter function find_user parallel safe",
        "alter function find_user cost 1000000",
        "alter function find_user set row_security = off",
    ],
    "function lexeme_set(text,text)": ["alter function lexeme_set(text, text) volatile"],
    "function expected_objects()": [
        "create or replace function expected_objects() returns table (kind text, name text, digest text)"
        " language sql as 'select o.* from objects() o'",
    ],
    "function objects()": [
        "create or replace function objects() returns table (kind text, name text, digest text)"
        " language sql as 'select e.* from expected_objects() e'",
    ],
    "view refusals": ["alter view refusals set (security_barrier)"],
    "view api_functions": [
        f"alter view api_functions owner to {ANOTHER}",
        "alter view api_functions set (security_invoker = false)",
        "create or replace view api_functions as select p.oid::regprocedure as signature,"
        " p.proname::text as name from pg_proc p",
    ],
    "column memories.inserted_at": [
        "alter table memories alter column inserted_at drop default",
        "alter table memories alter column inserted_at set default now()",
    ],
    "column memories.id": [
        "alter table memories alter column id drop default",
        "alter table memories alter column id set default '00000000-0000-4000-8000-000000000000'",
    ],
    "column memories.body": ["alter table memories alter column body set statistics 100"],
    "column memories.search_vector": ["alter table memories alter column search_vector drop expression"],
    "column memory_admissions.slug": ["alter table memory_admissions alter column slug drop expression"],
    "column admitted_claims.user_id": ["alter table admitted_claims alter column user_id drop not null"],
    "column embedding_models.dimensions": [
        "alter table embedding_models alter column dimensions type bigint",
    ],
    "column claim_words.lexeme": [
        'alter table claim_words alter column lexeme type text collate "C"',
    ],
    "configuration english": [
        "alter text search configuration english drop mapping for asciiword",
        "alter text search configuration english alter mapping for asciiword with simple",
        f"alter text search configuration english owner to {ANOTHER}",
    ],
    "row settings": ["truncate settings"],
    "row claim_counter": ["delete from claim_counter"],
}
ABSENT = {
    "trigger memories.memories_fixed": "drop trigger memories_fixed on memories",
    "trigger memories.memories_count_insert": "drop trigger memories_count_insert on memories",
    "constraint memories.memories_body_shape": "alter table memories drop constraint memories_body_shape",
    "constraint memories.memories_superseded_by_id_fkey": "alter table memories"
    " drop constraint memories_superseded_by_id_fkey",
    "constraint memory_admissions.memory_admissions_memory_id_fkey": "alter table memory_admissions"
    " drop constraint memory_admissions_memory_id_fkey",
    "constraint users.users_external_ref_key": "alter table users drop constraint users_external_ref_key",
    "policy memories.memories_of_actor": "drop policy memories_of_actor on memories",
    "index memories_live_idx": "drop index memories_live_idx",
    "index memories_account_body_idx": "drop index memories_account_body_idx",
    "plain_index open_challenges_user_id_idx": "drop index open_challenges_user_id_idx",
    "function find_user(text)": "drop function find_user",
    "configuration english": "drop text search configuration english",
}
NOT_OURS = {
    "policy memories.p": "create policy p on memories using (true)",
    "rule memories.r": "create rule r as on delete to memories do instead nothing",
    "trigger memories.a": "create trigger a before insert on memories for each row"
    " execute function suppress_redundant_updates_trigger()",
    "trigger memories.c": "create constraint trigger c after insert on memories for each row"
    " execute function suppress_redundant_updates_trigger()",
    "constraint memories.c": "alter table memories add constraint c check (true)",
    "function extra()": "create function extra() returns integer language sql as 'select 1'",
    "function find_user(text,integer)": "create function find_user(text, integer) returns uuid language sql"
    " as 'select null::uuid'",
    "table extra": "create unlogged table extra (id integer)",
    "view extra": "create view extra as select 1 as one",
    "column memories.extra": "alter table memories add column extra text",
    "index extra": "create index extra on memories (lower(body))",
    "index unique_extra": "create unique index unique_extra on memories (user_id, id)",
    "index partial_extra": "create index partial_extra on memories (user_id) where is_short(source_ref)",
    "statistics_object public.extra": "create statistics public.extra on body, user_id from memories",
    "cast memstore.memory as json": "create cast (memory as json) with inout",
    "operator memstore.===(pg_catalog.text,pg_catalog.text)": "create operator ==="
    " (function = texteq, leftarg = text, rightarg = text)",
    "type memstore.extra": "create domain extra as text",
    "collation memstore.extra": 'create collation extra from "C"',
    "privilege execute of PUBLIC on find_user(text)": "grant execute on function find_user to public",
    "privilege select of PUBLIC on memories": "grant select on memories to public",
    "privilege select of PUBLIC on memories.body": "grant select (body) on memories to public",
    "privilege usage of PUBLIC on the schema": "grant usage on schema memstore to public",
    "privilege create of PUBLIC on the schema": "grant create on schema memstore to public",
    "privilege select of PUBLIC on what is created": "alter default privileges in schema memstore"
    " grant select on tables to public",
    "setting session_replication_role=replica of memstore_asleep": "create role memstore_asleep;"
    " alter role memstore_asleep set session_replication_role = replica",
    "setting check_function_bodies=off of memstore_asleep": "create role memstore_asleep;"
    " alter role memstore_asleep set check_function_bodies = off",
}
NEWER = {
    "constraint memories.memories_body_shape": (
        180000,
        "alter table memories drop constraint memories_body_shape, add constraint memories_body_shape"
        " check (body_is_valid(body, stance)) not enforced",
    ),
    "constraint memories.memories_user_id_fkey": (
        180000,
        "alter table memories alter constraint memories_user_id_fkey not enforced",
    ),
    "column admitted_claims.user_id": (
        180000,
        "alter table admitted_claims alter column user_id drop not null;"
        " alter table admitted_claims add constraint c not null user_id not valid",
    ),
}
# Several objects at once.
TOGETHER = {
    "grant execute on all functions in schema memstore to public": 100,
    "alter table users disable trigger all": 3,
    "alter table memory_admissions disable trigger all": 5,
    "create table public.child () inherits (memories)": 1,
    "drop view refusals cascade": 1,
}
OPERATOR = [
    f"grant select on memories to {ANOTHER}",
    f"grant insert (body) on memories to {ANOTHER}",
    f"grant usage on schema memstore to {ANOTHER}",
    f"select memstore.grant_api('{ANOTHER}')",
    f"alter default privileges in schema memstore grant select on tables to {ANOTHER}",
    "select memstore.configure(maximum_attached => 3)",
    "alter table memories set (autovacuum_vacuum_scale_factor = 0.05, fillfactor = 90)",
    "alter index memories_live_idx set (fillfactor = 70)",
    "alter table users alter column inserted_at set statistics 500",
    "alter table memories alter column embedding set storage extended",
    "alter table memories replica identity full",
    "create index extra on memories (bucket, inserted_at)",
    "create table public.own (user_id uuid references users (id))",
    "create view public.own as select id from memories",
    "create function public.own(memory) returns text language sql as 'select $1.body'",
    "comment on table memories is 'Ours.'",
    "create publication own for table memories",
    "alter table memories cluster on memories_pkey",
    "analyze",
]


def altered(db: psycopg.Connection) -> set[tuple[str, str]]:
    """What is altered and how, as the package tells it; the database tells the same."""
    found = {(f"{kind} {name}", state) for kind, name, state in schema.altered_objects(db)}
    if not found & {("function objects()", "different"), ("function expected_objects()", "different")}:
        told = rows(db, "select kind || ' ' || name, state from memstore.altered_objects()")
        assert set(told) == found
    return found


def run(db: psycopg.Connection, statement: str) -> None:
    db.execute("set local search_path = memstore, pg_catalog")
    db.execute(statement.encode())
    db.execute("reset search_path")


def test_nothing_is_altered(scratch: psycopg.Connection) -> None:
    assert altered(scratch) == set()


@pytest.mark.parametrize(
    ("name", "statement"), [(name, each) for name, several in DIFFERENT.items() for each in several]
)
def test_what_is_different(scratch: psycopg.Connection, name: str, statement: str) -> None:
    run(scratch, statement)
    assert (name, "different") in altered(scratch)


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_absent(scratch: psycopg.Connection, name: str) -> None:
    run(scratch, ABSENT[name])
    assert (name, "absent") in altered(scratch)


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_is_not_ours(scratch: psycopg.Connection, name: str) -> None:
    run(scratch, NOT_OURS[name])
    assert (name, "not ours") in altered(scratch)
    assert {state for _, state in altered(scratch)} == {"not ours"}


@pytest.mark.parametrize("name", NEWER)
def test_what_newer_servers_can(scratch: psycopg.Connection, name: str) -> None:
    version, statement = NEWER[name]
    if scratch.info.server_version < version:
        pytest.skip("this server can't")
    run(scratch, statement)
    assert (name, "different") in altered(scratch)


@pytest.mark.parametrize("statement", TOGETHER)
def test_several_at_once(scratch: psycopg.Connection, statement: str) -> None:
    run(scratch, statement)
    assert len(altered(scratch)) >= TOGETHER[statement]


@pytest.mark.parametrize("statement", OPERATOR)
def test_what_the_operator_may_do(scratch: psycopg.Connection, statement: str) -> None:
    run(scratch, statement)
    assert altered(scratch) == set()


def test_a_store_at_work(scratch: psycopg.Connection) -> None:
    account = account_of(scratch, "1")
    call(scratch, "insert_memory", actor=account, body="x")
    steward_of(scratch, "2")
    call(scratch, "set_maximum_live_memories", user_id=account, maximum_live_memories=3)
    assert altered(scratch) == set()


def test_the_option_for_large_accounts(db: psycopg.Connection) -> None:
    install_option(db)
    assert altered(db) == set()
    db.execute(f"drop index memstore.{INDEXES[0]}".encode())
    db.execute(f"create index {INDEXES[0]} on memstore.memories (user_id)".encode())
    assert altered(db) == {(f"optional_index {INDEXES[0]}", "different")}


@pytest.mark.parametrize("where", ["public", "\"Extensions 'of' others\"", "memstore"])
def test_with_pgvector(db: psycopg.Connection, db_url: str, where: str) -> None:
    if not rows(db, "select 1 from pg_available_extensions where name = 'vector'"):
        pytest.skip("no pgvector")
    db.execute(f"create schema if not exists {where}".encode())
    db.execute(f"create extension vector schema {where}".encode())
    assert altered(db) == set()
    db.execute("select memstore.compile_scores(), memstore.compile_item_similarities()")
    db.execute("select memstore.revoke_public()")
    assert altered(db) == set()
    source = value(db, "select pg_get_functiondef('memstore.similarities'::regproc)")
    db.execute(source.replace("<=>", "<->").encode())
    assert altered(db) == {("function similarities(uuid[],real[],text)", "different")}


def test_a_session_s_settings_change_nothing(db: psycopg.Connection) -> None:
    for setting in (
        "search_path = memstore, public",
        "quote_all_identifiers = on",
        "timezone = 'Asia/Kolkata'",
        "datestyle = 'German'",
        "intervalstyle = 'sql_standard'",
        "standard_conforming_strings = off",
        "extra_float_digits = -5",
        "session_replication_role = replica",
        "check_function_bodies = off",
        "lc_messages = 'C'",
    ):
        db.execute(f"set {setting}".encode())
    assert altered(db) == set()


def test_a_setting_of_the_database(db: psycopg.Connection, db_url: str) -> None:
    db.execute(f"alter database {db.info.dbname} set session_replication_role = replica".encode())
    with psycopg.connect(db_url) as later:
        assert altered(later) == {
            ("setting session_replication_role=replica", "not ours"),
            ("setting session_replication_role = replica", "not ours"),
        }


def test_it_tells_no_text(scratch: psycopg.Connection) -> None:
    """Names and digests alone."""
    types = rows(scratch, "select distinct digest ~ '^[0-9a-f]{32}$' from memstore.objects()")
    assert types == [(True,)]


def test_its_work(scratch: psycopg.Connection) -> None:
    """The store's size doesn't count; 0.07 s where nothing else runs."""
    assert work(scratch, "select from memstore.altered_objects()", warm=1).buffers < 20_000


def test_yoyo_elsewhere(scratch: psycopg.Connection) -> None:
    run(scratch, "drop table _yoyo_log, _yoyo_migration, _yoyo_version, yoyo_lock")
    assert altered(scratch) == set()


def test_verify_store_tells_of_it(scratch: psycopg.Connection) -> None:
    guards = "select violations, example from memstore.verify_store() where invariant = 'guards'"
    assert rows(scratch, guards) == [(0, None)]
    run(scratch, "drop trigger memories_fixed on memories")
    assert rows(scratch, guards) == [(1, "absent trigger memories.memories_fixed")]
