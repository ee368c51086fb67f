"""The checks of `memstore verify`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors as driver

from memstore.cli.session import installed
from memstore.errors import MemstoreError
from memstore.models import Role
from memstore.schema import altered_objects, checksums
from memstore.store import Store

_MIGRATE = "Run memstore migrate."
_ALTERED = (
    "If nobody can say why: psql -f sql/install.sql makes functions, views and triggers again; undo the"
    " rest, or restore the data into a new store."
)


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        name: What was checked.
        ok: Whether it is as it should be.
        found: What was found.
        advice: What to do where it isn't ok.
    """

    name: str
    ok: bool
    found: str
    advice: str | None = None


def check_database(connection: psycopg.Connection[Any]) -> Iterator[Check]:
    """Checks a database, without changing it."""
    version = connection.info.server_version
    yield _check("server", version >= 150000, _version(version), "Use PostgreSQL 15 or newer.")
    encoding = connection.info.parameter_status("server_encoding") or "unknown"
    advice = "Create a database with: create database agents encoding 'UTF8' template template0."
    yield _check("encoding", encoding == "UTF8", encoding, advice)
    try:
        there = installed(connection) or {}
    except driver.InsufficientPrivilege:
        yield Check("migrations", False, "this role may not read what is installed", "Verify as the owner.")
    else:
        migrations = _check_migrations(there)
        yield migrations
        code = there.get("sql")
        ours = checksums()["sql"]
        found = "as in this package" if code == ours else "another version" if code else "absent"
        yield _check("functions", code == ours, found, _MIGRATE)
        if migrations.ok and code == ours:
            yield from _check_objects(connection)
            yield _check_words(connection)
    yield _check_api(connection)
    yield from _check_roles(Store(connection))


def check_data(store: Store) -> Iterator[Check]:
    """Checks the data against each invariant of the store."""
    for each in store.verify_store():
        found = "holds"
        if each.violations:
            found = f"broken by {each.violations}, such as {each.example}"
        advice = "select memstore.help('verify_store') says what it means. Restore a backup, or report it."
        yield _check(each.invariant, not each.violations, found, advice)


def _check(name: str, ok: bool, found: str, advice: str) -> Check:
    return Check(name, ok, found, None if ok else advice)


def _version(number: int) -> str:
    return f"PostgreSQL {number // 10000}.{number % 10000}"


def _check_migrations(there: dict[str, str | None]) -> Check:
    ours = {name: checksum for name, checksum in checksums().items() if name != "sql"}
    theirs = {name: checksum for name, checksum in there.items() if name != "sql"}
    if unknown := sorted(theirs.keys() - ours):
        return Check(
            "migrations", False, f"not in this package: {', '.join(unknown)}", "Install a newer pg-memstore."
        )
    if missing := sorted(ours.keys() - theirs):
        return Check("migrations", False, f"not applied: {', '.join(missing)}", _MIGRATE)
    if changed := [name for name in sorted(ours) if theirs[name] not in (ours[name], None)]:
        advice = "Restore the files: a migration that was applied never changes."
        return Check("migrations", False, f"applied from another file: {', '.join(changed)}", advice)
    return Check("migrations", True, f"{len(ours)} applied")


def _check_roles(store: Store) -> Iterator[Check]:
    """Checks that roles have what they were granted, and bound ones no more."""
    try:
        roles = store.list_roles()
    except MemstoreError:  # which the check of calls reports, or this role isn't the owner
        return
    for role in roles:
        problem = None
        if role.beyond:
            problem = "Revoke what it was granted beside its binding, and its memberships."
        elif role.bundle == "dropped":
            problem = f"Forget it: memstore {'unbind' if role.accounts else 'psql: memstore.revoke_api'}."
        elif role.bundle in ("all", "write", "read", "bound") and not role.held:
            problem = "Grant it again, with grant_api or bind_role, or forget it with revoke_api."
        yield Check(f"role {role.role}", problem is None, described(role), problem)


def described(role: Role) -> str:
    """Says what a role was granted."""
    lists = {
        "bound to": tuple(map(str, role.accounts)),
        "lacks": role.lacking,
        "also has": role.extra,
        "by membership in": role.members_of,
        "reaches more by": role.beyond,
    }
    said = [f"{role.bundle}: {role.held} functions"] if role.bundle else []
    return "; ".join([*said, *(f"{what} {', '.join(names)}" for what, names in lists.items() if names)])


def _check_objects(connection: psycopg.Connection[Any]) -> Iterator[Check]:
    """Compares what the schema consists of with the package; what is altered has a line of its own."""
    try:
        altered = altered_objects(connection)
    except driver.InsufficientPrivilege:
        yield Check("objects", False, "this role may not read the settings", "Verify as the owner.")
        return
    for kind, name, state in altered:
        yield Check(f"{kind} {name}", False, state, _ALTERED)
    if not altered:
        yield Check("objects", True, "as in this package")


def _check_words(connection: psycopg.Connection[Any]) -> Check:
    """Asks whether this server's dictionaries made the stored lexemes."""
    try:
        ((current,),) = connection.execute("select memstore.words_are_current()").fetchall()
    except psycopg.Error as error:
        return Check("words", False, str(error).partition("\n")[0], _ALTERED)
    found = "of this server's dictionaries" if current else "perhaps of another version's dictionaries"
    return _check("words", current, found, "Run memstore rebuild-words.")


def _check_api(connection: psycopg.Connection[Any]) -> Check:
    """Writes, recalls, and rolls back."""
    store = Store(connection)
    try:
        with connection.transaction(force_rollback=True):
            actor = store.create_user()
            store.insert_memory(actor, "verify")
            recalled = store.recall(actor, "verify", strict=True)
    except MemstoreError as error:
        return Check("calls", False, str(error), error.hint or "See whether the role was granted the API.")
    except psycopg.Error as error:
        return Check("calls", False, str(error), "See whether the server accepts writes.")
    found = f"wrote, recalled and rolled back {len(recalled.memories)} memory"
    return _check("calls", len(recalled.memories) == 1, found, "See the settings: memstore settings.")
