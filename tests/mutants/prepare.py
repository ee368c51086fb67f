"""Installs a changed copy into TEMPLATE, and writes what is generated of it: run in the copy.

What is generated but for the digests is of headers and signatures, which no change touches.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memstore import embedded, schema
from tests.generate import install, objects, path_of
from tests.servers import SETTINGS, TEMPLATE

ORIGINAL = "memstore_original"
UNSEEN = 3
"""The exit code where the change is of something that later migrations have replaced."""


def _create(url: str, name: str, template: str) -> str:
    """A database, without what an earlier run of tests left."""
    with psycopg.connect(url, autocommit=True) as db:
        kept = f"current_database(), '{ORIGINAL}', 'postgres', 'template0', 'template1'"
        for (left,) in db.execute(
            f"select datname from pg_database where datname not in ({kept})"
        ).fetchall():
            db.execute(sql.SQL("alter database {} is_template false").format(sql.Identifier(left)))
            db.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(left)))
        for (role,) in db.execute("select rolname from pg_roles where oid >= 16384").fetchall():
            db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
        options = sql.SQL("encoding 'UTF8' locale 'C' locale_provider libc")
        db.execute(
            sql.SQL("create database {} template {} {}").format(
                sql.Identifier(name), sql.Identifier(template), options
            )
        )
    return make_conninfo(url, dbname=name)


def main(kind: str, data_dir: str, changed: str = "") -> int:
    with embedded.EmbeddedServer(Path(data_dir), settings=SETTINGS) as running:
        if kind == "original":
            schema.migrate(_create(running.url, ORIGINAL, "template0"))
            return 0
        # Migrations that differ are installed into an empty database, functions over those that are there.
        conninfo = _create(running.url, TEMPLATE, ORIGINAL if kind != "constraints" else "template0")
        if kind == "python":
            return 0
        schema.migrate(conninfo)
        with psycopg.connect(conninfo) as db:
            if kind == "sql":
                # Installed with its bodies unchecked: one that can't be parsed is refused here.
                with db.transaction(force_rollback=True):
                    db.execute("set check_function_bodies = on")
                    db.execute(path_of(changed).read_bytes())
            expected = objects.expected_objects_sql(db)
            if expected == path_of(objects.NAME).read_text(encoding="utf-8"):
                return UNSEEN
            path_of(objects.NAME).write_text(expected, encoding="utf-8")
            path_of("sql/digest.sql").write_text(install.digest_sql(), encoding="utf-8")
            # As if it had been installed with its digests from the start.
            db.execute(expected.encode())
            installed = schema.checksums()
            record = installed.pop("sql"), json.dumps(installed)
            db.execute("select memstore.record_deployment(%s, %s::jsonb)", record)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
