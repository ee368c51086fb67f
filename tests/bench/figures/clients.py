"""What the Python client costs, and how its calls compare to those of other memories on the same server."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
from psycopg.adapt import PyFormat
from psycopg.conninfo import make_conninfo

from memstore import Store, wire
from memstore.api import calls
from memstore.models import Recall
from tests.bench import data, load
from tests.bench.answers import Best
from tests.bench.figures import Bench
from tests.bench.measuring import Leg, Row, Target
from tests.bench.peers import PEERS, Embed, Memories, Memstore

_FASTER = Target(1)
_ACTIONS = ("add", "search", "list", "delete")
_TURNS = 100


def client(bench: Bench) -> Iterator[Row]:
    """Store.recall against psycopg with the same statement and values."""
    owner, turn = data.account(0), data.Texts("client").turn()
    meaning = {"embedding": data.vector(turn), "embedding_model": data.MODEL}
    with psycopg.connect(bench.store(), autocommit=True) as connection:
        connection.adapters.register_dumper(wire.Reals, wire.ADAPTERS.get_dumper(wire.Reals, PyFormat.BINARY))
        store = Store(connection)
        for note, embedding in (("", {}), (", hybrid", meaning)):
            call = calls.recall(actor=owner, query=turn, **embedding)
            legs = {
                f"Store.recall{note}": bench.effort.repeated(
                    partial(store.recall, owner, turn, **embedding)  # type: ignore[arg-type]
                ),
                f"the same SELECT by psycopg{note}": bench.effort.repeated(partial(_bare, connection, call)),
            }
            yield bench.effort.compare("client", legs, target=Target(1.1))


def _bare(connection: psycopg.Connection, call: wire.Call[Recall]) -> None:
    connection.execute(call.statement, call.parameters).fetchall()


def peers(bench: Bench) -> Iterator[Row]:
    """Add, search, list and delete, a call at a time, in stores that hold the same memories."""
    embedded = bench.server.pgvector
    texts = _Texts(bench)
    beside = bench.server.installed("beside")
    ways: dict[str, Callable[[str, Embed | None], Memories]] = {"memstore": Memstore}
    if embedded:
        ways |= {"memstore, hybrid": Memstore, "memstore, by meaning alone": partial(Memstore, words=False)}
    _Stand(texts, beside, Memstore, embedded=embedded, fill=True).close()
    ours = {
        name: _Stand(texts, beside, way, embedded=name != "memstore", fill=False)
        for name, way in ways.items()
    }
    bench.facts["peers"] = {
        "memories": bench.size.peers * load.LIVE,
        "found": {name: stand.found() for name, stand in ours.items()},
    }
    for name, (peer, by_meaning) in PEERS.items():
        if by_meaning and not embedded:
            print(f"{name}: left out: the server has no pgvector")
            continue
        try:
            theirs = _Stand(texts, bench.server.empty("peer"), peer, embedded=by_meaning, fill=True)
        except ImportError as missing:
            print(f"{name}: left out: {missing}")
            continue
        bench.facts["peers"]["found"][name] = theirs.found()
        side = "memstore, hybrid" if by_meaning else "memstore"
        count = max(20, int(bench.effort.seconds * 100))
        # What a round adds it deletes.
        legs: dict[str, Leg] = {
            f"{label}: {action}": bench.effort.repeated(stand.operation(action), count)
            for action in _ACTIONS
            for label, stand in ((side, ours[side]), (name, theirs))
        }
        times = bench.effort.in_turn(legs)
        for action in _ACTIONS:
            yield times.row("peers", f"{side}: {action}", f"{name}: {action}", target=_FASTER)
        theirs.close()
    for stand in ours.values():
        stand.close()


class _Texts:
    """What all of them hold and are asked."""

    def __init__(self, bench: Bench) -> None:
        texts = data.Texts("peers")
        self.held = {f"account-{number}": texts.bodies(load.LIVE) for number in range(bench.size.peers)}
        self.turns = texts.turns(_TURNS)
        self.added = texts.bodies(2_000)
        self._vectors = {text: data.vector(text) for text in [*self.turns, *self.added]}

    def embed(self, text: str) -> list[float]:
        return self._vectors.get(text) or data.vector(text)


class _Stand:
    """One store of memories, and what is done to it."""

    def __init__(
        self,
        texts: _Texts,
        conninfo: str,
        make: Callable[[str, Embed | None], Memories],
        *,
        embedded: bool,
        fill: bool,
    ) -> None:
        self._texts = texts
        embed = texts.embed if embedded else None
        if fill:
            # It may take its time, but not as long as a disk does.
            filling = make(make_conninfo(conninfo, options="-c synchronous_commit=off"), embed)
            for name, bodies in texts.held.items():
                account = filling.account(name)
                for body in bodies:
                    filling.add(account, body)
            filling.close()
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("vacuum (analyze)")

        self._memories = make(conninfo, embed)
        self._writer = self._memories.account("writer")
        self._bodies = itertools.cycle(texts.added)
        # Each turn is asked of another account than the last.
        self._asked = itertools.cycle(zip(itertools.cycle(texts.held), texts.turns, strict=False))
        self._keys: list[str] = []
        self._accounts: dict[str, str] = {}

    def found(self) -> dict[str, float]:
        """How many a search finds, and how many of those that it should, of the turns' means."""
        return Best.mean(
            Best(self._texts.held[name], turn).of(self._search(name, turn))
            for name, turn in zip(itertools.cycle(self._texts.held), self._texts.turns, strict=False)
        )

    def operation(self, action: str) -> Callable[[], object]:
        actions: dict[str, Callable[[], object]] = {
            "add": self._add,
            "search": lambda: self._search(*next(self._asked)),
            "list": lambda: self._memories.list(self._account(next(self._asked)[0])),
            "delete": lambda: self._memories.delete(self._writer, self._keys.pop()),
        }
        return actions[action]

    def _account(self, name: str) -> str:
        if name not in self._accounts:
            self._accounts[name] = self._memories.account(name)
        return self._accounts[name]

    def _add(self) -> None:
        self._keys.append(self._memories.add(self._writer, next(self._bodies)))

    def _search(self, name: str, turn: str) -> list[str]:
        return self._memories.search(self._account(name), turn)

    def close(self) -> None:
        self._memories.close()
