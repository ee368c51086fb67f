"""Commands for memories over HTTP: the server, the pages, and the tokens that reach them."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from memstore.cli.application import Registers, commands_of
from memstore.cli.errors import REFUSED, Exit, UsageError
from memstore.cli.output import age, complain
from memstore.cli.parameters import Argument, Command, Option

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)

Port = Annotated[int, Option(metavar="NUMBER", min=0, max=65535, help="The port; 0: any that is free.")]


@command(
    "memstore serve",
    "memstore serve --host 0.0.0.0 --public-url https://memory.example.org",
)
def serve(
    session: "Session",
    host: Annotated[str, Option(metavar="ADDRESS", help="The address to listen at.")] = "127.0.0.1",
    port: Port = 8765,
    public_url: Annotated[
        str | None,
        Option(metavar="URL", help="The URL of the proxy before it."),
    ] = None,
) -> None:
    """Serve memories over HTTP: to agents by the Model Context Protocol, to people as pages.

    Agents reach the tools of memstore mcp at /mcp, with a token that memstore token made: it names the
    account, and its scopes say which tools are there. People open their memories by a link: see memstore web,
    and the function create_login. /healthz says that it runs; /metrics has the store's figures, for a token
    with the scope operator.

    Beyond this machine it needs a proxy before it, which has the certificate and waits for slow clients, and
    the URL of that as --public-url. The database's login needs no more than grant_serve gives.
    """
    _run(session, host, port, public_url)


@command("memstore web", "memstore web --account customer-7")
def web(
    session: "Session",
    port: Port = 0,
    no_browser: Annotated[bool, Option("--no-browser", help="Print the link, and open no browser.")] = False,
) -> None:
    """Open the memories in the browser: search, correct, forget, and see what recall would say.

    It serves the pages on this machine alone, until it is stopped. The link works once.
    """
    _run(session, "127.0.0.1", port, None, _login, browser=not no_browser)


def _login(session: "Session") -> str:
    """Makes a login with all scopes that the account can have; of no operator where the role isn't one."""
    from memstore.errors import AccessDenied

    actor = session.writer()
    scopes = ["recall", "remember", "forget", "claims", "operator"]
    scopes += ["steward"] if session.store.get_user(actor).steward else []
    try:
        made = session.store.create_token(
            actor, "memstore web", scopes=scopes, lifetime=timedelta(minutes=10), kind="login"
        )
    except AccessDenied:
        made = session.store.create_login(actor)
    return made.token


def _run(
    session: "Session",
    host: str,
    port: int,
    public_url: str | None,
    login: "Callable[[Session], str] | None" = None,
    *,
    browser: bool = False,
) -> None:
    try:
        from memstore.serve.server import listen
        from memstore.serve.server import serve as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "memstore":
            raise
        complain("this command needs more packages: pip install 'pg-memstore[serve]'")
        raise Exit(REFUSED) from None
    from memstore.aio import AsyncStore
    from memstore.embedders import ready
    from memstore.mcp_server.database import Attempt, PrivateStore
    from memstore.serve.address import Address

    try:
        Address(host, port, public_url)  # before anything is opened
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        opened = listen(host, port)
    except OSError as error:
        raise UsageError(f"{host}:{port} can't be listened at: {error.strerror}") from None
    address = Address(host, opened.getsockname()[1], public_url)
    secret = None if login is None else login(session)  # once nothing is in its way

    def make_store() -> AsyncStore | PrivateStore:
        if session.named_url is None:
            return PrivateStore(session, Attempt(session), ready())
        # A store that is away is told soon, and not each request waits for it.
        return AsyncStore(session.named_url, timeout=2.0, call_timeout=10.0, embedder=ready())

    with ExitStack() as stack:

        def started() -> None:
            if secret is None:
                session.out.facts({"url": address.url})
            else:
                _open(f"{address.url}/login?code={secret}", browser, stack)
            sys.stdout.flush()

        run(make_store, address, opened, started)


def _open(link: str, browser: bool, stack: ExitStack) -> None:
    """Opens a link by a file, since other users of the machine can see a program's arguments."""
    import webbrowser
    from tempfile import NamedTemporaryFile

    if browser:
        page = stack.enter_context(NamedTemporaryFile("w", suffix=".html"))  # noqa: SIM115
        page.write(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={link}">')
        page.flush()
        if webbrowser.open(f"file://{page.name}"):
            print("Your memories are open in the browser, as long as this runs. Ctrl-C ends it.")
            print("If no page has come up: --no-browser prints the link.")
            return
    print(link)


@command(
    "memstore token create laptop",
    "memstore token create reader --scope recall --days 30 --account customer-7",
    "memstore token list",
    "memstore token revoke 6f1d2a90-2f9c-4a51-9b43-7d0c5f6a1e08",
)
def token(
    session: "Session",
    action: Annotated[str, Argument(metavar="ACTION", help="create, list or revoke.")],
    name: Annotated[
        str | None, Argument(metavar="NAME", help="What a new token is called; of one to revoke the id.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        Option(
            metavar="SCOPE",
            help="What a new one allows: recall, remember, forget, claims, steward or operator. Repeatable;"
            " recall and remember if left out.",
            autocompletion=lambda: ["recall", "remember", "forget", "claims", "steward", "operator"],
        ),
    ] = None,
    days: Annotated[int, Option(metavar="NUMBER", min=1, max=36_500, help="After how many it ends.")] = 90,
) -> None:
    """Make, list and revoke the tokens by which agents reach an account over HTTP.

    A new one is printed this once; the database has its SHA-256 alone. Making one is for the database's
    owner. One that is revoked ends with its next request.
    """
    match action, name:
        case "create", str():
            made = session.store.create_token(
                session.writer(), name, scopes=scope or ("recall", "remember"), lifetime=timedelta(days=days)
            )
            if session.out.as_json:
                session.out.facts(asdict(made))
            else:
                print(made.token)
        case "list", None:
            actor = session.reader()
            session.out.records(
                session.store.list_tokens(actor) if actor else [],
                lambda each, pretty: (
                    str(each.id),
                    each.kind,
                    ",".join(each.scopes),
                    "revoked" if each.revoked_at else f"ends {each.expires_at:%Y-%m-%d}",
                    age(each.last_used_at) if each.last_used_at else "never used",
                    each.name,
                ),
                ("id", "kind", "scopes", "", "", "name"),
                document=asdict,
            )
        case "revoke", str():
            try:
                id = UUID(name)
            except ValueError:
                raise UsageError("a token is revoked by its id, which memstore token list shows") from None
            session.store.revoke_token(session.existing(), id)
        case _:
            raise UsageError(
                "it is memstore token create NAME, memstore token list or memstore token revoke ID"
            )
