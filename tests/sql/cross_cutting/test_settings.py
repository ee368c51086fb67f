"""What a session may set changes nothing that a function of the API or of the operator does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memstore import schema
from tests.databases import LONG, dump, empty_database
from tests.sql.api import API, OPERATOR, Connect, calls
from tests.sql.support import call, rows, value

if TYPE_CHECKING:
    from tests.servers import Server

ACCOUNT, STEWARD, OTHER = (UUID(int=number) for number in range(1, 4))
START = datetime.now(UTC) - timedelta(hours=1)
TEXT = r"Straße café 100% C:\\temp, ''12.5'' MB, 李明 \x41 10:30 1e-7"
EMBEDDED = """'[{"body": "i", "embedding": [0.001, 1000000, 0.1], "embedding_model": "n", "as_of": null,
  "inserted_at": "2026-01-02T03:04:05.000006+05:30"}]'"""

ITEMS = """'[{"namespace": ["a"], "key": "k", "value": {"body": "i"}, "ttl_seconds": 1e9,
  "inserted_at": "2026-01-02T03:04:05.000006+05:30", "embeddings": [
  {"field": "body", "embedding": [0.001, 1000000, 0.1], "embedding_model": "n"}]}]'"""

# Of the settings that a role may change for itself, those that are about time, place and the log, or that
# decide whether a statement may run at all.
NOT_ABOUT_ANSWERS = re.compile(
    r"timeout|log_|_log|tablespace|access_method|preload|tcp_|application_name|^role$|session_auth|seed"
    r"|transaction_(read_only|isolation|deferrable)|search_path|event_triggers|exit_on_error|max_stack_depth"
    r"|client_encoding|client_min|is_superuser|restrict_nonsystem|^track_|^stats_|^trace_|^debug_print|wal_|io_"
    r"|^debug_(pretty|discard|write|io)|logging|createrole|xmloption|backend_flush|synchronous_commit|_buffers|maintenance_work_mem"
)
# Settings that hold a text, and others of which neither end is the interesting value.
BESIDES = {
    "array_nulls": ["off"],
    "datestyle": ["German", "Postgres, DMY", "SQL, MDY", "ISO, YMD"],
    "default_text_search_config": ["pg_catalog.german", "pg_catalog.simple"],
    "extra_float_digits": ["0", "-15", "-3", "3"],
    "lc_messages": ["C"],
    "lc_monetary": ["C"],
    "lc_numeric": ["C"],
    "lc_time": ["C"],
    "timezone": ["Asia/Kolkata", "America/St_Johns", "<+14>-14"],
    "timezone_abbreviations": ["Australia", "India"],
    "work_mem": ["64kB"],
    "plpgsql.extra_errors": ["all"],
    "plpgsql.extra_warnings": ["all"],
}


# What is about roles, of which a session's settings are no part, and which other databases have too.
ROLES = {"bind_role", "grant_api", "grant_serve", "list_roles", "revoke_api", "unbind_role"}


def digest(function: str, *more: str) -> str:
    """Of a token that the function makes."""
    arguments = ", ".join([f"'{OTHER}'", *more])
    return f"(select sha256(token::bytea) from memstore.{function}({arguments}))"


def statements() -> dict[str, str]:
    """A call of each function; what is built on what comes in order."""
    embedding = "embedding => '{0.1, 0.2, 1e-3}', embedding_model => 'three'"
    operator = {
        "configure": "lexical_floor => 0.1, semantic_floor => 0.3, system_recall_enabled => true",
        "set_steward": f"'{OTHER}', true",
        "set_maximum_live_memories": f"'{OTHER}', 7",
        "import_memories": f"'{OTHER}', {EMBEDDED}",
        "set_maximum_items": f"'{OTHER}', 7",
        "import_items": f"'{OTHER}', {ITEMS}",
        "export_items": f"'{OTHER}'",
        "prune_items": "",
        "memories_to_embed": "'another', 10",
        "register_embedding_model": "'four', 4",
        "forget_embedding_model": "'four'",
        "rebuild_words": "",
        "verify_store": "",
        "create_token": f"'{OTHER}', 'a'",
        "authenticate_token": digest("create_token", "'a'"),
        # A token that was made before: of this statement's it would see none.
        "authorize_call": "(select digest from memstore.tokens where kind = 'agent' limit 1), 'recall'",
        "redeem_login": f"{digest('create_login')}, sha256('b')",
        "delegate_token": "(select sha256('c') from memstore.redeem_login("
        f"{digest('create_login')}, sha256('c'))), 'a'",
    }
    first = {
        name: operator.pop(name)
        for name in ("configure", "set_steward", "import_memories", "import_items", "export_items")
    }
    own = {
        "insert_memory": f"'{OTHER}', e'{TEXT}', {embedding}",
        "rank_memories": f"'{OTHER}', e'{TEXT} Haus', {embedding}",
        "recall": f"'{OTHER}', e'{TEXT} Haus', {embedding}",
        "similar_memories": f"'{OTHER}', e'{TEXT} Haus', {embedding}",
    }
    queries = [*first.items(), *own.items(), *calls(ACCOUNT, STEWARD).items(), *operator.items()]
    return {
        f"{name} {number}": f"select answer.* from memstore.{name}({arguments}) answer"
        for number, (name, arguments) in enumerate(queries)
    }


def answers(db: psycopg.Connection, settings: dict[str, str]) -> dict[str, list[str]]:
    """What the functions answer, and what is stored then, told without these settings."""
    for account in (ACCOUNT, STEWARD, OTHER):
        call(db, "create_user", id=account, external_ref=f"account {account.int}")
    call(db, "set_steward", user_id=STEWARD, steward=True)
    db.execute("alter sequence memstore.item_versions restart")
    void = "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
    nothing = {name for (name,) in rows(db, f"{void} and prorettype = 'void'::regtype")}
    for number, (name, statement) in enumerate(statements().items()):
        for setting, content in settings.items():
            db.execute("select set_config(%s, %s, true)", [setting, content])
        if name.split()[0] in nothing:
            statement = statement.replace("answer.*", "1 as answer")
        # Not shown yet, for a setting may be about how things are shown.
        db.execute(f"create temporary table answer_{number} on commit drop as {statement}".encode())
    for setting in settings:
        db.execute(sql.SQL("set local {} to default").format(sql.Identifier(setting)))
    told = {
        name: [text for (text,) in rows(db, f"select to_jsonb(answer)::text from answer_{number} answer")]
        for number, name in enumerate(statements())
    }
    stored = (
        "users",
        "memories",
        "memory_admissions",
        "claim_statuses",
        "open_challenges",
        "items",
        "item_embeddings",
        "embedding_models",
    )
    for table in stored:
        query = f"select to_jsonb(t)::text from memstore.{table} t"
        told[table] = [text for (text,) in rows(db, query)]
    told = {name: [normal(text) for text in texts] for name, texts in told.items()}
    unordered = (*stored, *(name for name in told if name.startswith("memories_to_embed")))
    return told | {name: sorted(told[name]) for name in unordered}


def normal(text: str) -> str:
    """Without ids, and today's dates and times. A time is the same in any zone, today is not."""

    def moment(found: re.Match[str]) -> str:
        time = datetime.fromisoformat(found[0]).astimezone(UTC)
        return "<now>" if time > START else time.isoformat()

    for days in (-1, 0, 1):
        text = text.replace(f'"{(START + timedelta(days)).date()}"', '"<today>"')
    text = re.sub(r"\bmst_[0-9a-f]{64}\b|\\\\x[0-9a-f]{64}\b", "<token>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d", moment, text)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>", text)


def in_a_session(connect: Connect, settings: dict[str, str]) -> dict[str, list[str]]:
    """The answers in a new session, whose functions are compiled under the settings; taken back then."""
    with connect(options="-c timezone=UTC") as connection, connection.transaction(force_rollback=True):
        return answers(connection, settings)


def alternatives(db: psycopg.Connection) -> dict[str, list[str]]:
    """Other values of each setting that a role may change for itself."""
    found: dict[str, list[str]] = {}
    for name, kind, now, least, most, words in rows(
        db,
        "select name, vartype, setting, min_val, max_val, enumvals from pg_settings where context = 'user'",
    ):
        if name.lower() in BESIDES:
            found[name] = BESIDES[name.lower()]
        elif not NOT_ABOUT_ANSWERS.search(name):
            match kind:
                case "bool":
                    found[name] = ["off" if now == "on" else "on"]
                case "enum":
                    found[name] = [word for word in words if word != now]
                case "integer" | "real":
                    found[name] = [each for each in (least, most) if each != now]
                case _:
                    raise AssertionError(f"no other value for {name}, which is {now}")
    return found


def rounds(db: psycopg.Connection) -> list[dict[str, str]]:
    """Settings to try: all at once, in several ways."""
    others = {name: values for name, values in alternatives(db).items() if values}
    assert {"array_nulls", "transform_null_equals", "extra_float_digits", "row_security"} <= others.keys()
    return [
        {name: values[place % len(values)] for name, values in others.items()}
        for place in range(max(map(len, others.values())) if LONG else 4)
    ]


def test_every_function_is_called() -> None:
    called = {name.split()[0] for name in statements()}
    # What PostgreSQL counts for store_statistics moves by itself.
    assert called >= API | OPERATOR - ROLES - {"store_statistics"}


@pytest.mark.long
def test_no_setting_changes_an_answer(db: psycopg.Connection, connect: Connect) -> None:
    expected = in_a_session(connect, {})
    assert all(
        expected[name] for name in expected if name.split()[0] in ("recall", "rank_memories", "memories")
    )
    others = alternatives(db)
    alone = [{name: content} for name, values in others.items() for content in values]
    for settings in [*rounds(db), *alone] if LONG else rounds(db):
        found = in_a_session(connect, settings)
        differing = [
            (name, *both)
            for name in expected
            for both in zip_longest(found[name], expected[name])
            if both[0] != both[1]
        ]
        assert not differing, settings
    assert value(db, "select count(*) from memstore.users") == 0


@pytest.mark.long
def test_no_setting_changes_what_is_installed(server: Server, db: psycopg.Connection, db_url: str) -> None:
    for settings in rounds(db)[: None if LONG else 1]:
        told = " ".join(f"-c {name}={escaped(content)}" for name, content in settings.items())
        with empty_database(server) as url:
            schema.migrate(make_conninfo(url, options=told))
            differing = set(dump(url).splitlines()) ^ set(dump(db_url).splitlines())
            assert not differing, settings


def escaped(content: str) -> str:
    return re.sub(r"([\\ ])", r"\\\1", content)
