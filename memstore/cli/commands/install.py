"""The command that puts memstore into the configuration of an agent's client."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from memstore.cli.application import Registers, commands_of
from memstore.cli.errors import REFUSED, Exit, UsageError
from memstore.cli.output import complain
from memstore.cli.parameters import Argument, Command, Option

if TYPE_CHECKING:
    from memstore.cli.session import Session


_MORE_PACKAGES = "memstore install needs more packages: pip install 'pg-memstore[mcp]'"

COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


@command(
    "memstore install claude-code",
    "memstore install codex --account me",
    "memstore install cursor --project --scope project:x",
    "memstore install claude-code --uninstall",
)
def install(
    session: "Session",
    client: Annotated[str, Argument(metavar="CLIENT", help="claude-code, codex or cursor.")],
    project: Annotated[bool, Option("--project", help="In the files of the project in this folder.")] = False,
    scope: Annotated[
        str | None, Option(metavar="NAME", help="The project, session or agent that memories are for.")
    ] = None,
    uninstall: Annotated[bool, Option("--uninstall", help="Take it out again.")] = False,
    print_: Annotated[bool, Option("--print", help="Print what would be written; write nothing.")] = False,
) -> None:
    """Put memstore into an agent's client: the MCP server, and the hooks that recall.

    Each prompt then carries what is remembered about it, and each session what is remembered for its folder.
    Recall at a prompt is a tool of the server that runs already, so that a prompt that comes before the
    server is connected has the session's note alone; Cursor has no such hook. Other entries of the files stay
    as they are, and a file that can't be read is left alone.

    --account, --scope and --database-url are those of the server. A database's password doesn't belong there:
    keep it in ~/.pgpass, or set MEMSTORE_DATABASE_URL where the client is started. Files of a project name
    the command without its path, so that they hold on every machine.
    """
    from importlib.util import find_spec

    from memstore.cli.clients import CLIENTS
    from memstore.cli.editing import Unreadable
    from memstore.cli.installing import Installation

    if client not in CLIENTS:
        raise UsageError(f"there is no client {client}; there are {', '.join(CLIENTS)}")
    if not uninstall and find_spec("mcp") is None:  # what is written would start a server that can't run
        complain(_MORE_PACKAGES)
        raise Exit(REFUSED)
    program = "memstore" if project else _program()
    entries = CLIENTS[client](Path.cwd() if project else None, program, _options(session, scope))
    try:
        work = Installation(list(entries))
        if print_:
            _show(session, work.show(adding=not uninstall))
            return
        changed = work.uninstall() if uninstall else work.install()
    except ModuleNotFoundError as error:
        if error.name != "tomlkit":
            raise
        complain(_MORE_PACKAGES)
        raise Exit(REFUSED) from None
    except Unreadable as error:
        complain(str(error))
        raise Exit(REFUSED) from None
    if session.out.as_json:
        session.out.facts({"client": client, "changed": changed})
        return
    for file in changed:
        print(f"changed {file}")
    if not changed:
        print("There is nothing to change.")
    elif client == "codex" and not uninstall:
        complain("Codex runs hooks once you trust them: see /hooks in it.")


def _show(session: "Session", shown: dict[str, str]) -> None:
    for file, text in shown.items():
        if session.out.as_json:
            session.out.facts({"file": file, "text": text})
        else:
            print(text if text.startswith("$ ") else f"{file}:\n{text}")


def _program() -> str:
    """Gives the whole path of this command: a client may be started with another PATH."""
    import shutil

    started = Path(sys.argv[0])
    if started.name == "memstore" and started.is_file():
        return str(started.absolute())
    return shutil.which("memstore") or "memstore"


def _options(session: "Session", scope: str | None) -> list[str]:
    options = ["--account", session.account] if session.account_given else []
    options += [] if scope is None else ["--scope", scope]
    if url := session.given_url:
        from psycopg.conninfo import conninfo_to_dict

        if "password" in conninfo_to_dict(session.named_url or ""):
            raise UsageError("--database-url: other users could see the password; keep it in ~/.pgpass")
        options += ["--database-url", url]
    return options
