"""Generated parts of pages that are otherwise written by hand."""

import re
from collections.abc import Iterable, Sequence


def filled(text: str, start: str, end: str, content: str) -> str:
    """The text with this content between its line that begins with `start` and the next `end`."""
    marks = list(re.finditer(rf"(?m)^{re.escape(start)}.*\n", text))
    if len(marks) != 1:
        raise ValueError(f"there is no one line that begins with {start!r}")
    begin = marks[0].end()
    return text[:begin] + content + text[text.index(end, begin) :]


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)
