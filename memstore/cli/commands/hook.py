"""The command that agents' clients run at the start of a session."""

import json
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from memstore import hooks
from memstore.cli.application import Registers, Scopes, commands_of
from memstore.cli.errors import UsageError, reported
from memstore.cli.parameters import Argument, Command

if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)

_EVENTS = {"session-start": hooks.SESSION_START}


@command("memstore hook session-start < input.json")
def hook(
    session: "Session",
    event: Annotated[str, Argument(metavar="EVENT", help="session-start.")],
    scopes: Scopes = None,
) -> None:
    """Answer a hook of an agent's client: recall for the folder that a session starts in.

    memstore install puts it into the client's configuration. The hook's input is JSON on standard input, and
    the answer is the client's JSON, or nothing. What goes wrong is told on standard error alone: the exit
    code is always 0, since some clients stop at others.
    """
    with suppress(Exception):
        reported(partial(_answer, session, event, scopes))


def _answer(session: "Session", event: str, scopes: list[str] | None) -> None:
    if event not in _EVENTS:
        raise UsageError(f"there is no such event; there is {', '.join(_EVENTS)}")
    given = _read_input()
    actor = session.reader()
    if actor is None:
        return
    # Whose memories bear on the folder; its name is the query.
    found = session.store.recall(actor, hooks.folder(given).name, scopes=scopes, strict=True)
    told = hooks.answer(str(given.get("hook_event_name") or _EVENTS[event]), found.note)
    if told:
        print(told)


def _read_input() -> dict[str, Any]:
    """Reads the hook's input; what isn't an object is as none, since the answer doesn't need it."""
    if sys.stdin.isatty():
        return {}
    with suppress(ValueError, RecursionError):
        given = json.loads(sys.stdin.buffer.read())
        if isinstance(given, dict):
            return given
    return {}
