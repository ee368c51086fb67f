"""The system bucket's rules in plain Python, as the domain states them and apart from the SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log
from uuid import UUID


@dataclass(frozen=True)
class Record:
    """One record on one claim."""

    id: UUID
    memory_id: UUID
    user_id: UUID
    role: str
    verdict: str | None
    challenge_id: UUID | None
    evidenced: bool
    inserted_at: datetime

    @property
    def place(self) -> tuple[datetime, UUID]:
        """Its place in the total order."""
        return (self.inserted_at, self.id)


def share(whole: int) -> int:
    """A quarter, rounded up."""
    return -(-whole // 4)


def verdicts(records: Iterable[Record]) -> dict[UUID, str]:
    """Of each claim that has a verdict, the latest one."""
    admissions = sorted((r for r in records if r.role == "admission"), key=lambda r: r.place)
    return {r.memory_id: r.verdict for r in admissions if r.verdict}


def open_challenges(records: Iterable[Record]) -> list[Record]:
    """The challenges that no refutation names."""
    records = list(records)
    closed = {r.challenge_id for r in records if r.role == "refutation"}
    return [r for r in records if r.role == "challenge" and r.id not in closed]


def suspending(records: Iterable[Record]) -> set[tuple[UUID, UUID]]:
    """(challenger, claim), where the open evidenced challenges of the one suspend the other."""
    records = list(records)
    admitted = {claim for claim, verdict in verdicts(records).items() if verdict == "admitted"}
    queues: dict[UUID, list[UUID]] = {}
    for challenge in sorted(open_challenges(records), key=lambda r: r.place):
        queue = queues.setdefault(challenge.user_id, [])
        if challenge.evidenced and challenge.memory_id in admitted and challenge.memory_id not in queue:
            queue.append(challenge.memory_id)
    return {(user, claim) for user, queue in queues.items() for claim in queue[: share(len(admitted))]}


def statuses(claims: Iterable[UUID], records: Iterable[Record]) -> dict[UUID, str]:
    """The derived status of every claim."""
    records = list(records)
    verdict = verdicts(records)
    suspended = {claim for _, claim in suspending(records)}
    return {c: "suspended" if c in suspended else verdict.get(c, "candidate") for c in claims}


@dataclass(frozen=True)
class Claim:
    """An admitted live claim, as system recall sees it."""

    id: UUID
    author: UUID
    words: frozenset[str]
    inserted_at: datetime
    language: str = "simple"
    similarity: float | None = None
    """Of its embedding to the turn's, where both have one of one model."""


def lexical(turn: Collection[str], claims: Collection[Claim]) -> dict[UUID, float]:
    """The share of the turn's words that each claim covers, weighed by how rare they are in its language."""
    result = {}
    for claim in claims:
        peers = [c for c in claims if c.language == claim.language]
        weights = {}
        for word in turn:
            having = sum(word in c.words for c in peers)
            weights[word] = log(1 + (len(peers) - having + 0.5) / (having + 0.5))
        covered = sum(weight for word, weight in weights.items() if word in claim.words)
        result[claim.id] = covered / sum(weights.values())
    return result


def ranked(
    turn: Collection[str],
    claims: Collection[Claim],
    floors: tuple[float, float] = (0, 0.3),
    hybrid: bool = False,
) -> dict[Claim, float]:
    """The eligible claims with their scores, best first, then newest, then by id."""
    words = lexical(turn, claims)
    score = {}
    for claim in sorted(claims, key=lambda c: c.id):
        meaning = max(claim.similarity or 0, 0)
        if words[claim.id] > floors[0] or meaning > floors[1]:
            fused = 0.6 * words[claim.id] + 0.4 * meaning if hybrid else words[claim.id]
            score[claim] = round(fused, 6)
    newest = sorted(score, key=lambda c: c.inserted_at, reverse=True)
    return {claim: score[claim] for claim in sorted(newest, key=lambda c: score[c], reverse=True)}


def pool(eligible: Sequence[Claim], maximum: int) -> list[Claim]:
    """Accounts take turns in the order of their best claim, none beyond a quarter of the slots."""
    slots = min(len(eligible), maximum)
    hands: dict[UUID, list[Claim]] = {}
    for claim in eligible:
        hands.setdefault(claim.author, []).append(claim)
    taken = []
    for turn in range(share(slots)):
        taken += [hand[turn] for hand in hands.values() if turn < len(hand)]
    return taken[:slots]


def noted(taken: Sequence[Claim], lengths: Mapping[UUID, int], characters: int) -> list[Claim]:
    """What a note says of a pool: two claims at most, one of an account, within the characters left."""
    result: list[Claim] = []
    for claim in taken:
        if (
            len(result) < 2
            and claim.author not in {c.author for c in result}
            and lengths[claim.id] <= characters
        ):
            characters -= lengths[claim.id]
            result.append(claim)
    return result
