"""The command by typer: help texts, completion, and what is wrong with a command line."""

import inspect
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memstore.cli import commands
from memstore.cli.application import SHARED, run_command
from memstore.cli.errors import INTERRUPTED, USAGE, Exit, UsageError, output_closed, reported, with_hint
from memstore.cli.output import complain
from memstore.cli.parameters import Argument, Command, Parameter


class _Group(TyperGroup):
    """A group of commands that reports each error in a line, and exits with a code for its kind."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of the commands, by what they are for."""
        width = max(map(len, self.list_commands(ctx)))
        for title, members in _COMMANDS.items():
            shown = [(each.name, self.get_command(ctx, each.name)) for each in members]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        # The whole first sentence, which goes on in the next line.
                        (name.ljust(width), each.get_short_help_str(limit=200))
                        for name, each in shown
                        if each
                    ]
                )

    def main(self, *args: Any, **options: Any) -> Any:
        """Runs a command and exits."""
        options["standalone_mode"] = False
        run = super().main

        def work() -> int | None:
            try:
                code: int | None = run(*args, **options)
            except typer.Abort:
                return INTERRUPTED
            except Exception as error:
                # An error of typer's in the command line, for which it has no public class.
                if not hasattr(error, "format_message"):
                    raise
                complain(with_hint(_complaint(error), _where_to_look(error)))
                return USAGE
            return code

        sys.exit(reported(work))

    def invoke(self, ctx: Any) -> Any:
        """Runs a command, before typer gives a closed pipe an exit code of its own."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            raise Exit(output_closed()) from None


def _complaint(error: Any) -> str:
    if not hasattr(error, "option_name") or not hasattr(error, "possibilities"):
        return str(error.format_message())
    # Not the option's name where it may be the beginning of a text.
    parameters = error.ctx.command.params if error.ctx else []
    if any(each.metavar in ("TEXT", "GROUND") for each in parameters):
        similar = " or ".join(sorted(error.possibilities or ()))
        meant = f"; did you mean {similar}?" if similar else ";"
        return f"There is no such option{meant} put -- before a text that begins with -."
    return str(error.format_message())


def _where_to_look(error: Any) -> str | None:
    context = getattr(error, "ctx", None)
    return f"See {context.command_path} --help." if context else None


app: typer.Typer = typer.Typer(
    cls=_Group,
    epilog="Without a database URL, memstore keeps a private PostgreSQL in your data directory.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)


def _typed(parameter: Parameter) -> inspect.Parameter:
    """Describes a parameter to typer."""
    kind, described = parameter.kind, parameter.described
    info: Any
    if isinstance(described, Argument):
        kind = typer.FileBinaryRead if described.file else kind
        info = typer.Argument(metavar=described.metavar, help=described.help)
    else:
        info = typer.Option(*described.flags, **described.settings)
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=parameter.default,
        annotation=Annotated[kind, info],
    )


_CONTEXT = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)


def _give_signature(function: Any, parameters: list[Parameter]) -> None:
    signature = inspect.Signature([_CONTEXT, *map(_typed, parameters)])
    function.__signature__ = signature
    function.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"memstore {version('pg-memstore')}")
        raise typer.Exit


def _register_group() -> None:
    def memstore(ctx: typer.Context, version: bool, **shared: Any) -> None:
        """The memory of AI agents, in a PostgreSQL database that owns its rules."""
        ctx.obj = shared
        if ctx.invoked_subcommand is None:
            print(ctx.get_help())

    _give_signature(memstore, SHARED)
    version = inspect.Parameter(
        "version",
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=False,
        annotation=Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
        ],
    )
    signature = inspect.signature(memstore)
    memstore.__signature__ = signature.replace(parameters=[*signature.parameters.values(), version])  # type: ignore[attr-defined]
    memstore.__annotations__["version"] = version.annotation
    app.callback()(memstore)


def _register(command: Command) -> None:
    def run(ctx: typer.Context, **arguments: Any) -> None:
        if ctx.args:
            raise UsageError("there are too many arguments; a text of several words goes in quotes")
        mine = {each.name: arguments.pop(each.name) for each in SHARED}
        run_command(command, ctx.obj, mine, arguments)

    _give_signature(run, [*command.parameters, *SHARED])
    shown = "".join(f"\n  {example}" for example in command.examples)
    settings = dict(command.settings)
    # Refused above, since click's message would quote them, and they may be of a private text.
    context_settings = {"allow_extra_args": True, **settings.pop("context_settings", {})}
    app.command(
        command.name,
        help=f"{inspect.getdoc(command.function)}\n\n\b\nExamples:{shown}",
        context_settings=context_settings,
        **settings,
    )(run)


_COMMANDS = commands.all_commands()
_register_group()
for _members in _COMMANDS.values():
    for _command in _members:
        _register(_command)
