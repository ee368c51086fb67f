"""The commands of `memstore`, one function each.

Imported by name, module by module: the frequent commands need only their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstore.cli.parameters import Command

_MODULES = (
    "memories",
    "transfer",
    "mcp",
    "install",
    "hook",
    "claims",
    "operator",
)  # in the order of the help text


def all_commands() -> "list[Command]":
    """Imports all commands."""
    modules = [import_module(f"memstore.cli.commands.{name}") for name in _MODULES]
    return [command for module in modules for command in module.COMMANDS.values()]
