"""insert_memory and insert_memories against what PostgreSQL does without them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.measuring import Row, Target

FUNCTION = "insert_memory"
PLAIN = "plain INSERT"
BARE = "INSERT into a bare copy"

_BATCH = 1000

# The table's rows, its columns, generated ones too, and its indexes; no check, trigger or foreign key.
_BARE_COPY = """
drop table if exists public.bare;
create table public.bare (like memstore.memories including defaults including generated including storage
  including indexes);
insert into public.bare (id, user_id, bucket, body, source_ref, language, inserted_at, updated_at)
select m.id, m.user_id, m.bucket, m.body, m.source_ref, m.language, m.inserted_at, m.updated_at
from memstore.memories m;
vacuum (analyze) public.bare
"""
_INTO = "insert into {} (user_id, bucket, body, language) values (:{}, 'user', :body, 'english')"


def function(actor: str = "actor") -> str:
    return f"select * from memstore.insert_memory(:{actor}, :body)"


def plain(actor: str = "actor") -> str:
    return _INTO.format("memstore.memories", actor)


def bare(actor: str = "actor") -> str:
    return _INTO.format("public.bare", actor)


def variables(accounts: list[UUID] = load.WRITERS) -> dict[str, str]:
    body = "I like the meeting notes of the platform team on my desk by nine in the morning, in German."
    return {"body": body, "actor": str(accounts[0])} | {
        f"actor{number}": str(owner) for number, owner in enumerate(accounts)
    }


def insert(bench: Bench) -> Iterator[Row]:
    """One connection, with a commit that waits for the disk, and with one that doesn't: the work alone."""
    conninfo = bench.store()
    _make_bare_copy(conninfo)
    scripts = {FUNCTION: function(), PLAIN: plain(), BARE: bare()}
    for settings, note in (("", ""), ("-c synchronous_commit=off", ", commits not waited for")):
        legs = {
            name + note: bench.pgbench.leg(
                conninfo, [script], variables=variables(), settings=settings, mean=True
            )
            for name, script in scripts.items()
        }
        times = bench.effort.in_turn(legs)
        for against, target in ((PLAIN, Target(0.8)), (BARE, Target(0.45))):
            aim = None if note else target
            yield times.row("insert", FUNCTION + note, against + note, target=aim, throughput=True)
    load.tidy(conninfo)


def insert_8(bench: Bench) -> Iterator[Row]:
    """Eight connections, each with an account of its own, and all with one."""
    conninfo = bench.store()
    for own, note in ((True, "8 connections"), (False, "8 connections, one account")):
        legs = {}
        for name, script in ((FUNCTION, function), (PLAIN, plain)):
            chosen = _by_client(script) if own else script("actor")
            legs[f"{name}, {note}"] = bench.pgbench.leg(
                conninfo, [chosen], variables=variables(), clients=8, mean=True
            )
        yield bench.effort.compare("insert_8", legs, target=Target(0.65), throughput=True)
    load.tidy(conninfo)


def batch(bench: Bench) -> Iterator[Row]:
    """A thousand memories in one call, against COPY of the same rows."""
    conninfo = bench.store()
    texts = data.Texts("batch").bodies(_BATCH)
    owner = load.WRITERS[0]
    document = json.dumps([{"body": body} for body in texts])
    block = "".join(f"{owner}\tuser\t{body}\tenglish\n" for body in texts)
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def call() -> None:
            connection.execute(
                "select id from memstore.insert_memories(%s, %s::jsonb)", [owner, document]
            ).fetchall()

        def copy() -> None:
            columns = "user_id, bucket, body, language"
            with connection.cursor().copy(f"copy memstore.memories ({columns}) from stdin") as stream:
                stream.write(block)

        repeated = bench.effort.repeated
        legs = {f"insert_memories of {_BATCH}": repeated(call), f"COPY of {_BATCH}": repeated(copy)}
        yield bench.effort.compare("batch", legs, target=Target(0.5), throughput=True)
    load.tidy(conninfo)


def _by_client(script: Callable[[str], str]) -> str:
    """A script in which each of eight clients has an account of its own."""
    lines = []
    for client in range(8):
        lines += [rf"\{'elif' if client else 'if'} :client_id = {client}", script(f"actor{client}") + ";"]
    return "\n".join([*lines, r"\endif"])


def _make_bare_copy(conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in _BARE_COPY.split(";"):
            connection.execute(statement)
