"""One run of the command: which database, which account, and how its failures are told."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from functools import cached_property
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg
import typer
from typer.core import TyperGroup

from memstore.cli.output import Output, complain
from memstore.embedded import EmbeddedServer, EmbeddedServerError
from memstore.errors import ActorUnknown, MemoryNotFound, MemstoreError, StoreUnavailable, translate
from memstore.models import Memory
from memstore.store import Store
from memstore.wire import connection_string

DEFAULT_ACCOUNT = "default"
REFUSED, USAGE, UNREACHABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141

# Where there is more to say than the database's hint, in the words of the command.
_HINTS = {
    "argument_invalid": "See --help.",
    "id_ambiguous": "Give more of the id.",
    "memory_not_found": "See memstore list --all.",
    "quota_reached": "Correct or forget a memory, or raise the ceiling: "
    "memstore configure --account NAME maximum_live_memories=NUMBER.",
}
_PAGE = 200
_SHORTEST_ID = 4
_TIMEOUT = 5.0  # seconds for a connection


class UsageError(Exception):
    """The command line can't be followed; the message says why."""


class Session:
    """What the commands work with; connections and the private server are made when first asked for.

    Args:
        database_url: The database; where it is left out, the environment's or the private one.
        account: The application's own id of the account; where it is left out, the environment's.
        as_json: Whether to print JSON.
    """

    def __init__(self, database_url: str | None, account: str | None, as_json: bool) -> None:
        self.account_given = account is not None
        self.account = account or os.environ.get("MEMSTORE_ACCOUNT") or DEFAULT_ACCOUNT
        self.out = Output(as_json)
        self._given_url = database_url
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._held.close()

    @cached_property
    def _named_url(self) -> str | None:
        named = {"--database-url": self._given_url}
        named |= {name: os.environ.get(name) for name in ("MEMSTORE_DATABASE_URL", "DATABASE_URL")}
        for name, url in named.items():
            if url:
                try:
                    return connection_string(url, _TIMEOUT)
                except ValueError as error:
                    raise UsageError(f"{name}: {error}") from None
        return None

    @cached_property
    def server(self) -> EmbeddedServer | None:
        """The private server, unless another database was named; it runs to the end of the session."""
        return None if self._named_url else self._held.enter_context(EmbeddedServer())

    @cached_property
    def url(self) -> str:
        """The database."""
        return self.server.url if self.server else self._named_url or ""

    @cached_property
    def connection(self) -> psycopg.Connection[Any]:
        """A connection; the private server's database is brought up to date first."""
        connection = psycopg.connect(self.url, autocommit=True)
        self._held.enter_context(closing(connection))
        if self.server and installed(connection) != shipped():
            from memstore import schema

            schema.migrate(self.url)
        return connection

    @cached_property
    def store(self) -> Store:
        """The store."""
        return Store(self.connection)

    def writer(self) -> UUID:
        """Finds the account, or makes it."""
        return self.store.create_user(external_ref=self.account)

    def reader(self) -> UUID | None:
        """Finds the account; the default one need not be there yet.

        Raises:
            ActorUnknown: There is no such account.
        """
        found = self.store.find_user(self.account)
        if found is None and self.account != DEFAULT_ACCOUNT:
            raise ActorUnknown(f"There is no account {self.account}.", name="actor_unknown")
        return found

    def memories(
        self, actor: UUID, *, bucket: str | None = None, superseded: bool = False, after: UUID | None = None
    ) -> Iterator[Memory]:
        """Reads an account's memories, newest first, a page at a time."""
        while True:
            page = self.store.list_memories(
                actor, bucket=bucket, include_superseded=superseded, page_size=_PAGE, after=after
            )
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def find(self, given: str) -> tuple[UUID, UUID]:
        """Finds the memory that a full id, or the beginning of one, names.

        Returns:
            The account, and the memory's id.

        Raises:
            MemoryNotFound: No memory of the account is named so.
            MemstoreError: Several are.
            UsageError: It is too short.
        """
        actor = self.reader()
        if actor is None:
            raise MemoryNotFound("The account has no such memory.", name="memory_not_found")
        with suppress(ValueError):
            return actor, UUID(given)
        if len(given) < _SHORTEST_ID:
            raise UsageError(f"an id, or at least its first {_SHORTEST_ID} characters, is needed")
        ids = (memory.id for memory in self.memories(actor, superseded=True))
        found = [id for id in ids if str(id).startswith(given.lower())]
        if len(found) == 1:
            return actor, found[0]
        if found:
            raise MemstoreError(f"The ids of {len(found)} memories begin so.", name="id_ambiguous")
        raise MemoryNotFound("The account has no such memory.", name="memory_not_found")


def installed(connection: psycopg.Connection[Any]) -> dict[str, str | None] | None:
    """Reads what the database has: checksums by migration, and that of the code layer as `sql`.

    Returns:
        None where nothing is installed.
    """
    (there,) = connection.execute("select to_regclass('memstore.deployment')").fetchone() or (None,)
    return dict(connection.execute("select name, checksum from memstore.deployment")) if there else None


def shipped() -> dict[str, str]:
    """Reads what this package would install, in the same form."""
    import json

    from memstore import schema

    _, code, _, migrations, _ = schema.digest_sql().split("'")
    return {"sql": code, **json.loads(migrations)}


class Commands(TyperGroup):
    """The commands, with one line for each thing that goes wrong, and the exit code that tells which."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Runs a command and ends the process."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except MemstoreError as error:
            code = tell(error)
        except psycopg.Error as error:
            code = tell(translate(error))
        except EmbeddedServerError as error:
            complain(str(error))
            code = UNREACHABLE
        except UsageError as error:
            complain(str(error))
            code = USAGE
        except OSError as error:
            complain(": ".join(str(part) for part in (error.filename, error.strerror) if part))
            code = REFUSED
        except Exception as error:
            # What typer says of a command line; it has no public class for that.
            if not hasattr(error, "format_message"):
                raise
            complain(error.format_message())
            code = USAGE
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command whose reader may leave before the end."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # What is still buffered has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None


def tell(error: MemstoreError | psycopg.Error, where: str = "") -> int:
    """Prints a refusal: a line for each broken rule, or one line with what to do about it.

    Args:
        error: The refusal.
        where: What each line begins with.

    Returns:
        The exit code.
    """
    broken = error.violations if isinstance(error, MemstoreError) else ()
    if len(broken) > 1:
        for violation in broken:
            complain(f"{where}{violation.message}")
    elif isinstance(error, MemstoreError) and not broken:
        hint = _HINTS.get(error.name, error.hint)
        if error.name == "argument_invalid" and error.field:
            where += f"{error.field}: "
        complain(f"{where}{error} {hint}" if hint else f"{where}{error}")
    else:
        complain(f"{where}{error}")
    return UNREACHABLE if isinstance(error, StoreUnavailable) else REFUSED
