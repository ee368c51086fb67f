"""The lexical score by its formula, read word by word, and memories to rank by it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import log
from typing import NamedTuple
from uuid import UUID

import psycopg

from tests.sql.support import value

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
    age: int
    source: str | None
    superseded: bool

    @property
    def body(self) -> str:
        return " ".join(self.words)

    @property
    def source_ref(self) -> str | None:
        return self.source and f"{self.source} {self.language}"


class Shares(NamedTuple):
    """How much a word counts for the memory after, and the memory before, the one that has it."""

    previous: float
    next: float


def lexemes(db: psycopg.Connection, language: str, text: str) -> list[str]:
    result: list[str] = value(db, "select memstore.lexemes(%s, %s)", language, text)
    return result


def exact_scores(
    live: Mapping[UUID, Memory],
    has: Mapping[UUID, set[str]],
    turn_of: Mapping[str, list[str]],
    shares: Shares,
) -> dict[UUID, float]:
    """The formula, read word by word."""

    def weight(language: str, lexeme: str) -> float:
        same_language = [row for row in live if live[row].language == language]
        n, df = len(same_language), sum(lexeme in has[row] for row in same_language)
        return log(1 + (n - df + 0.5) / (df + 0.5))

    def neighbour(row: UUID, step: int) -> set[str]:
        """The words of the memory before (-1) or after (1) in the same source."""
        source = [r for r in live if live[r].source_ref == live[row].source_ref is not None]
        source.sort(key=lambda r: (-live[r].age, r))
        place = source.index(row) + step if source else -1
        return has[source[place]] if 0 <= place < len(source) else set()

    def share(row: UUID, lexeme: str) -> float:
        own = 1.0 if lexeme in has[row] else 0.0
        before = shares.previous if lexeme in neighbour(row, -1) else 0.0
        after = shares.next if lexeme in neighbour(row, 1) else 0.0
        return max(own, before, after)

    result = {}
    for row, memory in live.items():
        weights = {lexeme: weight(memory.language, lexeme) for lexeme in turn_of[memory.language]}
        covered = sum(weights[lexeme] * share(row, lexeme) for lexeme in weights)
        result[row] = covered / sum(weights.values()) if weights else 0.0
    return result
