"""What a search should find, told without any of the stores that are compared."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

import numpy as np

from tests.bench import data
from tests.bench.peers import FOUND


class Best:
    """The best of an account's memories for a turn, each by one measure alone.

    By meaning they are the nearest by the cosine of the embeddings, all compared. By words they are those
    that cover most of the turn's words, of which one that few memories have weighs more; those that have none
    of them aren't among them.
    """

    def __init__(self, bodies: list[str], turn: str) -> None:
        vectors = np.array([data.vector(body) for body in bodies])
        self._near = dict(zip(bodies, (vectors @ np.array(data.vector(turn))).tolist(), strict=True))
        held = {body: set(data.words_of(body)) for body in bodies}
        weights = {}
        for word in set(data.words_of(turn)) - data.FUNCTION_WORDS:
            count = sum(word in words for words in held.values())
            weights[word] = math.log(1 + (len(bodies) - count + 0.5) / (count + 0.5))
        self._covering = {
            body: sum(weight for word, weight in weights.items() if word in words)
            for body, words in held.items()
        }

    def of(self, found: list[str]) -> dict[str, float]:
        """How many were found, and how many of the best by each measure, as parts of `FOUND`."""
        return {
            "rows": len(found),
            "of the best by meaning": _among(self._near, found),
            "of the best by words": _among(self._covering, found),
        }

    @staticmethod
    def mean(answers: Iterable[dict[str, float]]) -> dict[str, float]:
        """The means of several."""
        each = list(answers)
        return {name: round(statistics.fmean(one[name] for one in each), 1) for name in each[0]}


def _among(scores: dict[str, float], found: list[str]) -> float:
    best = sorted((score for score in scores.values() if score > 0), reverse=True)[:FOUND]
    if not best:
        return FOUND
    # Equal ones are as good; one that was added to be measured isn't known.
    good = sum(scores.get(body, 0) >= best[-1] for body in found)
    return FOUND * min(good, len(best)) / len(best)
