"""Draws times against the size of the store, as SVG without a library: a few lines and words."""

from __future__ import annotations

import math
from html import escape

_WIDTH, _HEIGHT = 740, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 300, 20, 50
_COLOURS = ("#0b6e99", "#c4561a", "#4d7c2a", "#7a4b9a", "#8a6d00", "#a8324a")


def svg(series: dict[str, list[tuple[int, float]]]) -> str:
    """Return the picture.

    Args:
        series: by name: the numbers of memories and the milliseconds.
    """
    sizes = [size for points in series.values() for size, _ in points]
    low, high = math.log10(min(sizes)), math.log10(max(sizes))
    top = _nice(max(time for points in series.values() for _, time in points))

    def x(size: int) -> float:
        return _LEFT + (math.log10(size) - low) / ((high - low) or 1) * (_WIDTH - _LEFT - _RIGHT)

    def y(time: float) -> float:
        return _HEIGHT - _BOTTOM - time / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        ' font-family="sans-serif" font-size="12" fill="#57606a">',
        "<title>Milliseconds of one call, by the size of the store</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for step in range(5):
        value = top * step / 4
        parts.append(f'<path d="M{_LEFT} {y(value):.1f}H{_WIDTH - _RIGHT}" stroke="#d8dee4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for size in sorted(set(sizes)):
        parts.append(
            f'<text x="{x(size):.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle">{_short(size)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">memories in the store</text>')
    parts.append(
        f'<text transform="translate(14 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">ms a call</text>'
    )
    heights = _apart([y(points[-1][1]) for points in series.values()])
    for (name, points), colour, height in zip(series.items(), _COLOURS, heights, strict=False):
        path = "L".join(f"{x(size):.1f} {y(time):.1f}" for size, time in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(size):.1f}" cy="{y(time):.1f}" r="3" fill="{colour}"/>' for size, time in points
        ]
        label = f"{escape(name)}: {points[-1][1]:.2f} ms"
        parts.append(f'<text x="{_WIDTH - _RIGHT + 10}" y="{height + 4:.1f}" fill="{colour}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _nice(value: float) -> float:
    """The next number up that divides well by four."""
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * step for step in (1, 2, 4, 8, 10) if unit * step >= value)


def _short(size: int) -> str:
    for unit, name in ((1_000_000, " million"), (1_000, ",000")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def _apart(heights: list[float]) -> list[float]:
    """Move labels that would cover each other."""
    placed: list[float] = []
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = dict.fromkeys(order, 0.0)
    for place in order:
        moved[place] = max(heights[place], placed[-1] + 16 if placed else 0)
        placed.append(moved[place])
    return [moved[place] for place in range(len(heights))]
