"""Who may do what: from the catalog, and by trying it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from memstore import schema
from tests.databases import dump, empty_database
from tests.sql.api import API, OPERATOR, Connect, call_all, calls
from tests.sql.support import (
    SYSTEM,
    account_of,
    insert,
    raw_copy,
    raw_insert,
    refused,
    rows,
    steward_of,
    value,
)

if TYPE_CHECKING:
    from tests.servers import Server

# A public function that only reads opens with one of these, or is named here.
READS = re.compile(
    r"^(authorize|count|explain|export|get|help|list|find|rank|read_json|recall|similar|memory_histor|memory_status|memories_as_of|memories_to|search|store|verify)"
)
EVIDENCE = Jsonb(SYSTEM["evidence_refs"])


def routines(db: psycopg.Connection) -> list[tuple[Any, ...]]:
    """Name, signature, whether security definer, settings, volatility, parallel safety."""
    return rows(
        db,
        "select proname::text, oid::regprocedure::text, prosecdef, proconfig, provolatile::text,"
        " proparallel::text from pg_proc where pronamespace = 'memstore'::regnamespace",
    )


@pytest.fixture
def role(db: psycopg.Connection) -> Iterator[str]:
    """A role that nothing is granted to, with a name that needs quotes."""
    name = 'memstore "app" role\'s'
    identifier = sql.Identifier(name)
    db.execute(sql.SQL("create role {}").format(identifier))
    yield name
    db.execute("reset role")
    db.execute(sql.SQL("drop owned by {}").format(identifier))
    db.execute(sql.SQL("drop role {}").format(identifier))


def become(connection: psycopg.Connection, role: str) -> None:
    connection.execute(sql.SQL("set role {}").format(sql.Identifier(role)))


class TestCatalog:
    def test_public_can_do_nothing(self, db: psycopg.Connection) -> None:
        acls = (
            "select p.oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)) from pg_proc p"
            " where pronamespace = 'memstore'::regnamespace",
            "select c.oid::regclass::text, coalesce(relacl, acldefault('r', relowner)) from pg_class c"
            " where relnamespace = 'memstore'::regnamespace and relkind in ('r', 'v', 'm', 'p', 'f', 'S')",
            "select nspname::text, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace"
            " where nspname = 'memstore'",
        )
        for query in acls:
            public = "select o.name from ({}) o (name, acl), aclexplode(o.acl) a where a.grantee = 0"
            # A reader of a table under row-level security looks for his own binding.
            assert rows(db, public.format(query)) in ([], [("memstore.account_roles",)])
        acl = "select relacl::text from pg_class where oid = 'memstore.account_roles'::regclass"
        assert re.search(r"[{,]=r/", value(db, acl))

    def test_definers_pin_the_search_path(self, db: psycopg.Connection) -> None:
        definers = [routine for routine in routines(db) if routine[2]]
        assert definers
        for _, signature, _, settings, *_ in definers:
            assert "search_path=pg_catalog, pg_temp" in (settings or []), signature

    def test_public_functions(self, db: psycopg.Connection) -> None:
        found = {routine[0]: routine for routine in routines(db)}
        assert found.keys() >= API | OPERATOR
        for name in API | OPERATOR:
            _, signature, definer, _, volatility, parallel = found[name]
            if name == "schema_version":
                assert (definer, volatility, parallel) == (False, "i", "s")
                continue
            assert definer, signature
            assert volatility == ("s" if READS.match(name) else "v"), signature

    def test_no_overloads(self, db: psycopg.Connection) -> None:
        names = [routine[0] for routine in routines(db)]
        assert len(names) == len(set(names))

    def test_only_what_writes_nothing_runs_in_parallel(self, db: psycopg.Connection) -> None:
        for _, signature, _, _, volatility, parallel in routines(db):
            if volatility == "v":
                assert parallel == "u", signature
            if volatility == "i":
                assert parallel == "s", signature

    def test_sources_state_volatility_and_security(self) -> None:
        for path in schema.sql_dir().rglob("*.sql"):
            text = path.read_text(encoding="utf-8")
            for head in re.findall(r"create or replace function (.*?)\nas ", text, re.DOTALL):
                # What is compiled has its place for it.
                assert re.search(r"^(immutable\b|stable\b|volatile\b|%s$)", head, re.MULTILINE), path
                assert re.search(r"^security (definer|invoker)$", head, re.MULTILINE), path

    def test_exception_blocks(self) -> None:
        """Only where nothing else tells: a row beyond the snapshot, and a text that is no JSON, before 16."""
        found = {
            path.stem
            for path in schema.sql_dir().rglob("*.sql")
            if re.search(r"^\s*exception\s*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        }
        assert found == {"delete_unused_model", "read_json"}

    def test_views_run_as_their_reader(self, db: psycopg.Connection) -> None:
        views = rows(
            db,
            "select relname::text, reloptions from pg_class"
            " where relnamespace = 'memstore'::regnamespace and relkind = 'v'",
        )
        assert views
        for name, options in views:
            assert options == ["security_invoker=true"], name

    def test_everything_is_commented(self, db: psycopg.Connection) -> None:
        """But for yoyo's tables, primary keys, and NOT NULL constraints, which 18 brought."""
        own = "memstore'::regnamespace and c.relname not like '\\_yoyo%' and c.relname <> 'yoyo_lock'"
        uncommented = f"""
            select 'relation ' || c.relname from pg_class c
            where c.relnamespace = '{own} and c.relkind in ('r', 'v', 'c')
              and obj_description(c.oid, 'pg_class') is null
              and not exists (select from pg_type t where t.typrelid = c.oid and c.relkind = 'c'
                and obj_description(t.oid, 'pg_type') is not null)
            union all
            select 'column ' || c.relname || '.' || a.attname from pg_class c
            join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            where c.relnamespace = '{own} and c.relkind = 'r' and col_description(c.oid, a.attnum) is null
            union all
            select 'index ' || i.relname from pg_index x
            join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
            where c.relnamespace = '{own} and obj_description(i.oid, 'pg_class') is null
              and not exists (select from pg_constraint o where o.conindid = i.oid)
            union all
            select 'constraint ' || o.conname from pg_constraint o join pg_class c on c.oid = o.conrelid
            where c.relnamespace = '{own} and o.contype not in ('p', 'n', 't')
              and obj_description(o.oid, 'pg_constraint') is null
            union all
            select 'policy ' || p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
            where c.relnamespace = '{own} and obj_description(p.oid, 'pg_policy') is null
            union all
            select 'function ' || p.oid::regprocedure from pg_proc p
            where p.pronamespace = 'memstore'::regnamespace and obj_description(p.oid, 'pg_proc') is null
            union all
            select 'schema' where obj_description('memstore'::regnamespace, 'pg_namespace') is null
            """
        assert rows(db, uncommented) == []


class TestGrantApi:
    def test_calls(self, db: psycopg.Connection, role: str) -> None:
        account, steward = account_of(db, "a"), steward_of(db, "s")
        assert calls(account, steward).keys() == API
        rows(db, "select memstore.grant_api(%s)", role)
        become(db, role)
        call_all(db, account, steward)

    def test_reaches_nothing_else(self, db: psycopg.Connection, role: str) -> None:
        rows(db, "select memstore.grant_api(%s)", role)
        executable = rows(
            db,
            "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
            " and has_function_privilege(%s, oid, 'execute')",
            role,
        )
        assert {name for (name,) in executable} == API
        relations = rows(
            db,
            "select c.oid::regclass::text from pg_class c where relnamespace = 'memstore'::regnamespace"
            " and relkind in ('r', 'v') and relname <> 'account_roles'",
        )
        for (relation,) in relations:
            for privilege in ("select", "insert", "update", "references"):
                assert not value(db, "select has_any_column_privilege(%s, %s, %s)", role, relation, privilege)
            assert not value(
                db, "select has_table_privilege(%s, %s, 'delete, truncate, trigger')", role, relation
            )
        become(db, role)
        assert rows(db, "select from memstore.account_roles") == []
        for (relation,) in relations:
            for statement in (
                f"select from {relation}",
                f"truncate {relation}",
                f"copy {relation} to stdout",
            ):
                with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType)):
                    db.execute(statement.encode())
        for statement in (
            "create table memstore.mine ()",
            "select memstore.configure()",
            "select memstore.grant_api('postgres')",
            "select memstore.drop_code()",
            "select memstore.refuse('actor_unknown')",
            "select memstore.lexemes('english', 'x')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement.encode())

    def test_revoke(self, db: psycopg.Connection, role: str) -> None:
        rows(db, "select memstore.grant_api(%s), memstore.revoke_api(%s)", role, role)
        assert value(db, "select has_schema_privilege(%s, 'memstore', 'usage')", role) is False
        assert not rows(
            db,
            "select from pg_proc where pronamespace = 'memstore'::regnamespace"
            " and has_function_privilege(%s, oid, 'execute')",
            role,
        )
        become(db, role)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("select memstore.list_rules()")

    @pytest.mark.parametrize("function", ["grant_api", "revoke_api"])
    @pytest.mark.parametrize("name", ["no such role", "public", "", None])
    def test_no_such_role(self, name: str | None, function: str, db: psycopg.Connection) -> None:
        with refused("argument_invalid", "role"):
            rows(db, f"select memstore.{function}(%s)", name)

    def test_a_reload_keeps_grants_and_adds_new_functions(self, db: psycopg.Connection, role: str) -> None:
        rows(db, "select memstore.grant_api(%s)", role)
        signature = value(db, "select signature::text from memstore.api_functions where name = 'recall'")
        # As if this version had brought it, to a database whose default is to let everybody call functions.
        db.execute("alter default privileges in schema memstore grant execute on functions to public")
        db.execute(f"drop function {signature}".encode())
        with db.transaction():
            schema.load_code(db)
        db.execute("alter default privileges in schema memstore revoke execute on functions from public")
        TestCatalog().test_public_can_do_nothing(db)
        assert value(db, "select has_function_privilege(%s, %s, 'execute')", role, signature)

    def test_a_reload_grants_nothing_to_others(self, db: psycopg.Connection, role: str) -> None:
        db.execute("delete from memstore.deployment where name = 'sql'")
        with db.transaction():
            schema.load_code(db)
        assert not value(db, "select has_schema_privilege(%s, 'memstore', 'usage')", role)


class TestRowLevelSecurity:
    @pytest.fixture
    def reporter(self, db: psycopg.Connection, role: str) -> psycopg.Connection:
        account, other, steward = account_of(db, "a"), account_of(db, "b"), steward_of(db, "s")
        insert(db, account, "mine")
        insert(db, other, "theirs")
        claim = insert(db, steward, "c", **SYSTEM)["id"]
        rows(db, "select memstore.challenge_memory(%s, %s, 'mine')", account, claim)
        rows(db, "select memstore.challenge_memory(%s, %s, 'theirs')", other, claim)
        name = sql.Identifier(role)
        db.execute(sql.SQL("grant usage on schema memstore to {}").format(name))
        db.execute(
            sql.SQL(
                "grant select on memstore.users, memstore.memories, memstore.memory_admissions to {}"
            ).format(name)
        )
        become(db, role)
        return db

    QUERIES = (
        "select external_ref from memstore.users",
        "select body from memstore.memories",
        "select ground from memstore.memory_admissions",
    )

    @pytest.mark.parametrize("setting", [None, "", "00000000-0000-4000-8000-000000000000"])
    def test_nothing_without_an_account(self, setting: str | None, reporter: psycopg.Connection) -> None:
        if setting is not None:
            rows(reporter, "select set_config('memstore.actor', %s, false)", setting)
        for query in self.QUERIES:
            assert rows(reporter, query) == []

    def test_one_account(self, reporter: psycopg.Connection) -> None:
        reporter.execute("reset role")
        account = account_of(reporter, "a")
        reporter.execute("set session authorization default")
        become(reporter, 'memstore "app" role\'s')
        rows(reporter, "select set_config('memstore.actor', %s, false)", str(account))
        assert [rows(reporter, query) for query in self.QUERIES] == [[("a",)], [("mine",)], [("mine",)]]

    def test_what_is_no_account(self, reporter: psycopg.Connection) -> None:
        reporter.execute("set memstore.actor = 'x'")
        for query in self.QUERIES:
            with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                rows(reporter, query)

    def test_the_projection_is_granted_to_nobody(self, reporter: psycopg.Connection) -> None:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows(reporter, "select from memstore.claim_statuses")


def shadow(db: psycopg.Connection) -> None:
    """A schema with a namesake for every function, operator and table that memstore could mean.

    All of them raise an error. It is put before pg_catalog, which is where a namesake wins.
    """
    sources = [*schema.sql_dir().rglob("*.sql"), *schema.migrations_dir().glob("*.sql")]
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    db.execute("create schema evil")
    db.execute("grant usage on schema evil to public")
    db.execute(
        "create function pg_temp.try(statement text) returns boolean language plpgsql as $$begin"
        " execute statement; return true; exception when others then return false; end$$"
    )
    functions = rows(
        db,
        "select p.proname::text, count(*) from pg_proc p, pg_temp.try(format("
        "'create function evil.%%I(%%s) returns %%s language plpgsql as"
        " $f$begin raise exception ''evil %%s''; end$f$',"
        " proname, oidvectortypes(proargtypes), pg_get_function_result(p.oid), proname)) made"
        " where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f' and proname = any(%s) and made"
        " group by 1",
        [*words],
    )
    assert {"lower", "char_length", "btrim", "clock_timestamp", "ts_lexize", "format"} <= {
        f for f, _ in functions
    }
    operators = rows(
        db,
        "select o.oprname::text, count(*) from pg_operator o, pg_temp.try(format("
        "'create function evil.op%1$s(%2$s, %3$s) returns %4$s language plpgsql as"
        " $f$begin raise exception ''evil operator''; end$f$; create operator evil.%5$s"
        " (leftarg = %2$s, rightarg = %3$s, function = evil.op%1$s)',"
        " o.oid, oprleft::regtype, oprright::regtype, oprresult::regtype, oprname)) made"
        " where oprnamespace = 'pg_catalog'::regnamespace and oprkind = 'b' and made group by 1",
    )
    assert {"=", "<>", "||", "@@", "->>", "-", "<", "~"} <= {operator for operator, _ in operators}
    for table in (
        "memories",
        "users",
        "settings",
        "refusals",
        "rules",
        "pg_proc",
        "pg_roles",
        "pg_constraint",
    ):
        db.execute(f"create table evil.{table} (id integer)".encode())
        db.execute(f"create temp table {table} (id integer)".encode())
    db.execute("grant all on all tables in schema evil to public")
    db.execute("create domain evil.memory as integer; create type evil.tsvector as (a integer)")


class TestNamesakes:
    """A caller's own objects, before PostgreSQL's in the search path, change nothing."""

    PATH = "set search_path = evil, pg_temp, pg_catalog, memstore"

    def test_functions(self, db: psycopg.Connection, role: str) -> None:
        account, steward = account_of(db, "a"), steward_of(db, "s")
        rows(db, "select memstore.configure(system_recall_enabled => true)")
        rows(db, "select memstore.grant_api(%s)", role)
        shadow(db)
        become(db, role)
        with pytest.raises(psycopg.errors.RaiseException):
            db.execute(self.PATH + "; select lower('X')")
        db.execute(self.PATH)
        call_all(db, account, steward)

    def test_plain_statements_of_the_owner(self, db: psycopg.Connection) -> None:
        account = account_of(db, "a")
        shadow(db)
        db.execute(self.PATH)
        memory = raw_insert(db, account, "Straße café", embedding=[1.0], embedding_model="m")
        raw_copy(db, [{"user_id": account, "body": "上海"}, {"user_id": account, "body": "x"}])
        raw_insert(db, account, "a claim", **SYSTEM)
        with refused("memories_body_shape"):
            raw_insert(db, account, "\u3000")
        with refused("memory_is_immutable"):
            db.execute("update memstore.memories set body = 'y'")
        db.execute("reset search_path")
        vector = value(db, "select search_vector::text from memstore.memories where id = %s", memory)
        assert vector == "'cafe' 'strass'"
        db.execute(self.PATH)
        db.execute("delete from memstore.memories")

    def test_loading(self, db: psycopg.Connection) -> None:
        db.execute("delete from memstore.deployment where name = 'sql'")
        shadow(db)
        db.execute(self.PATH)
        with db.transaction():
            schema.load_code(db)
        db.execute("reset search_path")
        db.execute("discard temp")
        before = {routine[1] for routine in routines(db)}
        db.execute("drop schema evil cascade")
        assert {routine[1] for routine in routines(db)} == before

    @pytest.mark.parametrize(
        "setting",
        [
            # The others are in test_settings.
            "standard_conforming_strings = off",
            "client_encoding = 'LATIN1'",
            "default_transaction_isolation = 'serializable'",
        ],
    )
    def test_settings_of_a_session(self, setting: str, db: psycopg.Connection, connect: Connect) -> None:
        account, steward = account_of(db, "a"), steward_of(db, "s")
        reference = insert(db, account, "Straße café 100% C:\\temp, 12.5 MB")
        caller = connect()
        caller.execute(b"set " + setting.encode())
        # psycopg reads times of one style only.
        body = "Straße café 100% C:\\temp, 12.5 MB"
        query = sql.SQL("select (memstore.insert_memory({}, {})).id").format(account, body)
        memory = caller.execute(query).fetchone()
        assert memory
        vector = "select search_vector::text from memstore.memories where id = %s"
        assert value(db, vector, memory[0]) == value(db, vector, reference["id"])
        imported = rows(
            caller,
            "select (m).inserted_at - clock_timestamp() between '-1 minute' and '1 minute'"
            " from memstore.import_memories(%s, %s) m",
            account,
            Jsonb([{"body": "i", "embedding": [1e-3, 1e6], "embedding_model": "n"}]),
        )
        assert imported == [(True,)]
        call_all(caller, account, steward)


class TestOrdinaryOwner:
    """Nothing needs a superuser: the owner of a database installs, operates and grants."""

    @pytest.fixture
    def owner(self, server: Server, db: psycopg.Connection) -> Iterator[str]:
        db.execute("create role memstore_owner nosuperuser nocreatedb nocreaterole nobypassrls")
        try:
            with empty_database(server, owner="memstore_owner") as conninfo:
                # As the role without its password.
                yield make_conninfo(conninfo, options="-c role=memstore_owner")
        finally:
            db.execute("drop role memstore_owner")

    def test_installs_and_works(self, role: str, owner: str, db: psycopg.Connection) -> None:
        schema.migrate(owner)
        schema.migrate(owner)
        mine, reference = dump(owner), dump(make_conninfo(owner, dbname=db.info.dbname, options=""))
        # The owner's name is where theirs is, and 15 and later grant a database's public schema to its owner.
        user = db.info.user
        assert mine.replace("memstore_owner", user) == reference.replace("memstore_owner", user)
        with psycopg.connect(owner, autocommit=True) as connection:
            rows(connection, "select memstore.configure(system_recall_enabled => true)")
            account, steward = account_of(connection, "a"), steward_of(connection, "s")
            rows(connection, "select memstore.grant_api(%s)", role)
            with psycopg.connect(owner, autocommit=True, options="") as application:
                become(application, role)
                call_all(application, account, steward)
            rows(connection, "select memstore.revoke_api(%s)", role)
            with refused("quota_reached"):
                rows(connection, "select memstore.set_maximum_live_memories(%s, 0)", steward)
                raw_insert(connection, steward, "x")
