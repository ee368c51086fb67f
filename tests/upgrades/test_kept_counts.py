"""0009: counts of what is there, also of what is written meanwhile; rules that refuse what they refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from memstore import schema
from tests.databases import empty_database
from tests.sql.cases import CASES
from tests.upgrades.stores import apply_up_to, broken, fill, synthesise

if TYPE_CHECKING:
    from tests.servers import Server

BEFORE = "0008-challenge-effect"
KEPT = "0009-kept-counts"


def counts(conninfo: str) -> dict[str, Any]:
    with psycopg.connect(conninfo) as connection:
        return dict(
            connection.execute(
                "select id::text, candidates from memstore.users where candidates <> '{}'"
            ).fetchall()
        )


def test_what_is_there_is_counted(database: str) -> None:
    synthesise(database, BEFORE)
    schema.migrate(database)
    assert counts(database)
    assert broken(database) == []


def test_what_is_written_before_the_code_is_there_is_counted(database: str) -> None:
    """Triggers and functions of another version are at work until then; the migration brings what counts."""
    schema.migrate(database)
    fill(database)
    with psycopg.connect(database, autocommit=True) as connection:
        trigger = connection.execute(
            "select prosrc from pg_proc where oid = 'memstore.count_live_memories'::regproc"
        ).fetchone()
        text = (schema.migrations_dir() / f"{KEPT}.sql").read_text(encoding="utf-8")
        begin = text.index("create or replace function memstore.count_live_memories()")
        connection.execute(text[begin : text.index("revoke all", begin)].encode())
        assert (
            trigger
            != connection.execute(
                "select prosrc from pg_proc where oid = 'memstore.count_live_memories'::regproc"
            ).fetchone()
        )
        connection.execute(
            "select memstore.set_maximum_live_memories(id, 1000) from memstore.users where external_ref < 'c'"
        )
        fill_more(connection)
    # The function itself is told, and nothing that it has counted.
    assert broken(database) == [("guards", 1, "different function count_live_memories()")]
    schema.migrate(database)
    assert broken(database) == []


def fill_more(connection: psycopg.Connection) -> None:
    """Many rows of several accounts, languages and buckets in one statement; corrections; deletions."""
    connection.execute(
        "insert into memstore.memories (user_id, body, language, bucket)"
        " select u.id, n::text, (memstore.languages())[1 + n % 3], (array['user', 'learned'])[1 + n % 2]"
        " from memstore.users u, generate_series(1, 20) n where u.erased_at is null"
    )
    connection.execute(
        "insert into memstore.memories (user_id, body)"
        " select id, 'one' from memstore.users where external_ref = 'a'"
    )
    connection.execute(
        "select memstore.supersede_memory(user_id, id, 'new', bucket => 'learned', language => 'german')"
        " from memstore.memories where superseded_at is null and bucket = 'user' and body like '%5'"
    )
    connection.execute(
        "select memstore.delete_memory(user_id, id) from memstore.memories"
        " where bucket <> 'system' and body like '%7'"
    )
    connection.execute("delete from memstore.memories where bucket <> 'system' and body like '%8'")


VALUES: dict[str, list[Any]] = {
    "bucket": ["user", "learned", "system", "system", "User", "", None],
    "body": ["It builds.", "", " ", "\u2003", "x" * 2000, "x" * 2001, "use-pnpm", None],
    "source_ref": ["task-1", "", " ", "é" * 200, "x" * 201, None],
    "language": ["english", "german", "English", "estonian", "", "english,french", "{english}", None],
    "embedding": [
        *(
            "{1}",
            "{0.5,-0.5}",
            "{}",
            "{0}",
            "{0,1e-7}",
            "{1e-6}",
            "{-1e-6}",
            "{1e6}",
            "{-1e6}",
            "{1000000.0625}",
        ),
        *("{-1000000.0625}", "{1,null}", "{null}", "{NaN}", "{1,NaN}", "{Infinity}", "{-Infinity,1}"),
        *("{{1,2},{3,4}}", "[2:3]={1,2}", f"{{{'1,' * 15999}1}}", f"{{{'1,' * 16000}1}}", None, None),
    ],
    "embedding_model": ["m", "", "é" * 200, "x" * 201, None, None],
    "slug": ["sys:x", "sys:", "sys: ", "x", "", "sys:" + "x" * 196, "sys:" + "x" * 197, None, None],
    "entity": ["Acme", "", "x" * 200, "x" * 201, None],
    "tier": ["ledger", "glass", "gold", "", None],
    "admission": ["candidate", "admitted", "rejected", "suspended", "", None],
    "stance": ["use-pnpm", "a", "A", "a--b", "-a", "a-", "a b", "", "x" * 200, "x" * 201, None, None],
    "external_ref": ["a", "", "é" * 200, "x" * 201, None],
}


@pytest.fixture(scope="module")
def both(server: Server) -> Iterator[tuple[psycopg.Connection, dict[str, tuple[str, str]]]]:
    """A store, and each rule that 0009 wrote anew: as it was, and as it is."""
    query = (
        "select conname, pg_get_expr(conbin, conrelid) from pg_constraint"
        " where contype = 'c' and conrelid in ('memstore.memories'::regclass, 'memstore.users'::regclass)"
    )
    with empty_database(server) as earlier, empty_database(server) as today:
        apply_up_to(earlier, BEFORE)
        apply_up_to(today, KEPT)
        with psycopg.connect(earlier) as connection:
            were: dict[str, str] = dict(connection.execute(query).fetchall())
        with psycopg.connect(today) as connection:
            are: dict[str, str] = dict(connection.execute(query).fetchall())
            assert were.keys() == are.keys()
            yield connection, {name: (were[name], are[name]) for name in were if were[name] != are[name]}


def test_each_rule_refuses_what_it_refused(
    both: tuple[psycopg.Connection, dict[str, tuple[str, str]]],
) -> None:
    connection, rules = both
    assert len(rules) == 13
    chosen = random.Random(9)
    rows = [{field: chosen.choice(values) for field, values in VALUES.items()} for _ in range(4000)]
    # Each value beside each bucket, and each pair of those that a rule compares.
    for bucket in VALUES["bucket"]:
        for field, values in VALUES.items():
            rows += [{**rows[0], "bucket": bucket, field: value} for value in values]
    for one, other in (("embedding", "embedding_model"), ("body", "stance")):
        rows += [{**rows[0], one: value, other: beside} for value in VALUES[one] for beside in VALUES[other]]
    rows += [case.row for case in CASES if case.row.keys() <= VALUES.keys() - {"embedding"}]
    given = ", ".join(f"i.value ->> '{field}' as {field}" for field in VALUES if field != "embedding")
    different = ", ".join(
        f"(({was}) is not false) <> (({now}) is not false) as {name}" for name, (was, now) in rules.items()
    )
    found = connection.execute(
        "select i.position, r.* from jsonb_array_elements(%s) with ordinality i (value, position)"
        f" cross join lateral (select {given}, (i.value ->> 'embedding')::real[] as embedding offset 0) m"
        f" cross join lateral (select {different}) r".encode(),
        [json.dumps(rows)],
    )
    assert found.description is not None
    names = [column.name for column in found.description]
    wrong = [
        (name, rows[row[0] - 1])
        for row in found.fetchall()
        for name, differs in zip(names[1:], row[1:], strict=True)
        if differs
    ]
    assert wrong == []
