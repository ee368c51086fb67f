"""A store in which things happen to claims, and its statuses, read three ways and compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.sql import model
from tests.sql.support import EVIDENCE, SYSTEM, account_of, call_one, raw_insert, rows, steward_of, value

EVIDENCE_TEXT = json.dumps([EVIDENCE])
NOBODY = UUID(int=0)
"""An id of nothing."""


def at(seconds: float) -> datetime:
    """A moment of the tests."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def plain_record(db: psycopg.Connection, **columns: object) -> UUID:
    """A plain INSERT of a record as the owner, and its id."""
    adapted = {
        name: Jsonb(item) if name == "evidence_refs" and item is not None else item
        for name, item in columns.items()
    }
    query = sql.SQL("insert into memstore.memory_admissions ({}) values ({}) returning id").format(
        sql.SQL(", ").join(map(sql.Identifier, adapted)), sql.SQL(", ").join(map(sql.Placeholder, adapted))
    )
    row = db.execute(query, adapted).fetchone()
    assert row
    result: UUID = row[0]
    return result


def read_records(db: psycopg.Connection) -> list[model.Record]:
    """All records, as the model takes them."""
    return [
        model.Record(*row)
        for row in rows(
            db,
            "select id, memory_id, user_id, role, verdict, challenge_id, evidence_refs is not null,"
            " inserted_at from memstore.memory_admissions",
        )
    ]


def check(db: psycopg.Connection) -> dict[UUID, str]:
    """The statuses: what is kept is what the definition derives, and that is what the model says."""
    claims = [
        row[0]
        for row in rows(db, "select id from memstore.memories where bucket = 'system' and not promoted")
    ]
    records = read_records(db)
    expected = model.statuses(claims, records)
    assert dict(rows(db, "select memory_id, status from memstore.derive_statuses()")) == expected
    kept = {claim: (verdict, status) for claim, verdict, status in rows(db, "table memstore.claim_statuses")}
    verdicts = model.verdicts(records)
    assert kept == {claim: (verdict, expected[claim]) for claim, verdict in verdicts.items()}
    assert rows(db, "select admitted from memstore.claim_counter") == [
        (sum(verdict == "admitted" for verdict in verdicts.values()),)
    ]
    queue = rows(
        db, "select challenge_id, memory_id, user_id, inserted_at, evidenced from memstore.open_challenges"
    )
    assert sorted(queue) == sorted(
        (c.id, c.memory_id, c.user_id, c.inserted_at, c.evidenced) for c in model.open_challenges(records)
    )
    effective = "select user_id, memory_id from memstore.open_challenges where effective"
    assert sorted(rows(db, effective)) == sorted(model.suspending(records))
    check_what_recall_reads(db, expected)
    return expected


def check_what_recall_reads(db: psycopg.Connection, statuses: dict[UUID, str]) -> None:
    """What system recall reads, the counts of its words and its signs are what these statuses give."""
    columns = (
        "id, user_id, language, inserted_at, search_vector::text, tsvector_to_array(search_vector),"
        " embedding_model, embedding"
    )
    live = rows(
        db, f"select {columns} from memstore.memories where bucket = 'system' and superseded_at is null"
    )
    admitted = [row for row in live if statuses.get(row[0]) == "admitted"]
    kept = (
        "select memory_id, user_id, language, inserted_at, search_vector::text from memstore.admitted_claims"
    )
    assert sorted(rows(db, kept)) == sorted(row[:5] for row in admitted)
    assert dict(rows(db, "table memstore.claim_languages")) == Counter(row[2] for row in admitted)
    words = {(language, word): claims for language, word, claims in rows(db, "table memstore.claim_words")}
    assert words == Counter((row[2], word) for row in admitted for word in row[5])
    signs = rows(
        db, "select memory_id, user_id, inserted_at, embedding_model, signs::text from memstore.claim_signs"
    )
    assert sorted(signs) == sorted(
        (row[0], row[1], row[3], row[6], "".join("01"[number > 0] for number in row[7]))
        for row in admitted
        if row[6]
    )


@dataclass
class World:
    """A store in which things happen one second apart, by plain INSERTs."""

    db: psycopg.Connection
    clock: Iterator[int] = field(default_factory=lambda: count(1))

    def account(self, name: str) -> UUID:
        """The account of this name, which holds as much as it likes; ``steward`` is one."""
        account = (steward_of if name.startswith("steward") else account_of)(self.db, name)
        self.db.execute("select memstore.set_maximum_live_memories(%s, 100000)", [account])
        return account

    def claim(self, author: str = "author", body: str = "It builds.", **columns: object) -> UUID:
        return raw_insert(self.db, self.account(author), body, **{**SYSTEM, **columns})

    def tombstone(self, author: str = "steward") -> UUID:
        return self.claim(author, "Promoted to some-stance.", stance="some-stance")

    def memory(self, author: str = "author", bucket: str = "user") -> UUID:
        return raw_insert(self.db, self.account(author), "It builds.", bucket=bucket)

    def claims(self, number: int, author: str = "author") -> list[UUID]:
        return [self.claim(author) for _ in range(number)]

    def record(self, role: str, memory: UUID, by: str, **columns: object) -> UUID:
        return plain_record(
            self.db,
            **{
                "role": role,
                "memory_id": memory,
                "user_id": self.account(by),
                "ground": "Because.",
                "inserted_at": at(next(self.clock)),
                **columns,
            },
        )

    def verdict(self, memory: UUID, verdict: str = "admitted", **columns: object) -> UUID:
        return self.record("admission", memory, "steward", verdict=verdict, **columns)

    def admitted(self, number: int, author: str = "author") -> list[UUID]:
        """So many new claims, all of them admitted."""
        claims = self.claims(number, author)
        for claim in claims:
            self.verdict(claim)
        return claims

    def challenge(self, memory: UUID, by: str = "a", evidenced: bool = True, **columns: object) -> UUID:
        return self.record(
            "challenge", memory, by, **{"evidence_refs": [EVIDENCE] if evidenced else None, **columns}
        )

    def refute(self, challenge: UUID, **columns: object) -> UUID:
        memory = value(self.db, "select memory_id from memstore.memory_admissions where id = %s", challenge)
        return self.record("refutation", memory, "steward", challenge_id=challenge, **columns)

    def do(self, function: str, actor: str, **arguments: object) -> dict[str, Any]:
        """The one row that a function gives this account."""
        return call_one(self.db, function, actor=self.account(actor), **arguments)

    def correct(self, target: UUID, by: str, **arguments: object) -> dict[str, Any]:
        """What supersede_memory gives for a correction of a claim."""
        given = {"body": "It builds better.", "evidence_refs": [EVIDENCE], **arguments}
        return self.do("supersede_memory", by, target=target, **given)

    def status(self, memory: UUID) -> str | None:
        """The derived status as the function tells it, checked against all else."""
        kept = check(self.db).get(memory)
        told = value(self.db, "select memstore.memory_status(%s, %s)", self.account("reader"), memory)
        assert told == kept
        return kept

    def suspended(self, claims: list[UUID]) -> list[bool]:
        """Which of the claims are suspended."""
        kept = check(self.db)
        return [kept[claim] == "suspended" for claim in claims]
