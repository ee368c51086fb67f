"""Remembering, correcting, forgetting and reading by command; what terminals are spared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest

from memstore.cli.output import printable
from tests.cli.running import ESCAPES, PRIVATE, Db, Run, at_terminal, complaints, documents, remember

# Remembering, correcting, forgetting.


def test_remember_prints_id_and_body(run: Run, db: Db) -> None:
    id, body = run("remember", "I use pnpm, not npm.").stdout.rstrip("\n").split("\t")
    assert body == "I use pnpm, not npm."
    row = db.execute(
        "select m.id::text, m.bucket, u.external_ref from memstore.memories m"
        " join memstore.users u on u.id = m.user_id"
    ).fetchone()
    assert row == (id, "user", "default")


def test_remember_with_all_options(run: Run) -> None:
    id = str(uuid4())
    options = ["--bucket", "learned", "--source", "build 7", "--language", "german", "--id", id, "--json"]
    (memory,) = documents(run("remember", *options, "Häuser sind gebaut."))
    assert memory["id"] == id
    assert (memory["bucket"], memory["source_ref"], memory["language"]) == ("learned", "build 7", "german")
    assert documents(run("remember", "Häuser sind gebaut.", *options)) == [memory]


def test_remembering_twice_writes_once(run: Run) -> None:
    (memory,) = documents(run("remember", "I use pnpm.", "--json"))
    assert documents(run("remember", "I use pnpm.", "--json")) == [memory]
    assert documents(run("remember", "I use pnpm.", "--scope", "x", "--json")) != [memory]


def test_remember_tells_what_is_similar(run: Run, db_url: str) -> None:
    old = remember(run, "I use pnpm, not npm.")
    told = run("remember", "Deploys happen on Tuesdays.")
    assert told.stderr == ""
    deploys = told.stdout[:8]
    told = run("remember", "I use yarn, not npm.")
    new = told.stdout.split("\t")[0]
    (line,) = complaints(told)
    assert old in line and f"memstore replace ID {new}" in line and "pnpm" not in line
    (document,) = documents(run("remember", "I use bun, not npm.", "--json"))
    assert {each["memory"]["id"] for each in document["similar"]} == {old, new}
    assert complaints(run("remember", "I use bun, not npm.", "--scope", "x"))
    written = re.sub(" +\n?", " ", at_terminal(db_url, "remember", "Deploys happen on Mondays.", columns=90))
    assert f"similar {deploys} user just now live Deploys happen on Tuesdays." in written
    assert "memstore replace ID" in written


def test_replace(run: Run) -> None:
    old, new = remember(run, "I use npm."), remember(run, "I use pnpm.")
    assert run("replace", old[:8], new[:8]).stdout == f"{new}\tI use pnpm.\n"
    assert [each["id"] for each in documents(run("list", "--json"))] == [new]
    (line,) = complaints(run("replace", old, new, code=1))
    assert new in line  # what superseded it


def test_search(run: Run, db_url: str) -> None:
    old = remember(run, "I use npm.")
    (new,) = documents(run("correct", old, "I use pnpm, not npm.", "--json"))
    learned = remember(run, "Deploys happen on Tuesdays.", "--bucket", "learned", "--scope", "project:x")
    assert run("search", "npm").stdout == (f"{new['id']}\t0.714286\t1.0\t\teligible\tI use pnpm, not npm.\n")
    everything = run("search", "npm deploys", "--all").stdout.splitlines()
    assert {line.split("\t")[0] for line in everything} == {old, new["id"], learned}
    assert [line.split("\t")[4] for line in everything if line.startswith(old)] == ["superseded"]
    assert len(run("search", "npm deploys", "--all", "--limit", "2").stdout.splitlines()) == 2
    assert run("search", "npm deploys", "--scope", "").stdout.count("\n") == 1
    assert run("search", "npm", "--filter", '{"k": 1}').stdout == ""
    (document,) = documents(run("search", "npm", "--json"))
    assert (document["memory"]["id"], document["eligible"]) == (new["id"], True)
    assert "1.00" in at_terminal(db_url, "search", "npm", columns=90)
    assert "eligible, project:x" in at_terminal(db_url, "search", "Tuesdays", columns=120)
    assert "live, project:x" in at_terminal(db_url, "list", columns=120)
    assert at_terminal(db_url, "search", "zebra") == "Nothing was found.\n"


def test_erase(run: Run, db: Db) -> None:
    for body in ("one", "two"):
        remember(run, body, "--account", "customer-7")
    remember(run, "three", "--account", "customer-8")
    assert "needs --account" in run("erase", "--yes", code=2).stderr
    (line,) = complaints(run("erase", "--account", "customer-7", code=2))
    assert "2 memories" in line and "--yes" in line
    assert run("erase", "--account", "customer-7", "--yes").stdout == "erased\t2\n"
    assert "no account" in run("erase", "--account", "customer-7", "--yes", code=1).stderr
    assert db.execute("select count(*) from memstore.memories").fetchone() == (1,)


@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 0), ("", 1, 1), ("n", 1, 1)])
def test_erase_asks(db: Db, db_url: str, run: Run, answer: str, code: int, left: int) -> None:
    remember(run, "one", "--account", "customer-7")
    written = at_terminal(
        db_url, "erase", "--account", "customer-7", columns=80, code=code, answer=f"{answer}\n"
    )
    assert "Erase the account customer-7 with its 1 memory? [y/N]" in written
    assert db.execute("select count(*) from memstore.memories").fetchone() == (left,)


def test_forget_scope(run: Run) -> None:
    remember(run, "one", "--scope", "project:x")
    kept = remember(run, "two")
    assert "1 memory of" in run("forget-scope", "project:x", code=2).stderr
    assert run("forget-scope", "project:x", "--yes").stdout == "forgot\t1\n"
    assert [each["id"] for each in documents(run("list", "--json"))] == [kept]


def test_scopes_and_metadata(run: Run) -> None:
    options = ["--scope", "project:x", "--metadata", '{"ticket": 118}']
    (memory,) = documents(run("remember", "In x.", *options, "--json"))
    assert (memory["scope"], memory["metadata"]) == ("project:x", {"ticket": 118})
    remember(run, "--scope", "project:y", "In y.")
    remember(run, "Everywhere.")

    def listed(*options: str) -> set[str]:
        return {each["body"] for each in documents(run("list", "--json", *options))}

    assert listed("--scope", "project:x") == {"In x.", "Everywhere."}
    assert listed("--scope=project:x", "--scope", "project:y") == {"In x.", "In y.", "Everywhere."}
    assert listed("--scope", "") == {"Everywhere."}
    assert listed("--filter", '{"ticket": 118}') == {"In x."}
    assert run("recall", "x", "--scope", "project:y", "--filter", '{"ticket": 118}').stdout == ""
    assert "In x." in run("recall", "x", "--scope", "project:x", "--filter", '{"ticket": 118}').stdout
    assert listed("--filter", '[{"ticket": 119}, {"ticket": 118}]') == {"In x."}
    (corrected,) = documents(run("correct", memory["id"], "Still in x.", "--json"))
    assert (corrected["scope"], corrected["metadata"]) == ("project:x", {"ticket": 118})
    more = ["--scope", "", "--metadata", "{}", "--json"]
    (cleared,) = documents(run("correct", corrected["id"], "Anywhere.", *more))
    assert (cleared["scope"], cleared["metadata"]) == (None, None)


def test_a_filter_that_cannot_be_read_is_refused(run: Run) -> None:
    remember(run, "x")
    for option in ("--filter", "--metadata"):
        command = ("list",) if option == "--filter" else ("remember", "x")
        (line,) = complaints(run(*command, option, "ticket=118", code=2))
        assert line.startswith(f"{option} takes JSON")
    assert "no operators" in run("list", "--filter", '{"ticket": {"$gte": 118}}', code=1).stderr


def test_remember_from_standard_input(run: Run) -> None:
    (memory,) = documents(run("remember", "-", "--json", stdin="\ufeffI use pnpm,\nnot npm.\n"))
    assert memory["body"] == "I use pnpm,\nnot npm."
    assert complaints(run("remember", "-", stdin=b"\xff\xfe", code=2)) == ["standard input isn't UTF-8"]


def test_a_body_that_begins_with_a_hyphen(run: Run) -> None:
    assert run("remember", "--", "--force is never used.").stdout.endswith("\t--force is never used.\n")


def test_correct_supersedes(run: Run) -> None:
    old = remember(run, "--source", "chat", "I use npm.")
    (new,) = documents(run("correct", old, "I use pnpm.", "--json"))
    assert (new["body"], new["source_ref"]) == ("I use pnpm.", "chat")
    (shown,) = documents(run("show", old, "--json"))
    assert shown["superseded_by_id"] == new["id"]
    assert "cannot be superseded" in run("correct", old, PRIVATE, code=1).stderr
    again = documents(run("correct", new["id"], "-", "--source", "", "--json", stdin="I use bun."))
    assert (again[0]["body"], again[0]["source_ref"]) == ("I use bun.", None)


def test_forget_deletes(run: Run) -> None:
    id = remember(run, "I use npm.")
    assert run("forget", id).stdout == f"{id}\tI use npm.\n"
    assert run("list", "--all").stdout == ""
    assert complaints(run("forget", id, code=1)) == [
        "The account has no such memory. See memstore list --all."
    ]


def test_an_id_by_its_beginning(run: Run) -> None:
    for end in ("a", "b"):
        remember(run, "--id", f"aaaabbbb-0000-4000-8000-00000000000{end}", end)
    remember(run, "--id", "aaaacccc-0000-4000-8000-000000000000", "c")
    assert "body\tc\n" in run("show", "AAAAC").stdout
    assert complaints(run("show", "aaaa", code=1)) == ["3 ids begin so. Give more of the id."]
    assert "no such memory" in run("show", "bbbb", code=1).stderr
    for short in ("", "aaa"):
        assert "first 4 characters" in run("forget", short, code=2).stderr
    assert len(run("list").stdout.splitlines()) == 3


# Reading.


def test_list_is_tab_separated_and_newest_first(run: Run) -> None:
    old = remember(run, "one")
    new = remember(run, "two", "--bucket", "learned")
    newest = json.loads(run("correct", old, "one, corrected", "--json").stdout)["id"]
    rows = [line.split("\t") for line in run("list").stdout.splitlines()]
    assert [(id, bucket, state, body) for id, bucket, _, state, body in rows] == [
        (newest, "user", "live", "one, corrected"),
        (new, "learned", "live", "two"),
    ]
    assert [line.split("\t")[3] for line in run("list", "--all").stdout.splitlines()] == [
        "live",
        "live",
        "superseded",
    ]
    assert run("list", "--bucket", "learned").stdout.split("\t")[0] == new
    assert complaints(run("list", "--bucket", "other", code=1)) == [
        "`bucket` must be user, learned or system."
    ]


def test_list_reads_all_pages_and_says_when_it_stops(run: Run, db: Db) -> None:
    db.execute("select memstore.configure(maximum_live_memories => 1000)")
    lines = "".join(f'{{"body": "memory {n}"}}\n' for n in range(450))
    run("import", "-", stdin=lines)
    assert [m["body"] for m in documents(run("list", "--json"))] == [
        f"memory {n}" for n in range(449, -1, -1)
    ]
    some = run("list", "--limit", "3", "--json")
    last = documents(some)[-1]
    assert complaints(some) == [f"There are more: go on with --after {last['id']}"]
    rest = run("list", "--after", last["id"], "--limit", "447", "--json")
    assert len(documents(rest)) == 447
    assert rest.stderr == ""
    run("list", "--limit", "0", code=2)


def test_show_prints_what_is_there(run: Run) -> None:
    id = remember(run, "I use pnpm.")
    shown = dict(line.split("\t", 1) for line in run("show", id).stdout.splitlines())
    assert (shown["id"], shown["body"], shown["promoted"]) == (id, "I use pnpm.", "false")
    assert "source_ref" not in shown


def test_history_is_oldest_first(run: Run) -> None:
    id = remember(run, "one")
    run("correct", id, "two")
    assert [line.split("\t")[3:] for line in run("history", id[:8]).stdout.splitlines()] == [
        ["superseded", "one"],
        ["live", "two"],
    ]
    assert [memory["body"] for memory in documents(run("history", id, "--json"))] == ["one", "two"]


def test_recall_prints_the_note_and_no_more(run: Run) -> None:
    remember(run, "I use pnpm, not npm.")
    remember(run, "--bucket=learned", "The tower is tall.")
    remember(run, ESCAPES)
    note = run("recall", "install with npm").stdout
    assert note == (
        "[From memory: user, just now] I use pnpm, not npm.\n"
        "[From memory: user, just now] red  [31m text 1m next line\n"
    )
    assert run("recall", "-", stdin="install with npm\n").stdout == note
    (answer,) = documents(run("recall", "install with npm", "--max", "1", "--json"))
    assert [memory["body"] for memory in answer["memories"]] == ["I use pnpm, not npm."]
    assert (answer["dropped"], answer["backend"]) == (1, "lexical")
    assert answer["note"].startswith(note.partition("\n")[0])
    nothing = run("recall", "npm", "--characters", "0").stdout
    assert nothing.startswith("[From memory: 2 more left out; at most 8 memories and 0 characters")
    assert run("recall", "  ").stdout == ""
    assert "`maximum_attached` must be" in run("recall", "npm", "--max", "-1", code=1).stderr


def test_reading_an_account_that_is_not_there(run: Run, db: Db) -> None:
    assert run("list").output == run("recall", "npm").output == ""
    assert documents(run("recall", "npm", "--json"))[0]["note"] is None
    assert "no such memory" in run("show", str(uuid4()), code=1).stderr
    for command in (["list"], ["recall", "npm"], ["show", "aaaa"], ["history", "aaaa"], ["forget", "aaaa"]):
        assert complaints(run(*command, "--account", "other", code=1)) == ["There is no account other."]
    assert db.execute("select count(*) from memstore.users").fetchone() == (0,)


def test_accounts_are_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    id = remember(run, "one")
    remember(run, "two", "--account", "other")
    assert run("--account", "other", "list").stdout.endswith("\ttwo\n")
    monkeypatch.setenv("MEMSTORE_ACCOUNT", "other")
    assert run("list").stdout.endswith("\ttwo\n")
    assert "no such memory" in run("show", id, code=1).stderr
    assert run("list", "--account", "default").stdout.endswith("\tone\n")


# History as a tree.


def tree(db_url: str, *arguments: str) -> list[str]:
    shown = at_terminal(db_url, "history", *arguments, columns=100)
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()]


def test_a_chain_at_a_terminal(run: Run, db: Db, db_url: str) -> None:
    ids = [remember(run, "I use npm.")]
    for body in ("I use yarn.", "I use pnpm."):
        ids.append(documents(run("correct", ids[-1], body, "--json"))[0]["id"])
    first, second, third = (id[:8] for id in ids)
    expected = [
        f"live {third}, user, just now: I use pnpm.",
        f"├── superseded {second}, user, just now until just now: I use yarn.",
        f"└── superseded {first}, user, just now until just now: I use npm.",
    ]
    for id in ids:
        assert tree(db_url, id) == expected
    run("forget", third)
    assert tree(db_url, first) == [
        f"superseded {second}, user, just now until just now, its replacement is gone: I use yarn.",
        expected[2],
    ]


def test_the_ages_in_a_chain(run: Run, db: Db, db_url: str) -> None:
    new = remember(run, "new")
    times = (
        ("2019-01-02T00:00:00Z", "2020-01-02T00:00:00Z"),
        ("2021-01-02T00:00:00Z", "2999-01-02T00:00:00Z"),
    )
    old = [
        {"body": "old", "superseded_by_id": new, "inserted_at": start, "superseded_at": end}
        for start, end in times
    ]
    db.execute("select memstore.import_memories(memstore.find_user('default'), %s::jsonb)", [json.dumps(old)])
    future, past = tree(db_url, new)[1:]
    assert re.search(r", \d+ years ago until just now: old$", future)
    assert re.search(r", \d+ years ago until \d+ years ago: old$", past)


def test_merges_at_a_terminal(run: Run, db: Db, db_url: str) -> None:
    """d replaced b, c and e; b had replaced a; f, g are merged into e."""
    ids = {body: remember(run, body) for body in "acdfge"}
    (b,) = documents(run("correct", ids["a"], "b", "--json"))
    ids["b"] = b["id"]
    for old, new in ("fe", "ge", "bd", "cd", "ed"):
        db.execute(
            "select memstore.supersede_with(memstore.find_user('default'), %s, %s)", [ids[old], ids[new]]
        )
    lines = [re.sub(r" [0-9a-f]{8},.*?: ", " ", line) for line in tree(db_url, ids["a"])]
    assert lines == [
        "live d",
        "├── merged b",
        "│   └── superseded a",
        "├── merged e",
        "│   ├── merged g",
        "│   └── merged f",
        "└── merged c",
    ]


def test_a_deep_tree_and_a_hostile_body(run: Run, db: Db, db_url: str) -> None:
    """Merges of merges, more than a line has room for; and a body that a terminal would obey."""
    db.execute(
        "do $$ declare v_last uuid; v_next uuid; v_side uuid;"
        " v_actor uuid := memstore.create_user(external_ref => 'default');"
        " begin for i in 1..40 loop"
        " v_next := (memstore.insert_memory(v_actor, 'deep', id => gen_random_uuid())).id;"
        " if i > 1 then perform memstore.supersede_with(v_actor, v_last, v_next);"
        " v_side := (memstore.insert_memory(v_actor, 'side', id => gen_random_uuid())).id;"
        " perform memstore.supersede_with(v_actor, v_side, v_next); end if;"
        " v_last := v_next; end loop; end $$"
    )
    (live,) = documents(run("list", "--json"))
    text = "\n".join(tree(db_url, live["id"]))
    assert text.split()[:5] == ["id", "bucket", "written", "state", "body"]
    assert (text.count("deep"), text.count("side")) == (40, 39)
    assert live["id"][:8] in text
    id = remember(run, f"{ESCAPES}[bold]")
    run("correct", id, ESCAPES)
    shown = at_terminal(db_url, "history", id)
    assert not re.search(r"\x1b\[31m|[\u202e\x9b\t]", shown)
    assert "[bold]" in "".join(tree(db_url, id))


# What terminals are spared.


def test_printable() -> None:
    assert printable("straße 李明 🙂 \\n") == "straße 李明 🙂 \\n"
    assert printable(ESCAPES) == r"red \x1b[31m\u202etext\x9b1m\nnext\tline"


def test_no_output_has_control_characters(run: Run) -> None:
    id = remember(run, ESCAPES)
    for command in (["list"], ["show", id], ["history", id], ["list", "--json"], ["forget", id]):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", run(*command).stdout)
    (memory,) = documents(run("remember", ESCAPES, "--json"))
    assert memory["body"] == ESCAPES
    assert "account \\x1b[0m." in run("list", "--account", "\x1b[0m", code=1).stderr


def test_a_table_at_a_terminal(run: Run, db_url: str) -> None:
    body = "[bold]not bold[/bold] :smile: \x1b[31mnot red and quite long for one line of sixty columns"
    id = remember(run, body)
    shown = at_terminal(db_url, "list")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    head, row, *_ = (line.split(maxsplit=5) for line in plain.splitlines())
    assert head == ["id", "bucket", "written", "state", "body"]
    assert row[:5] == [id[:8], "user", "just", "now", "live"]
    assert "[bold]not" in plain
    assert "\x1b[31m" not in shown
    assert "columns" in plain


def test_a_terminal_is_told_why_nothing_is_printed(db_url: str) -> None:
    assert at_terminal(db_url, "list") == "There are no memories.\n"


def test_the_progress_of_an_import_at_a_terminal(run: Run, db_url: str, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    file.write_text('{"body": "one"}\n{"body": "two"}\n')
    shown = at_terminal(db_url, "import", str(file))
    assert "32/32 bytes" in shown
    assert re.search(r"imported +2", shown)


LONG = "Deploys run from the release branch, and never on a Friday after four o'clock."


@pytest.mark.parametrize("columns", [40, 50, 60])
def test_a_narrow_terminal(run: Run, db_url: str, columns: int) -> None:
    """No id is cut, and all of the body and the account can be read."""
    account = "customer-with-a-rather-long-name-7"
    id = remember(run, LONG, "--account", account)
    run("correct", id, f"{LONG} 李明", "--account", account)
    (user,) = documents(run("accounts", "--json"))

    def shown(*command: str) -> str:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", at_terminal(db_url, *command, columns=columns))
        assert all(len(line) <= columns for line in plain.splitlines())
        assert "…" not in plain
        return re.sub(r"\s+", " ", plain)

    listed = shown("list", "--all", "--account", account)
    assert id[:8] in listed
    assert listed.replace(" ", "").count(LONG.replace(" ", "")) == 2
    accounts = shown("accounts")
    assert user["id"] in accounts
    assert account in accounts
    assert id in shown("show", id, "--account", account)
    assert LONG.replace(" ", "") in shown("history", id, "--account", account).replace(" ", "")
    made = shown("remember", LONG, "--account", account)
    assert re.search(r"remembered [0-9a-f-]{36} ", made)
