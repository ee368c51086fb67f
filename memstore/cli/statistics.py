"""What `memstore stats` shows: the figures of a store."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from memstore.cli.output import UNITS, Output
from memstore.models import Statistic

# A terminal shows these as columns, with a row for each table or index.
_TABLES = {
    "table_bytes": "size",
    "live_rows": "rows",
    "dead_rows": "dead",
    "row_updates": "updates",
    "hot_row_updates": "hot",
    "sequential_scans": "scans",
    "seconds_since_vacuum": "vacuumed",
}
_INDEXES = {"index_bytes": "size", "index_scans": "scans"}
_ELSEWHERE = {*_TABLES, *_INDEXES, "seconds_since_analyze", "setting"}  # memstore settings has the last


def show_statistics(statistics: Sequence[Statistic], out: Output) -> None:
    """Prints figures: tables at a terminal, else a line a figure with the database's numbers."""
    if not out.pretty:
        out.records(statistics, lambda each, _: _plain(each), document=asdict)
        return
    store = [each for each in statistics if each.name not in _ELSEWHERE]
    rows = [
        ("" if before and before.name == each.name else each.name.replace("_", " "), _of(each), _value(each))
        for before, each in zip([None, *store], store, strict=False)
    ]
    out.records(rows, lambda row, _: row, ("figure", "of", "value"))
    for label, heads in (("table", _TABLES), ("index", _INDEXES)):
        print()
        _print_beside(statistics, label, heads, out)


def _print_beside(statistics: Sequence[Statistic], label: str, heads: Mapping[str, str], out: Output) -> None:
    cells: dict[str, dict[str, str]] = {}
    for each in statistics:
        if each.name in heads:
            cells.setdefault(each.labels[label], {})[each.name] = _value(each)
    rows = [(name, *(found.get(head, "") for head in heads)) for name, found in cells.items()]
    out.records(rows, lambda row, _: row, (label, *heads.values()))


def _plain(statistic: Statistic) -> tuple[str, str, str]:
    labels = ",".join(f"{key}={value}" for key, value in statistic.labels.items())
    return statistic.name, labels, f"{statistic.value:.15g}"


def _of(statistic: Statistic) -> str:
    if statistic.name == "unembedded_memories" and not statistic.labels:
        return "any model"
    return ", ".join(statistic.labels.values()).replace("_", " ")


def _value(statistic: Statistic) -> str:
    name, value = statistic.name, statistic.value
    if "bytes" in name:
        return _bytes(value)
    if "seconds" in name:
        return _duration(value)
    if name == "account_fullness":
        return f"{value:.0%}"
    return f"{'' if statistic.exact else '~'}{value:,.15g}"


def _bytes(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 10_000:
            return f"{value:,.0f} {unit}"
        value /= 1024
    return f"{value:,.0f} TB"


def _duration(seconds: float) -> str:
    for unit, length in UNITS:
        if number := int(seconds // length):
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return "under a minute"
