"""What the commands of `memstore` share: registration, options, and reading and printing."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from memstore.cli.errors import REFUSED, Exit, UsageError
from memstore.cli.output import printable
from memstore.cli.parameters import Argument, Command, Option, Parameter
from memstore.models import Evidence

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])

Text = Annotated[str, Argument(metavar="TEXT", help="The text; - reads it from standard input.")]
Id = Annotated[str, Argument(metavar="ID", help="The memory's id, or its first characters.")]
Bucket = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="user: somebody said it; learned: a job found it out.",
        autocompletion=lambda: ["user", "learned"],
    ),
]
Source = Annotated[str | None, Option(metavar="NAME", help="Which work taught it.")]
Scope = Annotated[
    str | None,
    Option(metavar="NAME", help="The project, session or agent that it is for; everything if left out."),
]
Metadata = Annotated[
    str | None, Option(metavar="JSON", help='Keys of your own, such as {"ticket": 118}; a JSON object.')
]
Scopes = Annotated[
    list[str] | None,
    Option(
        "--scope",
        metavar="NAME",
        help="Only memories of this scope, and those without one; empty: these alone. Repeatable.",
    ),
]
Filter = Annotated[
    str | None,
    Option(
        metavar="JSON",
        help='Only memories whose metadata contain this object, such as {"ticket": 118}, or one of an array.',
    ),
]
Language = Annotated[str | None, Option(metavar="NAME", help="Its language, such as english or simple.")]
Ground = Annotated[str, Argument(metavar="GROUND", help="Why; - reads it from standard input.")]
ClaimId = Annotated[
    str,
    Argument(metavar="ID", help="The claim's id; its first characters do for its author and for stewards."),
]
EvidenceRefs = Annotated[
    list[str] | None,
    Option(
        metavar="KIND:REF@DIGEST",
        help="A receipt, memory or url, with its digest after the last @; receipt:@FILE or receipt:TEXT,"
        " whose SHA-256 is taken; or a JSON object with kind, ref and digest. Repeatable.",
    ),
]
AsOf = Annotated[
    datetime | None,
    Option(metavar="DATE", formats=["%Y-%m-%d"], help="For which day it holds; today if left out."),
]
Entity = Annotated[str | None, Option(metavar="NAME", help="What it is about.")]
Limit = Annotated[int | None, Option(metavar="NUMBER", min=1, max=sys.maxsize, help="The most to list.")]
Yes = Annotated[bool, Option("--yes", help="Don't ask.")]
NewId = Annotated[str | None, Option("--id", metavar="UUID", help="Its id: makes a retry safe.")]


SHARED: list[Parameter] = [
    Parameter(
        "database_url",
        str | None,
        None,
        Option(
            metavar="URL",
            help="The database, or private; else $MEMSTORE_DATABASE_URL, else $DATABASE_URL, else"
            " the private one.",
        ),
    ),
    Parameter(
        "account",
        str | None,
        None,
        Option(
            metavar="NAME",
            help="Whose memories: your own id of the account; else $MEMSTORE_ACCOUNT, else default.",
        ),
    ),
    Parameter("as_json", bool, False, Option("--json", help="Print JSON, one document a line.")),
]
"""Options of every command, before or after its name."""


class Registers(Protocol):
    """The decorator of a module's commands."""

    def __call__(self, *examples: str, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        """Makes a function a command; its help shows the examples."""


def commands_of(registered: dict[str, Command]) -> Registers:
    """Makes the decorator that makes a function a command of a module.

    The function has the session as its first argument.

    Args:
        registered: Where the commands are kept, by name.
    """

    def command(*examples: str, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        def register(function: F) -> F:
            called = name or function.__name__
            registered[called] = Command(called, function, examples, settings)
            return function

        return register

    return command


def run_command(
    command: Command, before: Mapping[str, Any], mine: Mapping[str, Any], arguments: Mapping[str, Any]
) -> None:
    """Runs a command.

    Args:
        command: The command.
        before: The values of `SHARED` that stood before its name.
        mine: The same after it, which override these, even with an empty value.
        arguments: Its own arguments.
    """
    from memstore.cli.session import Session

    given = {name: before[name] if value in (None, False) else value for name, value in mine.items()}
    with Session(**given) as session, session.explaining():
        command.function(session, **arguments)


def read_text(text: str) -> str:
    """Gives a text; for - it reads standard input."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise UsageError("standard input isn't UTF-8")


def read_turn(text: str) -> str:
    """Gives a turn, as `read_text`; what PostgreSQL can't store is replaced, since no turn fails for that."""
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def confirm(question: str, yes: bool) -> None:
    """Asks at a terminal whether to go on.

    Args:
        question: The question.
        yes: Whether it was answered beforehand.

    Raises:
        UsageError: There is no terminal to ask at.
        Exit: The answer isn't yes.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Repeat it with --yes")
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Exit(REFUSED)


def show_first(found: Iterator[T], limit: int | None, show: Callable[[Iterator[T]], None]) -> T | None:
    """Shows at most `limit` of them, and gives the last one shown."""
    last: list[T] = []

    def shown() -> Iterator[T]:
        for each in islice(found, limit):
            last[:] = [each]
            yield each

    show(shown())
    return last[0] if last else None


@contextmanager
def progress(total: Callable[[], int | None], in_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar at a terminal."""
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    done = DownloadColumn() if in_bytes else MofNCompleteColumn()
    with Progress(BarColumn(), done, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total())
        yield lambda amount: bar.advance(task, amount)


def day(moment: datetime | None) -> date | None:
    """Gives the date of an option `--as-of`."""
    return moment.date() if moment else None


def json_of(option: str, given: str | None) -> Any:
    """Reads the value of an option that takes JSON.

    Raises:
        UsageError: It can't be read.
    """
    if given is None:
        return None
    import json

    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        pass
    raise UsageError(f'{option} takes JSON, such as {{"ticket": 118}}')


def evidence_refs_of(given: Sequence[str] | None) -> list[Evidence] | None:
    """Reads the values of the option `--evidence`.

    Raises:
        UsageError: One can't be read.
    """
    return [_piece(each) for each in given] if given else None


def _piece(given: str) -> Evidence:
    if given.startswith("{"):
        import json

        try:
            piece: Evidence = json.loads(given)
            return piece
        except (ValueError, RecursionError):
            pass
        raise UsageError("--evidence: what begins with { has to be a JSON object")
    kind, colon, rest = given.partition(":")
    ref, at, digest = rest.rpartition("@")
    if at and not ref:
        return {"kind": kind, "ref": digest, "digest": _sha256(Path(digest).read_bytes())}
    if at and colon:
        return {"kind": kind, "ref": ref, "digest": digest}
    if kind == "receipt" and colon:
        return {"kind": kind, "ref": rest, "digest": _sha256(os.fsencode(rest))}
    raise UsageError(
        "--evidence takes KIND:REF@DIGEST, such as url:https://example.org@sha256:5f2c,"
        " receipt:@FILE or receipt:TEXT"
    )


def _sha256(content: bytes) -> str:
    from hashlib import sha256

    return f"sha256:{sha256(content).hexdigest()}"
