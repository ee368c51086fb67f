"""How much a statement works, counted without a clock: the same on a fast machine and on a busy one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg

_SETTINGS = {
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
    # A plan shows its statement, which has the words of notices.
    "client_min_messages": "notice",
}


class Work(NamedTuple):
    """What one execution of a statement does, with all that it calls.

    Attributes:
        rows: that the nodes of all plans give or throw away, those of functions, triggers and foreign keys
            included; None where the server has no auto_explain.
        buffers: pages that were read, wherever they were.
    """

    rows: int | None
    buffers: int


def has_auto_explain(db: psycopg.Connection) -> bool:
    """Whether the connection can have the plans of nested statements."""
    try:
        with db.transaction():
            db.execute("load 'auto_explain'")
    except (psycopg.errors.UndefinedFile, psycopg.errors.InsufficientPrivilege):
        return False
    return True


def work(db: psycopg.Connection, query: str, *params: object, warm: int = 6, times: int = 1) -> Work:
    """What the statement does once the session has settled on its plans; its writes are rolled back.

    Of so many times the least: a row that is written may be the one that no more fits on its page.
    """
    counted = has_auto_explain(db)
    for _ in range(warm):
        with db.transaction(force_rollback=True):
            db.execute(query.encode(), params)
    return min((_once(db, query, params, counted) for _ in range(times)), key=lambda found: found.buffers)


def _once(db: psycopg.Connection, query: str, params: tuple[object, ...], counted: bool) -> Work:
    with db.transaction(force_rollback=True), _plans(db) as plans:
        if counted:
            for name, setting in _SETTINGS.items():
                db.execute("select set_config(%s, %s, true)", [name, setting])
            plans.clear()
        ((explained,),) = db.execute(
            f"explain (analyze, buffers, timing off, format json) {query}".encode(), params
        ).fetchall()
    outer = explained[0]["Plan"]
    return Work(
        rows=sum(_rows(plan) for plan in plans) if counted else None,
        buffers=outer["Shared Hit Blocks"] + outer["Shared Read Blocks"],
    )


@contextmanager
def _plans(db: psycopg.Connection) -> Iterator[list[dict[str, Any]]]:
    """The plans of the statements that run meanwhile, as auto_explain tells them."""
    plans: list[dict[str, Any]] = []

    def hear(diagnostic: psycopg.errors.Diagnostic) -> None:
        said = diagnostic.message_primary or ""
        if said.startswith("duration: "):
            plans.append(json.loads(said[said.index("{") :])["Plan"])

    db.add_notice_handler(hear)
    try:
        yield plans
    finally:
        db.remove_notice_handler(hear)


def _rows(plan: dict[str, Any]) -> int:
    """The rows of a plan's nodes; each node tells the average of its executions."""
    removed = sum(number for name, number in plan.items() if name.startswith("Rows Removed"))
    own: int = round(plan["Actual Loops"] * (plan["Actual Rows"] + removed))
    return own + sum(_rows(child) for child in plan.get("Plans", ()))
