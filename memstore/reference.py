"""The API's reference, from the SQL files' headers and the catalog: sql/README.md, and what help() shows.

``python -m memstore.schema`` writes both; tests hold them true.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from memstore import embedded, schema

__all__ = ["Page", "pages", "pages_sql", "reference", "write"]

AREAS = {
    "schema": "The schema",
    "accounts": "Accounts",
    "memories": "Memories",
    "recall": "Recall",
    "governance": "Governance of the system bucket",
    "operator": "Operator: the schema's owner only",
}
"""The folders of sql/functions, in the order of the reference."""

_HEADER = re.compile(
    r"\A/\*\n(?P<name>\w+): (?P<summary>[^\n]+)\n\n"
    r"Example:\n(?P<example>.+?)\nResult:(?P<result>.*?)\n\n"
    r"(?P<rest>.*)\n\*/\n.*?"
    r"^create or replace function (?P<signature>memstore\..*?)\nlanguage \w+\n(?P<volatility>\w+)",
    re.DOTALL | re.MULTILINE,
)
_RAISED = re.compile(
    r"errcode = '(?P<state>\w+)',\s+(?:schema = 'memstore',\s+)?constraint = '(?P<name>\w+)',\s+"
    r"message = '(?P<message>.+?)',\s+hint = '(?P<hint>.+?)';"
)
_SECTION = re.compile(r"^([A-Z]\w+)\n((?:  .*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """What a function's file says of it."""

    area: str
    name: str
    summary: str
    signature: str
    example: str
    result: str
    text: str
    sections: dict[str, str]
    """Arguments, Returns, Errors and others, as they are written."""

    @property
    def arguments(self) -> list[tuple[str, str, str]]:
        """Name, type and description of each argument."""
        found: list[tuple[str, str, str]] = []
        for line in self.sections.get("Arguments", "").splitlines():
            if line.startswith(" "):
                name, kind, words = found.pop()
                found.append((name, kind, f"{words} {line.strip()}"))
            else:
                name, kind, words = re.split("  +", line, maxsplit=2)
                found.append((name, kind, words))
        return found


def _outdented(text: str) -> str:
    return re.sub("^  ", "", text.strip("\n").rstrip(), flags=re.MULTILINE)


def _indented(text: str) -> str:
    return re.sub("^(?=.)", "  ", text, flags=re.MULTILINE)


def _page(path: Path) -> Page:
    header = _HEADER.match(path.read_text(encoding="utf-8"))
    if not header or header["name"] != path.stem:
        raise ValueError(f"{path}: a file opens with its name, an example, and the result")
    reads = "" if header["volatility"] == "volatile" else f"\n{header['volatility']}"
    return Page(
        path.parent.name,
        path.stem,
        header["summary"],
        header["signature"] + reads,
        _outdented(header["example"]),
        _outdented(header["result"]),
        _SECTION.sub("", header["rest"]).strip(),
        {name: _outdented(content) for name, content in _SECTION.findall(header["rest"])},
    )


def pages() -> list[Page]:
    """All functions, by area and name."""
    files = sorted((schema.sql_dir() / "functions").glob("*/*.sql"))
    return sorted(map(_page, files), key=lambda page: [*AREAS].index(page.area))


def _plain(page: Page) -> str:
    """The page as `memstore.help` shows it."""
    parts = [
        f"{page.name}: {page.summary}",
        f"Call\n{_indented(page.signature)}",
        f"Example\n{_indented(page.example)}\nResult\n{_indented(page.result)}".rstrip(),
        page.text,
        "\n".join(f"{name}\n{_indented(content)}" for name, content in page.sections.items()),
    ]
    return "\n\n".join(part for part in parts if part)


def pages_sql() -> str:
    """What ``sql/views/pages.sql`` has to say."""
    rows = [
        f"    ({position}, '{_quoted(AREAS[page.area])}', '{page.name}', '{_quoted(page.summary)}',\n"
        f"'{_quoted(_plain(page))}')"
        for position, page in enumerate(pages())
    ]
    return (
        "-- What help() shows, from the headers of sql/functions. Written by: python -m memstore.schema\n"
        "create or replace view memstore.pages\n"
        "with (security_invoker = true)\n"
        "as\n"
        "select p.position, p.area, p.name, p.summary, p.page\n"
        "from (\n"
        "  values\n" + ",\n".join(rows) + "\n) p (position, area, name, summary, page);\n\n"
        "comment on view memstore.pages is 'What help() shows of each function.';\n"
    )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _contents() -> str:
    lines = []
    for area, title in AREAS.items():
        found = [page for page in pages() if page.area == area]
        lines += [f"**{title}**", "", "| function | what it does |", "| --- | --- |"]
        lines += [f"| [`{page.name}`](#{page.name}) | {page.summary} |" for page in found]
        lines.append("")
    return "\n".join(lines).strip()


def _functions(names: set[str]) -> str:
    """The pages in Markdown; names: the errors, which are set as code where a page has them."""
    word = re.compile(r"\b(" + "|".join(sorted(names, key=len, reverse=True)) + r")\b")

    def marked(text: str) -> str:
        return word.sub(r"`\1`", text.replace("\n", " "))

    parts = []
    area = ""
    for page in pages():
        if page.area != area:
            area = page.area
            parts.append(f"## {AREAS[area]}")
        parts.append(f"### [{page.name}](functions/{page.area}/{page.name}.sql)")
        parts.append(page.summary[:1].upper() + page.summary[1:])
        parts.append(f"```\n{page.signature}\n```")
        if page.text:
            parts.append(page.text)
        if page.arguments:
            rows = [f"| `{name}` | {kind} | {marked(words)} |" for name, kind, words in page.arguments]
            parts.append("\n".join(["| argument | type | |", "| --- | --- | --- |", *rows]))
        for name, content in page.sections.items():
            if name in ("Returns", "Errors"):
                parts.append(f"{name}: {marked(content)}.")
            elif name != "Arguments":
                parts.append(f"{name}:\n\n```text\n{content}\n```")
        parts.append(f"```sql\n{page.example}\n```")
        if page.result:
            parts.append(f"```text\n{page.result}\n```")
    return "\n\n".join(parts)


def _types(db: psycopg.Connection[Any]) -> str:
    """The composite types that functions return, with the words of the columns that they are read from."""
    fields = db.execute("""
        select c.relname::text,
          coalesce(obj_description(c.reltype, 'pg_type'), obj_description(c.oid, 'pg_class')),
          array_agg(array[a.attname, format_type(a.atttypid, null), coalesce(s.words, '')]::text[]
            order by a.attnum)
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join lateral (
          select col_description(s.attrelid, s.attnum) as words
          from pg_attribute s
          where s.attname = a.attname
          and s.attrelid = case c.relname
            when 'memory' then 'memstore.memories'::regclass
            when 'admission_record' then 'memstore.memory_admissions'::regclass
            else c.oid
          end
        ) s on true
        where c.relnamespace = 'memstore'::regnamespace
        and exists (
          select from pg_proc p join memstore.pages n on n.name = p.proname
          where p.pronamespace = c.relnamespace and p.prorettype = c.reltype
        )
        group by c.oid, c.relname, c.reltype
        order by c.relname""")
    parts = []
    for name, words, columns in fields:
        parts += [f"### memstore.{name}", words]
        rows = [f"| `{field}` | {_short(kind)} | {what} |" for field, kind, what in columns]
        parts.append("\n".join(["| field | type | |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def _short(kind: str) -> str:
    return kind.replace("timestamp with time zone", "timestamptz").replace("memstore.", "")


_COLUMNS = """
    select c.relname::text, array_agg(array[format_type(a.atttypid, null), a.attname, concat_ws(
      ', ',
      case when exists (select from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any (k.conkey)) then 'PK' end,
      case when exists (select from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey)) then 'FK' end,
      case when exists (select from pg_constraint k
        where k.conrelid = c.oid and k.contype = 'u' and k.conkey = array[a.attnum]) then 'UK' end
    )]::text[] order by a.attnum)
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind = 'r'
    and c.relname !~ 'yoyo'
    group by c.relname
    order by min(c.oid)
"""
# Presence is a part of the rules, so a column that must be there is not NOT NULL.
_KEYS = """
    select f.relname::text, c.relname::text,
      string_agg(a.attname, ', ' order by array_position(k.conkey, a.attnum))
        filter (where a.attgenerated = ''),
      bool_and(a.attnotnull or exists (select from pg_constraint n where n.conrelid = c.oid
        and pg_get_constraintdef(n.oid) = format('CHECK ((%I IS NOT NULL))', a.attname)))
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    join pg_class f on f.oid = k.confrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any (k.conkey)
    where c.relnamespace = 'memstore'::regnamespace
    and k.contype = 'f'
    group by f.relname, c.relname, c.oid, k.conname
    order by c.oid, k.conname
"""
# Of the tables that only the database itself writes, no caller meets a rule.
_RULES = """
    select name, message
    from memstore.rules
    where field <> 'singleton'
    and table_name not in ('deployment', 'claim_counter')
    order by
      array_position('{memories,memory_admissions,users,settings,embedding_models}', table_name),
      table_name,
      position
"""


def _diagram(db: psycopg.Connection[Any]) -> str:
    """The tables, without yoyo's own."""
    lines = ["erDiagram"]
    for parent, child, columns, required in db.execute(_KEYS):
        lines.append(f'    {parent} {"||" if required else "|o"}--o{{ {child} : "{columns}"')
    for table, columns in db.execute(_COLUMNS):
        lines.append(f"    {table} {{")
        for kind, name, marks in columns:
            # A type is one word to Mermaid.
            lines.append(
                f"        {_short(kind).replace('double precision', 'float8')} {name} {marks}".rstrip()
            )
        lines.append("    }")
    return "```mermaid\n" + "\n".join(lines) + "\n```"


def _installing() -> list[tuple[str, str, str, str]]:
    """The refusals to install, which are raised before there is a table of refusals."""
    files = [*schema.migrations_dir().glob("*.sql"), schema.sql_dir() / "lock.sql"]
    return [
        (raised["name"], raised["state"], raised["message"], raised["hint"].replace("''", "'"))
        for path in sorted(files)
        for raised in _RAISED.finditer(path.read_text(encoding="utf-8"))
    ]


def reference(db: psycopg.Connection[Any]) -> str:
    """What ``sql/README.md`` has to say: what is written in it, with the generated parts as they should be.

    Args:
        db: a connection to a database with this version in it.
    """
    refusals = db.execute("select name, sqlstate, message, hint from memstore.refusals").fetchall()
    refusals = sorted(refusals + _installing(), key=lambda row: str(row[1]))
    rules = db.execute(_RULES).fetchall()
    generated = {
        "contents": _contents(),
        "functions": _functions({row[0] for row in refusals + rules}),
        "types": _types(db),
        "tables": _diagram(db),
        "errors": "\n".join(
            ["| name | SQLSTATE | message | what to do |", "| --- | --- | --- | --- |"]
            + [f"| `{name}` | `{state}` | {message} | {hint} |" for name, state, message, hint in refusals]
        ),
        "rules": "\n".join(
            ["| name | rule |", "| --- | --- |"] + [f"| `{name}` | {message} |" for name, message in rules]
        ),
    }
    text = (schema.sql_dir() / "README.md").read_text(encoding="utf-8")
    for part, content in generated.items():
        # What is between the marks.
        marks = re.findall(rf"(<!-- {part}: .*? -->\n)(.*?)(<!-- end -->)", text, re.DOTALL)
        if len(marks) != 1:
            raise ValueError(f"sql/README.md has no one place for its part {part}")
        ((start, before, end),) = marks
        text = text.replace(start + before + end, f"{start}\n{content}\n\n{end}")
    return text


def write() -> None:
    """Writes all that is generated, in a checkout: the pages, the digest, and the reference."""
    folder = schema.sql_dir()
    (folder / "views" / "pages.sql").write_text(pages_sql(), encoding="utf-8")
    (folder / "digest.sql").write_text(schema.digest_sql(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as private:
        Path(private).chmod(0o755)  # root's server runs as another account
        with embedded.EmbeddedServer(Path(private, "data"), settings={"fsync": "off"}) as server:
            schema.migrate(server.url)
            with psycopg.connect(server.url) as db:
                text = reference(db)
    (folder / "README.md").write_text(text, encoding="utf-8")
