"""The steps of `memstore demo`: each as a command and as SQL, with the rows that the SQL returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.rows import dict_row

from memstore.store import Store


@dataclass(frozen=True)
class Step:
    """One step, and its result.

    Attributes:
        about: What it shows.
        command: The command that does the same.
        sql: The statement.
        rows: What it returned.
    """

    about: str
    command: str
    sql: str
    rows: list[dict[str, Any]]


_STEPS = (
    (
        "The account says something: it is remembered as it was said.",
        "remember 'I use npm.'",
        "select id, body\nfrom memstore.insert_memory({account}, 'I use npm.');",
    ),
    (
        "A job learned something from its work, and names that work.",
        "remember --bucket learned --source 'build 7' 'Deploys run from the release branch.'",
        "select id, body\nfrom memstore.insert_memory(\n  {account},\n"
        "  'Deploys run from the release branch.',\n  bucket => 'learned',\n  source_ref => 'build 7'\n);",
    ),
    (
        "A correction is a new memory that supersedes the old one.",
        "correct {first} 'I use pnpm, not npm.'",
        "select id, body\nfrom memstore.supersede_memory({account}, '{first}', 'I use pnpm, not npm.');",
    ),
    (
        "Before a turn, the model is told what may matter. What was learned has to be about the turn.",
        "recall 'Install the dependencies.'",
        "select note\nfrom memstore.recall({account}, 'Install the dependencies.');",
    ),
    (
        "This turn is about deploys: the best match comes first.",
        "recall 'Which branch do deploys run from?'",
        "select note\nfrom memstore.recall({account}, 'Which branch do deploys run from?');",
    ),
    (
        "A note is bounded, and the second column says how many memories were left out of it.",
        "recall --max 1 'Which branch do deploys run from?'",
        "select note, dropped\nfrom memstore.recall(\n"
        "  {account}, 'Which branch do deploys run from?', maximum_attached => 1\n);",
    ),
    (
        "What was believed before stays on record, until it is forgotten.",
        "history {first}",
        "select body, superseded_at is null as live\nfrom memstore.memory_history({account}, '{first}');",
    ),
)


def run_demo(connection: psycopg.Connection[Any]) -> Iterator[Step]:
    """Runs the steps under a new account, and erases it."""
    name = f"demo-{uuid4().hex[:8]}"
    account = f"memstore.find_user('{name}')"
    first = ""
    try:
        connection.execute("select memstore.create_user(external_ref => %s)", [name])
        for about, command, sql in _STEPS:
            step = _run(
                connection,
                about,
                f"memstore --account {name} {command.format(first=first)}",
                sql.format(account=account, first=first),
            )
            first = first or str(step.rows[0]["id"])
            yield step
        erase = f"select memstore.delete_user({account}) as memories_erased;"
        yield _run(connection, "An account is erased with all its memories.", "", erase)
    finally:
        store = Store(connection)
        if not connection.broken and (actor := store.find_user(name)):
            store.delete_user(actor)


def _run(connection: psycopg.Connection[Any], about: str, command: str, sql: str) -> Step:
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(sql.encode())
        return Step(about, command, sql, cursor.fetchall())
