"""The store's figures: for people as a page, for Prometheus as OpenMetrics."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from memstore.api.aio import AsyncFunctions
from memstore.errors import MemstoreError, ScopeMissing
from memstore.models import Statistic
from memstore.serve.acting import ActingStore, visiting
from memstore.serve.agents import bearer_of, unauthorized
from memstore.serve.pages import Page

_PLOTTED: Final = (
    ("Memories", "memories", ("bucket", "state")),
    ("Claims", "claims", ("status",)),
    ("Open challenges", "open_challenges", ("state",)),
    ("Accounts", "accounts", ("state",)),
    ("Without an embedding", "unembedded_memories", ("model",)),
    ("Tables, bytes", "table_bytes", ("table",)),
)
_MOST_BARS: Final = 8


async def store(page: Page) -> Response:
    """Shows them as plots, the fullest accounts, and what waits."""
    try:
        figures = await page.store.store_statistics()
    except MemstoreError as error:
        return await page.refused(error)
    named: dict[str, list[Statistic]] = defaultdict(list)
    for each in figures:
        named[each.name].append(each)
    plots = []
    for title, name, labels in _PLOTTED:
        bars = [(_label(each, labels), each.value) for each in named[name]]
        if len(bars) > _MOST_BARS:
            bars = sorted(bars, key=lambda bar: -bar[1])[:_MOST_BARS]
        plots.append((title, bars, all(each.exact for each in named[name])))
    return await page.render("store.html", plots=plots, named=named)


def _label(figure: Statistic, names: Iterable[str]) -> str:
    return " ".join(figure.labels.get(name, "all") for name in names).replace("_", " ")


class Metrics:
    """The metrics, for a token with the scope operator.

    Args:
        store: The store.
    """

    def __init__(self, store: AsyncFunctions) -> None:
        self._store = store

    async def scraped(self, request: Request) -> Response:
        """Answers a scrape."""
        visitor = await bearer_of(self._store, request.headers)
        if visitor is None:
            return unauthorized()
        try:
            with visiting(visitor):
                figures = await ActingStore(self._store).store_statistics()
        except ScopeMissing as error:
            return Response(error.message, 403)
        return Response(
            openmetrics(figures), media_type="application/openmetrics-text; version=1.0.0; charset=utf-8"
        )


def openmetrics(figures: Iterable[Statistic]) -> str:
    """Writes figures in the text format of OpenMetrics, each as a gauge."""
    families: dict[str, list[str]] = {}
    for each in figures:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in each.labels.items())
        sample = f"memstore_{each.name}{'{' + labels + '}' if labels else ''} {each.value!r}\n"
        families.setdefault(each.name, []).append(sample)
    text = "".join(f"# TYPE memstore_{name} gauge\n{''.join(samples)}" for name, samples in families.items())
    return f"{text}# EOF\n"


def _escaped(value: str) -> str:
    return re.sub(r'["\\\n]', lambda found: {"\n": "\\n"}.get(found[0], f"\\{found[0]}"), value)
