"""What costs much is parsed and checked before an account is locked, and bounded where it can be."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.racing import Connect, held
from tests.sql.support import EVIDENCE, SYSTEM, call, insert, refused, rows, value

HOLD = "select from memstore.users where id = %s for update"
BAD = [
    ({"body": " "}, "memories_body_shape"),
    ({"body": "x", "embedding": [0.0] * 16_000, "embedding_model": "m"}, "memories_embedding_shape"),
    ({"body": "x", "unknown": 1}, "argument_invalid"),
    ({"body": "x", "as_of": "never"}, "argument_invalid"),
]


@pytest.mark.parametrize(("item", "refusal"), BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("function", ["insert_memories", "import_memories"])
def test_a_batch_is_refused_while_another_writer_has_the_account(
    function: str, item: dict[str, Any], refusal: str, db: psycopg.Connection, connect: Connect, account: UUID
) -> None:
    """It takes no lock before it is checked: it would block."""
    db.execute("set lock_timeout = '1ms'")
    items = [{"body": "x"}, item]
    query = f"select memstore.{function}(%s, %s)"
    with held(connect, HOLD, account):
        with refused(refusal) as caught:
            rows(db, query, account, Jsonb(items))
        assert "Item 2" in str(caught.value)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            rows(db, query, account, Jsonb(items[:1]))


def test_times_are_those_after_the_lock(db: psycopg.Connection, account: UUID) -> None:
    """A batch that waited is newer than what was written meanwhile."""
    db.execute(
        "create function pg_temp.late(c memstore.memories[]) returns setof memstore.memory"
        " language sql as $$ select * from memstore.write_memories(c, null, interval '1 hour') $$"
    )
    read = (
        "select array_agg(r.candidate order by r.item)"
        " from memstore.users u, memstore.read_memories(u, %s) r where u.id = %s"
    )
    late = rows(
        db,
        f"select inserted_at - clock_timestamp() > '59 minutes', updated_at = inserted_at"
        f" from pg_temp.late(({read}))",
        Jsonb([{"body": "x"}, {"body": "y"}]),
        account,
    )
    assert late == [(True, True)] * 2
    call(db, "insert_memories", actor=account, memories=[{"body": "z"}])
    assert value(
        db, "select min(inserted_at) between now() - interval '1 minute' and now() from memstore.memories"
    )


NUMBERS = [
    [0.1, -0.25, 1e-7, 12345.678],
    [1, None, 2],
    [],
    [1e6, -1e6],
    [1e-45, 1],
    [1e39, 1],
    [1e-300, 1],
    [0.1234567890123456789012345678901234567890, 1],
    [8388609.5, 0.3333333333333333],
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=range(len(NUMBERS)))
def test_numbers_of_an_embedding_are_read_as_before(
    numbers: list[float | None], db: psycopg.Connection
) -> None:
    """All at once, and one by one where a cast could fail, which gives the same."""
    read = "select (r.candidate).embedding::text from memstore.read_memories(null, %s) r"
    one_by_one = """
        select coalesce(array_agg(case
          when abs(n.number) > 1e7 then 'infinity' when abs(n.number) < 1e-45 then 0 else n.number::real
        end order by e.position), '{}')::real[]::text
        from jsonb_array_elements(%s) with ordinality e (value, position),
        lateral (select nullif(e.value, 'null')::numeric as number) n
    """
    item = {"body": "x", "embedding": numbers, "embedding_model": "m"}
    assert value(db, read, Jsonb([item])) == value(db, one_by_one, Jsonb(numbers))


SPACES = "\u3000" * 40_000


def test_too_much_white_space_is_too_long(db: psycopg.Connection, account: UUID) -> None:
    """It isn't trimmed: what no rule admits is refused for its length."""
    assert insert(db, account, " \u3000" * 2_000 + "x")["body"] == "x"
    assert value(db, "select memstore.trim_text(%s) = %s", SPACES, SPACES)
    for field, text in (("body", SPACES + "x"), ("source_ref", SPACES + "x"), ("body", SPACES)):
        with refused(f"memories_{field}_shape", field):
            insert(db, account, **{"body": "x", field: text})
    with refused("memories_evidence_refs_shape"):
        insert(db, account, "x", **{**SYSTEM, "evidence_refs": [{**EVIDENCE, "ref": SPACES + "x"}]})
    with refused("memories_evidence_refs_shape"):
        insert(db, account, "x", **{**SYSTEM, "evidence_refs": [EVIDENCE] * 21})


def test_many_distinct_capitals_fold_as_few_do(db: psycopg.Connection) -> None:
    """In one pass instead of one for each."""
    source = value(db, "select prosrc from pg_proc where oid = 'memstore.lexemes(text, text)'::regprocedure")
    capitals = source[source.index("c_letters constant") : source.index("c_folded constant")].split("'")[1::2]
    letters = "".join(capitals)
    assert len(letters) > 1_000
    lexemes = "select memstore.lexemes('simple', %s)"
    together = value(db, lexemes, " ".join(f"{letter}x" for letter in letters))
    one_by_one = [word for letter in letters for word in value(db, lexemes, f"{letter}x")]
    assert together == list(dict.fromkeys(one_by_one))
