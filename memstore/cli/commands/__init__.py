"""The commands of `memstore`, one function each.

Imported by name, module by module: the frequent commands need only their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstore.cli.parameters import Command

# In the order of the help text.
_GROUPS = {
    "Memories": ("memories", "transfer"),
    "Agents": ("mcp", "install", "hook"),
    "HTTP": ("http",),
    "Claims": ("claims",),
    "Operator": ("operator",),
}


def all_commands() -> "dict[str, list[Command]]":
    """Imports all commands, by what they are for."""
    return {
        group: [
            command
            for name in modules
            for command in import_module(f"memstore.cli.commands.{name}").COMMANDS.values()
        ]
        for group, modules in _GROUPS.items()
    }
