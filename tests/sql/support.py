"""What the tests of the SQL share: calls of functions, plain writes as the owner, and refusals by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

type_of = {
    "embedding": "real[]",
    **dict.fromkeys(("scopes", "namespace"), "text[]"),
    **dict.fromkeys(("conditions", "evidence_refs", "filter", "item", "items", "keys"), "jsonb"),
    **dict.fromkeys(("memories", "memory", "metadata", "value"), "jsonb"),
}

# Stands in bodies that are refused. No refusal of a function repeats it.
SECRET = "vermilion-okapi"

EVIDENCE = {"kind": "url", "ref": "https://example.org/1", "digest": "sha256:0a"}
SYSTEM: Mapping[str, Any] = {
    "bucket": "system",
    "slug": "sys:build",
    "tier": "ledger",
    "as_of": "2026-01-02",
    "admission": "candidate",
    "evidence_refs": [EVIDENCE],
}
"""What a claim needs beside its body."""

STATES = {
    "encoding_unsupported": "MS000",
    "actor_unknown": "MS001",
    "memory_not_found": "MS002",
    "not_supersedable": "MS003",
    "id_taken": "MS004",
    "quota_reached": "MS005",
    "steward_required": "MS006",
    "record_target_not_found": "MS007",
    "challenge_not_found": "MS008",
    "stance_required": "MS009",
    "memory_is_immutable": "MS010",
    "record_is_immutable": "MS011",
    "argument_invalid": "MS012",
    "embedding_dimensions_differ": "MS013",
    "embedding_model_unregistered": "MS014",
    "count_is_kept": "MS015",
    "role_bound": "MS016",
    "role_unbound": "MS017",
    "item_changed": "MS018",
    "item_is_kept": "MS019",
    "migration_changed": "MS020",
    "deployment_newer": "MS021",
    "yoyo_locked": "MS022",
    "owner_differs": "MS023",
    "rows_absent": "MS024",
    "restored_by_inserts": "MS025",
    "token_invalid": "MS030",
    "scope_missing": "MS031",
}
_SUFFIXES = {"_shape": "23514", "_fkey": "23503", "_key": "23505", "_pkey": "23505"}


def state_of(name: str) -> str:
    """The SQLSTATE that a refusal of this name has."""
    return STATES.get(name) or next(state for suffix, state in _SUFFIXES.items() if name.endswith(suffix))


@contextmanager
def refused(
    name: str, field: str | None = None, sqlstate: str | None = None
) -> Iterator[pytest.ExceptionInfo[psycopg.Error]]:
    """Expects a refusal with this constraint name, its SQLSTATE, and (unless None) this column.

    PostgreSQL's own check violations name no column and show the row; all others must not show ``SECRET``.
    """
    with pytest.raises(psycopg.Error) as caught:
        yield caught
    diag = caught.value.diag
    assert (diag.constraint_name, diag.sqlstate) == (name, sqlstate or state_of(name)), str(caught.value)
    if field is not None:
        assert diag.column_name == field, str(caught.value)
    if diag.column_name is not None:
        parts = ("message_primary", "message_detail", "message_hint", "context", "internal_query")
        assert not [part for part in parts if SECRET in (getattr(diag, part) or "")]


def rows(db: psycopg.Connection, query: str, *params: object) -> list[tuple[Any, ...]]:
    """The rows of a query, with %s for parameters where there are any."""
    cursor = db.execute(query.encode(), params or None)
    returned = cursor.pgresult and cursor.pgresult.status == psycopg.pq.ExecStatus.TUPLES_OK
    return cursor.fetchall() if returned else []


def value(db: psycopg.Connection, query: str, *params: object) -> Any:
    """The one value of a query of one row."""
    ((result,),) = rows(db, query, *params)
    return result


def adapted(name: str, argument: object) -> object:
    """The argument as psycopg takes it."""
    match type_of.get(name), argument:
        case "jsonb", dict() | list():
            return Jsonb(argument)
        case "real[]", list():
            # psycopg takes no list that mixes int and float.
            return [float(number) if isinstance(number, int) else number for number in argument]
    return argument


def placeholder(name: str) -> sql.Composable:
    """The argument's place in a statement, with a cast where psycopg would send another type."""
    return sql.SQL("{}::" + type_of[name] if name in type_of else "{}").format(sql.Placeholder(name))


def call(db: psycopg.Connection, function: str, **arguments: object) -> list[dict[str, Any]]:
    """``select * from memstore.<function>(<name> => <argument>, ...)`` with bound parameters."""
    query = sql.SQL("select * from memstore.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), placeholder(name)) for name in arguments
        ),
    )
    bound = {name: adapted(name, argument) for name, argument in arguments.items()}
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, bound).fetchall()


def call_one(db: psycopg.Connection, function: str, **arguments: object) -> dict[str, Any]:
    """The one row of ``call``."""
    (row,) = call(db, function, **arguments)
    return row


def insert(db: psycopg.Connection, account: UUID, body: str | None, **fields: object) -> dict[str, Any]:
    """The row that insert_memory returns."""
    return call_one(db, "insert_memory", actor=account, body=body, **fields)


def supersede(
    db: psycopg.Connection, account: UUID, target: UUID, body: str | None, **fields: object
) -> dict[str, Any]:
    """The row that supersede_memory returns."""
    return call_one(db, "supersede_memory", actor=account, target=target, body=body, **fields)


def raw_insert(db: psycopg.Connection, account: UUID, body: str | None = "x", **columns: object) -> UUID:
    """A plain INSERT as the owner, and the id of the row."""
    columns = {"user_id": account, "body": body, **columns}
    query = sql.SQL("insert into memstore.memories ({}) values ({}) returning id").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(map(placeholder, columns))
    )
    row = db.execute(query, {name: adapted(name, column) for name, column in columns.items()}).fetchone()
    assert row
    result: UUID = row[0]
    return result


def raw_copy(db: psycopg.Connection, memories: Iterable[Mapping[str, Any]]) -> None:
    """One COPY of these rows as the owner; the columns are those that any of the rows has."""
    memories = list(memories)
    columns = list(dict.fromkeys(column for memory in memories for column in memory))
    query = sql.SQL("copy memstore.memories ({}) from stdin").format(
        sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with db.cursor() as cursor, cursor.copy(query) as copy:
        for memory in memories:
            copy.write_row([adapted(column, memory.get(column)) for column in columns])


def account_of(db: psycopg.Connection, ref: str) -> UUID:
    """The account with this external_ref, created where it is missing."""
    result: UUID = value(db, "select memstore.create_user(external_ref => %s)", ref)
    return result


def steward_of(db: psycopg.Connection, ref: str) -> UUID:
    """The same, marked as a steward."""
    account = account_of(db, ref)
    db.execute("select memstore.set_steward(%s, true)", [account])
    return account


def row_of(db: psycopg.Connection, memory: UUID) -> dict[str, Any]:
    """The stored row, read past the functions."""
    with db.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute("select * from memstore.memories where id = %s", [memory]).fetchone()
    assert row
    return row


def live_count(db: psycopg.Connection, account: UUID) -> int:
    """The account's count of live memories, checked against the rows."""
    stored, counted = rows(
        db,
        "select live_memories, (select count(*) from memstore.memories m"
        " where m.user_id = u.id and m.superseded_at is null and not m.promoted)"
        " from memstore.users u where id = %s",
        account,
    )[0]
    assert stored == counted
    return int(stored)


def tables(db: psycopg.Connection) -> list[str]:
    """All tables of the schema; a cast of their rows reads what is stored out of line, too."""
    return [
        name
        for (name,) in rows(
            db,
            "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'm', 'p')"
            " and c.relnamespace = 'memstore'::regnamespace order by 1",
        )
    ]


def places(db: psycopg.Connection, marker: str) -> set[str]:
    """The tables and the statistics that a word is in."""
    found = {
        table
        for table in tables(db)
        if value(db, f"select count(*) from {table} t where t::text ilike %s", f"%{marker}%")
    }
    if value(db, "select count(*) from pg_statistic_ext_data t where t::text ilike %s", f"%{marker}%"):
        found.add("pg_statistic_ext_data")
    found |= {
        f"statistics of {column}"
        for (column,) in rows(
            db,
            "select format('%%s.%%s', a.attrelid::regclass, a.attname) from pg_statistic s"
            " join pg_attribute a on a.attrelid = s.starelid and a.attnum = s.staattnum"
            " where s::text ilike %s",
            f"%{marker}%",
        )
    }
    return found
