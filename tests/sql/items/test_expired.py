"""What expired is deleted by an index, however much else there is."""

from __future__ import annotations

import psycopg

from tests.sql.support import account_of, rows, value
from tests.sql.work import work

Db = psycopg.Connection

FILL = (
    # Some seven a page.
    "insert into memstore.items (user_id, namespace, key, value, indexed, ttl_seconds, expires_at)"
    " select a.id, array['n'], %s || n, jsonb_build_object('t', repeat('x', 1000)), false, 60,"
    " now() + %s::interval"
    " from unnest(%s::uuid[]) a (id), generate_series(1, %s::integer) n"
)


def test_the_work_is_that_of_what_expired(db: Db) -> None:
    """Of 3,000 items that don't, which are hundreds of pages, and beside an account in which as many did."""
    mine, other = account_of(db, "mine"), account_of(db, "other")
    for analyzed in (False, True):
        rows(db, "delete from memstore.items returning id")
        rows(db, FILL + " returning id", "lives ", "1 day", [mine], 3000)
        rows(db, FILL + " returning id", "gone ", "-1 minute", [mine], 2)
        rows(db, FILL + " returning id", "gone ", "-1 hour", [other], 3000)
        if analyzed:
            db.execute("analyze memstore.items")
        few = work(db, "select memstore.delete_expired_items(%s)", mine)
        assert few.buffers < 150, few
        many = work(db, "select memstore.delete_expired_items(%s)", other)
        assert many.buffers > 20 * few.buffers


def test_they_are_deleted(db: Db) -> None:
    mine, other = account_of(db, "mine"), account_of(db, "other")
    rows(db, FILL + " returning id", "gone ", "-1 minute", [mine, other], 3)
    rows(db, FILL + " returning id", "lives ", "1 day", [mine, other], 2)
    assert value(db, "select memstore.delete_expired_items(%s)", mine) == 3
    assert rows(db, "select external_ref, stored_items from memstore.users order by 1") == [
        ("mine", 2),
        ("other", 5),
    ]


def test_pruning_reads_no_further_than_what_expired(db: Db) -> None:
    mine = account_of(db, "mine")
    rows(db, FILL + " returning id", "lives ", "1 day", [mine], 3000)
    rows(db, FILL + " returning id", "gone ", "-1 minute", [mine], 2)
    pruned = work(db, "select memstore.prune_items(%s)", 1000)
    assert pruned.buffers < 150, pruned
    assert value(db, "select memstore.prune_items()") == 2
