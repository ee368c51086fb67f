"""Where something can be changed, and into what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = {
    "sql": ("sql/functions/**/*.sql", "sql/internal/**/*.sql", "sql/triggers/*.sql", "sql/views/*.sql"),
    "constraints": ("migrations/[0-9][0-9][0-9][0-9]-*.sql",),
    "python": (
        "memstore/*.py",
        "memstore/api/calls.py",
        "memstore/connections/*.py",
        "memstore/mcp_server/*.py",
        "memstore/serve/*.py",
        "memstore/integrations/*.py",
    ),
}
"""The files, by kind."""

# What is generated from the catalog, and what only checks or describes what others do.
_LEFT_OUT = re.compile(r"\.rollback\.sql|expected_objects|/help\.sql|schema_version\.sql|refusals\.sql")

_SKIPPED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", re.DOTALL)

_RULES: list[tuple[str, str, str]] = [
    ("comparison", r"(?<=\s)<=(?=\s)", "<"),
    ("comparison", r"(?<=\s)>=(?=\s)", ">"),
    ("comparison", r"(?<=\s)<(?=\s)", "<="),
    ("comparison", r"(?<=\s)>(?=\s)", ">="),
    ("comparison", r"(?<=\s)<>(?=\s)", "="),
    ("comparison", r"(?<=\s)=(?=\s)", "<>"),
    ("condition", r"\bis not null\b", "is null"),
    ("condition", r"\bis null\b", "is not null"),
    ("condition", r"\bnot exists\b", "exists"),
    ("condition", r"(?<!not )\bexists(?= \()", "not exists"),
    ("condition", r"(?<=\s)and(?=\s)", "or"),
    ("condition", r"(?<=\s)or(?=\s)(?! replace)", "and"),
    ("condition", r"(?m)^\s+and [^()\n]*(?:\([^()\n]*\)[^()\n]*)*$", ""),
    ("constant", r"(?<![\w.$:\[(-])(?<!perform )\d+(?:\.\d+)?(?![\w.)\]])", "+1"),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
    ("lock", r"\bfor (?:no key )?update\b(?: of \w+)?(?: skip locked)?", ""),
    ("lock", r"\bfor (?:key )?share\b(?: of \w+)?", ""),
    ("lock", r"(?m)^\s+perform [\w.]*lock\w*\([^;\n]*\);$", ""),
    ("lock", r"(?m)^\s+lock table [^;]*;$", ""),
    ("order", r"\bdesc\b", "asc"),
    ("order", r"\border by ([\w.]+)(?=\s*(?:[,)\n]|limit))", r"order by \1 desc"),
    ("order", r"\bselect distinct\b(?! on)", "select"),
]


@dataclass(frozen=True)
class Site:
    """One change.

    Attributes:
        path: the file, in a checkout.
        kind: of SOURCES.
        rule: what is changed: comparison, condition, constant, lock, order.
        start: where, in characters.
        end: its end.
        text: what stands there instead.
        line: the line's number.
        before: the line as it is.
        after: the line as it is then.
    """

    path: str
    kind: str
    rule: str
    start: int
    end: int
    text: str
    line: int
    before: str
    after: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def __str__(self) -> str:
        """The change without its line's number, so that it stays the same as others come and go."""
        return f"{self.path}: {self.before.strip()} -> {self.after.strip() or '(nothing)'}"


def sites(root: Path) -> list[Site]:
    """Lists all changes that can be made, in a checkout."""
    found: list[Site] = []
    for kind, patterns in SOURCES.items():
        for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
            name = str(path.relative_to(root))
            if not _LEFT_OUT.search(name):
                source = path.read_text(encoding="utf-8")
                found += _python(name, source) if kind == "python" else _sql(name, kind, source)
    return found


def _site(path: str, kind: str, rule: str, source: str, start: int, end: int, text: str) -> Site:
    first = source.rfind("\n", 0, start) + 1 if source[start] != "\n" else start + 1
    before = source[first:].partition("\n")[0]
    after = f"{source[first:start]}{text}{source[end:]}".partition("\n")[0] if start >= first else ""
    return Site(path, kind, rule, start, end, text, source.count("\n", 0, first) + 1, before, after)


def _sql(path: str, kind: str, source: str) -> Iterator[Site]:
    # As long as it was, so that places stay.
    code = _SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    begin = code.find("$$") if kind == "sql" and "$$" in code else 0
    for rule, pattern, text in _RULES:
        for found in re.finditer(pattern, code):
            if found.start() < begin:
                continue
            new = found.expand(text) if "\\" in text else text
            if text == "+1":
                new = str(int(found[0]) + 1) if found[0].isdigit() else str(float(found[0]) * 2)
            inside = kind == "sql" or re.search(
                r"\bcheck\b|constraint", code[: found.start()].rpartition(";")[2]
            )
            if inside:
                yield _site(path, kind, rule, source, *found.span(), new)


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


def _python(path: str, source: str) -> Iterator[Site]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    encoded = source.isascii()

    def place(line: int, column: int) -> int:
        first = starts[line - 1]
        if encoded:
            return first + column
        return first + len(source[first:].encode()[:column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno and node.end_col_offset is not None
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            start, end = span(node.left)[1], span(node.comparators[0])[0]
            yield _site(
                path, "python", "comparison", source, start, end, f" {_COMPARISONS[type(node.ops[0])]} "
            )
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            start, end = span(node.test)
            yield _site(path, "python", "condition", source, start, end, f"not ({source[start:end]})")
        elif isinstance(node, ast.BoolOp):
            start, end = span(node.values[0])[1], span(node.values[1])[0]
            other = "or" if isinstance(node.op, ast.And) else "and"
            yield _site(path, "python", "condition", source, start, end, f" {other} ")
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
            start, end = span(node)
            yield _site(path, "python", "constant", source, start, end, str(node.value + 1))
