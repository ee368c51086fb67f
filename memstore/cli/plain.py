"""Reads command lines that have nothing to complain about, to complete or to show, without typer.

What it reads it reads as typer does, which a test compares. All else it leaves to `interface`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memstore.cli.application import SHARED, run_command
from memstore.cli.commands import memories  # the frequent commands
from memstore.cli.errors import reported
from memstore.cli.parameters import Argument, Command, Parameter

__all__ = ["memories", "read", "run"]

_LONGEST_NUMBER = 9  # digits


class _NotPlain(Exception):
    """The command line is for typer."""


def run(arguments: Sequence[str]) -> int | None:
    """Runs a plain command line.

    Returns:
        The exit code; None where nothing was done, since it isn't plain.
    """
    if "_MEMSTORE_COMPLETE" in os.environ:
        return None
    found = read(arguments)
    return None if found is None else reported(found)


def read(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Reads a command line; None where it isn't plain."""
    rest = iter(arguments)
    before = {each.name: each.default for each in SHARED}
    try:
        for given in rest:
            if given.startswith("-"):
                _read_option(given, rest, SHARED, before)
                continue
            command = memories.COMMANDS.get(given) or _of_clients(given)
            mine = {each.name: each.default for each in SHARED}
            values = _read_arguments(command, rest, mine)
            return lambda: run_command(command, before, mine, values)
    except (_NotPlain, KeyError):
        pass
    return None


def _of_clients(name: str) -> Command:
    """The commands that an agent's client runs, which may give up before they answer."""
    if name == "mcp":
        from memstore.cli.commands.mcp import COMMANDS
    else:
        from memstore.cli.commands.hook import COMMANDS
    return COMMANDS[name]


def _read_arguments(command: Command, rest: Iterator[str], shared: dict[str, Any]) -> dict[str, Any]:
    own = command.parameters
    values = {each.name: each.default for each in own}
    positional = [each for each in own if isinstance(each.described, Argument)]
    texts: list[str] = []
    for given in rest:
        if given == "--":
            texts += rest
        elif not given.startswith("-") or given == "-":
            texts.append(given)
        else:
            known = shared if _option(given, SHARED) else values
            _read_option(given, rest, [*own, *SHARED], known)
    if len(texts) != len(positional) or any(each.kind is not str for each in positional):
        raise _NotPlain
    return values | {each.name: text for each, text in zip(positional, texts, strict=True)}


def _option(given: str, options: Sequence[Parameter]) -> Parameter | None:
    flag = given.partition("=")[0]
    return next(
        (each for each in options if not isinstance(each.described, Argument) and flag in each.flags), None
    )


def _read_option(
    given: str, rest: Iterator[str], options: Sequence[Parameter], values: dict[str, Any]
) -> None:
    option = _option(given, options)
    if option is None:
        raise _NotPlain
    _, equals, value = given.partition("=")
    if option.kind is bool:
        if equals:
            raise _NotPlain
        values[option.name] = True
        return
    if not equals:
        value = next(rest, "-")
        if value.startswith("-"):
            raise _NotPlain
    if option.kind == list[str] | None:
        values[option.name] = [*(values[option.name] or []), value]
    else:
        values[option.name] = _converted(option, value)


def _converted(option: Parameter, value: str) -> str | int:
    if option.kind == str | None or option.kind is str:
        return value
    limits = option.described.settings if not isinstance(option.described, Argument) else {}
    if option.kind == int | None and value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER:
        number = int(value)
        if number >= limits.get("min", number):
            return number
    raise _NotPlain
