"""A store that follows another one by logical replication, as the guide has it, and takes over."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import psycopg
import pytest

from memstore import schema
from tests.databases import empty_database
from tests.documents import blocks
from tests.servers import private_server
from tests.upgrades.stores import broken, content, fill

pytestmark = pytest.mark.long

FIVE = {"settings", "claim_counter", "deployment", "_yoyo_migration", "_yoyo_version"}


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[str, str]]:
    """A filled store, and an installed one that follows nothing yet."""
    with (
        private_server(wal_level="logical") as server,
        empty_database(server) as publisher,
        empty_database(server) as subscriber,
    ):
        for conninfo in (publisher, subscriber):
            schema.migrate(conninfo)
        fill(publisher)
        yield publisher, subscriber


def follow(publisher: str, subscriber: str, name: str) -> None:
    """On one server the slot has to be there before the subscription."""
    with psycopg.connect(publisher, autocommit=True) as connection:
        connection.execute(f"create publication {name} for tables in schema memstore".encode())
        connection.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    with psycopg.connect(subscriber, autocommit=True) as connection:
        create = f"create subscription {name} connection '{publisher}' publication {name}"
        connection.execute(f"{create} with (create_slot = false)".encode())


def states(subscriber: str) -> dict[str, str]:
    """How far each table's first copy is; r: it follows."""
    with psycopg.connect(subscriber) as connection:
        return dict(
            connection.execute(
                "select c.relname::text, r.srsubstate::text from pg_subscription_rel r"
                " join pg_class c on c.oid = r.srrelid"
            ).fetchall()
        )


def wait(subscriber: str, behind: set[str]) -> None:
    deadline = time.monotonic() + 120
    while {name for name, state in states(subscriber).items() if state != "r"} != behind:
        assert time.monotonic() < deadline, states(subscriber)
        time.sleep(0.1)


def caught_up(publisher: str, subscriber: str) -> bool:
    deadline = time.monotonic() + 60
    while content(publisher) != content(subscriber):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def stop(publisher: str, subscriber: str, name: str) -> None:
    with psycopg.connect(subscriber, autocommit=True) as connection:
        connection.execute(f"drop subscription {name}".encode())
    with psycopg.connect(publisher, autocommit=True) as connection:
        connection.execute(f"drop publication {name}".encode())


def test_what_stays_behind_otherwise(pair: tuple[str, str]) -> None:
    """The rows that an installation makes can't be copied over those that are there."""
    publisher, subscriber = pair
    follow(publisher, subscriber, "behind")
    try:
        wait(subscriber, FIVE)
        assert {name for name, _, _ in broken(subscriber)} == {"claim_counter", "item_versions"}
    finally:
        stop(publisher, subscriber, "behind")
        with psycopg.connect(subscriber, autocommit=True) as connection:
            connection.execute("drop schema memstore cascade")
        schema.migrate(subscriber)


def test_it_follows_and_takes_over(pair: tuple[str, str]) -> None:
    publisher, subscriber = pair
    (block,) = [block.code for block in blocks("migrations/README.md", "sh") if "truncate" in block.code]
    ((emptied,),) = [re.findall("truncate [^']+", block)]
    with psycopg.connect(subscriber, autocommit=True) as connection:
        connection.execute(emptied.encode())
    follow(publisher, subscriber, "follower")
    wait(subscriber, set())
    with psycopg.connect(publisher, autocommit=True) as connection:
        connection.execute("select memstore.create_user(external_ref => 'later')")
        connection.execute("select memstore.insert_memory(memstore.find_user('later'), 'Streets')")
        connection.execute("select memstore.configure(maximum_attached => 5)")
        connection.execute(
            "select memstore.record_admission(memstore.find_user('s'), id, 'admitted', 'Yes.')"
            " from memstore.memories where bucket = 'system' and not promoted and superseded_at is null"
        )
    assert caught_up(publisher, subscriber)
    assert {name for name, _, _ in broken(subscriber)} == {"item_versions"}
    stop(publisher, subscriber, "follower")
    schema.migrate(subscriber)
    with psycopg.connect(subscriber, autocommit=True) as connection:
        (block,) = [block.code for block in blocks("migrations/README.md", "sh") if "setval" in block.code]
        ((advanced,),) = [re.findall(r"select setval[^\"]+", block)]
        connection.execute(advanced.encode())
        assert schema.altered_objects(connection) == []
        recalled = "select note from memstore.recall(memstore.find_user('later'), 'street')"
        assert "Streets" in str(connection.execute(recalled).fetchone())
        connection.execute("select memstore.insert_memory(memstore.find_user('later'), 'More')")
    assert broken(subscriber) == []
