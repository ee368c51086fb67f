"""README.md and the pages beside the code give the output that they show, and lead to what exists."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess

import psycopg
import pytest

from memstore import embedded, schema
from tests.cli.running import COMMAND, at_terminal
from tests.databases import environment
from tests.documents import ROOT, blocks
from tests.servers import server_folder

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (schema.sql_dir() / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def no_role(db: psycopg.Connection) -> None:
    """Roles outlive a test's database."""
    db.execute("drop role if exists support_bot")


@pytest.mark.usefixtures("no_role")
@pytest.mark.parametrize(("document", "outputs"), [("README.md", 1), ("sql/claims.md", 3)])
def test_the_sql(document: str, outputs: int, db_url: str) -> None:
    psql = str(embedded.find_binaries() / "psql")
    shown = 0
    for block in blocks(document, "sql"):
        # One session a block, so that only its last result is compared.
        *first, last = re.split(r"(?<=;)\n(?=select|create)", block.code.strip())
        for statement in first:
            subprocess.run(
                [psql, "-qX", "-v", "ON_ERROR_STOP=1", db_url, "-c", statement],
                check=True,
                capture_output=True,
            )
        result = subprocess.run(
            [psql, "-qX", "-v", "ON_ERROR_STOP=1", db_url, "-c", last],
            check=True,
            capture_output=True,
            text=True,
        )
        if block.output:
            shown += 1
            assert result.stdout.strip() == block.output.strip()
    assert shown == outputs


@pytest.mark.long
def test_the_main_job() -> None:
    """By meaning, on a private store; an environment is there already."""
    (job,) = re.findall(r"<!-- the main job -->\n```sh\n(.*?)```", README, re.DOTALL)
    (note,) = re.findall(r"<!-- the note -->\n```text\n(.*?)```", README, re.DOTALL)
    install, *commands = [line.removesuffix(" &&") for line in job.strip().splitlines()]
    assert ".[cli,embed]" in install
    with server_folder() as folder:
        for command in commands:
            program, *arguments = shlex.split(command)
            assert program == ".venv/bin/memstore"
            result = subprocess.run(
                [*COMMAND, "--database-url", "private", *arguments],
                env=environment() | {"MEMSTORE_DATA_DIR": str(folder / "data")},
                check=True,
                capture_output=True,
                text=True,
            )
    assert result.stdout == note


def test_it_is_short() -> None:
    assert len(README.split()) <= 1300


def test_links() -> None:
    """Of every page, to files that there are."""
    folders = (".github", "memstore", "migrations", "sql", "tests")
    pages = [page for folder in folders for page in (ROOT / folder).rglob("*.md")]
    for page in [ROOT / "README.md", *(page for page in pages if "node_modules" not in page.parts)]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            assert (page.parent / target).exists(), (page, target)


def test_the_python(db_url: str) -> None:
    (block,) = blocks("README.md", "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block.code.replace("postgresql://support_bot@host/agents", db_url), {})
    assert printed.getvalue() == block.output


def test_the_chain(db: psycopg.Connection, db_url: str) -> None:
    (shown,) = re.findall(r"<!-- a chain -->\n```text\n(.*?)```", README, re.DOTALL)
    new, old = re.findall(r"(?:live|superseded) ([0-9a-f]{8})", shown)
    ends = "-0000-4000-8000-000000000000"
    db.execute(
        "select memstore.import_memories(memstore.create_user(external_ref => 'default'),"
        " jsonb_build_array(jsonb_build_object('id', %s::text, 'body', 'I use pnpm, not npm.',"
        " 'inserted_at', clock_timestamp() - interval '3 days')))",
        [old + ends],
    )
    at_terminal(db_url, "correct", old, "I use pnpm 9, not npm.", "--id", new + ends)
    drawn = re.sub(
        r"\x1b\[[0-9;]*m| +$", "", at_terminal(db_url, "history", new, columns=100), flags=re.MULTILINE
    )
    assert drawn == shown


def test_each_function_has_a_place() -> None:
    functions = sorted(path.stem for path in (schema.sql_dir() / "functions").rglob("*.sql"))
    for pattern in (r"^\| \[`(\w+)`\]\(#\1\) \| ", r"^### \[(\w+)\]\(functions/\w+/\1\.sql\)$"):
        assert sorted(re.findall(pattern, REFERENCE, re.MULTILINE)) == functions


def test_the_references_links() -> None:
    """To files that there are, and to headings as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", REFERENCE, re.MULTILINE)
    anchors = {re.sub(r"\]\(.*?\)|[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
    for target in re.findall(r"\]\((\S+?)\)", REFERENCE):
        if target.startswith("#"):
            assert target[1:] in anchors
        else:
            assert (schema.sql_dir() / target).is_file(), target


def test_the_references_refusals(db: psycopg.Connection) -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| `MS\d+` \| (.+?) \| .+ \|$", REFERENCE, re.MULTILINE))
    for name, message in db.execute("select name, message from memstore.refusals"):
        assert listed.pop(name) == message
    # What is raised before there is anything of memstore in the database.
    assert listed.keys() == {
        "encoding_unsupported",
        "version_unsupported",
        "yoyo_locked",
        "owner_differs",
        "rows_absent",
    }


def test_the_references_rules(db: psycopg.Connection) -> None:
    rules = REFERENCE.partition("\n## Rules\n")[2]
    listed = re.findall(r"^\| `(\w+_shape)` \| (.+) \|$", rules, re.MULTILINE)
    rows = db.execute(
        "select name, message from memstore.rules"
        " where field <> 'singleton' and table_name not in ('deployment', 'claim_counter')"
    )
    assert sorted(listed) == sorted(rows.fetchall())


class TestDiagram:
    DIAGRAM = re.findall(r"^```mermaid\nerDiagram\n(.*?)```$", REFERENCE, re.DOTALL | re.MULTILINE)[0]
    TABLES = "r.relnamespace = 'memstore'::regnamespace and r.relkind = 'r' and r.relname !~ 'yoyo'"

    @pytest.fixture
    def drawn(self) -> set[tuple[str, str, str, str]]:
        """Table, column, type and marks."""
        return {
            (table, name, kind, marks)
            for table, columns in re.findall(r"^    (\w+) \{\n(.*?)^    \}$", self.DIAGRAM, re.DOTALL | re.M)
            for kind, name, marks in re.findall(r"^        (\S+) (\w+) ?(.*)$", columns, re.MULTILINE)
        }

    def test_columns(self, drawn: set[tuple[str, ...]], db: psycopg.Connection) -> None:
        columns = db.execute(
            "select r.relname::text, a.attname::text, t.typname::text, a.attndims from pg_class r"
            " join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped"
            f" join pg_type t on t.oid = a.atttypid where {self.TABLES}".encode()
        ).fetchall()
        types = {
            "bool": "boolean",
            "int4": "integer",
            "int8": "bigint",
            "_float4": "real[]",
            "_text": "text[]",
        }
        assert {(table, name, kind) for table, name, kind, _ in drawn} == {
            (table, name, types.get(kind, kind)) for table, name, kind, _ in columns
        }

    @pytest.mark.parametrize(("mark", "kind"), [("PK", "p"), ("FK", "f")])
    def test_keys(self, mark: str, kind: str, drawn: set[tuple[str, ...]], db: psycopg.Connection) -> None:
        keys = db.execute(
            "select r.relname::text, a.attname::text from pg_constraint c"
            " join pg_class r on r.oid = c.conrelid"
            " join pg_attribute a on a.attrelid = r.oid and a.attnum = any (c.conkey)"
            f" where c.contype = '{kind}' and {self.TABLES}".encode()
        ).fetchall()
        assert {(table, name) for table, name, _, marks in drawn if mark in marks} == set(keys)

    def test_relationships(self, db: psycopg.Connection) -> None:
        drawn = re.findall(r"^    (\w+) ([|o]{2})--o\{ (\w+) : \"(.+)\"$", self.DIAGRAM, re.MULTILINE)
        keys = db.execute(
            "select f.relname::text, r.relname::text, c.conname::text from pg_constraint c"
            " join pg_class r on r.oid = c.conrelid join pg_class f on f.oid = c.confrelid"
            f" where c.contype = 'f' and {self.TABLES}".encode()
        ).fetchall()
        # A foreign key is named after the column that says which row.
        assert sorted(
            (parent, f"{child}_{columns.split(', ')[0]}_fkey") for parent, _, child, columns in drawn
        ) == (sorted((parent, name) for parent, _, name in keys))
        assert {(child, columns) for _, end, child, columns in drawn if end == "||"} == {
            ("account_roles", "user_id"),
            ("item_embeddings", "item_id"),
            ("items", "user_id"),
            ("memories", "user_id"),
            ("memory_admissions", "user_id"),
            ("memory_admissions", "memory_id"),
            ("tokens", "user_id"),
        }
