"""What recall has given out: an agent that remembers a line of a note has learned nothing new."""

from collections import OrderedDict
from typing import Final
from uuid import UUID

from memstore import models
from memstore.api.aio import AsyncFunctions
from memstore.errors import MemoryNotFound

_MOST: Final = 1_000


class GivenOut:
    """The memories that this server gave out last, by their lines and by the texts in them."""

    def __init__(self) -> None:
        self._memories: OrderedDict[str, models.Memory] = OrderedDict()

    def note(self, answer: models.Recall) -> None:
        """Notes what a recall gives out."""
        told = (*answer.memories, *answer.claims)
        for memory, line in zip(told, (answer.note or "").split("\n"), strict=False):
            for text in (line, memory.body):
                self._memories[text] = memory
                self._memories.move_to_end(text)
        while len(self._memories) > _MOST:
            self._memories.popitem(last=False)

    async def find(self, store: AsyncFunctions, actor: UUID | str | None, body: str) -> models.Memory | None:
        """Finds the memory that a text was given out of; None where the account corrected or forgot it since.

        Another account's claim is as it was given out.
        """
        memory = self._memories.get(body.strip())
        if memory is None or memory.bucket == "system":
            return memory
        try:
            memory = await store.get_memory(actor, memory.id)
        except MemoryNotFound:
            return None
        return memory if memory.live else None
