"""The command, the stores and `memstore mcp` under a login that is bound to an account."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memstore import AccessDenied, ActorUnknown, AsyncStore, Store
from tests.cli.running import Run, Server, complaints, documents, on_database, remember
from tests.sql.support import account_of, insert, rows


@pytest.fixture
def role(db: psycopg.Connection) -> Iterator[str]:
    name = f"memstore_bound_{uuid.uuid4().hex[:8]}"
    db.execute(f"create role {name} login".encode())
    yield name
    db.execute(f"drop owned by {name}; drop role {name}".encode())


@pytest.fixture
def login(role: str, run: Run, db_url: str) -> str:
    """The conninfo of a login that is bound to the account mine; there is another account, theirs."""
    run("remember", "theirs", "--account", "theirs")
    run("bind", role, "mine")
    return make_conninfo(db_url, user=role)


@pytest.fixture
def own(login: str) -> Run:
    return on_database(login)


def test_bind_list_and_unbind(run: Run, role: str, login: str, db: psycopg.Connection) -> None:
    (listed,) = [each for each in documents(run("roles", "--json")) if each["role"] == role]
    mine = str(account_of(db, "mine"))
    assert (listed["bundle"], listed["accounts"], listed["lacking"]) == ("bound", [mine], [])
    run("bind", role, "theirs")
    run("unbind", role, "--account", "theirs")
    (listed,) = [each for each in documents(run("roles", "--json")) if each["role"] == role]
    assert listed["accounts"] == [mine]
    run("unbind", role)
    assert role not in run("roles").stdout
    assert "bound to the account" in complaints(run("unbind", role, code=1))[0]


def test_what_a_bound_login_does(own: Run, run: Run, tmp_path: Path, db: psycopg.Connection) -> None:
    memory = remember(own, "I use npm.")
    own("correct", memory, "I use pnpm.")
    assert "I use pnpm." in own("recall", "dependencies").stdout
    assert [each["body"] for each in documents(own("list", "--json"))] == ["I use pnpm."]
    assert len(documents(own("history", memory[:8], "--json"))) == 2
    (tmp_path / "lines").write_text('{"body": "Tests run on Fridays."}\n')
    own("import", str(tmp_path / "lines"))
    exported = own("export").stdout
    assert exported == run("export", "--account", "mine").stdout
    assert len(exported.splitlines()) == 4
    own("list", "--account", str(account_of(db, "mine")))
    assert db.execute("select count(*) from memstore.users").fetchone() == (2,)


def test_what_it_cannot(own: Run, tmp_path: Path, db: psycopg.Connection) -> None:
    assert "leave --account out" in complaints(own("list", "--account", "theirs", code=2))[0]
    (said,) = complaints(own("list", "--account", str(account_of(db, "theirs")), code=1))
    assert said.startswith("The account does not exist.")
    for command in (["steward", "mine"], ["settings"], ["accounts"], ["bind", "postgres", "mine"]):
        assert "bind_role" in complaints(own(*command, code=1))[0], command
    remember(own, "mine")
    (tmp_path / "export").write_text(own("export").stdout)
    assert "bind_role" in complaints(own("import", str(tmp_path / "export"), code=1))[0]


def test_several_accounts(run: Run, role: str, own: Run, db: psycopg.Connection) -> None:
    run("bind", role, "theirs")
    assert "several accounts" in complaints(own("list", code=2))[0]
    listed = documents(own("list", "--json", "--account", str(account_of(db, "theirs"))))
    assert [each["body"] for each in listed] == ["theirs"]


def test_verify_names_what_a_role_was_granted(
    run: Run, role: str, login: str, db: psycopg.Connection
) -> None:
    def told(code: int = 0) -> dict[str, object]:
        (check,) = [
            each for each in documents(run("verify", "--json", code=code)) if each["name"] == f"role {role}"
        ]
        return dict(check)

    assert told()["ok"] is True
    db.execute(f"revoke execute on function memstore.my_recall from {role}".encode())
    assert "lacks my_recall" in str(told()["found"])
    db.execute(f"grant execute on function memstore.recall to {role}".encode())
    assert f"reaches more by {role}" in str(told(code=1)["found"])
    db.execute(f"revoke execute on all functions in schema memstore from {role}".encode())
    assert told(code=1)["ok"] is False


def test_stores(login: str, db: psycopg.Connection) -> None:
    mine, theirs = account_of(db, "mine"), account_of(db, "theirs")
    with Store(login, bound=True) as store:
        memory = store.insert_memory(None, "I use pnpm.")
        assert memory.user_id == mine
        assert store.list_memories() == [memory] == store.list_memories(mine)
        assert store.recall(None, "dependencies").memories == (memory,)
        (many,) = store.insert_memories(None, [{"body": "Tests run on Fridays."}])
        assert store.supersede_with(None, memory.id, many.id).superseded_by_id == many.id
        assert [each["id"] for each in store.export_memories()] == [str(many.id), str(memory.id)]
        with pytest.raises(ActorUnknown):
            store.list_memories(theirs)
        for refused in (
            lambda: store.create_user(),
            lambda: store.find_user("mine"),
            lambda: store.delete_user(mine),
            lambda: store.configure(),
        ):
            with pytest.raises(AccessDenied) as caught:
                refused()
            assert "bind_role" in (caught.value.hint or "")
    with Store(login) as store, pytest.raises(AccessDenied) as caught:
        store.list_memories(mine)
    assert "bound=True" in (caught.value.hint or "")

    async def work() -> None:
        async with AsyncStore(login, bound=True) as other:
            assert await other.get_memory(None, memory.id)
            assert (await other.recall(None, "Fridays")).memories[0].id == many.id

    asyncio.run(work())


def test_a_role_for_a_transaction(login: str, role: str, db: psycopg.Connection, db_url: str) -> None:
    """A pool of another login's, as behind PgBouncer."""
    insert(db, account_of(db, "mine"), "mine")
    with psycopg.connect(db_url) as connection:
        store = Store(connection, bound=True)
        for _ in range(2):
            with connection.transaction():
                connection.execute(f"set local role {role}".encode())
                assert [each.body for each in store.list_memories()] == ["mine"]
            with pytest.raises(ActorUnknown), connection.transaction():
                store.list_memories()


def test_mcp(login: str, db: psycopg.Connection) -> None:
    """Without --account, and with none of its own; then with another's."""
    server = Server("--database-url", login)
    server.call(1, "remember", body="I use pnpm.")
    assert server.receive()["result"]["structuredContent"]["body"] == "I use pnpm."
    server.call(2, "list")
    (text,) = server.receive()["result"]["content"]
    assert [each["body"] for each in json.loads(text["text"])["memories"]] == ["I use pnpm."]
    assert server.end(None)[0] == 0
    found = rows(db, "select body from memstore.list_memories(memstore.find_user('mine'))")
    assert found == [("I use pnpm.",)]

    server = Server("--database-url", login, "--account", str(account_of(db, "theirs")))
    server.call(1, "list")
    result = server.receive()["result"]
    assert result["isError"] and result["content"][0]["text"].startswith("actor_unknown")
    assert server.end(None)[0] == 0
