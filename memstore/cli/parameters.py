"""What commands take, described once: for the quick reading of a plain command line, and for typer.

Importing typer and building its parameters takes longer than a recall. So `plain` reads what has nothing to
complain about, to complete or to show, and `interface` everything else.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Argument:
    """A positional argument.

    Attributes:
        metavar: What help texts call it.
        help: What it is.
        file: Whether it names a file to read.
    """

    metavar: str
    help: str
    file: bool = False


@dataclass(frozen=True, init=False)
class Option:
    """An option.

    Attributes:
        flags: Its names, if not that of the parameter.
        settings: The others, as typer has them.
    """

    flags: tuple[str, ...]
    settings: dict[str, Any] = field(hash=False)

    def __init__(self, *flags: str, **settings: Any) -> None:
        object.__setattr__(self, "flags", flags)
        object.__setattr__(self, "settings", settings)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a command's function.

    Attributes:
        name: Its name.
        kind: Its type.
        default: Its default; `inspect.Parameter.empty` where there is none.
        described: The description.
    """

    name: str
    kind: Any
    default: Any
    described: Argument | Option

    @property
    def flags(self) -> tuple[str, ...]:
        """The option's names on the command line."""
        given = self.described.flags if isinstance(self.described, Option) else ()
        return given or (f"--{self.name.replace('_', '-')}",)


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        name: Its name.
        function: What it does, with the session first.
        examples: For the help text.
        settings: Typer's own.
    """

    name: str
    function: Callable[..., None]
    examples: Sequence[str]
    settings: dict[str, Any]

    @property
    def parameters(self) -> list[Parameter]:
        """What it takes beside the session."""
        (_, *parameters) = inspect.signature(self.function).parameters.values()
        return [
            Parameter(each.name, each.annotation.__origin__, each.default, each.annotation.__metadata__[0])
            for each in parameters
        ]
