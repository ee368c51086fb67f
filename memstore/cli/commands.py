"""The commands of `memstore`: one function each."""

import inspect
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Concatenate, ParamSpec
from uuid import UUID

import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from memstore.cli.output import complain, printable
from memstore.cli.session import REFUSED, UNREACHABLE, Commands, Session, UsageError, tell
from memstore.models import Memory, Recall, Settings

P = ParamSpec("P")

app = typer.Typer(
    cls=Commands,
    epilog="Without a database URL, memstore keeps a private PostgreSQL in your data directory.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)

# What every command takes, before or behind its name.
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
    str | None, typer.Option(metavar="NAME", help="How its words are read, such as english or simple.")
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
) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[Concatenate[Session, P], None]]:
    """Makes a function a command: its first argument becomes the session, and the shared options are added.

    Args:
        examples: For the help text.
        name: The command's name, if not the function's.
        settings: Typer's own.
    """

    def register(
        function: Callable[Concatenate[Session, P], None],
    ) -> Callable[Concatenate[Session, P], None]:
        def run(ctx: typer.Context, **arguments: Any) -> None:
            own = [arguments.pop(shared.name) for shared in _SHARED]
            with Session(*(mine or before for mine, before in zip(own, ctx.obj, strict=True))) as session:
                function(session, **arguments)  # type: ignore[call-arg]

        (_, *parameters) = inspect.signature(function).parameters.values()
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        signature = inspect.Signature([context, *parameters, *_SHARED])
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        shown = "".join(f"\n  {example}" for example in examples)
        app.command(
            name or function.__name__, help=f"{inspect.getdoc(function)}\n\n\b\nExamples:{shown}", **settings
        )(run)
        return function

    return register


# Memories.


def _read(text: str) -> str:
    """Gives a text, or for - what standard input has."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise UsageError("standard input isn't UTF-8")


@command(
    "memstore remember 'I use pnpm, not npm.'",
    "git log -1 --format=%s | memstore remember - --bucket learned --source 'git log'",
)
def remember(
    session: Session,
    text: Text,
    bucket: Bucket = "user",
    source: Source = None,
    language: Language = None,
    id: NewId = None,
) -> None:
    """Remember one thing."""
    body = _read(text)
    memory = session.store.insert_memory(
        session.writer(), body, bucket=bucket or "", source_ref=source, language=language, id=id
    )
    session.out.memory(memory, "remembered")


@command("memstore correct 6f1d2a90 'I use pnpm 9, not npm.'")
def correct(
    session: Session,
    id: Id,
    text: Text,
    bucket: Bucket = None,
    source: Source = None,
    language: Language = None,
    new_id: NewId = None,
) -> None:
    """Correct a memory: a new one supersedes it."""
    body = _read(text)
    actor, target = session.find(id)
    memory = session.store.supersede_memory(
        actor, target, body, bucket=bucket, source_ref=source, language=language, id=new_id
    )
    session.out.memory(memory, "corrected")


@command("memstore forget 6f1d2a90")
def forget(session: Session, id: Id) -> None:
    """Forget a memory: it is deleted, for good."""
    session.out.memory(session.store.delete_memory(*session.find(id)), "forgot")


@command("memstore list", "memstore list --all --json | jq -r .body", name="list")
def list_(
    session: Session,
    bucket: Bucket = None,
    superseded: Annotated[bool, typer.Option("--all", help="Also those that were superseded.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="NUMBER", min=1, help="So many at most.")] = None,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those that this memory comes before.")
    ] = None,
) -> None:
    """List the memories, newest first."""
    if after is None:
        actor, start = session.reader(), None
    else:
        actor, start = session.find(after)
    memories = (
        session.memories(actor, bucket=bucket, superseded=superseded, after=start) if actor else iter(())
    )
    last: list[Memory] = []

    def shown() -> Iterator[Memory]:
        for memory in islice(memories, limit):
            last[:] = [memory]
            yield memory

    session.out.memories(shown())
    if not last:
        session.out.remark("There are no memories.")
    elif next(memories, None):
        complain(f"There are more: go on with --after {last[0].id}")


@command("memstore show 6f1d2a90")
def show(session: Session, id: Id) -> None:
    """Show all of one memory."""
    session.out.facts(asdict(session.store.get_memory(*session.find(id))))


@command("memstore history 6f1d2a90")
def history(session: Session, id: Id) -> None:
    """Show what a memory superseded and what superseded it, oldest first."""
    session.out.memories(session.store.memory_history(*session.find(id)))


@command("memstore recall 'Install the dependencies.'", "memstore recall - --max 3 --json < turn.txt")
def recall(
    session: Session,
    turn: Text,
    maximum: Annotated[
        int | None, typer.Option("--max", metavar="NUMBER", help="So many memories at most.")
    ] = None,
    characters: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="So many characters of bodies at most.")
    ] = None,
) -> None:
    """Tell what a model is to be told before a turn."""
    query = _read(turn)
    actor = session.reader()
    answer = Recall(backend="none")
    if actor is not None:
        answer = session.store.recall(
            actor, query, maximum_attached=maximum, maximum_attached_characters=characters, strict=True
        )
    if session.out.as_json:
        session.out.facts(asdict(answer))
    elif answer.note is not None:
        print(answer.note)  # in which the database has left nothing that could steer a terminal
    else:
        session.out.remark("There is nothing to tell.")


@command(
    "memstore import memories.jsonl",
    """echo '{"body": "I use pnpm.", "id": "8e2f5c0e-7d0f-4f0e-9d5e-0c4b6f1f2a77"}' | memstore import -""",
    name="import",
)
def import_(
    session: Session,
    file: Annotated[
        typer.FileBinaryRead, typer.Argument(metavar="FILE", help="JSON Lines; - reads standard input.")
    ],
    batch: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Lines that are written together, or not at all.")
    ] = 1000,
) -> None:
    """Remember what a file has: a JSON object a line.

    Its keys are body and, where wanted, bucket, source_ref, language, id and the other arguments of
    insert_memory. A line that has an id can be imported again.
    """
    from memstore.cli.importing import Import, LineRefused

    actor = session.writer()
    [(started,)] = session.connection.execute("select clock_timestamp()").fetchall()
    work = Import(session.store, actor, started)
    try:
        with _progress(file) as advance:
            for size in work.run(file, batch):
                advance(size)
    except LineRefused as refused:
        code = tell(refused.refusal, f"{refused.where}: ")
        complain(f"Nothing of that batch is kept. Before it, {work.imported} memories were imported.")
        raise typer.Exit(code) from None
    session.out.facts({"imported": work.imported, "already_there": work.already_there})


@contextmanager
def _progress(file: IO[bytes]) -> Iterator[Callable[[int], None]]:
    """Shows how many bytes of a file are done, at a terminal."""
    if not sys.stderr.isatty():
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    size = os.fstat(file.fileno()).st_size or None  # a pipe has none
    bar = Progress(BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True))
    with bar:
        task = bar.add_task("", total=size)
        yield lambda size: bar.advance(task, size)


# The operator's.


@command("memstore migrate --database-url postgresql://localhost/memory")
def migrate(session: Session) -> None:
    """Install memstore in the database, or bring it up to date."""
    from memstore.schema import migrate

    applied = migrate(session.url)
    if session.out.as_json:
        session.out.facts({"applied": applied})
    else:
        for name in applied:
            print(f"applied {name}")
        print("The database is up to date.")


@command("memstore verify")
def verify(session: Session) -> None:
    """Check that the database is as this version needs it; exit 1 where it isn't."""
    from memstore.cli.checks import check_database

    checks = list(check_database(session.connection))
    session.out.records(
        checks,
        lambda check, _: ("ok" if check.ok else "off", check.name, check.found, check.advice or ""),
        document=asdict,
    )
    if not all(check.ok for check in checks):
        raise typer.Exit(REFUSED)


@command("memstore accounts")
def accounts(session: Session) -> None:
    """List the accounts; for the database's owner."""
    _print_accounts(session, None)


def _print_accounts(session: Session, only: UUID | None) -> None:
    query = (
        "select external_ref, id, live_memories, maximum_live_memories, steward, inserted_at"
        " from memstore.users where erased_at is null and id = coalesce(%s, id) order by external_ref, id"
    )
    with session.connection.cursor(row_factory=dict_row) as cursor:
        session.out.records(
            cursor.stream(query, [only]),
            lambda row, _: (
                row["external_ref"] or "",
                str(row["id"]),
                f"{row['live_memories']}/{row['maximum_live_memories']}",
                "steward" if row["steward"] else "",
            ),
            ("account", "id", "live/maximum", ""),
        )


@command("memstore settings")
def settings(session: Session) -> None:
    """Show the settings of the store; for the database's owner."""
    session.out.facts(asdict(session.store.configure()))


@command(
    "memstore configure maximum_attached=6 lexical_floor=0.1",
    "memstore configure --account default maximum_live_memories=5000",
)
def configure(
    session: Session,
    changes: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="See memstore settings.")],
) -> None:
    """Change settings; for the database's owner.

    maximum_live_memories is for new accounts; with --account, it is for that account alone.
    """
    values = dict(map(_setting, changes))
    if not session.account_given:
        session.out.facts(asdict(session.store.configure(**values)))
        return
    if values.keys() != {"maximum_live_memories"}:
        raise UsageError("of one account, only maximum_live_memories can be set")
    actor = session.writer()
    session.store.set_maximum_live_memories(actor, **values)
    _print_accounts(session, actor)


def _setting(change: str) -> tuple[str, Any]:
    name, _, value = change.partition("=")
    kinds = {each.name: each.type for each in fields(Settings)}
    if name not in kinds:
        raise UsageError(f"there is no setting {name}; there are {', '.join(kinds)}")
    try:
        if kinds[name] is bool:
            return name, {"true": True, "on": True, "false": False, "off": False}[value.lower()]
        return name, (int if kinds[name] is int else float)(value)
    except (ValueError, KeyError):
        pass
    raise UsageError(f"{name} takes {'true or false' if kinds[name] is bool else 'a number'}")


@command("memstore demo")
def demo(session: Session) -> None:
    """Show the store at work, under an account that is erased again."""
    from memstore.cli.demo import run_demo

    for step in run_demo(session.connection):
        if session.out.as_json:
            session.out.facts(asdict(step))
            continue
        print(f"# {step.about}")
        if step.command:
            print(f"$ {step.command}")
        print(step.sql)
        for row in step.rows:
            lines = "  ".join(str(value) for value in row.values()).splitlines()
            print(*(f"    {printable(line)}" for line in lines), sep="\n")
        print()


@command(
    "memstore psql",
    "memstore psql -- -c 'select * from memstore.list_rules()'",
    context_settings={"ignore_unknown_options": True},
)
def psql(
    session: Session,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENTS]", help="For psql.")] = None,
) -> None:
    """Open psql on the database."""
    session.connection.close()  # having brought the private database up to date
    program = _find_psql(session)
    parameters = conninfo_to_dict(session.url)
    environment = dict(os.environ)
    if password := parameters.pop("password", None):
        environment["PGPASSWORD"] = str(password)  # a command line can be seen by all
    # Not ignored: psql would inherit that.
    signal.signal(signal.SIGINT, lambda *_: None)
    result = subprocess.run([program, make_conninfo("", **parameters), *(arguments or [])], env=environment)
    raise typer.Exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)


def _find_psql(session: Session) -> str:
    """Finds psql: the private server's own, else the one of the path, else the wheel's."""
    from memstore.embedded import EmbeddedServerError, find_binaries

    if session.server and (session.server.binaries / "psql").exists():
        return str(session.server.binaries / "psql")
    if found := shutil.which("psql"):
        return found
    try:
        own = find_binaries() / "psql"
    except EmbeddedServerError:
        own = Path()
    if own.is_file():
        return str(own)
    complain("There is no psql: install PostgreSQL's client programs.")
    raise typer.Exit(UNREACHABLE)
