"""What roles can execute: through upgrades, rollbacks, restores, and functions that come and go."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from memstore import schema
from tests.databases import WAYS, empty_database, program, psql_install, run, yoyo
from tests.sql.api import API
from tests.sql.support import refused
from tests.upgrades.stores import MIGRATIONS

if TYPE_CHECKING:
    from tests.servers import Server

NAMES = ("all", "write", "read", "by_hand", "revoked", "gone", "bound", "empty")


class Store:
    """A store with a role of each kind."""

    def __init__(self, conninfo: str, roles: dict[str, str]) -> None:
        self.conninfo = conninfo
        self.roles = roles

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def held(self) -> dict[str, set[object]]:
        """What each role can execute by a grant of its own."""
        return {
            name: {
                function
                for (function,) in self.execute(
                    "select p.proname::text from pg_proc p cross join aclexplode(p.proacl) a"
                    " join pg_roles r on r.oid = a.grantee"
                    f" where p.pronamespace = 'memstore'::regnamespace and r.rolname = '{role}'"
                )
            }
            for name, role in self.roles.items()
        }

    def listed(self, name: str) -> tuple[object, ...]:
        (row,) = self.execute(
            "select bundle, held, lacking, extra from memstore.list_roles()"
            f" where role = '{self.roles[name]}'"
        ) or [()]
        return row


@pytest.fixture
def roles(server: Server) -> Iterator[dict[str, str]]:
    suffix = uuid.uuid4().hex[:8]
    names = {name: f"memstore_{name}_{suffix}" for name in NAMES}
    with empty_database(server) as conninfo, psycopg.connect(conninfo, autocommit=True) as connection:
        for role in names.values():
            connection.execute(f"create role {role}".encode())
        yield names
        for role in names.values():
            connection.execute(f"drop role if exists {role}".encode())


@pytest.fixture
def store(database: str, roles: dict[str, str], installed: str) -> Iterator[Store]:
    schema.migrate(database)
    store = Store(database, roles)
    store.execute(
        f"select memstore.grant_api('{roles['all']}'), memstore.grant_api('{roles['write']}', 'write'),"
        f" memstore.grant_api('{roles['read']}', 'read'), memstore.grant_api('{roles['revoked']}'),"
        f" memstore.grant_api('{roles['gone']}'), memstore.grant_api('{roles['empty']}'),"
        f" memstore.bind_role('{roles['bound']}', memstore.create_user())"
    )
    store.execute(
        f"grant usage on schema memstore to {roles['by_hand']};"
        f"grant execute on function memstore.recall, memstore.verify_store to {roles['by_hand']};"
        f"revoke execute on function memstore.delete_user from {roles['revoked']};"
        f"revoke execute on all functions in schema memstore from {roles['empty']}"
    )
    yield store
    with psycopg.connect(database, autocommit=True) as connection:
        for role in roles.values():
            if connection.execute("select from pg_roles where rolname = %s", [role]).fetchall():
                connection.execute(f"drop owned by {role}".encode())


READ = API - {
    *(
        "create_login",
        "create_user",
        "delete_user",
        "delete_history",
        "delete_scope",
        "revoke_token",
        "insert_memory",
        "insert_memories",
        "supersede_memory",
        "supersede_with",
    ),
    *("set_embedding", "delete_memory", "challenge_memory", "record_admission", "refute_challenge"),
    *("promote_memory", "put_items", "renew_items", "delete_expired_items"),
}


def test_bundles(store: Store) -> None:
    held = store.held()
    assert held["all"] == API
    assert held["write"] == API - {"create_login", "create_user", "delete_user"}
    assert held["read"] == READ
    assert held["by_hand"] == {"recall", "verify_store"}
    assert held["revoked"] == API - {"delete_user"}
    assert store.listed("read") == ("read", len(READ), [], [])
    assert store.listed("revoked") == ("all", len(API) - 1, ["delete_user"], [])
    assert store.listed("by_hand") == ("by hand", 2, [], ["recall", "verify_store"])
    store.execute(f"grant execute on function memstore.verify_store to {store.roles['read']}")
    assert store.listed("read") == ("read", len(READ) + 1, [], ["verify_store"])
    store.execute(f"select memstore.grant_api('{store.roles['all']}', 'read')")
    assert store.held()["all"] == READ


@pytest.mark.parametrize("bundle", ["'bound'", "''", "null", "'ALL'"])
def test_no_such_bundle(bundle: str, store: Store) -> None:
    with refused("argument_invalid", "bundle"):
        store.execute(f"select memstore.grant_api('{store.roles['all']}', {bundle})")


def test_a_member_is_listed(store: Store) -> None:
    store.execute(f"grant {store.roles['all']} to {store.roles['gone']}")
    store.execute(f"select memstore.revoke_api('{store.roles['gone']}')")
    (row,) = store.execute(
        f"select bundle, held, members_of from memstore.list_roles() where role = '{store.roles['gone']}'"
    )
    assert row == (None, 0, [store.roles["all"]])


def by_way(way: Callable[[str], object]) -> Callable[[Store], None]:
    return lambda store: void(way(store.conninfo))


def void(_: object) -> None:
    """Its result doesn't matter."""


def drop_code(store: Store) -> None:
    store.execute("select memstore.drop_code()")
    schema.migrate(store.conninfo)


def drop_code_twice(store: Store) -> None:
    store.execute("select memstore.drop_code()")
    store.execute("select memstore.drop_code()")
    psql_install(store.conninfo)


def drop_a_function(store: Store) -> None:
    """And make it again with other arguments, as an upgrade does, once the grants are noted."""
    store.execute("select memstore.note_grants()")
    store.execute(
        "drop function memstore.recall; drop function memstore.my_recall; drop function memstore.find_user"
    )
    store.execute("create function memstore.find_user() returns uuid language sql as 'select null::uuid'")
    schema.migrate(store.conninfo)


THROUGH = {
    **{way: by_way(function) for way, function in WAYS.items()},
    "drop_code": drop_code,
    "drop_code twice": drop_code_twice,
    "functions that change": drop_a_function,
}


@pytest.mark.parametrize("what", THROUGH)
def test_an_installation_grants_what_there_was(what: str, store: Store) -> None:
    before = store.held()
    THROUGH[what](store)
    assert store.held() == before


def test_a_dropped_role_is_forgotten(store: Store) -> None:
    """One that is created again under its name gets nothing."""
    gone = store.roles["gone"]
    store.execute(f"drop owned by {gone}; drop role {gone}")
    schema.migrate(store.conninfo)
    assert store.listed("gone")[:2] == ("dropped", 0)
    store.execute(f"create role {gone}")
    drop_code(store)
    assert store.held()["gone"] == set()
    assert store.listed("gone")[:2] == ("all", 0)
    store.execute(f"drop role {gone}; select memstore.revoke_api('{gone}')")
    assert store.listed("gone") == ()


@pytest.mark.parametrize("privileges", [True, False], ids=["with privileges", "without"])
def test_a_restore(privileges: bool, store: Store, server: Server, tmp_path: Path) -> None:
    schema.migrate(store.conninfo)  # which notes what was revoked since
    before = store.held()
    archive, options = str(tmp_path / "archive"), [] if privileges else ["-x"]
    run([program("pg_dump"), "-Fc", "-n", "memstore", *options, "-f", archive, "-d", store.conninfo])
    with empty_database(server) as conninfo:
        restored = Store(conninfo, store.roles)
        run([program("pg_restore"), "--exit-on-error", "-d", conninfo, archive])
        psql_install(conninfo)
        assert restored.held() == before
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for role in store.roles.values():
                connection.execute(f"drop owned by {role}".encode())


class TestNewFunctions:
    """As a later version brings them: one that reads and one that writes."""

    @pytest.fixture
    def later(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for name, source in (("sql", schema.sql_dir()), ("migrations", schema.migrations_dir())):
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        folder = tmp_path / "sql"
        for name, volatility in (("read_anew", "stable"), ("write_anew", "volatile")):
            (folder / "functions" / "memories" / f"{name}.sql").write_text(
                f"create or replace function memstore.{name}(actor uuid) returns integer language plpgsql"
                f" {volatility} security definer set search_path = pg_catalog, pg_temp as"
                f" $$ /*\n{name}: does it.\n*/ begin return 1; end $$;\n"
            )
        listed = folder / "views" / "api.sql"
        listed.write_text(
            listed.read_text().replace("'delete_memory',", "'delete_memory', 'read_anew', 'write_anew',")
        )
        install = folder / "install.sql"
        install.write_text(
            install.read_text().replace(
                "\\ir functions/memories/set_emb",
                "\\ir functions/memories/read_anew.sql\n\\ir functions/memories/write_anew.sql\n"
                "\\ir functions/memories/set_emb",
            )
        )
        (tmp_path / "migrations" / "0999-later.sql").write_text(
            "create table memstore.later (id integer);\n"
            "insert into memstore.deployment (name) values ('0999-later');\n"
        )
        (tmp_path / "migrations" / "0999-later.rollback.sql").write_text(
            "select memstore.drop_code();\ndelete from memstore.deployment where name = '0999-later';\n"
            "drop table memstore.later;\n"
        )
        monkeypatch.setattr(schema, "_dir", lambda name: tmp_path / name)
        return tmp_path

    ADDED = {  # noqa: RUF012
        "all": {"read_anew", "write_anew"},
        "write": {"read_anew", "write_anew"},
        "read": {"read_anew"},
        "revoked": {"read_anew", "write_anew"},
        "gone": {"read_anew", "write_anew"},
        "bound": {"my_read_anew", "my_write_anew"},
        "by_hand": set(),
        "empty": set(),
    }

    def test_are_granted_by_bundle(self, store: Store, later: Path) -> None:
        before = store.held()
        schema.migrate(store.conninfo)
        after = store.held()
        assert {name: after[name] - before[name] for name in after} == self.ADDED
        assert all(after[name] >= before[name] for name in after)
        # One of them is revoked, and that stays.
        store.execute(f"revoke execute on function memstore.write_anew from {store.roles['all']}")
        drop_code(store)
        after["all"].remove("write_anew")
        assert store.held() == after

    def test_a_rollback_and_an_installation_of_the_version_before(
        self, store: Store, later: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = store.held()
        schema.migrate(store.conninfo)
        newer = store.held()
        yoyo(store.conninfo, "rollback", "--revision", "0999-later", migrations=later / "migrations")
        assert all(functions == set() for functions in store.held().values())
        monkeypatch.undo()
        psql_install(store.conninfo)
        assert store.held() == before
        monkeypatch.setattr(schema, "_dir", lambda name: later / name)
        schema.migrate(store.conninfo)
        assert store.held() == newer


OWN = next(name for name in MIGRATIONS if name.endswith("-roles"))


def test_a_role_whose_account_an_earlier_version_erased(store: Store) -> None:
    store.execute(
        "alter table memstore.account_roles disable trigger account_roles_release;"
        "delete from memstore.account_roles; select memstore.drop_code()"
    )
    schema.migrate(store.conninfo)
    assert store.held()["bound"] == set() and store.held()["all"] == API
    assert store.listed("bound") == ()


class TestAdoption:
    """Of roles that earlier versions granted the API, which recorded nothing."""

    def roll_back(self, store: Store) -> None:
        for name in reversed(MIGRATIONS[MIGRATIONS.index(OWN) :]):
            yoyo(store.conninfo, "rollback", "--revision", name)

    def forget(self, store: Store) -> None:
        """The store as the version before leaves it: its functions, with their grants."""
        store.execute(f"select memstore.unbind_role('{store.roles['bound']}')")
        rollback = (schema.migrations_dir() / f"{OWN}.rollback.sql").read_text()
        kept = rollback.replace("select memstore.drop_code();", "select memstore.note_grants();").replace(
            "create function memstore.schema_version", "create or replace function memstore.schema_version"
        )
        store.execute("drop trigger api_roles_restored on memstore.api_roles")
        with psycopg.connect(store.conninfo) as connection:
            connection.execute("delete from memstore._yoyo_migration where migration_id = %s", [OWN])
            connection.execute(
                "drop function memstore.account_roles_obey, memstore.account_roles_broken,"
                " memstore.api_roles_obey, memstore.api_roles_broken"
            )
            # A later migration's, which reads the bindings.
            connection.execute("drop policy items_of_actor on memstore.items")
            connection.execute(kept.encode())

    @pytest.mark.parametrize("way", WAYS)
    def test_by_what_they_hold(self, way: str, store: Store) -> None:
        self.forget(store)
        before = store.held()
        assert before["all"] == API
        WAYS[way](store.conninfo)
        assert store.held() == before
        bundles = {name: (store.listed(name) or (None,))[0] for name in NAMES}
        assert bundles == {
            **dict.fromkeys(("all", "gone"), "all"),
            **dict.fromkeys(("write", "read", "by_hand", "revoked"), "by hand"),
            **dict.fromkeys(("bound", "empty")),
        }

    def test_through_a_rollback_of_the_record(self, store: Store) -> None:
        """A role with the whole API has it again, also of an earlier version, which knows no others."""
        self.roll_back(store)
        assert store.held()["all"] == {"schema_version"}
        assert store.held()["by_hand"] == store.held()["read"] == store.held()["revoked"] == set()
        schema.migrate(store.conninfo)
        assert store.held()["all"] == API
        assert store.listed("all")[0] == "all"
