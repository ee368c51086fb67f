"""migrations/flyway-and-liquibase.md: what its block builds, run as these tools run it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.databases import YOYO_TABLES, dump, psql_install
from tests.documents import ROOT, blocks
from tests.upgrades.stores import MIGRATIONS

# What a driver or a tool takes as one token, in which nothing has another meaning.
TOKENS = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(?P<tag>\$\w*\$).*?(?P=tag)|(?P<end>;)|.",
    re.DOTALL,
)


def statements(text: str) -> Iterator[str]:
    """The statements of a file, as a parser that knows quotes and comments splits it."""
    start = 0
    for token in TOKENS.finditer(text):
        if token["end"]:
            yield text[start : token.end()]
            start = token.end()
    assert not re.sub(r"--[^\n]*", "", text[start:]).strip()


@pytest.fixture
def changes(tmp_path: Path) -> list[Path]:
    """In the order in which they run."""
    for name in ("sql", "migrations"):
        (tmp_path / name).symlink_to(ROOT / name)
    (block,) = blocks("migrations/flyway-and-liquibase.md", "sh")
    subprocess.run(["sh", "-eu"], input=block.code, text=True, check=True, cwd=tmp_path)
    versions = sorted((tmp_path / "changes").glob("V*.sql"))
    assert [path.name[1:5] for path in versions] == [name[:4] for name in MIGRATIONS]
    return [*versions, tmp_path / "changes" / "R__memstore_code.sql"]


def without_yoyo(conninfo: str) -> str:
    options = [f"--exclude-table=memstore.{table}" for table in sorted(YOYO_TABLES)]
    return dump(conninfo, *options)


@pytest.mark.parametrize("split", [False, True], ids=["whole", "by statement"])
def test_each_file_is_a_transaction(split: bool, changes: list[Path], database: str, installed: str) -> None:
    for _ in range(2):
        with psycopg.connect(database) as connection:
            for path in changes:
                text = path.read_text(encoding="utf-8")
                for statement in statements(text) if split else [text]:
                    connection.execute(statement.encode())
                connection.commit()
            assert connection.execute("select count(*) from memstore.deployment").fetchone() == (
                len(MIGRATIONS) + len(["sql", "words"]),
            )
        changes = changes[-1:]  # the repeatable one
    assert without_yoyo(database) == without_yoyo(installed)
    psql_install(database)
    assert dump(database) == dump(installed)


def test_no_placeholders_nor_escapes(changes: list[Path]) -> None:
    """Of Flyway, and of JDBC outside of literals."""
    for path in changes:
        text = path.read_text(encoding="utf-8")
        assert "${" not in text
        bare = "".join(token[0] for token in TOKENS.finditer(text) if len(token[0]) == 1)
        assert not re.search(r"[{}?\\]", bare), path


def test_a_body_has_semicolons(changes: list[Path], database: str) -> None:
    """What the page says of Liquibase's default."""
    with psycopg.connect(database) as connection, pytest.raises(psycopg.errors.SyntaxError):
        for statement in changes[0].read_text(encoding="utf-8").split(";"):
            connection.execute(statement.encode())
