"""The figures: one module for each subject, one function for each figure, by whose name `--only` finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.bench import load
from tests.bench.measuring import Effort, Row
from tests.bench.pgbench import Pgbench
from tests.bench.server import Server


@dataclass(frozen=True)
class Size:
    """How large everything is.

    Attributes:
        effort: rounds and seconds.
        shared_buffers: of the server.
        stores: memories of the stores that are compared; the other figures are taken in the first.
        accounts: live memories of the accounts that are compared.
        single: accounts of one memory in the skewed store, and memories of the stores without statistics.
        claims: of the stores of claims that are compared.
        peers: accounts of 200 memories that each peer holds.
    """

    effort: Effort
    shared_buffers: str
    stores: tuple[int, ...]
    accounts: tuple[int, ...]
    single: int
    claims: tuple[int, int]
    peers: int


SIZES = {
    "small": Size(Effort(5, 0.1), "512MB", (2_000, 20_000), (200, 2_000), 2_000, (200, 2_000), 5),
    "large": Size(
        Effort(5, 0.7),
        "4GB",
        (10_000, 100_000, 1_000_000),
        (200, 2_000, 100_000),
        20_000,
        (1_000, 100_000),
        50,
    ),
    "huge": Size(
        Effort(7, 3),
        "8GB",
        (10_000, 1_000_000, 10_000_000),
        (200, 2_000, 100_000),
        20_000,
        (1_000, 100_000),
        50,
    ),
}


@dataclass(frozen=True)
class Bench:
    """What a figure has to work with: a server, a size, and databases of that size.

    Attributes:
        server: the server.
        size: the size.
        plot: by name: milliseconds by the size of the store, to be drawn.
        facts: what is no comparison, such as the sizes of indexes.
    """

    server: Server
    size: Size
    plot: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def effort(self) -> Effort:
        return self.size.effort

    @property
    def pgbench(self) -> Pgbench:
        return Pgbench(self.server, self.size.effort)

    def store(self, size: int | None = None) -> str:
        """The conninfo of a store of so many memories; of the smallest one."""
        memories = size or self.size.stores[0]
        return self.server.store(f"store_{memories}", lambda conninfo: load.store(conninfo, memories))

    def claims(self, count: int) -> str:
        """The conninfo of a store with so many claims."""
        return self.server.store(f"claims_{count}", lambda conninfo: load.claims(conninfo, count))

    def accounts(self) -> str:
        """The conninfo of the smallest store with accounts of all sizes in it."""

        def fill(conninfo: str) -> None:
            load.store(conninfo, self.size.stores[0])
            for size in self.size.accounts:
                load.account(conninfo, load.sized(size), size)

        return self.server.store("accounts", fill)

    def indexed_accounts(self) -> str:
        """The same with the operator's indexes for large accounts."""
        self.accounts()
        conninfo = self.server.copy("accounts_indexed", "accounts")
        self.server.index_words(conninfo)
        return conninfo


Figure = Callable[[Bench], Iterator[Row]]
