"""What the commands of `memstore` share: registration, options, and reading and printing."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from memstore.cli.errors import ErrorReportingGroup, UsageError
from memstore.models import Evidence

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session

P = ParamSpec("P")
T = TypeVar("T")

app: typer.Typer = typer.Typer(
    cls=ErrorReportingGroup,
    epilog="Without a database URL, memstore keeps a private PostgreSQL in your data directory.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)

# Options of every command, before or after its name.
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The database; else $MEMSTORE_DATABASE_URL, else $DATABASE_URL, else the private one.",
    ),
]
Account = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Whose memories: your own id of the account; else $MEMSTORE_ACCOUNT, else default.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one document a line.")]

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters.")]
Bucket = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="user: somebody said it; learned: a job found it out.",
        autocompletion=lambda: ["user", "learned"],
    ),
]
Source = Annotated[str | None, typer.Option(metavar="NAME", help="Which work taught it.")]
Language = Annotated[
    str | None, typer.Option(metavar="NAME", help="Its language, such as english or simple.")
]
Ground = Annotated[str, typer.Argument(metavar="GROUND", help="Why; - reads it from standard input.")]
ClaimId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The claim's id; its first characters do for its author and for stewards."
    ),
]
EvidenceRefs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND:REF@DIGEST",
        help="A receipt, memory or url, with its digest after the last @; or a JSON object with"
        " kind, ref and digest. Repeatable.",
    ),
]
AsOf = Annotated[
    datetime | None,
    typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="For which day it holds; today if left out."),
]
Entity = Annotated[str | None, typer.Option(metavar="NAME", help="What it is about.")]
Limit = Annotated[
    int | None, typer.Option(metavar="NUMBER", min=1, max=sys.maxsize, help="The most to list.")
]
NewId = Annotated[str | None, typer.Option("--id", metavar="UUID", help="Its id: makes a retry safe.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"memstore {version('pg-memstore')}")
        raise typer.Exit


@app.callback()
def memstore(
    ctx: typer.Context,
    database_url: DatabaseUrl = None,
    account: Account = None,
    as_json: AsJson = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The memory of AI agents, in a PostgreSQL database that owns its rules."""
    ctx.obj = (database_url, account, as_json)
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


_SHARED = [
    parameter
    for name, parameter in inspect.signature(memstore).parameters.items()
    if name in ("database_url", "account", "as_json")
]


def command(
    *examples: str, name: str | None = None, **settings: Any
) -> "Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]":
    """Makes a function a command, with the session as its first argument, and with the shared options.

    Args:
        examples: For the help text.
        name: The command's name, if not the function's.
        settings: Typer's own.
    """

    def register(
        function: "Callable[Concatenate[Session, P], None]",
    ) -> "Callable[Concatenate[Session, P], None]":
        def run(ctx: typer.Context, **arguments: Any) -> None:
            from memstore.cli.session import Session

            if ctx.args:
                raise UsageError("there are too many arguments; a text of several words goes in quotes")
            own = [arguments.pop(shared.name) for shared in _SHARED]
            # An option after the command's name overrides the same before it, even with an empty value.
            given = (
                before if mine in (None, False) else mine for mine, before in zip(own, ctx.obj, strict=True)
            )
            with Session(*given) as session:
                function(session, **arguments)  # type: ignore[call-arg]

        (_, *parameters) = inspect.signature(function).parameters.values()
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        signature = inspect.Signature([context, *parameters, *_SHARED])
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        shown = "".join(f"\n  {example}" for example in examples)
        # Refused above, since click's message would quote them, and they may be of a private text.
        context_settings = {"allow_extra_args": True, **settings.pop("context_settings", {})}
        app.command(
            name or function.__name__,
            help=f"{inspect.getdoc(function)}\n\n\b\nExamples:{shown}",
            context_settings=context_settings,
            **settings,
        )(run)
        return function

    return register


def read_text(text: str) -> str:
    """Gives a text; for - it reads standard input."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise UsageError("standard input isn't UTF-8")


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
    if not (colon and at):
        raise UsageError("--evidence takes KIND:REF@DIGEST, such as url:https://example.org@sha256:5f2c")
    return {"kind": kind, "ref": ref, "digest": digest}
