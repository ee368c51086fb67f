"""What the operator's indexes for large accounts buy and cost: the same store with them and without."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg

from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.figures.recalling import FUNCTION, turns_of
from tests.bench.figures.writing import function, variables
from tests.bench.measuring import Row, Target

_INDEXES = "memories_account_words_idx", "memories_account_sources_idx"
_DRAWN = 400  # turns to choose from
_TURNS = 8
# By name: of the memories of an account, how many have a word of the turn, in percent at least and at most.
_KINDS = {"rare words": (0.0, 0.2), "words of 2 to 6 %": (2.0, 6.0), "common words": (15.0, 100.0)}
_SHARE = """
select 100.0 * count(*) filter (where m.search_vector @@ w.words) / count(*)
from memstore.memories m
cross join (select array_to_string(memstore.lexemes('english', %s), ' | ')::tsquery) w (words)
where m.user_id = %s
"""


def option(bench: Bench) -> Iterator[Row]:
    """The largest account by rare and by common words, and what a write costs."""
    plain, indexed = bench.accounts(), bench.indexed_accounts()
    small, large = load.sized(bench.size.accounts[0]), load.sized(bench.size.accounts[-1])
    words = f"account of {bench.size.accounts[-1]:,}"
    turns = _chosen(indexed, load.sized(bench.size.accounts[1]))
    legs = {}
    for kind, chosen in turns.items():
        for conninfo, note in ((indexed, "indexed"), (plain, "not indexed")):
            legs[f"recall, {words}, {kind}, {note}"] = turns_of(
                bench, conninfo, FUNCTION, [large] * len(chosen), turns=chosen
            )
    least = f"recall, account of {bench.size.accounts[0]}"
    legs[least] = turns_of(
        bench, indexed, FUNCTION, [small] * _TURNS, turns=data.Texts("turns").turns(_TURNS)
    )
    times = bench.effort.in_turn(legs)
    for kind in turns:
        target = Target(1) if kind == "common words" else None
        names = [f"recall, {words}, {kind}, {note}" for note in ("indexed", "not indexed")]
        yield times.row("option", *names, target=target)
        if kind == "rare words":
            yield times.row("option", names[0], least, target=Target(30))
    writes = {
        f"insert_memory, {note}": bench.pgbench.leg(
            conninfo, [function()], variables=variables(), settings="-c synchronous_commit=off", mean=True
        )
        for conninfo, note in ((indexed, "indexed"), (plain, "not indexed"))
    }
    yield bench.effort.compare("option", writes)
    with psycopg.connect(indexed) as connection:
        query = "select pg_relation_size(pg_catalog.to_regclass('memstore.' || %s))"
        bench.facts["option"] = {
            "memories": sum(bench.size.accounts) + bench.size.stores[0],
            "bytes": {
                name: connection.execute(query, [name]).fetchall()[0][0] for name in ("memories", *_INDEXES)
            },
        }
    for conninfo in (plain, indexed):
        load.tidy(conninfo)


def _chosen(conninfo: str, owner: UUID) -> dict[str, list[str]]:
    """Turns of each kind, by an account whose texts are drawn as all are."""
    texts = data.Texts("option")
    drawn = [*texts.turns(_DRAWN), *(texts.rare(3) for _ in range(_DRAWN // 4))]
    drawn += [texts.common(8) for _ in range(_DRAWN // 4)]
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    with psycopg.connect(conninfo) as connection:
        for turn in drawn:
            ((share,),) = connection.execute(_SHARE, [turn, owner]).fetchall()
            for kind, (least, most) in _KINDS.items():
                if share is not None and least <= share <= most and len(found[kind]) < _TURNS:
                    found[kind].append(turn)
    return {kind: turns for kind, turns in found.items() if turns}
