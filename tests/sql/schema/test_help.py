"""memstore.help: pages, errors, words."""

from __future__ import annotations

import psycopg
import pytest

from tests.generate import headers
from tests.sql.support import refused, rows


def help_lines(db: psycopg.Connection, topic: str | None = None) -> list[str]:
    return [line for (line,) in rows(db, "select memstore.help(%s)", topic)]


@pytest.fixture
def db(undone: psycopg.Connection) -> psycopg.Connection:
    return undone


@pytest.mark.parametrize("topic", [None, "", " \u3000"])
def test_lists_all_functions(topic: str | None, db: psycopg.Connection) -> None:
    lines = help_lines(db, topic)
    listed = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]
    assert listed == [[page.name, page.summary] for page in headers.pages(db)]
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == list(dict.fromkeys(page.area for page in headers.pages(db)))


@pytest.mark.parametrize(
    "topic", ["recall", "memstore.recall", " RECALL\n", "recall(uuid, text)", "memstore.recall()"]
)
def test_a_page(topic: str, db: psycopg.Connection) -> None:
    lines = help_lines(db, topic)
    assert lines[0] == "recall: what one turn is told."
    assert "  memstore.recall(" in lines
    assert {"Call", "Example", "Result", "Arguments", "Returns", "Errors"} <= {*lines}
    assert not any("\n" in line for line in lines)


def test_every_page_is_there(db: psycopg.Connection) -> None:
    for page in headers.pages(db):
        lines = help_lines(db, page.name)
        assert lines[0] == f"{page.name}: {page.summary}"
        assert lines[2] == "Call"
        assert lines[3].startswith(f"  memstore.{page.name}(")
        assert "  returns " in "\n".join(lines[4:25])


def test_an_error(db: psycopg.Connection) -> None:
    message, hint, *functions = help_lines(db, "Not_Supersedable")
    assert message == "not_supersedable: The memory cannot be superseded so."
    assert hint.startswith("What is superseded is live")
    named = [line.split()[0] for line in functions if line.startswith("  ")]
    assert named == ["supersede_memory", "supersede_with", "promote_memory", "import_memories"]


def test_every_error_and_rule(db: psycopg.Connection) -> None:
    for name, message in rows(
        db, "select name, message from memstore.refusals union all select name, message from memstore.rules"
    ):
        assert help_lines(db, name)[0] == f"{name}: {message}"


def test_a_word(db: psycopg.Connection) -> None:
    assert [line.split()[0] for line in help_lines(db, "tombstone") if line.startswith("  ")] == [
        "export_memories",
        "promote_memory",
        "memories_to_embed",
        "set_maximum_live_memories",
        "store_statistics",
        "verify_store",
    ]


@pytest.mark.parametrize("topic", ["no such word", "'; drop table x", "%rec%", "\\m", ".*", "x" * 100_000])
def test_nothing_to_say(topic: str, db: psycopg.Connection) -> None:
    with refused("argument_invalid", "topic"):
        help_lines(db, topic)


def test_a_comment_is_the_functions_own(db: psycopg.Connection) -> None:
    """Beside one of an earlier version, which an upgrade drops once nothing depends on it."""
    comments = (
        "select oidvectortypes(proargtypes), obj_description(oid) from pg_proc where proname = 'grant_api'"
    )
    before = rows(db, comments)
    db.execute(
        "create function memstore.grant_api(text) returns void language sql"
        " as $$/*\ngrant_api: does something else.\n*/$$"
    )
    db.execute("select memstore.compile_comments()")
    assert sorted(rows(db, comments)) == sorted([*before, ("text", "Does something else.")])
