"""No granted function has its statements compiled."""

from __future__ import annotations

import psycopg

from tests.sql.support import rows


def test_no_granted_function_is_compiled_at_run_time(scratch: psycopg.Connection) -> None:
    """It costs more than a second where a bad estimate calls for it, and is thrown away after the call."""
    compiled = rows(
        scratch,
        "select f.name from memstore.api f join pg_proc p"
        " on p.pronamespace = 'memstore'::regnamespace and p.proname = f.name"
        " where p.prosecdef and not coalesce('jit=off' = any (p.proconfig), false)",
    )
    assert not compiled
