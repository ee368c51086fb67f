"""What the Python client costs, and how its calls compare to those of other memories on the same server."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator

import psycopg
from psycopg.conninfo import make_conninfo

from memstore import Store
from memstore.api import calls
from tests.bench import data, load
from tests.bench.figures import Bench
from tests.bench.measuring import Row, Target
from tests.bench.peers import FOUND, PEERS, Embed, Memories, Memstore

_FASTER = Target(1)
_ACTIONS = ("add", "search", "list", "delete")


def client(bench: Bench) -> Iterator[Row]:
    """Store.recall against psycopg with the same statement and values."""
    owner, turn = data.account(0), data.Texts("client").turn()
    call = calls.recall(actor=owner, query=turn)
    with psycopg.connect(bench.store(), autocommit=True) as connection:
        store = Store(connection)
        repeated = bench.effort.repeated
        legs = {
            "Store.recall": repeated(lambda: store.recall(owner, turn)),
            "the same SELECT by psycopg": repeated(
                lambda: connection.execute(call.statement, call.parameters).fetchall()
            ),
        }
        yield bench.effort.compare("client", legs, target=Target(1.1))


def peers(bench: Bench) -> Iterator[Row]:
    """Add, search, list and delete, a call at a time, in stores that hold the same memories."""
    for name, (peer, embedded) in PEERS.items():
        if embedded and not bench.server.pgvector:
            print(f"{name}: left out: the server has no pgvector")
            continue
        try:
            theirs = _Stand(bench, bench.server.empty("peer"), peer, embedded)
        except ImportError as missing:
            print(f"{name}: left out: {missing}")
            continue
        ours = _Stand(bench, bench.server.installed("beside"), Memstore, embedded)
        count = max(20, int(bench.effort.seconds * 100))
        sides = {"memstore, hybrid" if embedded else "memstore": ours, name: theirs}
        # What a round adds it deletes.
        legs = {
            action: {stand.label(side, action): stand.operation(action) for side, stand in sides.items()}
            for action in _ACTIONS
        }
        times = bench.effort.in_turn(
            {
                label: bench.effort.repeated(operation, count)
                for pair in legs.values()
                for label, operation in pair.items()
            }
        )
        for pair in legs.values():
            yield times.row("peers", *pair, target=_FASTER)
        ours.close()
        theirs.close()


class _Stand:
    """One store of memories, filled, and what is done to it."""

    def __init__(
        self, bench: Bench, conninfo: str, make: Callable[[str, Embed | None], Memories], embedded: bool
    ) -> None:
        texts = data.Texts("peers")
        turns = texts.turns(100)
        bodies = texts.bodies(100)
        vectors = {text: data.vector(text) for text in [*turns, *bodies]} if embedded else {}

        def embed(text: str) -> list[float]:
            return vectors.get(text) or data.vector(text)

        # It may take its time, but not as long as a disk does.
        filling = make(
            make_conninfo(conninfo, options="-c synchronous_commit=off"), embed if embedded else None
        )
        accounts = [filling.account(f"account-{number}") for number in range(bench.size.peers)]
        for _ in range(load.LIVE):
            for account in accounts:
                filling.add(account, texts.body())
        filling.close()
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")

        self._memories = make(conninfo, embed if embedded else None)
        self._writer = self._memories.account("writer")
        self._accounts = itertools.cycle(accounts)
        self._bodies = itertools.cycle(bodies)
        self._turns = itertools.cycle(turns)
        self._keys: list[str] = []

    def label(self, side: str, action: str) -> str:
        """Names what is done; of a search also how many it finds: an index may lose some."""
        if action != "search":
            return f"{side}: {action}"
        found = statistics.fmean(self._search() for _ in range(100))
        return f"{side}: search, finds {found:.1f} of {FOUND}"

    def operation(self, action: str) -> Callable[[], object]:
        actions: dict[str, Callable[[], object]] = {
            "add": self._add,
            "search": self._search,
            "list": self._list,
            "delete": self._delete,
        }
        return actions[action]

    def _add(self) -> None:
        self._keys.append(self._memories.add(self._writer, next(self._bodies)))

    def _search(self) -> int:
        return self._memories.search(next(self._accounts), next(self._turns))

    def _list(self) -> int:
        return self._memories.list(next(self._accounts))

    def _delete(self) -> None:
        self._memories.delete(self._writer, self._keys.pop())

    def close(self) -> None:
        self._memories.close()
