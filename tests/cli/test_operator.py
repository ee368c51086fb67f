"""The operator's commands."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.running import PRIVATE, Db, Run, at_terminal, complaints, documents, invoke, remember
from tests.databases import empty_database
from tests.servers import Server
from tests.sql.support import refused


def test_migrate_says_what_it_applied(server: Server) -> None:
    with empty_database(server) as url:
        assert complaints(invoke("list", "--database-url", url, code=1)) == [
            "memstore is not installed in the database. Run memstore migrate; where the schema is newer than"
            " this client, install a newer pg-memstore."
        ]
        result = invoke("verify", "--database-url", url, code=1)
        assert "off\tmigrations\tnot applied: 0001-deployment" in result.stdout
        applied = invoke("migrate", "--database-url", url).stdout.splitlines()
        assert applied[0] == "applied 0001-deployment"
        assert applied[-1] == "The database is up to date."
        assert documents(invoke("migrate", "--database-url", url, "--json")) == [{"applied": []}]
        invoke("verify", "--database-url", url)


def test_verify(run: Run, db: Db) -> None:
    checks = [line.split("\t") for line in run("verify").stdout.splitlines()]
    assert [(check[0], check[1]) for check in checks] == [
        ("ok", name)
        for name in ("server", "encoding", "migrations", "functions", "objects", "words", "calls")
    ]
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)
    assert all(check["ok"] for check in documents(run("verify", "--json")))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            "update memstore.deployment set checksum = repeat('0', 64) where name = 'sql'",
            "off\tfunctions\tanother version\tRun memstore migrate.",
        ),
        (
            "update memstore.deployment set checksum = repeat('0', 64) where name = '0002-text'",
            "off\tmigrations\tapplied from another file: 0002-text\t"
            "Restore the files: a migration that was applied never changes.",
        ),
        (
            "insert into memstore.deployment values ('9999-later')",
            "off\tmigrations\tnot in this package: 9999-later\tInstall a newer pg-memstore.",
        ),
        (
            "select memstore.configure(maximum_attached => 0)",
            "off\tcalls\twrote, recalled and rolled back 0 memory\tSee the settings: memstore settings.",
        ),
        (
            "drop function memstore.insert_memory",
            "off\tcalls\t",
        ),
        (
            "alter table memstore.memories disable trigger memories_fixed",
            "off\ttrigger memories.memories_fixed\tdifferent\tIf nobody can say why: ",
        ),
        (
            "update memstore.deployment set checksum = repeat('0', 64) where name = 'words'",
            "off\twords\tperhaps of another version's dictionaries\tRun memstore rebuild-words.",
        ),
    ],
)
def test_verify_finds(run: Run, db: Db, change: str, line: str) -> None:
    db.execute(change.encode())
    assert line in run("verify", code=1).stdout


def test_verify_compares_with_the_package(run: Run, db: Db) -> None:
    """Not with what is in the database, which whoever alters the schema can alter with it."""
    db.execute("create table public.wanted as select * from memstore.objects()")
    db.execute("drop trigger memories_fixed on memstore.memories")
    db.execute(
        "create or replace function memstore.objects() returns table (kind text, name text, digest text)"
        " language sql as 'select * from public.wanted'"
    )
    assert db.execute("select * from memstore.altered_objects()").fetchall() == []
    altered = [line.split("\t")[1:3] for line in run("verify", code=1).stdout.splitlines() if "off" in line]
    assert altered == [["function objects()", "different"], ["trigger memories.memories_fixed", "absent"]]


def test_rebuild_words(run: Run, db: Db, db_url: str) -> None:
    for number in range(3):
        remember(run, f"{PRIVATE} {number}")
    db.execute("update memstore.deployment set checksum = repeat('0', 64) where name = 'words'")
    assert documents(run("rebuild-words", "--json")) == [{"read": 3, "rebuilt": 0}]
    run("verify")
    assert "3/3" in at_terminal(db_url, "rebuild-words")


def test_verify_data(run: Run, db: Db) -> None:
    remember(run, PRIVATE)
    lines = run("verify", "--data").stdout.splitlines()
    names = [name for (name,) in db.execute("select invariant from memstore.verify_store()")]
    assert lines == [f"ok\t{name}\tholds\t" for name in names]
    db.execute("set session_replication_role = replica; update memstore.users set live_memories = 7")
    db.execute("reset session_replication_role")
    ((account,),) = db.execute("select id from memstore.users").fetchall()
    broken = run("verify", "--data", code=1).stdout
    assert f"off\tlive_memories\tbroken by 1, such as {account}\t" in broken
    assert broken.count("off\t") == 1
    assert [each["name"] for each in documents(run("verify", "--data", "--json", code=1))] == names


def test_an_application_may_verify_its_calls(run: Run, db: Db, db_url: str) -> None:
    role = f"application_{uuid4().hex}"
    db.execute(f"create role {role} login".encode())
    try:
        db.execute("select memstore.grant_api(%s)", [role])
        url = make_conninfo(db_url, options=f"-c role={role}")
        lines = invoke("verify", "--database-url", url, code=1).stdout.splitlines()
        assert "off\tmigrations\tthis role may not read what is installed\tVerify as the owner." in lines
        assert "ok\tcalls\twrote, recalled and rolled back 1 memory\t" in lines
        for command in ("accounts", "settings"):
            (said,) = complaints(invoke(command, "--database-url", url, code=1))
            assert re.match(
                r"permission denied for \w+ \w+\. What an operator does is for the schema's owner", said
            )
        change = ("configure", "--account", "newcomer", "maximum_live_memories=1")
        assert "permission denied" in invoke(*change, "--database-url", url, code=1).stderr
        assert db.execute("select count(*) from memstore.users").fetchone() == (0,)
    finally:
        db.execute("select memstore.revoke_api(%s)", [role])
        db.execute(f"drop role {role}".encode())


def test_accounts(run: Run, db: Db) -> None:
    remember(run, "one", "--account", "b")
    remember(run, "two", "--account", "a")
    db.execute("select memstore.set_steward(memstore.find_user('a'), true)")
    rows = [line.split("\t") for line in run("accounts").stdout.splitlines()]
    assert [(row[0], *row[2:]) for row in rows] == [
        ("a", "1/200", "0/10000", "steward"),
        ("b", "1/200", "0/10000", ""),
    ]
    (first, _) = documents(run("accounts", "--json"))
    assert (first["external_ref"], first["live_memories"], first["maximum_live_memories"]) == ("a", 1, 200)


def test_settings_and_configure(run: Run) -> None:
    (before,) = documents(run("settings", "--json"))
    assert before["maximum_attached"] == 8
    changed = run("configure", "maximum_attached=6", "lexical_floor=0.25", "system_recall_enabled=on")
    assert "maximum_attached\t6\n" in changed.stdout
    (after,) = documents(run("settings", "--json"))
    assert after == {**before, "maximum_attached": 6, "lexical_floor": 0.25, "system_recall_enabled": True}
    assert complaints(run("configure", "lexical_floor=2", "semantic_floor=3", code=1)) == [
        "The lexical floor is between 0 and 1.",
        "The semantic floor is between 0 and 1.",
    ]
    assert complaints(run("configure", "maximum_attached=-1", code=1)) == [
        "The number of attached memories is 0 or more."
    ]
    for wrong in ("floor=1", "maximum_attached", "maximum_attached=many", "system_recall_enabled=maybe"):
        assert len(complaints(run("configure", wrong, code=2))) == 1
    run("configure", code=2)


def test_the_ceiling_of_one_account(run: Run) -> None:
    (account,) = documents(run("configure", "--account", "a", "maximum_live_memories=1", "--json"))
    assert (account["external_ref"], account["maximum_live_memories"]) == ("a", 1)
    remember(run, "one", "--account", "a")
    full = run("remember", PRIVATE, "--account", "a", code=1)
    assert "memstore configure --account NAME maximum_live_memories=NUMBER" in full.stderr
    run("configure", "--account", "a", "maximum_attached=1", code=2)


def test_the_maximum_of_items_of_one_account(run: Run, db: Db) -> None:
    change = ("configure", "--account", "a", "maximum_items=7")
    (account,) = documents(run(*change, "--json"))
    assert (account["stored_items"], account["maximum_items"], account["maximum_live_memories"]) == (
        0,
        7,
        200,
    )
    (account,) = documents(run(*change[:-1], "maximum_items=0", "maximum_live_memories=5", "--json"))
    assert (account["maximum_items"], account["maximum_live_memories"]) == (0, 5)
    # Refused, neither is set.
    run(*change[:-1], "maximum_live_memories=6", "maximum_items=-1", code=1)
    (account,) = documents(run("accounts", "--json"))
    assert (account["maximum_items"], account["maximum_live_memories"]) == (0, 5)
    with refused("quota_reached", "actor", "MS005"):
        db.execute(
            "select memstore.put_items(memstore.find_user('a'),"
            """ '[{"namespace": ["a"], "key": "k", "value": {}}]')"""
        )


def test_demo_runs_what_it_shows_and_erases_it(run: Run, db: Db) -> None:
    remember(run, "mine")
    shown = run("demo").stdout
    assert "$ memstore --account demo-" in shown
    assert "from memstore.insert_memory(memstore.find_user('demo-" in shown
    assert "    [From memory: user, just now] I use pnpm, not npm.\n" in shown
    steps = documents(run("demo", "--json"))
    assert all(step["sql"] and step["rows"] for step in steps)
    assert [step["rows"][0]["dropped"] for step in steps if "--max 1" in step["command"]] == [1]
    assert steps[-1]["rows"] == [{"memories_erased": 3}]
    assert db.execute("select body from memstore.memories").fetchall() == [("mine",)]
    assert db.execute("select external_ref from memstore.users").fetchall() == [("default",)]


def test_demo_erases_what_it_made_when_it_fails(run: Run, db: Db) -> None:
    db.execute("drop function memstore.memory_history")
    run("demo", code=1)
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)


def test_stats(run: Run, db: Db, db_url: str) -> None:
    remember(run, PRIVATE)
    db.execute("select memstore.set_maximum_live_memories(id, 1) from memstore.users")
    result = run("stats")
    assert PRIVATE not in result.stdout
    lines = result.stdout.splitlines()
    assert "memories\tstate=live,bucket=user\t1" in lines
    assert "accounts_near_ceiling\t\t1" in lines
    assert any(line.startswith("index_scans\tindex=memories_pkey,table=memories\t") for line in lines)
    assert "setting\tname=semantic_floor\t0.3" in lines
    found = documents(run("stats", "--json"))
    assert {
        "name": "memories",
        "labels": {"bucket": "user", "state": "live"},
        "value": 1,
        "exact": True,
    } in found
    assert len(found) == len(lines)

    db.execute("vacuum memstore.memories")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", at_terminal(db_url, "stats", columns=120))
    assert re.search(r"^memories +live, user +1 *\n +superseded, user +0 *$", shown, re.MULTILINE)
    assert re.search(r"^account fullness +[0-9a-f-]{36} +100% *$", shown, re.MULTILINE)
    assert re.search(r"^unembedded memories +any model +1 *$", shown, re.MULTILINE)
    assert re.search(r"^table +size +rows +dead +updates +hot +scans +vacuumed *$", shown, re.MULTILINE)
    row = r"^memories +[\d,]+ (bytes|kB)( +~\d+){5} +under a minute *$"
    assert re.search(row, shown, re.MULTILINE)
    assert re.search(r"^memories_pkey +[\d,]+ (bytes|kB) +~\d+ *$", shown, re.MULTILINE)
    assert "semantic_floor" not in shown
