"""Bad input: whatever a parameter holds, a call succeeds, is refused by name, or fails at its own types."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.databases import LONG, SEEDS
from tests.sql.support import EVIDENCE, SECRET, SYSTEM, account_of, rows, steward_of, value
from tests.sql.texts import TEXTS

CALLS = 20_000 if LONG else 600
SECONDS = 10 if LONG else 1
"""That a call may take: a long run has other programs beside it."""
BOUNDARY = {
    *(
        "22P02",
        "22007",
        "22008",
        "22003",
        "22021",
        "22P05",
        "2202E",
        "22P03",
        "42883",
        "42804",
        "54000",
        "54001",
    )
}
"""States of a value that its type does not take, which PostgreSQL raises before the function starts."""

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "200",
    "201",
    "2147483647",
    "-2147483648",
    "2147483648",
    "1e3",
    "x",
    "",
    "NaN",
]
FLOATS = [
    "0",
    "1",
    "-0",
    "0.5",
    "1.0000001",
    "NaN",
    "infinity",
    "-infinity",
    "1e308",
    "1e309",
    "5e-324",
    "1e-400",
    "x",
]
DATES = [
    *(
        "2026-01-02",
        "0001-01-01",
        "0001-01-01 BC",
        "4713-01-01 BC",
        "4714-11-24 BC",
        "9999-12-31",
        "10000-01-01",
    ),
    *(
        "infinity",
        "-infinity",
        "5874897-12-31",
        "5874898-01-01",
        "294276-12-31",
        "now",
        "2026-02-30",
        "x",
        "",
        "epoch",
    ),
]
ARRAYS = [
    *(
        "{}",
        "{1,2}",
        "{1,2,3}",
        "{0,0}",
        "{NaN,1}",
        "{infinity,1}",
        "{-infinity}",
        "{NULL}",
        "{1,NULL}",
        "{1e6,1}",
    ),
    *(
        "{1000001,1}",
        "{1e-6,0}",
        "{1e-7,0}",
        "{1e-45,1}",
        "{1e39}",
        "{1e-60}",
        "{{1,2},{3,4}}",
        "{{1},{2}}",
        "{{}}",
    ),
    *("[0:1]={1,2}", "[-5:-4]={1,2}", "[2147483646:2147483646]={1}", "[1:1][1:2]={{1,2}}", "{{{{{{1}}}}}}"),
    *("{{{{{{{1}}}}}}}", "{1,{2}}", "{x}", "{", "", "1,2", '{"1","2"}', "{-0,1}", "{3.4028235e38}"),
    "{" + ",".join(["1"] * 16_000) + "}",
    "{" + ",".join(["1"] * 16_001) + "}",
]
CLAIM: dict[str, Any] = {**SYSTEM, "body": SECRET}


def text(rng: random.Random) -> str | None:
    drawn = rng.random()
    if drawn < 0.1:
        return None
    if drawn < 0.75:
        return rng.choice(TEXTS[: -8 if rng.random() < 0.9 else None])
    return "".join(rng.choice(TEXTS[:40]) for _ in range(rng.randint(1, 4)))


def odd(rng: random.Random, depth: int = 0) -> Any:
    """A JSON value of any shape."""
    drawn = rng.randint(0, 7 if depth < 3 else 5)
    match drawn:
        case 0:
            return None
        case 1:
            return rng.choice([0, -1, 1e300, 10**400, 1e-300, 1.5, True, False])
        case 2 | 3 | 4 | 5:
            return text(rng)
        case 6:
            return [odd(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {str(text(rng)): odd(rng, depth + 1) for _ in range(rng.randint(0, 4))}


def evidence(rng: random.Random) -> Any:
    item = dict(EVIDENCE)
    if rng.random() < 0.5:
        item[rng.choice(["kind", "ref", "digest", "more"])] = odd(rng)
    return rng.choice([[item], [item] * 20, [item] * 21, [], item, [item, odd(rng)]])


def memory(rng: random.Random, ids: list[str]) -> Any:
    if rng.random() < 0.1:
        return odd(rng)
    item: dict[str, Any] = dict(CLAIM) if rng.random() < 0.3 else {"body": rng.choice(TEXTS[4:40])}
    for _ in range(rng.randint(0, 2)):
        key = rng.choice(
            [
                *(
                    "body",
                    "bucket",
                    "source_ref",
                    "embedding",
                    "embedding_model",
                    "slug",
                    "entity",
                    "tier",
                    "as_of",
                ),
                *("admission", "evidence_refs", "language", "id", "stance", "inserted_at", "updated_at"),
                *("superseded_at", "superseded_by_id", "user_id", "promoted", ""),
            ]
        )
        item[key] = rng.choice(
            [
                odd(rng),
                text(rng),
                rng.choice(ids),
                rng.choice(DATES),
                rng.choice(
                    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-02T03:04:05Z"]
                ),
                evidence(rng),
                [rng.choice([1, 0, 1e-9, 1e9, 1e400, 10**300, None, "1"]) for _ in range(rng.randint(0, 3))],
            ]
        )
    return item


def document(rng: random.Random, ids: list[str]) -> str | None:
    """Text for a jsonb parameter, some of it no JSON at all."""
    drawn = rng.random()
    if drawn < 0.05:
        return None
    if drawn < 0.15:
        return rng.choice(
            [
                *(
                    "",
                    "{",
                    "nul",
                    "NaN",
                    '"\\u0000"',
                    '"\\ud800"',
                    "1e999999",
                    "1e200000",
                    "[1,]",
                    '{"a":1,"a":2}',
                ),
                "[" * 1000 + "]" * 1000,
                "[" * 100_000,
                '{"a":' * 3000 + "1" + "}" * 3000,
                json.dumps(["x" * 100_000] * 5),
                json.dumps([{"body": "x"}] * 300),
                json.dumps([{"body": str(n), "id": ids[0]} for n in range(3)]),
                "[" + "1," * 10_001 + "1]",
            ]
        )
    made = rng.choice(
        [odd(rng), evidence(rng), memory(rng, ids), [memory(rng, ids) for _ in range(rng.randint(0, 4))]]
    )
    return json.dumps(made)


def argument(rng: random.Random, type_name: str, name: str, ids: list[str], actors: list[str]) -> str | None:
    if rng.random() < 0.05:
        return None
    match type_name:
        case "uuid" if name in ("actor", "user_id") and rng.random() < 0.9:
            return rng.choice(actors)
        case "uuid":
            return rng.choice([*ids, "", "x", "0" * 32, "f" * 32, "{" + "0" * 32 + "}", "0" * 31])
        case "integer":
            return rng.choice(NUMBERS)
        case "double precision":
            return rng.choice(FLOATS)
        case "boolean":
            return rng.choice(["true", "false", "on", "x", ""])
        case "date" | "timestamp with time zone":
            return rng.choice(DATES)
        case "real[]":
            return rng.choice(ARRAYS)
        case "text[]":
            return rng.choice(
                ["{}", "{a}", "{NULL, a}", '{{"", "b c"}, {"d", NULL}}', "{a", "x", "[2:3]={a,b}"]
            )
        case "jsonb":
            return document(rng, ids)
        case "interval":
            return rng.choice(["", "x", "0", "-1 day", "1 minute", "100 years", "1e30 years", "infinity"])
        case "uuid[]":
            return rng.choice(["{}", "{NULL}", "{x}", "{" + ",".join(ids[:3]) + "}", "{" + "0" * 32 + "}"])
        case "bytea":
            return rng.choice(["", "x", "\\x", "\\x00", "\\x" + "00" * 32])
        case "text":
            usual = {
                "body": "It builds.",
                "ground": "Because.",
                "query": "What builds?",
                "embedding_model": "two",
            }
            return usual[name] if name in usual and rng.random() < 0.4 else text(rng)
    raise AssertionError(f"no values for {type_name}")


def signatures(db: psycopg.Connection) -> list[tuple[str, list[str], list[str], int]]:
    """Name, parameters, their types, and how many have to be given, of each API and operator function."""
    return [
        (name, names[: len(types)], types, len(types) - defaults)
        for name, names, types, defaults in rows(
            db,
            "select proname::text, proargnames::text[],"
            " array(select t::regtype::text from unnest(proargtypes::oid[]) with ordinality a (t, n)"
            " order by n),"
            " pronargdefaults from pg_proc where pronamespace = 'memstore'::regnamespace and prosecdef"
            " and prorettype <> 'trigger'::regtype and pronargs > 0 order by proname",
        )
    ]


def check(db: psycopg.Connection) -> None:
    """What has to hold of a store, whatever was called."""
    assert rows(db, "select invariant from memstore.verify_store() where violations > 0") == []


@pytest.mark.parametrize("seed", SEEDS)
def test_every_parameter(db: psycopg.Connection, seed: int) -> None:
    rng = random.Random(11 + seed)
    db.execute(f"set statement_timeout = '{SECONDS}s'".encode())
    names = {
        row[0] for row in rows(db, "select name from memstore.refusals union select name from memstore.rules")
    }
    functions = signatures(db)
    assert len(functions) >= 33
    ids: list[str] = []
    actors: list[str] = []
    faults: dict[str, str] = {}
    outcomes = {"done": 0, "refused": 0, "type": 0}
    for number in range(CALLS):
        if number % 50 == 0:
            db.execute("select memstore.configure(maximum_live_memories => 100000)")
            accounts = [account_of(db, ref) for ref in ("a", "ab", "%")] + [steward_of(db, "steward")]
            actors = [str(account) for account in accounts]
            db.execute("update memstore.users set maximum_live_memories = 100000 where erased_at is null")
            db.execute(
                "select memstore.insert_memories(%s, %s::jsonb)",
                [actors[0], json.dumps([CLAIM, {"body": "It builds."}])],
            )
            found = rows(
                db,
                "(select id::text from memstore.memories order by inserted_at desc limit 20) union all"
                " (select id::text from memstore.memory_admissions order by inserted_at desc limit 5)",
            )
            ids = [row[0] for row in found] + actors
        if number % (1_000 if LONG else 50) == 0:
            check(db)
        function, parameters, types, required = functions[number % len(functions)]
        given = {
            name: (type_name, argument(rng, type_name, name, ids, actors))
            for place, (name, type_name) in enumerate(zip(parameters, types, strict=True))
            if place < required or rng.random() < (0.5 if len(parameters) < 8 else 0.2)
        }
        query = sql.SQL("select * from memstore.{}({})").format(
            sql.Identifier(function),
            sql.SQL(", ").join(
                sql.SQL("{} => %s::" + type_name).format(sql.Identifier(name))
                for name, (type_name, _) in given.items()
            ),
        )
        started = time.monotonic()
        fault = None
        try:
            db.execute(query, [content for _, content in given.values()]).fetchall()
            outcomes["done"] += 1
        except UnicodeEncodeError:
            outcomes["type"] += 1
        except psycopg.Error as error:
            diag = error.diag
            inside = "function" in (diag.context or "")
            if diag.constraint_name in names:
                outcomes["refused"] += 1
                told = (diag.message_primary, diag.message_detail, diag.message_hint, diag.context)
                if any(SECRET in (part or "") for part in told):
                    fault = f"shows a text: {told}"
            elif (diag.sqlstate is None or diag.sqlstate in BOUNDARY) and not inside:
                outcomes["type"] += 1
            else:
                fault = f"{diag.sqlstate} {diag.constraint_name} {diag.message_primary} ({diag.context})"
        if time.monotonic() - started > SECONDS:
            fault = f"{fault or ''} took {time.monotonic() - started:.1f} s"
        if fault:
            shown = {name: (content or "<null>")[:150] for name, (_, content) in given.items()}
            faults.setdefault(f"{function}: {fault}"[:200], f"{fault} {shown}")
    assert not faults, "\n".join(faults.values())
    assert min(outcomes.values()) > CALLS // 20, outcomes
    db.execute("set statement_timeout = 0")
    check(db)
    assert value(db, "select count(*) > 0 from memstore.list_rules()")
