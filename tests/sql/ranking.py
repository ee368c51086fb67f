"""The scores by their formulas, read word by word, and memories to rank by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import log
from typing import NamedTuple
from uuid import UUID

import psycopg

from tests.sql.support import value

# Those that a query can name are of one word of WORDS, in each language.
LABELS = ["", "", "pnpm: ", "Dogs of others:", "cafe au lait long: ", "Café (a): ", "the: ", "собака:"]
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [
    "pnpm",
    "npm",
    "install",
    "installs",
    "the",
    "Café",
    "cafe",
    "Straße",
    "上海",
    "dogs",
    "собака",
    "v2",
]
LANGUAGES = ["english", "german", "russian", "simple"]


class Memory(NamedTuple):
    language: str
    bucket: str
    words: list[str]
    label: str
    age: int
    source: str | None
    superseded: bool

    @property
    def body(self) -> str:
        return self.label + " ".join(self.words)


class Shares(NamedTuple):
    """How much a word counts for the memories after and before the one that has it; a speaker; a source."""

    previous: float
    next: float
    speaker: float
    source: float


def configure(db: psycopg.Connection, floor: float, shares: Shares) -> None:
    db.execute(
        "select memstore.configure(lexical_floor => %s, previous_share => %s, next_share => %s,"
        " speaker_share => %s, source_share => %s)",
        [floor, *shares],
    )


def lexemes(db: psycopg.Connection, language: str, text: str) -> list[str]:
    result: list[str] = value(db, "select memstore.lexemes(%s, %s)", language, text)
    return result


def exact_scores(
    live: Mapping[UUID, Memory],
    has: Mapping[UUID, set[str]],
    turn_of: Mapping[str, list[str]],
    shares: Shares,
) -> dict[UUID, float]:
    """The lexical scores by their formula, read word by word."""

    def weight(language: str, lexeme: str) -> float:
        same_language = [row for row in live if live[row].language == language]
        n, df = len(same_language), sum(lexeme in has[row] for row in same_language)
        return log(1 + (n - df + 0.5) / (df + 0.5))

    def neighbour(row: UUID, step: int) -> set[str]:
        """The words of a memory before (below 0) or after (above 0) in the same source."""
        source = [r for r in live if live[r].source == live[row].source is not None]
        source = [r for r in source if live[r].language == live[row].language]
        source.sort(key=lambda r: (-live[r].age, r))
        place = source.index(row) + step if source else -1
        return has[source[place]] if 0 <= place < len(source) else set()

    def share(row: UUID, lexeme: str) -> float:
        own = 1.0 if lexeme in has[row] else 0.0
        before = [shares.previous**k for k in (1, 2) if lexeme in neighbour(row, -k)]
        after = [shares.next**k for k in (1, 2) if lexeme in neighbour(row, k)]
        return max([own, *before, *after])

    result = {}
    for row, memory in live.items():
        weights = {lexeme: weight(memory.language, lexeme) for lexeme in turn_of[memory.language]}
        covered = sum(weights[lexeme] * share(row, lexeme) for lexeme in weights)
        result[row] = covered / sum(weights.values()) if weights else 0.0
    return result


def ranking_scores(
    live: Mapping[UUID, Memory], lexical: Mapping[UUID, float], named: set[UUID], shares: Shares
) -> dict[UUID, float]:
    """What memories are ranked by, of their lexical scores."""
    own = {
        row: round(score, 6) * (1 + (shares.speaker if row in named else 0)) for row, score in lexical.items()
    }

    def best(row: UUID) -> float:
        source = live[row].source
        return max(own[r] for r in live if r == row or live[r].source == source is not None)

    return {
        row: (own[row] + shares.source * best(row)) / (1 + shares.speaker) / (1 + shares.source)
        for row in live
    }


def is_named(db: psycopg.Connection, memory: Memory, turn: str) -> bool:
    """Whether the turn has the first word of the memory's label, and that is no stop word."""
    words = memory.label.partition(":")[0].split()
    first = words[0] if 0 < len(words) <= 3 else ""
    of_turn, of_first = lexemes(db, "simple", turn), lexemes(db, "simple", first)
    return bool(of_first) and set(of_first) <= set(of_turn) and bool(lexemes(db, memory.language, first))


def first_of_each_body(order: Iterable[UUID], memories: Mapping[UUID, Memory]) -> list[UUID]:
    """Of memories with one body, in this order, the first."""
    seen: dict[str, UUID] = {}
    for row in order:
        seen.setdefault(memories[row].body, row)
    return list(seen.values())
