"""The command that an agent's client starts: an MCP server."""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

from memstore.cli.application import Registers, commands_of
from memstore.cli.errors import REFUSED, Exit
from memstore.cli.output import complain
from memstore.cli.parameters import Command, Option

if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


@command(
    "memstore mcp --account me",
    "claude mcp add memory -- memstore mcp --account me --scope project:x",
)
def mcp(
    session: "Session",
    claims: Annotated[
        bool, Option("--claims", help="Also the tools that propose and challenge shared claims.")
    ] = False,
    scope: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The project, session or agent that memories are for; those of others aren't read.",
        ),
    ] = None,
) -> None:
    """Serve the memories of one account to an agent, by the Model Context Protocol on stdin and stdout.

    The client starts it; put its command and arguments into the client's configuration, with the full path
    of memstore where the client doesn't find it. The tools are remember, correct, forget, list, search,
    recall and history; with --claims also propose, challenge and records. None of them names an account or a
    scope: two are two entries of the configuration. With a login that memstore bind bound to an account,
    --account is left out, and the agent can reach no other account.

    A database's URL with a password is better given as MEMSTORE_DATABASE_URL, in the entry's env, than as an
    argument, which other users of the machine can see. Without one, servers and commands of one user share
    the private PostgreSQL, which ends with the last of them.

    --claims is off unless it is asked for, since what these tools write is for all accounts to see, and can't
    be taken back.
    """
    import signal

    from memstore.embedders import ready
    from memstore.mcp_server.database import Attempt, LoginStore, PrivateStore

    def end(number: int, _: object) -> None:
        # Not by an exception: a thread that waits for standard input would keep the process alive.
        session.close()
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)

    # The private server starts while the rest is imported, and while the client is answered.
    url = session.named_url
    make_store: Callable[[], LoginStore | PrivateStore]
    if url is None:
        first = Attempt(session)
        make_store = lambda: PrivateStore(session, first, ready())  # noqa: E731
    else:
        make_store = partial(LoginStore, url, session.named, ready())
    try:
        from memstore.mcp_server.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "pydantic", "anyio"):
            raise
        complain("memstore mcp needs more packages: pip install 'pg-memstore[mcp]'")
        raise Exit(REFUSED) from None
    serve(make_store, session.account, claims, scope)
