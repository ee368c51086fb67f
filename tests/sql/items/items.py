"""Items as tests put and read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from tests.sql.support import adapted, call, placeholder

Path = tuple[Sequence[str], str]


def item(namespace: Sequence[str], key: str, value: object = None, **more: object) -> dict[str, Any]:
    """An item as put_items takes it, with a value of its own."""
    return {"namespace": list(namespace), "key": key, "value": {} if value is None else value, **more}


def put(db: psycopg.Connection, account: UUID, *items: dict[str, Any]) -> list[int | None]:
    """The versions that put_items returns."""
    return [row["put_items"] for row in call(db, "put_items", actor=account, items=list(items))]


def delete(namespace: Sequence[str], key: str, **more: object) -> dict[str, Any]:
    """An item that is to be deleted."""
    return {"namespace": list(namespace), "key": key, "value": None, **more}


def get(db: psycopg.Connection, account: UUID, *paths: Path) -> list[dict[str, Any]]:
    """What get_items returns."""
    keys = [{"namespace": list(namespace), "key": key} for namespace, key in paths]
    return call(db, "get_items", actor=account, keys=keys)


def embedded(*numbers: float, field: str = "$", model: str = "m") -> dict[str, Any]:
    """One embedding of an item."""
    return {"field": field, "embedding": list(numbers), "embedding_model": model}


def found(db: psycopg.Connection, account: UUID, **arguments: object) -> list[tuple[str, float | None]]:
    """The keys and scores that search_items returns."""
    arguments = {"actor": account, **arguments}
    query = sql.SQL("select (item).key, score from memstore.search_items({})").format(
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), placeholder(name)) for name in arguments
        )
    )
    return db.execute(query, {name: adapted(name, value) for name, value in arguments.items()}).fetchall()


def keys(db: psycopg.Connection, account: UUID, **arguments: object) -> list[str]:
    """The keys alone."""
    return [key for key, _ in found(db, account, **arguments)]
