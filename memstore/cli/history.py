"""What `memstore history` shows: a memory with all that it replaced, and what replaced it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from memstore.cli.output import Output, age, printable
from memstore.models import Memory
from memstore.store import Store

if TYPE_CHECKING:
    from rich.text import Text


_GUIDE = 4  # columns by which a branch is indented


@dataclass(frozen=True)
class History:
    """The chain of a memory.

    Attributes:
        actor: The account that reads it.
        memories: The chain, oldest first.
        statuses: The statuses of those that are claims, by id.
    """

    actor: UUID
    memories: Sequence[Memory]
    statuses: Mapping[UUID, str]

    def show(self, out: Output) -> None:
        """Prints it: a tree at a terminal, else a line a memory, oldest first."""
        if not (out.pretty and self._draw()):
            out.memories(self.memories)

    def _draw(self) -> bool:
        """Draws the tree, unless nested merges leave no room for the texts."""
        from rich.console import Console
        from rich.tree import Tree

        replaced = defaultdict(list)
        for memory in reversed(self.memories):
            replaced[memory.superseded_by_id].append(memory)
        # A chain ends in one row: the live one, or where that was deleted, its predecessor.
        there = {memory.id for memory in self.memories}
        (last,) = (memory for memory in self.memories if memory.superseded_by_id not in there)
        tree = Tree(self._label(last), guide_style="dim")
        console = Console(highlight=False)
        beginnings = [(tree, last, 1)]
        while beginnings:
            branch, memory, depth = beginnings.pop()
            if depth * _GUIDE > console.width // 2:
                return False
            # Single corrections are siblings, so that a long chain isn't indented.
            end = branch
            while len(before := replaced[memory.id]) == 1:
                (memory,) = before
                end = branch.add(self._label(memory))
            depth += 1 if end is branch else 2
            beginnings += [(end.add(self._label(each, merged=True)), each, depth) for each in before]
        console.print(tree)
        return True

    def _label(self, memory: Memory, merged: bool = False) -> "Text":
        from rich.text import Text

        if memory.superseded_at is not None:
            state = "merged" if merged else "superseded"
            when = f"{age(memory.inserted_at)} until {age(memory.superseded_at)}"
        else:
            state, when = "tombstone" if memory.promoted else "live", age(memory.inserted_at)
        if memory.superseded_at is not None and memory.superseded_by_id is None:
            when += ", its replacement is gone"
        if memory.id in self.statuses:
            state += f", {self.statuses[memory.id]}"
        if memory.user_id != self.actor:
            when = f"by {str(memory.user_id)[:8]}, {when}"
        about = f" {str(memory.id)[:8]}, {memory.bucket}, {when}: "
        return Text.assemble((state, "bold"), (about, "dim"), printable(memory.body))


def read_history(store: Store, actor: UUID, memory: UUID) -> History:
    """Reads the chain of a memory.

    Raises:
        MemoryNotFound: The account has no such memory.
    """
    memories = store.memory_history(actor, memory)
    statuses = {
        each.id: store.memory_status(actor, each.id) or ""
        for each in memories
        if each.bucket == "system" and not each.promoted
    }
    return History(actor, memories, statuses)
