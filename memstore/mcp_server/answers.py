"""What the tools answer."""

from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from memstore import hooks


class Answer(BaseModel):
    """What a tool answers: fields for programs, and texts for models. Fields that are None are left out."""

    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    def texts(self) -> list[str]:
        """Gives the texts: JSON, in which a body can't pass for anything else."""
        return [self.model_dump_json(exclude_none=True)]


class Memory(Answer):
    """A memory, without the account, which is that of the configuration."""

    id: UUID
    bucket: str
    body: str = Field(repr=False)
    source_ref: str | None = None
    language: str
    slug: str | None = None
    entity: str | None = None
    tier: str | None = None
    as_of: date | None = None
    evidence_refs: list[dict[str, str]] | None = Field(None, repr=False)
    stance: str | None = None
    inserted_at: datetime
    superseded_at: datetime | None = None
    superseded_by_id: UUID | None = None
    scope: str | None = None
    metadata: dict[str, object] | None = Field(None, repr=False)


class Similar(Answer):
    """A memory that is similar to one that was remembered."""

    id: UUID
    bucket: str
    body: str = Field(repr=False)
    source_ref: str | None = None
    inserted_at: datetime
    scope: str | None = None


class Remembered(Memory):
    """A memory that was remembered, and what it may correct or repeat.

    Attributes:
        already: Whether it was there before.
        similar: What is similar to it.
        advice: What to do about that.
    """

    already: bool | None = None
    similar: list[Similar] | None = None
    advice: str | None = None


class FoundMemory(Memory):
    """A memory that was found.

    Attributes:
        score: How well it fits the query.
        lexical_score: By its words.
        semantic_score: By its meaning.
        eligible: Whether recall could tell it for this query.
    """

    score: float
    lexical_score: float
    semantic_score: float | None = None
    eligible: bool


class Found(Answer):
    """What was found, best first."""

    memories: list[FoundMemory]


class Memories(Answer):
    """Several memories.

    Attributes:
        memories: The memories.
        after: The argument `after` for the next page; None where there is none.
    """

    memories: list[Memory]
    after: str | None = None


class Recall(Answer):
    """What to tell a model before a turn: the note as one text, the ids of its lines as another."""

    note: str | None = Field(None, repr=False)
    memories: list[Memory]
    claims: list[Memory]
    dropped: int
    backend: str

    def texts(self) -> list[str]:
        """Gives the note, and the ids of its lines."""
        if self.note is None:
            reasons = {
                "unavailable": "The store can't be reached: nothing was recalled.",
                "overloaded": "The store is overloaded: nothing was recalled.",
            }
            return [reasons.get(self.backend, "Nothing to recall.")]
        ids = [str(memory.id) for memory in (*self.memories, *self.claims)]
        return [self.note, *([f"The ids of these lines, in their order: {', '.join(ids)}"] if ids else [])]


class RecallForHook(Recall):
    """The same for a hook of a client, whose JSON is the one text."""

    _event: str = PrivateAttr("")

    def texts(self) -> list[str]:
        """Gives the hook's answer."""
        return [hooks.answer(self._event, self.note)]

    @classmethod
    def of(cls, event: str, answer: object) -> "RecallForHook":
        """Makes the answer to an event."""
        made = cls.model_validate(answer)
        made._event = event
        return made


class Record(Answer):
    """One record about a claim, without the account that wrote it."""

    id: UUID
    role: str
    verdict: str | None = None
    challenge_id: UUID | None = None
    ground: str = Field(repr=False)
    evidence_refs: list[dict[str, str]] | None = Field(None, repr=False)
    inserted_at: datetime
    effect: str | None = None


class Records(Answer):
    """The records about a claim, and its status by them."""

    status: str
    records: list[Record]


class Challenged(Records):
    """The same, with the effect of the challenge that was made."""

    effect: str
