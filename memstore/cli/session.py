"""One run of the command: its database and its account."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import psycopg

from memstore import schema
from memstore.cli.errors import UsageError
from memstore.cli.output import Output, printable
from memstore.embedded import DATABASE, EmbeddedServer
from memstore.embedders import Embedder, ready
from memstore.errors import (
    SCHEMA_OUTDATED,
    AccessDenied,
    ActorUnknown,
    ChallengeNotFound,
    MemoryNotFound,
    MemstoreError,
    RecordTargetNotFound,
    SchemaOutdated,
)
from memstore.models import Claim, SimilarMemory
from memstore.store import Store
from memstore.wire import PAGE, connection_string

T = TypeVar("T")

DEFAULT_ACCOUNT = "default"

PRIVATE = "private"
"""What names the private database in place of a URL."""

_OTHERS_URL = "DATABASE_URL"  # which applications have for databases of their own
_SHORTEST_ID = 4
_TIMEOUT = 5.0  # seconds for a connection
_PATIENCE = 60.0  # seconds until the private server has a connection left


class Session:
    """What the commands work with. Connections and the private server are opened when they are first used.

    Args:
        database_url: The database, or `private`; where it is left out, the environment's or the private one.
        account: The application's own id of the account; where it is left out, the environment's.
        as_json: Whether to print JSON.
    """

    def __init__(self, database_url: str | None, account: str | None, as_json: bool) -> None:
        self.account_given: bool = account is not None
        # An empty --account stays empty: a script's unset variable must not mean the default account.
        self.named: str | None = os.environ.get("MEMSTORE_ACCOUNT") or None if account is None else account
        self.account: str = DEFAULT_ACCOUNT if self.named is None else self.named
        self.out: Output = Output(as_json)
        self.given_url: str | None = database_url
        self._named_by: str | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes what is open; the private server stops, unless others use it."""
        self._held.close()

    @cached_property
    def named_url(self) -> str | None:
        """The database that was named; None for the private one."""
        if self.given_url == "":  # such as a script's unset variable
            raise UsageError("--database-url is empty")
        named = {"--database-url": self.given_url}
        named |= {name: os.environ.get(name) for name in ("MEMSTORE_DATABASE_URL", _OTHERS_URL)}
        for name, url in named.items():
            if url:
                try:
                    url = None if url == PRIVATE else connection_string(url, _TIMEOUT)
                except ValueError as error:
                    raise UsageError(f"{name}: {error}") from None
                self._named_by = name
                return url
        return None

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Says whose database it was where an application's own variable led to one without memstore."""
        try:
            yield
        except (SchemaOutdated, psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction):
            if self._named_by != _OTHERS_URL or installed(self.connection):
                raise
            raise SchemaOutdated(
                f"${_OTHERS_URL} names the database {self.connection.info.dbname}, which has no memstore.",
                name=SCHEMA_OUTDATED,
                hint=f"Use the private one with --database-url {PRIVATE}, or install it there: memstore"
                " migrate.",
            ) from None

    @cached_property
    def server(self) -> EmbeddedServer | None:
        """The private server, unless another database was named; it runs to the end of the session."""
        return None if self.named_url else self._held.enter_context(EmbeddedServer(keep_connection=True))

    @property
    def url(self) -> str:
        """The database."""
        return self.server.url if self.server else self.named_url or ""

    @cached_property
    def connection(self) -> psycopg.Connection[Any]:
        """A connection; the private server's database is brought up to date first."""
        if self.server:
            connection = _updated(self.server)
        else:
            # Nothing is prepared: a pooler may give the next statement another server connection.
            connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=None)
        self._held.enter_context(closing(connection))
        return connection

    def reach(self) -> str:
        """Has the database up: the private server is started, also again where it has died.

        Returns:
            The URL.
        """
        deadline = time.monotonic() + _PATIENCE
        while self.server:
            try:
                if self.server.connection is None:  # it was entered before
                    self.server.start_again()
                _updated(self.server).close()
                break
            except psycopg.OperationalError:  # it died again
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)
        return self.url

    def is_up(self) -> bool:
        """Tells whether the private server runs, without waiting; another database isn't looked after."""
        return self.server is None or self.server.is_up()

    def clean_later(self, deleted: bool = True) -> None:
        """Has the private server rewrite its tables later, as `EmbeddedServer.clean_later` does."""
        if self.server:
            self.server.clean_later(deleted)

    def migrate(self) -> list[str]:
        """Brings the database up to date.

        Returns:
            The names of the migrations that were applied.
        """
        if self.server:
            with self.server.migrating():
                return _patiently(partial(_migrate_private, self.server.url))
        return schema.migrate(self.url)

    @cached_property
    def own(self) -> UUID | None:
        """The account of a login that `bind_role` bound; None where it isn't bound.

        Raises:
            UsageError: It is bound to several, and none is named; or one is named, and not by its id.
        """
        bound = None if self.server else bound_accounts(self.connection)
        if not bound:
            return None
        if self.named is None:
            if len(bound) == 1:
                return bound[0]
            raise UsageError("this login is bound to several accounts: name one by its id, with --account")
        return own_account(self.named)

    @cached_property
    def store(self) -> Store:
        """The store, which embeds what it can, where the extra for that is installed."""
        return Store(self.connection, embedder=ready(), bound=self.own is not None)

    def patient_store(self, time_limit: float) -> Store:
        """Makes a store that lets the embedder take so many seconds a call."""
        embedder: Embedder | None = ready()
        return Store(
            self.connection,
            embedder=embedder and replace(embedder, time_limit=time_limit),
            bound=self.own is not None,
        )

    def writer(self, language: str = "english") -> UUID:
        """Finds the account, or creates it with this language."""
        return self.own or self.store.create_user(external_ref=self.account, language=language)

    def reader(self) -> UUID | None:
        """Finds the account; None where the default one doesn't exist yet.

        Raises:
            ActorUnknown: There is no such account.
        """
        found = self.own or self.store.find_user(self.account)
        if found is None and self.account != DEFAULT_ACCOUNT:
            raise ActorUnknown(f"There is no account {self.account}.", name="actor_unknown")
        return found

    def existing(self) -> UUID:
        """Finds the account, which must exist even if it is the default one.

        Raises:
            ActorUnknown: There is no such account.
        """
        found = self.reader()
        if found is None:
            raise ActorUnknown(f"There is no account {self.account}.", name="actor_unknown")
        return found

    def similar(self, actor: UUID, body: str, scope: str | None) -> list[SimilarMemory]:
        """Reads what a new memory of this scope may correct; nothing where the role may not."""
        try:
            return self.store.similar_memories(actor, body, scopes=None if scope is None else [scope])
        except AccessDenied:
            return []

    def claims(self, actor: UUID, status: str | None = None, after: UUID | None = None) -> Iterator[Claim]:
        """Reads the live claims, oldest first, a page at a time; for stewards."""
        while True:
            page = self.store.list_claims(actor, status=status, page_size=PAGE, after=after)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].memory.id

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
        nothing = MemoryNotFound("The account has no such memory.", name="memory_not_found")
        if actor is None:
            raise nothing
        return actor, self._named(actor, given, "memory", nothing)

    def find_claim(self, actor: UUID, given: str) -> UUID:
        """Finds the claim that a full id names, or the beginning of one. Stewards find all live claims.

        Raises:
            RecordTargetNotFound: No claim that the account can list is named so.
            MemstoreError: Several are.
            UsageError: It is too short.
        """
        nothing = RecordTargetNotFound("There is no such claim.", name="record_target_not_found")
        return self._named(actor, given, "claim", nothing)

    def find_challenge(self, actor: UUID, given: str) -> UUID:
        """Finds the challenge that a full id names, or the beginning of one: on claims with open challenges.

        Raises:
            ChallengeNotFound: None is named so.
            MemstoreError: Several are.
            UsageError: It is too short.
        """
        nothing = ChallengeNotFound("There is no such challenge.", name="challenge_not_found")
        return self._named(actor, given, "challenge", nothing)

    def _named(self, actor: UUID, given: str, kind: str, nothing: MemstoreError) -> UUID:
        try:
            return UUID(given)
        except ValueError:
            pass
        if len(given) < _SHORTEST_ID:
            raise UsageError(f"an id, or at least its first {_SHORTEST_ID} characters, is needed")
        found = self.store.find_ids(actor, printable(given), kind=kind, page_size=PAGE)
        if not found:
            raise nothing
        if len(found) > 1:
            number = str(len(found)) if len(found) < PAGE else f"{PAGE} or more"
            raise MemstoreError(f"{number} ids begin so.", name="id_ambiguous")
        return found[0]


def own_account(named: str) -> UUID:
    """Reads the account that a bound login names.

    Raises:
        UsageError: It isn't an id.
    """
    with suppress(ValueError):
        return UUID(named)
    raise UsageError("this login is bound to an account: leave --account out, or give the account's id")


def bound_accounts(connection: psycopg.Connection[Any]) -> list[UUID]:
    """Lists the accounts that the connection's role is bound to; none where it isn't, or may not look."""
    may = connection.execute(
        "select from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'memstore' and c.relname = 'account_roles'"
        " and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')"
    )
    if not may.fetchall():
        return []
    return [
        account
        for (account,) in connection.execute(
            "select user_id from memstore.account_roles where role = current_user order by user_id"
        )
    ]


def _updated(server: EmbeddedServer) -> psycopg.Connection[Any]:
    """Gives a connection to the private database, which is brought up to date first."""
    connection, server.connection = server.connection, None
    connect = partial(psycopg.connect, server.url, autocommit=True, prepare_threshold=None)
    connection = connection or _patiently(connect)
    if _is_current(connection, server.started):
        return connection
    # Of many commands at once, those that wait leave the server's connections to the one that migrates.
    connection.close()
    with server.migrating():
        connection = _patiently(connect)
        if not _is_current(connection, server.started):
            _patiently(partial(_migrate_private, server.url))
    return connection


def _is_current(connection: psycopg.Connection[Any], started: bool) -> bool:
    """Tells whether the private database needs no migration; whoever started the server looks closer."""
    if installed(connection) != schema.recorded_checksums() or _is_unset(connection):
        return False
    return not started or len(set(_pgvector(connection))) == 1


def _pgvector(connection: psycopg.Connection[Any]) -> tuple[bool, bool]:
    """Tells whether pgvector is in the database, and whether the server has it."""
    ((there, possible),) = connection.execute(
        "select exists (select from pg_extension where extname = 'vector'),"
        " exists (select from pg_available_extensions where name = 'vector')"
    ).fetchall()
    return there, possible


def _migrate_private(url: str) -> list[str]:
    """Migrates the private database, with pgvector where its server has it."""
    with psycopg.connect(url, autocommit=True) as connection:
        there, possible = _pgvector(connection)
        if there != possible:
            # A server whose pgvector can't be loaded goes on without.
            with suppress(psycopg.Error):
                connection.execute("create extension vector" if possible else "drop extension vector")
        # Noted before, since this process may die between the two.
        if "0019-quiet-notes" not in (installed(connection) or {}):
            connection.execute(f"alter database {DATABASE} set memstore.settings = 'unset'")
    applied = schema.migrate(url)  # which compiles what depends on it
    with psycopg.connect(url) as connection:
        if _is_unset(connection):
            _set_settings(Store(connection))
            connection.execute(f"alter database {DATABASE} reset memstore.settings")
    return applied


def _set_settings(store: Store) -> None:
    """Sets the private store's settings, once: afterwards they are the user's."""
    settings = store.configure()
    if settings.user_floor == 0 and settings.score_share == 0:
        # They act where the ready embedder is, whose measure they are.
        store.configure(user_floor=0.2, score_share=0.4)


def _is_unset(connection: psycopg.Connection[Any]) -> bool:
    """Tells whether a private database has still to get its settings."""
    setting = connection.execute("select current_setting('memstore.settings', true)").fetchone()
    return setting == ("unset",)


def _patiently(work: Callable[[], T]) -> T:
    """Does what needs connections of the private server, of which many commands at once may use up all."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return work()
        except psycopg.OperationalError as error:
            # psycopg has no code of it; the server speaks English.
            if not re.search("too many clients|connection slots", str(error)) or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def installed(connection: psycopg.Connection[Any]) -> dict[str, str | None] | None:
    """Reads what is installed: checksums by migration, and that of the code layer as `sql`.

    Returns:
        None where nothing is installed.
    """
    (there,) = connection.execute("select to_regclass('memstore.deployment')").fetchone() or (None,)
    if not there:
        return None
    query = "select name, checksum from memstore.deployment where name <> 'words'"
    return dict(connection.execute(query))
