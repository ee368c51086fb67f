"""Commands for the operator, and for inspecting a store."""

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from memstore.cli.application import Registers, commands_of, progress
from memstore.cli.errors import REFUSED, UNREACHABLE, Exit, UsageError
from memstore.cli.output import complain, printable
from memstore.cli.parameters import Argument, Command, Option
from memstore.models import Settings

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


@command("memstore migrate --database-url postgresql://localhost/agents")
def migrate(session: "Session") -> None:
    """Install memstore in the database, or bring it up to date."""
    applied = session.migrate()
    if session.out.as_json:
        session.out.facts({"applied": applied})
    else:
        for name in applied:
            print(f"applied {name}")
        print("The database is up to date.")


@command("memstore verify", "memstore verify --data")
def verify(
    session: "Session",
    data: Annotated[
        bool, Option("--data", help="Check all that is stored instead; for the operator.")
    ] = False,
) -> None:
    """Check that the database is as this version needs it; exit 1 where it isn't."""
    from memstore.cli.verification import check_data, check_database

    checks = list(check_data(session.store) if data else check_database(session.connection))
    session.out.records(
        checks,
        lambda check, _: ("ok" if check.ok else "off", check.name, check.found, check.advice or ""),
        document=asdict,
    )
    if not all(check.ok for check in checks):
        raise Exit(REFUSED)


@command("memstore stats", "memstore stats --json | jq -r 'select(.name == \"dead_rows\")'")
def stats(session: "Session") -> None:
    """Show figures of the store; for the database's owner.

    How many memories there are of each kind, which accounts are nearly full, what waits for an embedding or
    a steward, and how large and how much used tables and indexes are. A ~ stands before an estimate.
    """
    from memstore.cli.statistics import show_statistics

    show_statistics(session.store.store_statistics(), session.out)


@command("memstore accounts")
def accounts(session: "Session") -> None:
    """List the accounts; for the database's owner."""
    _print_accounts(session, None)


def _print_accounts(session: "Session", only: UUID | None) -> None:
    from psycopg.rows import dict_row

    query = (
        "select u.external_ref, u.id, u.live_memories, u.maximum_live_memories, u.stored_items,"
        " coalesce(u.maximum_items, s.maximum_items) as maximum_items, u.steward, u.inserted_at"
        " from memstore.users u cross join memstore.settings s"
        " where u.erased_at is null and u.id = coalesce(%s, u.id) order by u.external_ref, u.id"
    )
    with session.connection.cursor(row_factory=dict_row) as cursor:
        session.out.records(
            cursor.stream(query, [only]),
            lambda row, _: (
                row["external_ref"] or "",
                str(row["id"]),
                f"{row['live_memories']}/{row['maximum_live_memories']}",
                f"{row['stored_items']}/{row['maximum_items']}",
                "steward" if row["steward"] else "",
            ),
            ("account", "id", "live/maximum", "items/maximum", ""),
        )


@command("memstore steward reviewer-1", "memstore steward reviewer-1 --off")
def steward(
    session: "Session",
    name: Annotated[str, Argument(metavar="NAME", help="Your own id of the account.")],
    off: Annotated[bool, Option("--off", help="Unmark it.")] = False,
) -> None:
    """Mark an account as a steward; for the database's owner.

    The account is created where there is none.
    """
    session.account = name
    # In one transaction: a role that may not mark it must not create it either.
    with session.connection.transaction():
        account = session.existing() if off else session.writer()
        session.store.set_steward(account, not off)
    _print_accounts(session, account)


@command("memstore bind agent_7 customer-7")
def bind(
    session: "Session",
    role: Annotated[str, Argument(metavar="ROLE", help="The database role.")],
    name: Annotated[str, Argument(metavar="ACCOUNT", help="Your own id of the account.")],
) -> None:
    """Bind a role to an account, which is then all that it reaches; for the database's owner.

    The account is created where there is none. With the role as its login, memstore and memstore mcp need no
    --account. A role can be bound to several accounts.
    """
    session.account = name
    # In one transaction, as in `steward`.
    with session.connection.transaction():
        session.store.bind_role(role, session.writer())
    _print_roles(session, role)


@command("memstore unbind agent_7", "memstore unbind agent_7 --account customer-7")
def unbind(
    session: "Session", role: Annotated[str, Argument(metavar="ROLE", help="The database role.")]
) -> None:
    """Take back bind, for one account or for all of a role's; for the database's owner."""
    account = session.existing() if session.account_given else None
    session.store.unbind_role(role, user_id=account)
    _print_roles(session, role)


@command("memstore roles")
def roles(session: "Session") -> None:
    """List the roles that may call the API, and the accounts of bound ones; for the database's owner."""
    _print_roles(session, None)


def _print_roles(session: "Session", only: str | None) -> None:
    from memstore.cli.verification import described

    session.out.records(
        [role for role in session.store.list_roles() if only in (None, role.role)],
        lambda role, _: (role.role, described(role)),
        ("role", ""),
        document=asdict,
    )


@command("memstore embed", "memstore embed --model my_package.models:embedder")
def embed(
    session: "Session",
    model: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="The ready model, which is the default; or MODULE:VARIABLE, a memstore.Embedder of yours.",
        ),
    ] = None,
) -> None:
    """Embed the memories without an embedding; for the database's owner.

    They are the live memories of all accounts that have none of this model. It may be stopped at any time,
    and continued by running it again.
    """
    from memstore.cli.embedding import count_unembedded, find_embedder, require_working
    from memstore.embedders import Filled, fill

    embedder = find_embedder(model)
    require_working(embedder)
    session.clean_later(deleted=False)
    done = Filled()
    with progress(lambda: count_unembedded(session.connection, embedder.model)) as advance:

        def show(filled: Filled) -> None:
            nonlocal done
            advance(filled.embedded + filled.skipped - done.embedded - done.skipped)
            done = filled

        fill(session.store, embedder, progress=show)
    session.out.facts({"model": embedder.model, **asdict(done)})
    if done.skipped:
        complain("What was skipped could not be embedded; it is tried again the next time.")
        raise Exit(REFUSED)


@command("memstore rebuild-words", name="rebuild-words")
def rebuild_words(session: "Session") -> None:
    """Make the lexemes of all memories again; for the database's owner.

    For a store that came from another major version of PostgreSQL, whose stemmers made them. Applications go
    on meanwhile. It may be stopped at any time; run again, it reads what is right, and doesn't write it.
    """
    read = rebuilt = 0
    after = None
    session.clean_later(deleted=False)

    def count() -> int:
        ((memories,),) = session.connection.execute("select count(*) from memstore.memories").fetchall()
        return int(memories)

    with progress(count) as advance:
        while True:
            page = session.store.rebuild_words(after=after)
            advance(page.read)
            read += page.read
            rebuilt += page.rebuilt
            if page.last is None:
                break
            after = page.last
    session.out.facts({"read": read, "rebuilt": rebuilt})


@command("memstore settings")
def settings(session: "Session") -> None:
    """Show the settings of the store; for the database's owner."""
    session.out.facts(asdict(session.store.configure()))


@command(
    "memstore configure maximum_attached=6 lexical_floor=0.1",
    "memstore configure --account default maximum_live_memories=5000 maximum_items=20000",
)
def configure(
    session: "Session",
    changes: Annotated[list[str], Argument(metavar="NAME=VALUE...", help="See memstore settings.")],
) -> None:
    """Change settings; for the database's owner.

    maximum_live_memories is for new accounts, maximum_items for those that have none of their own; with
    --account, they are for that account alone, which is created where there is none.
    """
    values = dict(map(_setting, changes))
    if not session.account_given:
        session.out.facts(asdict(session.store.configure(**values)))
        return
    if not values.keys() <= {"maximum_live_memories", "maximum_items"}:
        raise UsageError("of one account, only maximum_live_memories and maximum_items can be set")
    # In one transaction, as in `steward`.
    with session.connection.transaction():
        account = session.writer()
        if "maximum_live_memories" in values:
            session.store.set_maximum_live_memories(account, values["maximum_live_memories"])
        if "maximum_items" in values:
            session.store.set_maximum_items(account, maximum_items=values["maximum_items"])
    _print_accounts(session, account)


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
def demo(session: "Session") -> None:
    """Show the store at work, under an account that is erased at the end."""
    from memstore.cli.demo import run_demo

    session.clean_later()
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
    session: "Session",
    arguments: Annotated[list[str] | None, Argument(metavar="[-- ARGUMENTS]", help="For psql.")] = None,
) -> None:
    """Open psql on the database."""
    import signal
    import subprocess

    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    session.connection.close()  # it was opened to migrate the private database
    session.clean_later()
    program = _find_psql(session)
    parameters = conninfo_to_dict(session.url)
    environment = dict(os.environ)
    if password := parameters.pop("password", None):
        environment["PGPASSWORD"] = str(password)  # other users of the machine can see a command line
    # Not SIG_IGN, which psql would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    result = subprocess.run([program, make_conninfo("", **parameters), *(arguments or [])], env=environment)
    raise Exit(result.returncode if result.returncode >= 0 else 128 - result.returncode)


def _find_psql(session: "Session") -> str:
    """Finds psql: the private server's, else the one on the path, else the wheel's."""
    import shutil

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
    raise Exit(UNREACHABLE)
