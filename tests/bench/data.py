"""What the stores are filled with: texts whose words are as unequal as in real ones, turns, and vectors.

Everything follows from a seed, so two stores of one size hold the same texts.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
MODEL = "bench-384"

_VOCABULARY = 20_000
_TURN = range(6, 15)  # words
_BODY = range(6, 25)
_LONGER_BODY = range(25, 90)  # one in twenty
_DAYS = 700  # how far back the oldest memory lies

# The words that a language has most of; most of them are no lexemes.
_COMMONEST = """
the i to and a of my is in for it that you with on we not be this are have at as but from they or was an if
will would can all so what do when there their me about which up out how more our than then its no just them
some only by these should who his her has had were been
"""
FUNCTION_WORDS = frozenset(_COMMONEST.split())
_TOPICS = """
use like prefer work want run deploy test project team week server code time day meet morning review build
name database always never coffee email release friday branch python postgres customer report budget design
plan child school doctor flight paris london berlin train hotel dinner vegetarian allergy music guitar garden
dog cat book read write letter price invoice contract client lawyer bank account password backup disk memory
agent model prompt token language english german spanish translate summary note list table chart colour dark
light keyboard editor terminal shell script docker cluster region latency error retry queue worker cache index
query schema migration rollback lock deadlock timeout session cookie browser mobile phone camera photo video
holiday birthday anniversary sister brother mother father friend colleague manager salary interview candidate
"""
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl qu r s sh st t tr v w z"
_VOWELS = "a e i o u ai ea oo"
_CODAS = "n r l t s m nd rk st ck"


def _rare_words() -> Iterator[str]:
    chance = random.Random("words")
    onsets, vowels, codas = _ONSETS.split(), _VOWELS.split(), _CODAS.split()
    while True:
        syllables = (chance.choice(onsets) + chance.choice(vowels) for _ in range(chance.randint(1, 3)))
        yield "".join(syllables) + chance.choice(codas)


@cache
def _words() -> tuple[list[str], list[float]]:
    """The vocabulary, commonest first, and how often each word and all before it come, by Zipf's law."""
    words = dict.fromkeys([*_COMMONEST.split(), *_TOPICS.split()])
    for word in _rare_words():
        if len(words) == _VOCABULARY:
            break
        words.setdefault(word)
    return list(words), list(itertools.accumulate(1 / (rank + 2.7) for rank in range(1, _VOCABULARY + 1)))


class Texts:
    """Draws texts; equal seeds draw equal ones."""

    def __init__(self, seed: object) -> None:
        self._chance = random.Random(str(seed))
        self._words, self._weights = _words()

    def _draw(self, lengths: range) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=self._chance.choice(lengths))

    def body(self) -> str:
        """What a memory says."""
        lengths = _LONGER_BODY if self._chance.random() < 0.05 else _BODY
        return " ".join(self._draw(lengths)).capitalize() + "."

    def turn(self) -> str:
        """What an account says in one turn."""
        return " ".join(self._draw(_TURN)).capitalize() + "?"

    def rare(self, count: int) -> str:
        """So many of the rarer words."""
        return " ".join(self._chance.choices(self._words[len(self._words) // 10 :], k=count))

    def common(self, count: int) -> str:
        """So many of the words that come most after those of which a language has most."""
        first = len(FUNCTION_WORDS)
        return " ".join(self._chance.choices(self._words[first : first + 40], k=count))

    def bodies(self, count: int) -> list[str]:
        return [self.body() for _ in range(count)]

    def turns(self, count: int) -> list[str]:
        return [self.turn() for _ in range(count)]


@cache
def _word_vectors() -> tuple[dict[str, int], NDArray[np.float64]]:
    """The words' places, and a direction for each, longer for rarer words."""
    words, _ = _words()
    drawn = np.random.default_rng(7).standard_normal((len(words), DIMENSIONS))
    return {word: place for place, word in enumerate(words)}, drawn * np.log(
        np.arange(2, len(words) + 2)[:, None]
    )


def vector(text: str) -> list[float]:
    """A text's embedding: texts with words in common are near each other, rare words more so."""
    places, vectors = _word_vectors()
    summed = vectors[[places[word] for word in words_of(text)]].sum(axis=0)
    numbers: list[float] = np.round(summed / np.linalg.norm(summed), 6).tolist()
    return numbers


def words_of(text: str) -> list[str]:
    """The words of a text that was drawn here."""
    return text.lower().strip(".?").split()


def account(number: int) -> UUID:
    """The account of this number: scattered ids, as an application's are."""
    return uuid5(NAMESPACE_OID, f"account {number}")


def array(numbers: list[float]) -> str:
    """As PostgreSQL reads it."""
    return "{" + ",".join(map(str, numbers)) + "}"


def rows(accounts: list[UUID], memories: int, seed: object, *, embedded: bool = True) -> Iterator[str]:
    """Lines for COPY of `COLUMNS`: so many memories of each account, in the order that time brings."""
    texts = Texts(seed)
    step = timedelta(days=_DAYS) / (memories * len(accounts))
    moment = datetime.now(UTC) - timedelta(days=_DAYS)
    for number in range(memories):
        bucket = "learned" if number % 10 < 3 else "user"
        source = f"session-{number // 8}" if number % 5 < 3 else r"\N"
        for owner in accounts:
            moment += step
            body = texts.body()
            line = [str(owner), bucket, body, source, "english", str(moment), str(moment)]
            line += [array(vector(body)), MODEL] if embedded else [r"\N", r"\N"]
            yield "\t".join(line) + "\n"


COLUMNS = "user_id, bucket, body, source_ref, language, inserted_at, updated_at, embedding, embedding_model"
