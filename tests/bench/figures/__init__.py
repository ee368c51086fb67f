"""The figures: one module for each subject, one function for each figure, by whose name `--only` finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.bench import load
from tests.bench.measuring import Effort, Pgbench, Row
from tests.bench.server import Server


@dataclass(frozen=True)
class Size:
    """How large everything is.

    Attributes:
        effort: rounds and seconds.
        shared_buffers: of the server.
        stores: memories of the stores that are compared; the other figures are taken in the first.
        accounts: live memories of the accounts that are compared.
        claims: of the stores of claims that are compared.
        peers: accounts of 200 memories that each peer holds.
    """

    effort: Effort
    shared_buffers: str
    stores: tuple[int, ...]
    accounts: tuple[int, ...]
    claims: tuple[int, int]
    peers: int


SIZES = {
    "small": Size(Effort(5, 0.1), "512MB", (2_000, 20_000), (200, 2_000), (200, 2_000), 5),
    "large": Size(
        Effort(7, 3), "4GB", (10_000, 100_000, 1_000_000), (200, 2_000, 100_000), (1_000, 100_000), 50
    ),
    "huge": Size(
        Effort(7, 3), "8GB", (10_000, 1_000_000, 10_000_000), (200, 2_000, 100_000), (1_000, 100_000), 50
    ),
}


@dataclass(frozen=True)
class Bench:
    """What a figure has to work with: a server, a size, and databases of that size."""

    server: Server
    size: Size
    plot: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

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
        """The conninfo of a store with so many claims, which have embeddings where pgvector is there."""
        return self.server.store(
            f"claims_{count}", lambda conninfo: load.claims(conninfo, count, embedded=self.server.pgvector)
        )

    def accounts(self, name: str = "accounts") -> str:
        """The conninfo of the smallest store with accounts of all sizes and one with embeddings in it."""

        def fill(conninfo: str) -> None:
            load.store(conninfo, self.size.stores[0])
            for size in self.size.accounts:
                load.account(conninfo, load.sized(size), size)
            load.account(conninfo, load.EMBEDDED, load.LIVE, embedded=True)

        return self.server.store(name, fill)


Figure = Callable[[Bench], Iterator[Row]]
