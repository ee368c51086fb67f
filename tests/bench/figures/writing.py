"""insert_memory and insert_memories against what PostgreSQL does without them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.measuring import Row, Target

FUNCTION = "insert_memory"
EMBEDDED = "insert_memory, with an embedding"
PLAIN = "plain INSERT"
BARE = "INSERT into a bare copy"

_BATCH = 1000

# The table's rows, its columns, generated ones too, and its indexes; no check, trigger or foreign key.
_BARE_COPY = """
drop table if exists public.bare;
create table public.bare (like memstore.memories including defaults including generated including storage
  including indexes);
insert into public.bare (
  id, user_id, bucket, body, source_ref, language, inserted_at, updated_at, embedding, embedding_model
)
select
  m.id, m.user_id, m.bucket, m.body, m.source_ref, m.language, m.inserted_at, m.updated_at, m.embedding,
  m.embedding_model
from memstore.memories m;
vacuum (analyze) public.bare
"""
# Another text each time: what is remembered twice is written once.
_TEXT = "concat(:body::text, ' ', :number::text)"
_NUMBER = "\\set number random(1, 1000000000)\n"


def function(actor: str = "actor", *, embedded: bool = False) -> str:
    vector = ", embedding => :embedding, embedding_model => :model" if embedded else ""
    return f"{_NUMBER}select * from memstore.insert_memory(:{actor}, {_TEXT}{vector})"


def plain(actor: str = "actor", *, embedded: bool = False) -> str:
    return _into("memstore.memories", actor, embedded)


def bare(actor: str = "actor", *, embedded: bool = False) -> str:
    return _into("public.bare", actor, embedded)


def _into(table: str, actor: str, embedded: bool) -> str:
    columns, values = (", embedding, embedding_model", ", :embedding, :model") if embedded else ("", "")
    return (
        f"{_NUMBER}insert into {table} (user_id, bucket, body, language{columns})"
        f" values (:{actor}, 'user', {_TEXT}, 'english'{values})"
    )


def variables(accounts: list[UUID] = load.WRITERS) -> dict[str, str]:
    body = data.Texts("written").body()
    given = {"body": body, "embedding": data.array(data.vector(body)), "model": data.MODEL}
    given |= {"number": "0", "actor": str(accounts[0])}
    return given | {f"actor{number}": str(owner) for number, owner in enumerate(accounts)}


def insert(bench: Bench) -> Iterator[Row]:
    """One connection, with a commit that waits for the disk, and with one that doesn't: the work alone."""
    conninfo = bench.store()
    _make_bare_copy(conninfo)
    scripts = {FUNCTION: function, PLAIN: plain, BARE: bare}
    unhurried = "-c synchronous_commit=off", ", commits not waited for"
    for settings, note, embedded in (
        ("", "", False),
        (*unhurried, False),
        (unhurried[0], ", with an embedding" + unhurried[1], True),
    ):
        legs = {
            name + note: bench.pgbench.leg(
                conninfo, [script(embedded=embedded)], variables=variables(), settings=settings, mean=True
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
    numbers = itertools.count()
    document = json.dumps([{"body": f"@ {body}"} for body in texts])
    block = "".join(f"{owner}\tuser\t@ {body}\tenglish\n" for body in texts)
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def call() -> None:
            connection.execute(
                "select id from memstore.insert_memories(%s, %s::jsonb)",
                [owner, document.replace("@", str(next(numbers)))],
            ).fetchall()

        def copy() -> None:
            columns = "user_id, bucket, body, language"
            with connection.cursor().copy(f"copy memstore.memories ({columns}) from stdin") as stream:
                stream.write(block.replace("@", str(next(numbers))))

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
