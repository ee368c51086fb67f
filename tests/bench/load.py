"""Fills databases, with the tables' triggers and checks on: what is loaded is what callers could write."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

import psycopg

from tests.bench import data, server

T = TypeVar("T")

LIVE = 200  # memories of an ordinary account
UNBOUNDED = 2_000_000_000  # a ceiling that no benchmark reaches
_BATCH = 20_000  # rows of a COPY

WRITERS = [data.account(-1 - number) for number in range(8)]  # accounts to write to, empty at first


def users(connection: psycopg.Connection, accounts: Iterable[UUID]) -> None:
    with connection.cursor().copy("copy memstore.users (id, maximum_live_memories) from stdin") as copy:
        for owner in accounts:
            copy.write_row((owner, UNBOUNDED))


def memories(conninfo: str, accounts: list[UUID], count: int, *, embedded: bool = True) -> None:
    """Give each of these accounts so many memories, as time would bring them: turn and turn about."""

    def load(number: int) -> None:
        lines = data.rows(accounts[number::workers], count, number, embedded=embedded)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for batch in _batches(lines, _BATCH):
                with connection.cursor().copy(f"copy memstore.memories ({data.COLUMNS}) from stdin") as copy:
                    copy.write("".join(batch))

    # Each worker has accounts of its own: a statement locks the accounts that it counts for.
    workers = min(len(accounts), os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(load, range(workers)))


def store(conninfo: str, size: int) -> None:
    """A store of so many memories, 200 in each account."""
    _ordinary(conninfo, range(size // LIVE))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        users(connection, WRITERS)
    verify(conninfo, size)


def sized(size: int) -> UUID:
    """The account that has so many memories."""
    return data.account(-10_000_000 - size)


def account(conninfo: str, owner: UUID, size: int) -> None:
    """One more account, with so many memories."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        users(connection, [owner])
    memories(conninfo, [owner], size)


def single(conninfo: str, count: int, reader: UUID) -> None:
    """A store of so many accounts of one memory, and one of 200."""
    accounts = [data.account(number) for number in range(count)]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        users(connection, accounts)
    memories(conninfo, accounts, 1)
    account(conninfo, reader, LIVE)


def unanalyzed(conninfo: str, count: int, reader: UUID) -> None:
    """A store that PostgreSQL has no statistics of."""
    _ordinary(conninfo, range(count // LIVE))
    account(conninfo, reader, LIVE)


def stale(conninfo: str, count: int, reader: UUID) -> None:
    """A store that had one account of 200 when it was analysed."""
    _ordinary(conninfo, range(1))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")
    _ordinary(conninfo, range(1, count // LIVE))
    account(conninfo, reader, LIVE)


def _ordinary(conninfo: str, numbers: range) -> None:
    accounts = [data.account(number) for number in numbers]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        users(connection, accounts)
    memories(conninfo, accounts, LIVE)


STEWARD = data.account(-100)
CLAIM_READER = data.account(0)
_AUTHORS = [data.account(-1000 - number) for number in range(500)]
_CHALLENGERS = [data.account(-2000 - number) for number in range(1000)]
_EVIDENCE = '[{"kind": "url", "ref": "https://example.org/receipt", "digest": "sha256:00"}]'


def claims(conninfo: str, count: int) -> None:
    """So many claims with three records each: a verdict, a challenge and its refutation.

    Of a hundred claims one is rejected, and of a thousand one challenge is open and suspends its claim.
    """
    with psycopg.connect(conninfo, autocommit=True) as connection:
        users(connection, [*_AUTHORS, *_CHALLENGERS, *WRITERS, STEWARD])
        connection.execute("select memstore.set_steward(%s, true)", [STEWARD])
        texts = data.Texts("claims")
        columns = (
            "id, user_id, bucket, body, language, slug, tier, as_of, admission, evidence_refs, embedding,"
            " embedding_model"
        )
        for batch in _batches(range(count), _BATCH):
            with connection.cursor().copy(f"copy memstore.memories ({columns}) from stdin") as copy:
                for number in batch:
                    body = texts.body()
                    line = [str(claim(number)), str(_AUTHORS[number % len(_AUTHORS)]), "system", body]
                    line += ["english", f"sys:{number}", "glass", "2026-01-01", "candidate", _EVIDENCE]
                    line += [data.array(data.vector(body)), data.MODEL]
                    copy.write("\t".join(line) + "\n")
        for batch in _batches(range(count), _BATCH // 5):
            _records(connection, batch)
    account(conninfo, CLAIM_READER, LIVE)
    verify(conninfo, count + LIVE, count, 3 * count - sum(_stays_open(number) for number in range(count)))


def claim(number: int) -> UUID:
    return data.account(-1_000_000 - number)


def _stays_open(number: int) -> bool:
    return number % 1000 == 999


def _records(connection: psycopg.Connection, numbers: list[int]) -> None:
    cursor = connection.cursor()
    columns = "memory_id, user_id, role, verdict, ground"
    with cursor.copy(f"copy memstore.memory_admissions ({columns}) from stdin") as copy:
        for number in numbers:
            verdict = "rejected" if number % 100 == 50 else "admitted"
            copy.write_row((claim(number), STEWARD, "admission", verdict, "Checked."))
    columns = "id, memory_id, user_id, role, ground, evidence_refs"
    with cursor.copy(f"copy memstore.memory_admissions ({columns}) from stdin") as copy:
        for number in numbers:
            challenger = _CHALLENGERS[number % len(_CHALLENGERS)]
            evidence = _EVIDENCE if number % 2 else None
            copy.write_row((_challenge(number), claim(number), challenger, "challenge", "Not so.", evidence))
    columns = "memory_id, user_id, role, challenge_id, ground"
    with cursor.copy(f"copy memstore.memory_admissions ({columns}) from stdin") as copy:
        for number in numbers:
            if not _stays_open(number):
                copy.write_row((claim(number), STEWARD, "refutation", _challenge(number), "It is so."))


def _challenge(number: int) -> UUID:
    return data.account(-500_000_000 - number)


def verify(conninfo: str, memories: int, claims: int = 0, records: int = 0) -> None:
    """See that a store holds what was meant, and counts it as its triggers do."""
    query = (
        "select (select count(*) from memstore.memories), (select sum(live_memories) from memstore.users),"
        " (select count(*) from memstore.claim_statuses), (select count(*) from memstore.memory_admissions)"
    )
    with psycopg.connect(conninfo) as connection:
        found = connection.execute(query).fetchone()
    if found != (memories, memories, claims, records):
        raise RuntimeError(f"loaded {found}, meant {(memories, memories, claims, records)}")


def tidy(conninfo: str) -> None:
    """Remove what was written to the accounts to write to."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("delete from memstore.memories where user_id = any (%s)", [WRITERS])
    server.settle(conninfo)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(itertools.islice(source, size)):
        yield batch
