"""Texts and times as pages show them."""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from memstore.errors import MemstoreError

_STEPS: Final = (
    (86_400 * 365, "year"),
    (86_400 * 30, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)
# What joins letters and emoji, and chooses their form: invisible, and harmless.
_JOINERS: Final = "\u200c\u200d"


def show(text: str | None) -> Markup:
    """Writes any text as HTML that can do nothing: control characters and bidirectional marks have names."""
    return Markup("").join(map(_shown, text or ""))


def _shown(character: str) -> Markup:
    if character in "\n\t" or character in _JOINERS:
        return escape(character)
    if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp"):
        name = unicodedata.name(character, "a control character").capitalize()
        return Markup('<span class="mark" title="{}">U+{:04X}</span>').format(name, ord(character))
    return escape(character)


def ago(moment: datetime | None, now: datetime | None = None) -> Markup:
    """Writes a time as people say it, with the exact one in the title."""
    if moment is None:
        return Markup("")
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    exact = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(), exact, _said(seconds)
    )


def _said(seconds: float) -> str:
    for step, unit in _STEPS:
        number = int(abs(seconds) // step)
        if number:
            said = f"{number} {unit}{'' if number == 1 else 's'}"
            return f"{said} ago" if seconds > 0 else f"in {said}"
    return "just now" if seconds > 0 else "in a moment"


def messages_for(refusal: MemstoreError | None, *fields: str) -> list[str]:
    """Lists what a refusal says of some fields of a form."""
    if refusal is None:
        return []
    if refusal.violations:
        return [broken.message for broken in refusal.violations if broken.field in fields]
    return [_sentence(refusal)] if refusal.field in fields else []


def other_messages(refusal: MemstoreError | None, fields: Iterable[str]) -> list[str]:
    """Lists what a refusal says of anything but these fields."""
    if refusal is None:
        return []
    if refusal.violations:
        return [broken.message for broken in refusal.violations if broken.field not in {*fields}]
    return [] if refusal.field in {*fields} else [_sentence(refusal)]


def _sentence(refusal: MemstoreError) -> str:
    return f"{refusal.message} {refusal.hint}" if refusal.hint else refusal.message


def figure(value: float) -> str:
    """Writes a figure: whole ones with separators, others with two decimals."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
