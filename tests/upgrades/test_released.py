"""Earlier commits: their stores, upgraded; their clients, on the newest schema; today's client, on theirs."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memstore import schema
from tests.databases import WAYS, dump, empty_database, psql_install, skip_without, yoyo
from tests.upgrades.released import NO_HISTORY, RELEASES, Release, run_python
from tests.upgrades.stores import MIGRATIONS, apply_up_to, broken, content, fill, without_what_came_later

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

CLIENT = Path(__file__).with_name("client.py").read_text(encoding="utf-8")
MIGRATE = "import sys; from memstore import schema; schema.migrate(sys.argv[1])"
TODAY = Path(schema.__file__).parents[1]


def later(release: Release) -> list[str]:
    """The migrations that came after it."""
    return MIGRATIONS[MIGRATIONS.index(release.migration) + 1 :]


def keep_working(migrations: list[str]) -> bool:
    """Whether these migrations say that earlier clients do."""
    for name in migrations:
        text = (schema.migrations_dir() / f"{name}.sql").read_text(encoding="utf-8")
        head = " ".join(re.findall(r"^-- (.*)$", text[: text.index("\n\n")], re.MULTILINE))
        if not re.search(r"Clients: (all|earlier ones) keep working", head):
            return False
    return True


@pytest.fixture(scope="module")
def role(server: Server) -> Iterator[str]:
    """A role that a client grants the API to."""
    name = f"memstore_client_{uuid.uuid4().hex[:8]}"
    with empty_database(server) as conninfo, psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"create role {name}".encode())
        yield name
        connection.execute(f"drop role {name}".encode())


def used(code: Path, conninfo: str, role: str, *but: str) -> dict[str, Any] | str:
    """What the client of that code says of itself after a call of each method, or why it refuses.

    The store's invariants hold, but these.
    """
    result = run_python(code, CLIENT, conninfo, role, *but)
    if result.returncode and re.match(r"\w+: ", result.stderr) and "Traceback" not in result.stderr:
        return result.stderr
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert Path(report["package"]).is_relative_to(code)
    assert report["left"] == []
    return report


def test_todays_client(db_url: str, role: str) -> None:
    """The scenario has all methods, so that it says something of others."""
    report = used(TODAY, db_url, role)
    assert isinstance(report, dict), report
    assert report["warnings"] == []
    assert report["version"] <= int(MIGRATIONS[-1][:4])


FOUND: list[Release | None] = [*RELEASES] or [None]


@pytest.fixture(scope="module", params=FOUND, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """One of the earlier commits."""
    if request.param is None:
        skip_without("history", NO_HISTORY)
    result: Release = request.param
    return result


@pytest.fixture(scope="module")
def code(release: Release, code_of: Callable[[Release], Path]) -> Path:
    """Its package."""
    return code_of(release)


@pytest.fixture(scope="module")
def store(server: Server, code: Path) -> Iterator[str]:
    """A store that this commit installed, with data."""
    with empty_database(server) as conninfo:
        result = run_python(code, MIGRATE, conninfo)
        assert result.returncode == 0, result.stderr
        fill(conninfo)
        yield conninfo


@pytest.fixture
def database(server: Server, store: str) -> Iterator[str]:
    """A copy of it."""
    with empty_database(server, like=store) as conninfo:
        yield conninfo


@pytest.mark.parametrize("way", WAYS)
def test_its_store_is_upgraded(way: str, release: Release, database: str, fresh: str) -> None:
    before = content(database)
    WAYS[way](database)
    if way == "yoyo" and not later(release):
        # Nothing is pending, so yoyo has no reason to load the code.
        schema.migrate(database)
    assert dump(database) == fresh
    assert without_what_came_later(content(database), before) == {k: v for k, v in before.items() if v}
    assert broken(database) == []


def test_the_way_back(release: Release, code: Path, database: str, role: str, fresh: str) -> None:
    """As the guide has it: what it had is as it was, and what came with a later version is gone."""
    before, read = content(database), dump(database)
    schema.migrate(database)
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in LATER:
            connection.execute(statement.encode())
    for name in reversed(later(release)):
        yoyo(database, "rollback", "--revision", name)
    psql_install(database, code / "sql" / "install.sql")
    assert dump(database) == read
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("select memstore.delete_user(memstore.find_user('later'))")
    assert content(database) == before
    assert isinstance(said := used(code, database, role), dict), said
    schema.migrate(database)
    assert dump(database) == fresh
    assert broken(database) == []


LATER = (
    "select memstore.create_user(external_ref => 'later')",
    "select memstore.insert_memory(memstore.find_user('later'), 'x', scope => 'y', metadata => '{\"z\": 1}')",
    "select memstore.put_items("
    'memstore.find_user(\'later\'), \'[{"namespace": ["a"], "key": "b", "value": {}, "ttl_seconds": 9}]\')',
    "select memstore.create_token(memstore.find_user('later'), 'laptop')",
)
"""What an account has of every kind."""


@pytest.mark.parametrize("way", WAYS)
def test_a_bound_role_goes_on(way: str, database: str, role: str) -> None:
    with psycopg.connect(database, autocommit=True) as owner, psycopg.connect(database) as bound:
        if owner.execute("select to_regproc('memstore.bind_role')").fetchone() == (None,):
            pytest.skip("roles were not bound then")
        owner.execute("select memstore.bind_role(%s, memstore.find_user('a'))", [role])
        bound.autocommit = True
        bound.execute(f"set role {role}".encode())
        listed = "select id, body from memstore.my_list_memories()"
        before = bound.execute(listed.encode()).fetchall()
        assert before
        WAYS[way](database)
        assert bound.execute(listed.encode()).fetchall() == before
        assert bound.execute("select note from memstore.my_recall('Straße')").fetchone()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            bound.execute("select from memstore.list_memories(memstore.find_user('b'))")
        owner.execute("select memstore.unbind_role(%s)", [role])


@pytest.mark.parametrize("way", WAYS)
def test_an_application_goes_on(way: str, release: Release, database: str, role: str) -> None:
    """Its role, its views over the API and its open connection, with what it prepared, stay as they are.

    Its views, because they are over functions that have the same arguments still.
    """
    with (
        psycopg.connect(database, autocommit=True) as owner,
        psycopg.connect(database, autocommit=True, prepare_threshold=0) as application,
    ):
        owner.execute("select memstore.grant_api(%s)", [role])
        owner.execute(
            "select memstore.set_maximum_live_memories(id, 99) from memstore.users where external_ref = 'a'"
        )
        owner.execute(f"create schema application authorization {role}".encode())
        actor, claim, memory = owner.execute(
            "select memstore.find_user('a'), max(memory_id::text)::uuid, (select max(m.id::text)"
            " from memstore.memories m where m.user_id = memstore.find_user('a'))"
            " from memstore.memory_admissions"
        ).fetchone() or (None, None, None)
        application.execute(f"set role {role}".encode())
        views = {
            "memories": f"memory_history('{actor}', '{memory}')",
            "account": f"export_account('{actor}')",
            "records": f"list_records('{actor}', '{claim}')",
        }
        if application.execute("select to_regproc('memstore.export_account')").fetchone() == (None,):
            del views["account"]
        for name, call in views.items():
            application.execute(f"create view application.{name} as select * from memstore.{call}".encode())

        def used() -> list[Any]:
            rows = [
                application.execute(f"select to_jsonb(v) from application.{name} v".encode()).fetchall()
                for name in views
            ]
            note = application.execute("select note from memstore.recall(%s, %s)", [actor, "Straße"])
            records = application.execute("select id from memstore.list_records(%s, %s)", [actor, claim])
            for row in (each for found in rows for (each,) in found if "export_account" in each):
                row["export_account"] |= {"export": "a format", "items": 0}  # a later version says more
            return [*rows, note.fetchall(), records.fetchall()]

        before = used()
        assert all(before)
        WAYS[way](database)
        assert used() == before
        written = application.execute("select body from memstore.insert_memory(%s, 'after')", [actor])
        assert written.fetchall() == [("after",)]
        # A function that takes the rows of the API as they are now.
        application.execute(f"select (r).* from memstore.list_records('{actor}', '{claim}') r".encode())
        application.execute("reset role")
        owner.execute("drop schema application cascade")
        owner.execute("select memstore.revoke_api(%s)", [role])


def test_what_an_application_made_of_the_types_of_the_api(release: Release, database: str, role: str) -> None:
    """Its tables and functions go on; what it prepared it may have to prepare again."""
    with psycopg.connect(database, autocommit=True) as owner, psycopg.connect(database) as application:
        owner.execute("select memstore.grant_api(%s)", [role])
        owner.execute(f"create schema application authorization {role}".encode())
        application.autocommit = True
        application.execute(f"set role {role}".encode())
        (actor,) = application.execute("select memstore.find_user('a')").fetchone() or (None,)
        for statement in (
            "create table application.archive as"
            " select m as memory from memstore.list_memories(memstore.find_user('a')) m",
            "create function application.mine(actor uuid) returns setof memstore.memory"
            " language sql as 'select * from memstore.list_memories(actor)'",
            "create function application.first(actor uuid) returns text language plpgsql as"
            " 'declare m memstore.memory; begin select * into m from memstore.list_memories(actor);"
            " return m.body; end'",
            "prepare bodies as select body from memstore.list_memories($1)",
            "prepare everything as select * from memstore.list_memories($1)",
        ):
            application.execute(statement.encode())

        def used() -> list[Any]:
            return [
                application.execute(query.replace("$1", f"'{actor}'").encode()).fetchall()
                for query in (
                    "select (memory).body, (memory).updated_at from application.archive order by 1",
                    "select body, updated_at from application.mine($1) order by 1",
                    "select application.first($1)",
                    "execute bodies($1)",
                )
            ]

        before = used()
        assert all(before)
        fields = _fields_of_a_memory(owner)
        everything = f"execute everything('{actor}')".encode()
        application.execute(everything)
        schema.migrate(database)
        assert used() == before
        if _fields_of_a_memory(owner) != fields:
            with pytest.raises(psycopg.errors.FeatureNotSupported, match="cached plan"):
                application.execute(everything)
            application.execute("deallocate everything")
            application.execute("prepare everything as select * from memstore.list_memories($1)")
        assert application.execute(everything).fetchall()
        application.execute("insert into application.archive select m from application.mine(%s) m", [actor])
        application.execute("reset role")
        owner.execute("drop schema application cascade")
        owner.execute("select memstore.revoke_api(%s)", [role])


def _fields_of_a_memory(connection: psycopg.Connection) -> object:
    query = "select array_agg(attname::text) from pg_attribute where attrelid = 'memstore.memory'::regclass"
    return connection.execute(query).fetchall()


def _arguments(connection: psycopg.Connection) -> object:
    query = "select oidvectortypes(proargtypes) from pg_proc where oid = 'memstore.rank_memories'::regproc"
    return connection.execute(query).fetchone()


@pytest.mark.parametrize("way", WAYS)
def test_a_view_over_a_function_that_got_arguments_stops_the_upgrade(
    way: str, release: Release, database: str, db: psycopg.Connection
) -> None:
    """It is named, and nothing is lost: without it the upgrade goes on where it was."""
    before = content(database)
    with psycopg.connect(database, autocommit=True) as application:
        if _arguments(application) == _arguments(db):
            pytest.skip("rank_memories got no arguments since")
        (actor,) = application.execute("select memstore.find_user('a')").fetchone() or (None,)
        view = (
            "create view public.notes as"
            f" select (memory).body from memstore.rank_memories('{actor}', 'Straße') where score > 0"
        ).encode()
        note = "select body from public.notes"
        application.execute(view)
        expected = application.execute(note.encode()).fetchall()
        with pytest.raises(
            (AssertionError, psycopg.Error), match=r"view (public\.)?notes depends on"
        ) as caught:
            WAYS[way](database)
        assert way != "yoyo" or "psql -f sql/install.sql" in str(caught.value)
        assert application.execute(note.encode()).fetchall() == expected
        assert without_what_came_later(content(database), before) == {k: v for k, v in before.items() if v}
        application.execute("drop view public.notes")
        # With nothing left to apply, yoyo runs no hook.
        WAYS["psql" if way == "yoyo" else way](database)
        application.execute(view)
        assert application.execute(note.encode()).fetchall() == expected
        application.execute("drop view public.notes")
    assert broken(database) == []


def test_its_client_on_the_newest_schema(release: Release, code: Path, database: str, role: str) -> None:
    schema.migrate(database)
    said = used(code, database, role)
    if keep_working(later(release)):
        assert isinstance(said, dict), said
        assert len(said["warnings"]) == (1 if later(release) else 0), said["warnings"]
    elif isinstance(said, str):
        assert "memstore" in said
    assert broken(database) == []


def test_its_client_between_the_migrations_and_the_code(
    release: Release, code: Path, database: str, role: str
) -> None:
    """Each is a transaction of its own, so for a moment its functions meet the newest tables and types.

    Then its own list of objects isn't the store's.
    """
    if not keep_working(later(release)):
        pytest.skip("migrations that end its clients")
    apply_up_to(database, MIGRATIONS[-1])
    assert isinstance(said := used(code, database, role, "guards"), dict), said
    assert {name for name, _, _ in broken(database)} <= {"guards"}


def test_its_installer_on_the_newest_schema(release: Release, code: Path, server: Server, fresh: str) -> None:
    """It touches nothing of a schema that is ahead of it; else it brings its own code."""
    with empty_database(server) as database:
        schema.migrate(database)
        result = run_python(code, MIGRATE, database)
        if later(release):
            assert result.returncode != 0
            assert "This migration is not in the version that is being installed." in result.stderr
            assert later(release)[0] in result.stderr
        else:
            assert result.returncode == 0, result.stderr
            schema.migrate(database)
        assert dump(database) == fresh


def test_todays_client_on_its_schema(release: Release, database: str, role: str) -> None:
    if release.migration == MIGRATIONS[-1]:
        pytest.skip("a commit of the version under way: a release has a migration that the one before hasn't")
    said = used(TODAY, database, role)
    assert isinstance(said, str)
    assert "memstore migrate" in said
