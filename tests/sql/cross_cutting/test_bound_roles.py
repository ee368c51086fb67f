"""Bound roles: what they reach, and by how many ways they don't reach more."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memstore import schema
from tests.sql.api import API, calls
from tests.sql.support import SYSTEM, account_of, insert, refused, rows, steward_of, value

Connect = Callable[..., psycopg.Connection]

SHARED = {"help", "item_violations", "list_rules", "memory_violations", "read_json", "schema_version"}
ACCOUNTS = {"create_login", "create_user", "delete_user", "find_user"}
NAMES = ("agent", "other", "application", "guest", "login", "member", "outsider", "reporter")


@pytest.fixture
def roles(db: psycopg.Connection) -> Iterator[dict[str, str]]:
    """Roles with logins, by what they are for; `agent` is bound to the account a, `other` to b."""
    suffix = uuid.uuid4().hex[:8]
    names = {name: f"memstore_{name}_{suffix}" for name in NAMES}
    for name, role in names.items():
        db.execute(f"create role {role} login {'noinherit' if name == 'login' else ''}".encode())
    for name, account in (("agent", "a"), ("other", "b")):
        rows(db, "select memstore.bind_role(%s, %s)", names[name], account_of(db, account))
        insert(db, account_of(db, account), f"of {account}")
    rows(db, "select memstore.grant_api(%s)", names["application"])
    yield names
    db.execute("reset session authorization; reset role")
    for role in names.values():
        db.execute(f"drop owned by {role} cascade; drop role {role}".encode())


def bodies(connection: psycopg.Connection, arguments: str = "") -> list[str]:
    return [body for (body,) in rows(connection, f"select body from memstore.my_list_memories({arguments})")]


def denied(connection: psycopg.Connection, statement: str, *parameters: object) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
        rows(connection, statement, *parameters)


@pytest.fixture
def victim(db: psycopg.Connection, roles: dict[str, str]) -> UUID:
    account = account_of(db, "victim")
    insert(db, account, "the victim's")
    return account


class TestFunctions:
    def test_each_of_the_api_that_names_an_account(
        self, db: psycopg.Connection, roles: dict[str, str]
    ) -> None:
        executable = rows(
            db,
            "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
            " and has_function_privilege(%s, oid, 'execute')",
            roles["agent"],
        )
        expected = {f"my_{name}" for name in API - SHARED - ACCOUNTS} | SHARED
        assert {name for (name,) in executable} == expected

    def test_arguments_and_results_are_those_of_the_function(self, db: psycopg.Connection) -> None:
        signature = """
            select p.proname::text, p.provolatile::text, pg_get_function_result(p.oid),
              pg_get_function_arguments(p.oid)
            from pg_proc p where p.pronamespace = 'memstore'::regnamespace
        """
        found = {name: rest for name, *rest in rows(db, signature)}
        for name in API - SHARED - ACCOUNTS:
            volatility, result, arguments = found[name]
            own_volatility, own_result, own_arguments = found[f"my_{name}"]
            assert (own_volatility, own_result) == (volatility, result)
            given, out, results = arguments.removeprefix("actor uuid").removeprefix(", ").partition("OUT ")
            own = "actor uuid DEFAULT NULL::uuid"
            assert own_arguments == ", ".join(filter(None, [given.removesuffix(", "), own])) + (
                f", {out}{results}" if out else ""
            )

    def test_answers_are_those_of_the_function(self, db: psycopg.Connection, roles: dict[str, str]) -> None:
        """Each with all its arguments, as the account and, where that takes one, as a steward."""
        account, steward = account_of(db, "a"), steward_of(db, "b")
        versions = "alter sequence memstore.item_versions restart"
        for name, arguments in calls(account, steward).items():
            if name in ACCOUNTS:
                continue
            if name in SHARED:
                db.execute(f"set session authorization {roles['agent']}".encode())
                rows(db, f"select * from memstore.{name}({arguments})")
                db.execute("reset session authorization")
                continue
            arguments = INNER.sub(lambda found: f"'{value(db, f'select {found[0]}')}'", arguments)
            actor, _, rest = arguments.partition(",")
            role = roles["agent"] if actor.strip() == f"'{account}'" else roles["other"]
            with db.transaction(force_rollback=True):
                db.execute(versions)
                expected = _answer(db, f"select to_jsonb(f) from memstore.{name}({arguments}) f")
            db.execute(versions)
            db.execute(f"set session authorization {role}".encode())
            got = _answer(db, f"select to_jsonb(f) from memstore.my_{name}({rest}) f")
            db.execute("reset session authorization")
            assert got == expected, name

    def test_a_function_that_goes_takes_its_own_along(
        self, db: psycopg.Connection, roles: dict[str, str]
    ) -> None:
        """And one whose arguments change, which the role can execute as before."""
        db.execute(
            "create function memstore.my_former(actor uuid default null) returns void language sql as ''"
        )
        db.execute("create function memstore.my_get_memory(id text) returns void language sql as ''")
        signature = "select oid::regprocedure::text from pg_proc where proname = 'my_get_memory'"
        with db.transaction():
            schema.load_code(db)
        assert rows(db, "select from pg_proc where proname = 'my_former'") == []
        assert rows(db, signature) == [("memstore.my_get_memory(uuid,uuid)",)]
        db.execute("drop function memstore.my_get_memory(uuid, uuid)")
        # As an earlier version may have had it.
        db.execute(
            "create function memstore.my_get_memory(id uuid) returns void language sql as '';"
            "revoke all on function memstore.my_get_memory from public;"
            f"grant execute on function memstore.my_get_memory to {roles['agent']}".encode()
        )
        with db.transaction():
            schema.load_code(db)
        assert rows(db, signature) == [("memstore.my_get_memory(uuid,uuid)",)]
        assert value(
            db,
            "select has_function_privilege(%s, 'memstore.my_get_memory(uuid,uuid)', 'execute')",
            roles["agent"],
        )

    def test_help(self, db: psycopg.Connection) -> None:
        lines = [line for (line,) in rows(db, "select memstore.help('memstore.my_recall(text)')")]
        assert lines[0].startswith("my_recall: recall for a bound role")
        assert lines[2] == "recall: what one turn is told."


# Arguments that call functions themselves, which bound roles can't.
INNER = re.compile(
    r"\(memstore\.(?:insert_memory|create_login)\(.*?\)\)\.id|\(select id from .*? 'challenge'\)"
)


def _answer(db: psycopg.Connection, query: str) -> list[Any]:
    def steady(answer: Any) -> Any:
        """Without times and ids that a call makes."""
        if isinstance(answer, dict):
            return {
                key: steady(each)
                for key, each in answer.items()
                if key not in ("id", "inserted_at", "updated_at", "superseded_at", "superseded_by_id", "slug")
            }
        return [steady(each) for each in answer] if isinstance(answer, list) else answer

    return [steady(answer) for (answer,) in rows(db, query)]


class TestReach:
    def test_its_own_account(self, connect: Connect, roles: dict[str, str], db: psycopg.Connection) -> None:
        agent = connect(user=roles["agent"])
        assert bodies(agent) == ["of a"]
        assert bodies(agent, f"actor => '{account_of(db, 'a')}'") == ["of a"]
        written = rows(agent, "select bucket from memstore.my_insert_memory('I use pnpm')")
        assert written == [("user",)]
        assert "I use pnpm" in value(agent, "select note from memstore.my_recall('dependencies')")

    def test_nothing_else(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        agent = connect(user=roles["agent"])
        for account in (victim, account_of(db, "b"), UUID(int=0)):
            with refused("actor_unknown", "actor"):
                bodies(agent, f"actor => '{account}'")
        for statement in (
            f"select * from memstore.recall('{victim}', 'x')",
            f"select * from memstore.list_memories('{victim}')",
            "select memstore.find_user('victim')",
            "select memstore.create_user()",
            f"select memstore.delete_user('{account_of(db, 'a')}')",
            f"select memstore.own_account('{victim}')",
            f"select memstore.bind_role('{roles['agent']}', '{victim}')",
            "select memstore.list_roles()",
            "select count(*) from memstore.memories",
            "select count(*) from memstore.users",
            "select count(*) from memstore.api_roles",
            f"insert into memstore.account_roles values (current_user, '{victim}')",
            f"update memstore.account_roles set user_id = '{victim}'",
            "delete from memstore.account_roles",
            "create function memstore.f() returns int language sql as 'select 1'",
            f"set role {roles['application']}",
            f"set role {roles['other']}",
            f"select set_config('role', '{roles['other']}', false)",
        ):
            denied(agent, statement)
        # Its own bindings are no secret to it, others' are.
        assert rows(agent, "select user_id from memstore.account_roles") == [(account_of(db, "a"),)]

    def test_several_accounts(self, connect: Connect, roles: dict[str, str], db: psycopg.Connection) -> None:
        rows(db, "select memstore.bind_role(%s, %s)", roles["agent"], account_of(db, "b"))
        agent = connect(user=roles["agent"])
        with refused("actor_unknown", "actor"):
            bodies(agent)
        assert bodies(agent, f"actor => '{account_of(db, 'b')}'") == ["of b"]
        rows(db, "select memstore.unbind_role(%s, %s)", roles["agent"], account_of(db, "a"))
        assert bodies(agent) == ["of b"]

    def test_a_definer_of_its_own_called_by_others(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        """It runs with the bound role's rights, and acts for whoever has the session: for nobody, mostly."""
        agent = connect(user=roles["agent"])
        db.execute(f"create schema tenant authorization {roles['agent']}".encode())
        agent.execute("grant usage on schema tenant to public")
        agent.execute(
            "create function tenant.f(a uuid) returns setof text language sql security definer"
            " as 'select body from memstore.my_list_memories(actor => a)'"
        )
        for caller in ("guest", "application", "other"):
            session = connect(user=roles[caller])
            with refused("actor_unknown", "actor"):
                rows(session, "select tenant.f(%s)", victim)
        with refused("actor_unknown", "actor"):
            rows(db, "select tenant.f(%s)", victim)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            agent.execute(
                "create function tenant.g() returns text language sql security definer"
                f" set role = {roles['other']} as 'select body from memstore.my_list_memories()'".encode()
            )
            rows(agent, "select tenant.g()")

    def test_an_index_and_the_owners_analyze(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        agent = connect(user=roles["agent"])
        db.execute(f"create schema tenant authorization {roles['agent']}".encode())
        agent.execute(
            f"""
            create table tenant.loot (found text);
            create function tenant.steal() returns void language plpgsql volatile as $$
            begin
              insert into tenant.loot
              select session_user || ' read ' || (memstore.my_list_memories(actor => '{victim}')).body;
            end $$;
            create function tenant.g(i int) returns int language plpgsql immutable as $$
            begin
              if session_user <> '{roles["agent"]}' and i = 1 then perform tenant.steal(); end if;
              return i;
            end $$;
            create table tenant.t (i int);
            create index on tenant.t (tenant.g(i));
            insert into tenant.t values (1);
            """.encode()
        )
        with refused("actor_unknown", "actor"):
            db.execute("analyze tenant.t")
        assert rows(agent, "select * from tenant.loot") == []

    def test_set_role_and_session_authorization(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection
    ) -> None:
        with refused("actor_unknown", "actor"):
            bodies(db)
        db.execute(f"set session authorization {roles['agent']}".encode())
        assert bodies(db) == ["of a"]
        db.execute("reset session authorization")
        db.execute(f"set role {roles['other']}".encode())
        assert bodies(db) == ["of b"]

    def test_a_login_that_is_a_member(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection
    ) -> None:
        """It can execute the functions, and has an account after SET ROLE alone."""
        db.execute(f"grant {roles['agent']} to {roles['member']}".encode())
        member = connect(user=roles["member"])
        with refused("actor_unknown", "actor"):
            bodies(member)
        member.execute(f"set role {roles['agent']}".encode())
        assert bodies(member) == ["of a"]
        member.execute("reset role")
        with refused("actor_unknown", "actor"):
            bodies(member)

    def test_postgrest(self, connect: Connect, roles: dict[str, str], db: psycopg.Connection) -> None:
        """A login that inherits nothing, and a role for one transaction."""
        for name in ("agent", "other"):
            db.execute(f"grant {roles[name]} to {roles['login']}".encode())
        login = connect(user=roles["login"])
        denied(login, "select memstore.my_list_memories()")
        for name, expected in (("agent", ["of a"]), ("other", ["of b"])):
            with login.transaction():
                login.execute(f"set local role {roles[name]}".encode())
                assert bodies(login) == expected
            denied(login, "select memstore.my_list_memories()")

    def test_renamed_and_dropped_roles(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection
    ) -> None:
        agent, new = roles["agent"], f"{roles['agent']}_new"
        db.execute(f"alter role {agent} rename to {new}".encode())
        renamed = connect(user=new)
        with refused("actor_unknown", "actor"):
            bodies(renamed)
        assert violations(db) == {agent}
        renamed.close()
        db.execute(f"alter role {new} rename to {agent}".encode())
        assert violations(db) == set()

        db.execute(f"drop owned by {agent}; drop role {agent}".encode())
        assert violations(db) == {agent}
        db.execute(f"create role {agent} login".encode())
        for _ in range(2):  # also after the grants were restored
            denied(connect(user=agent), "select memstore.my_list_memories()")
            with db.transaction():
                schema.load_code(db)
        rows(db, "select memstore.drop_code()")
        with db.transaction():
            schema.load_code(db)
        denied(connect(user=agent), "select memstore.my_list_memories()")

    def test_erasure(self, connect: Connect, roles: dict[str, str], db: psycopg.Connection) -> None:
        """Also of an account whose row stays."""
        agent, claim = connect(user=roles["agent"]), _claim(db)
        rows(db, "select memstore.challenge_memory(%s, %s, 'No.')", account_of(db, "a"), claim)
        rows(db, "select memstore.delete_user(%s)", account_of(db, "a"))
        rows(db, "select memstore.delete_user(%s)", account_of(db, "b"))
        assert rows(db, "select role from memstore.account_roles") == []
        denied(agent, "select memstore.my_list_memories()")
        assert rows(db, "select from memstore.list_roles() where bundle = 'bound'") == []
        assert violations(db) == set()

    @pytest.mark.parametrize(
        "way", ["delete_user", "unbind_role", "delete from account_roles", "delete from users"]
    )
    def test_a_role_without_an_account_reads_none(
        self, way: str, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        """Where it may read the tables: memstore.actor counts for roles that are bound to no account."""
        agent = connect(user=roles["agent"])
        for table in TABLES:
            db.execute(f"grant select on memstore.{table} to {roles['agent']}".encode())
        account = account_of(db, "a")
        rows(db, "select memstore.bind_role(%s, %s)", roles["agent"], account_of(db, "b"))
        for owner in (account_of(db, "b"), account):
            assert rows(agent, "select count(*) > 0 from memstore.memories") == [(True,)]
            if way == "delete_user":
                rows(db, "select memstore.delete_user(%s)", owner)
            elif way == "unbind_role":
                rows(db, "select memstore.unbind_role(%s, %s)", roles["agent"], owner)
            elif way == "users":
                db.execute("delete from memstore.memories where user_id = %s", [owner])
                db.execute("delete from memstore.users where id = %s", [owner])
            else:
                db.execute("delete from memstore.account_roles where user_id = %s", [owner])
        agent.execute("select set_config('memstore.actor', %s, false)", [str(victim)])
        denied(agent, "select body from memstore.memories")
        denied(agent, "select memstore.my_list_memories()")


def _claim(db: psycopg.Connection) -> UUID:
    claim: UUID = insert(db, account_of(db, "author"), "It builds.", **SYSTEM)["id"]
    return claim


def violations(db: psycopg.Connection) -> set[str]:
    """The bound roles that verify_store names: the number, and the first of them."""
    found = "select example from memstore.verify_store() where invariant = 'bound_roles' and violations = 1"
    return {example for (example,) in rows(db, found)}


ATTRIBUTES = ("superuser", "createrole", "bypassrls", "replication")


class TestBinding:
    @pytest.mark.parametrize("attribute", ATTRIBUTES)
    def test_attributes(self, attribute: str, db: psycopg.Connection, roles: dict[str, str]) -> None:
        account = account_of(db, "a")
        db.execute(f"alter role {roles['guest']} {attribute}".encode())
        with refused("role_unbound", "role"):
            rows(db, "select memstore.bind_role(%s, %s)", roles["guest"], account)
        db.execute(f"alter role {roles['guest']} no{attribute}".encode())
        rows(db, "select memstore.bind_role(%s, %s)", roles["guest"], account)
        db.execute(f"alter role {roles['guest']} {attribute}".encode())
        assert violations(db) == {roles["guest"]}

    @pytest.mark.parametrize(
        "right",
        [
            "execute on function memstore.recall",
            "execute on function memstore.verify_store",
            "execute on function memstore.own_account",
            "insert on memstore.account_roles",
            "update (role) on memstore.account_roles",
            "trigger on memstore.memories",
            "truncate on memstore.settings",
            "select on memstore.open_challenges",
            "select (name) on memstore.embedding_models",
            "create on schema memstore",
        ],
    )
    def test_rights(self, right: str, db: psycopg.Connection, roles: dict[str, str]) -> None:
        """Refused before, and named where they come later."""
        account, guest, member = account_of(db, "a"), roles["guest"], roles["member"]
        db.execute(f"grant usage on schema memstore to {guest}; grant {right} to {guest}".encode())
        with refused("role_unbound", "role"):
            rows(db, "select memstore.bind_role(%s, %s)", guest, account)
        db.execute(f"grant {guest} to {member}".encode())
        with refused("role_unbound", "role"):
            rows(db, "select memstore.bind_role(%s, %s)", member, account)
        db.execute(f"revoke {guest} from {member}".encode())
        rows(db, "select memstore.bind_role(%s, %s)", member, account)
        assert violations(db) == set()
        db.execute(f"grant {guest} to {member}".encode())
        assert violations(db) == {member}
        # It inherits the right, so it reaches more itself, too.
        assert rows(db, "select members_of, beyond from memstore.list_roles() where role = %s", member) == [
            ([guest] if "function" in right else [], sorted([guest, member]))
        ]

    @pytest.mark.parametrize(
        "options", ["", "inherit false", "set false", "inherit false, set false", "admin true"]
    )
    def test_memberships(self, options: str, db: psycopg.Connection, roles: dict[str, str]) -> None:
        """With whatever options they are granted; PostgreSQL 15 has one, and that a role inherits nothing."""
        account, guest, login = account_of(db, "a"), roles["guest"], roles["login"]
        if db.info.server_version < 160000:
            options = "admin option" if "admin" in options else ""
        for role in (guest, login):
            rows(db, "select memstore.bind_role(%s, %s)", role, account)
            db.execute(
                f"grant {roles['application']} to {role} {f'with {options}' if options else ''}".encode()
            )
            assert violations(db) == {role}
            with refused("role_unbound", "role"):
                rows(db, "select memstore.bind_role(%s, %s)", role, account)
            db.execute(f"revoke {roles['application']} from {role}".encode())
            assert violations(db) == set()

    def test_a_member_of_a_member(self, db: psycopg.Connection, roles: dict[str, str]) -> None:
        owner = value(db, "select current_user::text")
        db.execute(
            f"grant {owner} to {roles['member']}; grant {roles['member']} to {roles['guest']}".encode()
        )
        with refused("role_unbound", "role"):
            rows(db, "select memstore.bind_role(%s, %s)", roles["guest"], account_of(db, "a"))
        db.execute(f"revoke {owner} from {roles['member']}".encode())

    def test_a_member_of_a_role_of_another_account(
        self, db: psycopg.Connection, roles: dict[str, str]
    ) -> None:
        db.execute(f"grant {roles['other']} to {roles['agent']}".encode())
        assert violations(db) == {roles["agent"]}
        db.execute(f"revoke {roles['other']} from {roles['agent']}".encode())
        rows(db, "select memstore.bind_role(%s, %s)", roles["guest"], account_of(db, "a"))
        db.execute(f"grant {roles['guest']} to {roles['agent']}".encode())
        assert violations(db) == set()

    @pytest.mark.parametrize("role", ["no such role", "public", "", None, "x" * 100])
    def test_no_such_role(self, role: str | None, db: psycopg.Connection) -> None:
        account = account_of(db, "a")
        for function in ("bind_role", "unbind_role"):
            with refused("argument_invalid", "role"):
                rows(db, f"select memstore.{function}(%s, %s)", role, account)

    @pytest.mark.parametrize("account", [None, UUID(int=0)])
    def test_no_such_account(
        self, account: UUID | None, db: psycopg.Connection, roles: dict[str, str]
    ) -> None:
        with refused("actor_unknown", "user_id"):
            rows(db, "select memstore.bind_role(%s, %s)", roles["guest"], account)

    def test_the_api_is_not_for_bound_roles(self, db: psycopg.Connection, roles: dict[str, str]) -> None:
        """Nor for a role that one of them is a member of."""
        db.execute(f"grant {roles['guest']} to {roles['agent']}".encode())
        for role in ("agent", "guest"):
            with refused("role_bound", "role"):
                rows(db, "select memstore.grant_api(%s, 'read')", roles[role])
        with refused("role_bound", "role"):
            rows(db, "select memstore.revoke_api(%s)", roles["agent"])

    def test_unbind(self, connect: Connect, db: psycopg.Connection, roles: dict[str, str]) -> None:
        agent = connect(user=roles["agent"])
        rows(db, "select memstore.unbind_role(%s)", roles["agent"])
        denied(agent, "select memstore.my_list_memories()")
        assert rows(db, "select from memstore.list_roles() where role = %s", roles["agent"]) == []
        rows(db, "select memstore.grant_api(%s, 'read')", roles["agent"])

    def test_a_bound_role_is_listed(self, db: psycopg.Connection, roles: dict[str, str]) -> None:
        listed = (
            "select bundle, accounts, held, lacking, extra, beyond from memstore.list_roles() where role = %s"
        )
        own = len(API - ACCOUNTS)
        assert rows(db, listed, roles["agent"]) == [("bound", [account_of(db, "a")], own, [], [], [])]


TABLES = {
    "users": "select external_ref from memstore.users order by 1",
    "memories": "select body from memstore.memories order by 1",
    "memory_admissions": "select ground from memstore.memory_admissions order by 1",
}


class TestRowLevelSecurity:
    @pytest.fixture(autouse=True)
    def granted(self, db: psycopg.Connection, roles: dict[str, str], victim: UUID) -> None:
        claim = _claim(db)
        for account in ("a", "b", "victim"):
            rows(
                db,
                "select memstore.challenge_memory(%s, %s, %s)",
                account_of(db, account),
                claim,
                f"of {account}",
            )
        for name in ("agent", "reporter"):
            db.execute(
                f"grant usage on schema memstore to {roles[name]};"
                "grant select on memstore.users, memstore.memories, memstore.memory_admissions"
                f" to {roles[name]}".encode()
            )

    def seen(self, connection: psycopg.Connection) -> list[list[tuple[Any, ...]]]:
        return [rows(connection, query) for query in TABLES.values()]

    OWN = ([("a",)], [("of a",)], [("of a",)])

    def test_the_binding_comes_before_the_setting(
        self, connect: Connect, roles: dict[str, str], victim: UUID, db: psycopg.Connection
    ) -> None:
        agent = connect(user=roles["agent"])
        for setting in ("", str(victim), "no uuid"):
            rows(agent, "select set_config('memstore.actor', %s, false)", setting)
            assert self.seen(agent) == list(self.OWN)
        agent.execute("set row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            self.seen(agent)
        assert violations(db) == set()
        rows(db, "select memstore.bind_role(%s, %s)", roles["agent"], account_of(db, "b"))
        agent.execute("reset row_security")
        assert self.seen(agent)[0] == [("a",), ("b",)]

    def test_the_setting_of_others(self, connect: Connect, roles: dict[str, str], victim: UUID) -> None:
        reporter = connect(user=roles["reporter"])
        assert self.seen(reporter) == [[], [], []]
        rows(reporter, "select set_config('memstore.actor', %s, false)", str(victim))
        assert self.seen(reporter) == [[("victim",)], [("the victim's",)], [("of victim",)]]

    def test_a_view_of_its_own_read_by_others(
        self, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        """In a view, the current user is its reader."""
        db.execute(f"create schema tenant authorization {roles['agent']}".encode())
        agent = connect(user=roles["agent"])
        agent.execute(
            "grant usage on schema tenant to public;"
            "create view tenant.v as select body from memstore.memories; grant select on tenant.v to public"
        )
        for name in ("guest", "other", "application"):
            reader = connect(user=roles[name])
            rows(reader, "select set_config('memstore.actor', %s, false)", str(victim))
            assert rows(reader, "select * from tenant.v") == ([("of b",)] if name == "other" else [])

    @pytest.mark.parametrize(
        "what",
        [
            "drop policy account_roles_of_role on memstore.account_roles",
            "revoke select on memstore.account_roles from public",
            "alter table memstore.account_roles disable row level security",
        ],
    )
    def test_it_never_fails_open(
        self, what: str, connect: Connect, roles: dict[str, str], db: psycopg.Connection, victim: UUID
    ) -> None:
        agent = connect(user=roles["agent"])
        rows(agent, "select set_config('memstore.actor', %s, false)", str(victim))
        db.execute(what.encode())
        try:
            seen = self.seen(agent)
        except psycopg.errors.InsufficientPrivilege:
            seen = []
        assert "victim" not in str(seen)

    def test_its_rows_are_found_by_an_index(self, roles: dict[str, str], db: psycopg.Connection) -> None:
        db.execute("set enable_seqscan = off")
        db.execute(f"set session authorization {roles['agent']}".encode())
        plan = str(rows(db, "explain (costs off) select body from memstore.memories"))
        assert "Index Cond: (user_id = ANY" in plan


def test_a_lookup_reads_the_bindings_of_one_role(db: psycopg.Connection, roles: dict[str, str]) -> None:
    """Whatever the statistics say, of 3,000 bindings."""
    db.execute(
        "insert into memstore.account_roles select 'role_' || n, u.id from generate_series(1, 3000) n,"
        " memstore.users u where u.external_ref = 'b'"
    )
    read = (
        "select coalesce(seq_tup_read, 0), coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables"
        " where relname = 'account_roles'"
    )
    for analyzed in (False, True):
        if analyzed:
            db.execute("analyze memstore.account_roles")
        db.execute("discard plans")
        with db.transaction():
            db.execute(f"set local session authorization {roles['agent']}".encode())
            before = rows(db, read)
            for _ in range(10):
                assert bodies(db) == ["of a"]
            after = rows(db, read)
        assert [tuple(b - a for a, b in zip(before[0], after[0], strict=True))] == [(0, 10)]
