"""Each bound that a CHECK constraint states: the last value that it allows, the first that it refuses."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

_TICK = timedelta(microseconds=1)
_FIRST = datetime(1, 1, 2, tzinfo=UTC)
_END = datetime(9999, 12, 31, tzinfo=UTC)
_MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_LIVES = {
    "agent": _MADE.replace(year=2126) - _MADE,
    "login": timedelta(hours=1),
    "session": timedelta(days=30),
}
_SHARES = (
    *("lexical_floor", "semantic_floor", "user_floor", "previous_share", "next_share"),
    *("score_share", "source_share", "speaker_share", "time_share"),
)
_COUNTS = (
    *("settings_maximum_live_memories", "settings_maximum_items", "settings_maximum_attached"),
    *("settings_maximum_attached_characters", "settings_maximum_system_pool"),
    *("users_maximum_live_memories", "users_maximum_items", "users_live_memories", "users_stored_items"),
)
_TIMES = [_FIRST, _END - _TICK], [_FIRST - _TICK, _END]
_SHORT = ["x", "x" * 200], ["", "x" * 201]

# Constraint, column, values that it allows, values that it refuses, other columns.
BOUNDS: list[tuple[str, str, list[Any], list[Any], dict[str, Any]]] = [
    ("deployment_name_shape", "name", *_SHORT, {}),
    ("embedding_models_dimensions_shape", "dimensions", [1, 16_000], [0, 16_001], {}),
    ("embedding_models_name_shape", "name", *_SHORT, {}),
    ("item_embeddings_field_shape", "field", *_SHORT, {}),
    ("item_embeddings_embedding_model_shape", "embedding_model", *_SHORT, {}),
    ("items_expires_at_shape", "expires_at", *_TIMES, {"ttl_seconds": 1}),
    ("items_inserted_at_shape", "inserted_at", *_TIMES, {}),
    ("items_key_shape", "key", ["x", "é" * 999 + "x"], ["", "é" * 1000], {"namespace": ["x"]}),
    ("items_key_shape", "key", ["x" * 1998], ["x" * 1999], {"namespace": ["x", "y"]}),
    ("items_namespace_shape", "namespace", [["x"], ["x"] * 32], [[], ["x", ""], ["x", None], ["x"] * 33], {}),
    ("items_ttl_seconds_shape", "ttl_seconds", [5e-324, 3_155_760_000], [0, 3_155_760_000.0000005], {}),
    (
        "items_updated_at_shape",
        "updated_at",
        [_MADE, _END - _TICK],
        [_MADE - _TICK, _END],
        {"inserted_at": _MADE},
    ),
    ("items_value_shape", "value", [{"x": "x" * 999_991}], [{"x": "x" * 999_992}], {}),
    ("items_version_shape", "version", [1], [0], {}),
    *(
        ("memories_as_of_shape", "as_of", [allowed], [refused], {"bucket": "system"})
        for allowed, refused in (("0001-01-01", "0001-12-31 BC"), ("9999-12-31", "10000-01-01"))
    ),
    ("memories_inserted_at_shape", "inserted_at", *_TIMES, {}),
    ("memories_stance_shape", "stance", ["x"], ["y"], {"bucket": "system", "body": "x"}),
    (
        *("memories_superseded_at_shape", "superseded_at"),
        *([_MADE, _END - _TICK], [_MADE - _TICK, _END], {"inserted_at": _MADE}),
    ),
    ("memories_updated_at_shape", "updated_at", *_TIMES, {}),
    ("memory_admissions_ground_shape", "ground", ["x", "x" * 2000], ["", "x" * 2001], {}),
    ("memory_admissions_inserted_at_shape", "inserted_at", *_TIMES, {}),
    *((f"{name}_shape", name.partition("_")[2], [0], [-1], {}) for name in _COUNTS),
    *((f"settings_{name}_shape", name, [0, 1], [-5e-324, 1 + 2**-52], {}) for name in _SHARES),
    ("tokens_digest_shape", "digest", ["\\x" + "00" * 32], ["\\x" + "00" * n for n in (31, 33)], {}),
    *(
        (
            *("tokens_expires_at_shape", "expires_at"),
            *([_MADE + _TICK, _MADE + longest], [_MADE - _TICK, _MADE, _MADE + longest + _TICK]),
            {"inserted_at": _MADE, "kind": kind},
        )
        for kind, longest in _LIVES.items()
    ),
    ("tokens_scopes_shape", "scopes", [["recall"]], [[]], {}),
]


def _as_json(row: dict[str, Any]) -> Jsonb:
    return Jsonb(
        {name: each.isoformat() if isinstance(each, datetime) else each for name, each in row.items()}
    )


@pytest.mark.parametrize(
    ("constraint", "column", "allowed", "refused", "others"),
    BOUNDS,
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_at_the_bound(
    constraint: str,
    column: str,
    allowed: list[Any],
    refused: list[Any],
    others: dict[str, Any],
    scratch: psycopg.Connection,
) -> None:
    found = scratch.execute(
        "select c.conrelid::regclass::text, pg_get_expr(c.conbin, c.conrelid) from pg_constraint c"
        " where c.connamespace = 'memstore'::regnamespace and c.conname = %s",
        [constraint],
    ).fetchone()
    assert found
    # The expression itself, so that no other rule of the table is met first; NULL passes, as in the table.
    holds = f"select coalesce({found[1]}, true) from jsonb_populate_record(null::{found[0]}, %s)".encode()
    for values, answer in ((allowed, True), (refused, False)):
        for each in values:
            row = {**others, column: each}
            assert scratch.execute(holds, [_as_json(row)]).fetchone() == (answer,), repr(each)[:80]


def test_no_bound_is_left_out(scratch: psycopg.Connection) -> None:
    stated = scratch.execute(
        "select c.conname, pg_get_expr(c.conbin, c.conrelid) from pg_constraint c"
        " where c.connamespace = 'memstore'::regnamespace and c.contype = 'c'"
    ).fetchall()
    bounded = {name for name, rule in stated if re.search(r" (<|>|<=|>=) ", rule)}
    assert bounded and bounded <= {name for name, *_ in BOUNDS}
