"""How `memstore stats` writes the figures of a store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstore.cli.output import UNITS
from memstore.models import Statistic

COLUMNS = ("figure", "of", "value")


@dataclass(frozen=True)
class Row:
    """One figure, and how it is shown.

    Attributes:
        statistic: The figure.
        cells: The texts of `COLUMNS`.
    """

    statistic: Statistic
    cells: tuple[str, str, str]


def statistic_rows(statistics: Sequence[Statistic], pretty: bool) -> Iterator[Row]:
    """Writes figures: for a terminal with units and each name once, else as the database has them."""
    before = None
    for each in statistics:
        if pretty:
            name = "" if each.name == before else each.name.replace("_", " ")
            cells = name, ", ".join(each.labels.values()), _value(each)
        else:
            cells = (
                each.name,
                ",".join(f"{key}={value}" for key, value in each.labels.items()),
                f"{each.value:.15g}",
            )
        yield Row(each, cells)
        before = each.name


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
