"""sql/scaling.md: a streaming replica gives what the primary gives, and refuses writes; the keys."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memstore import Store, embedded, schema
from tests.databases import program, run
from tests.documents import ROOT, blocks
from tests.servers import SETTINGS

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

ACTOR = "memstore.find_user('account-1')"
STEWARD = "memstore.find_user('steward-1')"
MEMORY = "'00000000-0000-4000-8000-000000000001'"
CLAIM = "'00000000-0000-4000-8000-0000000000c1'"
CHALLENGE = f"(select id from memstore.list_records({STEWARD}, {CLAIM}) where role = 'challenge')"
VECTOR = "'{1,0.5}', 'two-numbers'"

READS = {
    "count_claims": STEWARD,
    "explain_recall": f"{ACTOR}, 'Install the deps with npm.', {VECTOR}",
    "export_account": ACTOR,
    "export_items": ACTOR,
    "export_memories": ACTOR,
    "find_ids": f"{ACTOR}, '0000'",
    "find_user": "'account-1'",
    "get_items": f"""{ACTOR}, '[{{"namespace": ["files", "notes"], "key": "plan.md"}}]'""",
    "get_memory": f"{ACTOR}, {MEMORY}",
    "get_user": STEWARD,
    "help": "",
    "item_violations": """'{"namespace": ["a"], "key": "k", "value": []}'""",
    "list_claims": STEWARD,
    "list_item_namespaces": ACTOR,
    "list_memories": f"{ACTOR}, include_superseded => true",
    "list_own_claims": STEWARD,
    "list_records": f"{ACTOR}, {CLAIM}",
    "list_rules": "",
    "list_tokens": ACTOR,
    "memories_as_of": f"{ACTOR}, clock_timestamp()",
    "memory_histories": f"{ACTOR}, array[{MEMORY}]::uuid[]",
    "memory_history": f"{ACTOR}, {MEMORY}",
    "memory_status": f"{ACTOR}, {CLAIM}",
    "memory_violations": """'{"body": ""}'""",
    "read_json": "'{}'",
    "rank_claims": f"{ACTOR}, 'Is pnpm faster?', {VECTOR}",
    "rank_memories": f"{ACTOR}, 'Install the deps with npm.', {VECTOR}",
    "recall": f"{ACTOR}, 'Which package manager is faster, pnpm?', {VECTOR}",
    "schema_version": "",
    "similar_memories": f"{ACTOR}, 'I use yarn, not npm.', {VECTOR}",
    "search_items": f"{ACTOR}, '{{files}}', 'ship', null, {VECTOR}",
    "search_memories": f"{ACTOR}, 'pnpm', include_superseded => true",
}
WRITES = {
    "challenge_memory": f"{ACTOR}, {CLAIM}, 'It seems wrong to me.'",
    "create_login": ACTOR,
    "create_user": "external_ref => 'account-2'",
    "delete_expired_items": ACTOR,
    "delete_history": f"{ACTOR}, (memstore.insert_memory({ACTOR}, 'z')).id",
    "delete_memory": f"{ACTOR}, {MEMORY}",
    "delete_scope": f"{ACTOR}, 'project:x'",
    "delete_user": ACTOR,
    "insert_memories": f"""{ACTOR}, '[{{"body": "x"}}]'""",
    "insert_memory": f"{ACTOR}, 'x'",
    "promote_memory": f'{STEWARD}, {CLAIM}, \'a-stance\', \'[{{"kind": "url", "ref": "r", "digest": "d"}}]\'',
    "put_items": f"""{ACTOR}, '[{{"namespace": ["a"], "key": "k", "value": {{}}}}]'""",
    "record_admission": f"{STEWARD}, {CLAIM}, 'rejected', 'It is wrong.'",
    "refute_challenge": f"{STEWARD}, {CHALLENGE}, 'No.'",
    "renew_items": f"""{ACTOR}, '[{{"namespace": ["files", "notes"], "key": "plan.md"}}]'""",
    "revoke_token": f"{ACTOR}, (memstore.create_login({ACTOR})).id",
    "set_embedding": f"{ACTOR}, {MEMORY}, {VECTOR}",
    "supersede_memory": f"{ACTOR}, {MEMORY}, 'y'",
    "supersede_with": f"{ACTOR}, {MEMORY}, (select id from memstore.list_memories({ACTOR}) limit 1)",
}


@pytest.fixture(scope="module")
def replica(server: Server) -> Iterator[str]:
    """The conninfo of a hot standby of the tests' server."""
    if not server.log:
        pytest.skip("not a server of our own")
    primary = server.log.parent
    folder = primary.with_name("replica")
    folder.mkdir(mode=0o700)
    (folder / "users.lock").touch()
    (command,) = [block.code for block in blocks("sql/scaling.md", "sh") if "pg_basebackup" in block.code]
    options = command.split()[1:]
    given = {"-h": server.host, "-p": server.port, "-U": server.user, "-D": str(folder / "cluster")}
    for option, argument in given.items():
        if option in options:
            options[options.index(option) + 1] = argument
        else:
            options += [option, argument]
    run([program("pg_basebackup"), *options])
    # What -R writes may have options of pg_basebackup's libpq that an older one of the server's doesn't know.
    source = f"host={server.host} port={server.port} user={server.user}"
    with (folder / "cluster" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"primary_conninfo = '{source}'\n")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, primary.stat().st_uid, primary.stat().st_gid)
    with embedded.EmbeddedServer(folder, settings=SETTINGS) as standby:
        yield standby.url


def caught_up(db: psycopg.Connection, replica: str) -> psycopg.Connection:
    """A connection to the same database on the replica, once that has what was committed."""
    (written,) = db.execute("select pg_current_wal_lsn()").fetchone() or ("",)
    deadline = time.monotonic() + 60
    with psycopg.connect(replica, autocommit=True) as standby:
        while not standby.execute(
            "select where pg_last_wal_replay_lsn() >= %s::pg_lsn", [written]
        ).fetchall():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    return psycopg.connect(replica, dbname=db.info.dbname, autocommit=True)


@pytest.fixture
def both(db: psycopg.Connection, replica: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    """Primary and replica, with accounts, embeddings, a correction, a claim and a challenge of it."""
    db.execute("set synchronous_commit = on")  # what is committed is sent
    db.execute((schema.sql_dir() / "examples" / "store.sql").read_bytes())
    for statement in (
        f"select memstore.insert_memory({ACTOR}, 'Deploys happen on Tuesdays.', 'learned')",
        f"select memstore.set_embedding({ACTOR}, {MEMORY}, '{{0.5,1}}', 'two-numbers')",
        f"select memstore.supersede_memory({ACTOR}, id, 'I use yarn.')"
        f" from memstore.insert_memory({ACTOR}, 'I use npm.')",
        f"select memstore.challenge_memory({ACTOR}, {CLAIM}, 'It seems wrong to me.')",
        "select memstore.configure(system_recall_enabled => true)",
        f"select memstore.create_token({ACTOR}, 'laptop')",
    ):
        db.execute(statement.encode())
    with caught_up(db, replica) as standby:
        yield db, standby


def answer(connection: psycopg.Connection, function: str, arguments: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"select x.* from memstore.{function}({arguments}) x".encode()).fetchall()


def test_every_function_is_a_read_or_a_write(db: psycopg.Connection) -> None:
    functions: dict[str, bool] = dict(
        db.execute(
            "select name, provolatile = 'v' from memstore.api_functions join pg_proc on oid = signature"
        ).fetchall()
    )
    assert functions.keys() == READS.keys() | WRITES.keys()
    # These two are marked so for a helper's sake, and write nothing.
    assert {name for name, volatile in functions.items() if volatile} == WRITES.keys() | {
        "item_violations",
        "memory_violations",
    }


def test_reads(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    primary, standby = both
    for function, arguments in READS.items():
        expected = answer(primary, function, arguments)
        assert expected, function
        assert answer(standby, function, arguments) == expected, function
    ((memories, *_),) = answer(standby, "recall", READS["recall"])
    assert [memory.get("status") for memory in memories] == [None, None, "admitted"]
    # The operator's, too.
    assert not standby.execute("select from memstore.verify_store() where violations > 0").fetchall()


def test_writes_are_refused(both: tuple[psycopg.Connection, psycopg.Connection]) -> None:
    primary, standby = both
    for function, arguments in WRITES.items():
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):  # 25006
            answer(standby, function, arguments)
        with primary.transaction(force_rollback=True):  # where nothing else is wrong with them
            answer(primary, function, arguments)
    # An account that is there needs no write.
    assert answer(standby, "create_user", "external_ref => 'account-1'") == answer(
        primary, "find_user", "'account-1'"
    )


def test_a_store_on_the_replica(both: tuple[psycopg.Connection, psycopg.Connection], replica: str) -> None:
    primary, standby = both
    turn = "Install the deps with npm."
    with (
        Store(primary) as writer,
        Store(make_conninfo(replica, dbname=standby.info.dbname)) as reader,
    ):
        actor = reader.find_user("account-1")
        assert isinstance(actor, UUID)
        assert reader.recall(actor, turn) == writer.recall(actor, turn)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.insert_memory(actor, "x")
        memory = writer.insert_memory(actor, "I use npm 11.")
        caught_up(primary, replica).close()
        assert memory in reader.recall(actor, turn).memories


def test_the_keys_are_all_named(db: psycopg.Connection) -> None:
    """What partitions would change: the unique keys of memories, and the foreign keys to it."""
    text = (ROOT / "sql" / "scaling.md").read_text(encoding="utf-8")
    keys = db.execute(
        "select c.conname::text, string_agg(a.attname, ', ' order by array_position(c.conkey, a.attnum))"
        " from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)"
        " where c.contype in ('p', 'u') and c.conrelid = 'memstore.memories'::regclass"
        " or c.contype = 'f' and c.confrelid = 'memstore.memories'::regclass group by c.oid, c.conname"
    ).fetchall()
    assert sorted(re.findall(r"^\| `(\w+)`: `(.+?)` \|", text, re.MULTILINE)) == sorted(keys)
