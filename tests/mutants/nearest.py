"""Which tests are nearest to a change: those that call what it is in, by few steps, and little else."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from tests.mutants.sites import Site

_WORD = re.compile(r"\w+")
# Of files, not of behaviour; and other programs' suites.
_LEFT_OUT = re.compile(
    r"tests/(peers|bench|mutants|generate)/|test_files|test_headers|test_generated|_readme"
)
# Where each test, or each module, has a server of its own to start: last, and for Python alone.
_DEAR = re.compile(r"tests/(serve|upgrades)/|tests/test_|tests/cli/test_(private|mcp_private|install)")
_STEPS = (64.0, 8.0, 1.0)


class Nearest:
    """The tests and the code of a checkout, by the names that they use."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def tests(self, site: Site) -> list[str]:
        """The tests' node ids, the nearest first."""
        near = self._near(site)
        area = {part for part in Path(site.path).parts if part not in ("sql", "functions", "internal")}
        scored = []
        tests = {
            node: words
            for node, words in self._tests.items()
            if site.kind == "python" or not _DEAR.match(node)
        }
        for node, words in tests.items():
            score = sum(weight / self._used[name] ** 0.5 for name, weight in near.items() if name in words)
            if score:
                inside = len(area & set(Path(node.partition("::")[0]).parts))
                scored.append((-score * (1 + inside) / len(words) ** 0.5, node))
        near_ones = [node for _, node in sorted(scored)]
        if site.kind == "constraints":
            near_ones.insert(0, "tests/sql/schema/test_bounds.py")
        return near_ones + sorted(
            node for node in tests.keys() - set(near_ones) if area & set(Path(node.partition("::")[0]).parts)
        )

    def _near(self, site: Site) -> dict[str, float]:
        """Names and how much each counts: what is changed, what calls it, and what calls that."""
        step = {Path(site.path).stem}
        if site.kind == "constraints":
            source = (self._root / site.path).read_text(encoding="utf-8")[: site.start]
            step = set(re.findall(r"\bconstraint (\w+)", source)[-1:])
            step |= {f"on {table}" for table in re.findall(r"\btable (?:\w+\.)?(\w+)", source)[-1:]}
        if site.kind == "python":
            step |= self._enclosing(site)
        near: dict[str, float] = {}
        for weight in _STEPS:
            near |= {name: weight for name in step if name not in near}
            step = {caller for caller, names in self._calls.items() if names & step}
        return near

    def _enclosing(self, site: Site) -> set[str]:
        tree = ast.parse((self._root / site.path).read_text(encoding="utf-8"))
        return {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.lineno <= site.line <= (node.end_lineno or 0)
        }

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        """Of each function the functions that it calls, and "on TABLE" for a table that it writes to."""
        calls: dict[str, set[str]] = {}
        for path in self._root.glob("sql/*/**/*.sql"):
            text = path.read_text(encoding="utf-8")
            calls[path.stem] = set(re.findall(r"\bmemstore\.(\w+)\(", text)) - {path.stem} | {
                f"on {table}"
                for table in re.findall(r"\b(?:insert into|update|delete from) memstore\.(\w+)", text)
            }
        for path in sorted(self._root.glob("migrations/*.sql")):
            text = path.read_text(encoding="utf-8")
            trigger = r"\bon memstore\.(\w+)[^;]*?execute function memstore\.(\w+)\("
            for table, function in re.findall(trigger, text):
                calls.setdefault(f"on {table}", set()).add(function)
        return calls

    @cached_property
    def _used(self) -> Counter[str]:
        return Counter(name for words in self._tests.values() for name in words)

    @cached_property
    def _tests(self) -> dict[str, set[str]]:
        """Of each test the words in it, and in the helpers and constants that it uses."""
        helpers: dict[str, dict[str, set[str]]] = {}
        found: dict[str, set[str]] = {}
        for path in sorted(self._root.glob("tests/**/*.py")):
            name = path.relative_to(self._root).as_posix()
            if _LEFT_OUT.search(name):
                continue
            source = path.read_text(encoding="utf-8")
            own = helpers.setdefault(name.removesuffix(".py").replace("/", "."), {})
            for node, text, is_test in _functions(source):
                words = set(_WORD.findall(text))
                if is_test and path.stem.startswith("test_"):
                    found[f"{name}::{node}"] = words | {path.stem.removeprefix("test_")}
                else:
                    own[node.rpartition("::")[2]] = words
        for node, words in found.items():
            path = self._root / node.partition("::")[0]
            module = node.partition("::")[0].removesuffix(".py").replace("/", ".")
            near = dict(helpers[module])
            for origin, names in _imports(path):
                near |= {each: helpers[origin][each] for each in names & helpers.get(origin, {}).keys()}
            for _ in range(2):
                for helper in words & near.keys():
                    words |= near[helper]
        return found


@cache
def _imports(path: Path) -> list[tuple[str, set[str]]]:
    return [
        (node.module or "", {each.name for each in node.names})
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
    ]


def _functions(source: str) -> Iterator[tuple[str, str, bool]]:
    """Functions and constants: name, text, whether it is a test."""
    lines = source.splitlines()
    for outer in ast.parse(source).body:
        if isinstance(outer, ast.Assign | ast.AnnAssign):
            target = outer.targets[0] if isinstance(outer, ast.Assign) else outer.target
            if isinstance(target, ast.Name):
                yield target.id, "\n".join(lines[outer.lineno - 1 : outer.end_lineno]), False
        inner = outer.body if isinstance(outer, ast.ClassDef) else [outer]
        for node in inner:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                name = f"{outer.name}::{node.name}" if isinstance(outer, ast.ClassDef) else node.name
                yield name, "\n".join(lines[first - 1 : node.end_lineno]), node.name.startswith("test_")
