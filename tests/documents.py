"""The code blocks of a Markdown file, which tests run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Block:
    """A block of code, and the block of text behind it that shows what it prints."""

    language: str
    code: str
    output: str


def blocks(document: str, *languages: str) -> list[Block]:
    """The blocks of a document, by its path in the repository, in these languages."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w+)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", text, re.DOTALL | re.MULTILINE)
    return [Block(*parts) for parts in found if parts[0] in languages]
