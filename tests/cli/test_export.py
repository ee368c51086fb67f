"""Exporting by command, and importing what was exported."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.cli.running import ESCAPES, PRIVATE, Db, Run, complaints, documents, invoke, remember, start


@pytest.fixture
def full(run: Run, db: Db) -> None:
    """An account with a chain, a deleted correction, a text of hard characters, and an embedding."""
    db.execute("select memstore.create_user(external_ref => 'a', language => 'german')")
    as_a = ("--account", "a")
    first = remember(run, "one", *as_a)
    run("correct", first, ESCAPES, *as_a)
    second = remember(run, PRIVATE, *as_a, "--bucket", "learned")
    (gone,) = documents(run("correct", second, "gone", *as_a, "--json"))
    run("forget", gone["id"], *as_a)
    db.execute(
        "select memstore.set_embedding(user_id, id, '{0.1,-2e5,1e-45}', 'model') from memstore.memories"
    )


@pytest.mark.usefixtures("full")
def test_there_and_back(run: Run, another_url: str, tmp_path: Path) -> None:
    file, again = tmp_path / "a.jsonl", tmp_path / "again.jsonl"
    assert run("export", str(file), "--account", "a").stdout == "exported\t3\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    header, *lines = map(json.loads, file.read_text().splitlines())
    assert header == {"export": 2, "language": "german", "memories": 3, "live_memories": 1, "items": 0}
    assert lines[0]["body"] == ESCAPES
    assert not set(ESCAPES) & set("\x1b\u202e\x9b") & set(file.read_text())

    url = ("--database-url", another_url)
    assert documents(invoke(*url, "import", str(file), "--account", "a", "--json")) == [
        {"imported": 3, "already_there": 0}
    ]
    invoke(*url, "export", str(again), "--account", "a")
    assert again.read_bytes() == file.read_bytes()
    assert invoke(*url, "export", "--account", "a").stdout_bytes == file.read_bytes()
    assert invoke(*url, "import", str(file), "--account", "a", "--batch", "1").stdout == (
        "imported\t0\nalready_there\t3\n"
    )
    with psycopg.connect(another_url) as connection:
        assert connection.execute("select external_ref, language from memstore.users").fetchall() == [
            ("a", "german")
        ]


@pytest.mark.usefixtures("full")
def test_items_follow_the_memories(run: Run, db: Db, another_url: str, tmp_path: Path) -> None:
    """Also from a file of the earlier format, which had none."""
    db.execute(
        "select memstore.put_items(memstore.find_user('a'),"
        """ '[{"namespace": ["x"], "key": "1", "value": {"a": null}},"""
        """ {"namespace": ["x"], "key": "2", "value": {},"""
        """ "embeddings": [{"field": "$", "embedding": [0.1], "embedding_model": "m"}]}]')"""
    )
    file, again, earlier = (tmp_path / name for name in ("a.jsonl", "again.jsonl", "earlier.jsonl"))
    assert run("export", str(file), "--account", "a").stdout == "exported\t5\n"
    url = ("--database-url", another_url)
    for new in (5, 0):
        imported = invoke(*url, "import", str(file), "--account", "a", "--batch", "1").stdout
        assert imported == f"imported\t{new}\nalready_there\t{5 - new}\n"
    invoke(*url, "export", str(again), "--account", "a")
    assert again.read_bytes() == file.read_bytes()

    header, *lines = file.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join([header, *lines[:-1]]))
    refused = invoke(*url, "import", str(cut), "--account", "a", code=1)
    assert "1 of its 2 items" in " ".join(refused.stderr.split())
    old = {**json.loads(header), "export": 1}
    del old["items"]
    earlier.write_text("".join([json.dumps(old), "\n", *lines[:3]]))
    assert invoke(*url, "import", str(earlier), "--account", "a").stdout.startswith("imported\t0\n")


def test_an_account_without_memories(run: Run, db: Db, another_url: str) -> None:
    db.execute("select memstore.create_user(external_ref => 'a', language => 'simple')")
    text = run("export", "--account", "a").stdout
    assert len(text.splitlines()) == 1
    url = ("--database-url", another_url)
    assert (
        invoke(*url, "import", "-", "--account", "a", stdin=text).stdout == "imported\t0\nalready_there\t0\n"
    )
    assert invoke(*url, "export", "--account", "a").stdout == text


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text[: text.rindex("{")], "the file: It has 2 of its 3 memories: it isn't whole."),
        (lambda text: text + text.splitlines()[-1], "the file: It has 4 of its 3 memories: it isn't whole."),
        (lambda text: text[:-30], "line 4: The line isn't JSON: "),
        (lambda text: text.replace('"body"', '"user_id"'), "line 2: The line isn't an object whose keys are"),
        (lambda text: text + text, "line 5: The line isn't an object whose keys are arguments of import_mem"),
        (lambda text: text.replace('"export": 2', '"export": 3'), "line 1: The file was exported by another"),
        (
            lambda text: text.replace('"german"', "7", 1),
            "line 1: The line isn't as memstore export writes it.",
        ),
    ],
)
def test_a_damaged_file_leaves_nothing(
    run: Run, another_url: str, damage: Callable[[str], str], complaint: str
) -> None:
    text = damage(run("export", "--account", "a").stdout)
    result = invoke("--database-url", another_url, "import", "-", "--batch", "1", stdin=text, code=1)
    first, last = complaints(result)
    assert first.startswith(complaint)
    assert last == "Nothing of the file is kept."
    with psycopg.connect(another_url) as connection:
        assert connection.execute("select count(*) from memstore.users").fetchone() == (0,)


@pytest.mark.usefixtures("full")
def test_an_account_without_room(run: Run, another_url: str) -> None:
    url = ("--database-url", another_url)
    text = run("export", "--account", "a").stdout
    invoke(*url, "configure", "maximum_live_memories=0")
    refused, _ = complaints(invoke(*url, "import", "-", "--account", "a", stdin=text, code=1))
    assert refused.startswith("the file, which has 1 live memories: The account holds as much")
    assert "memstore configure --account NAME maximum_live_memories=NUMBER" in refused
    invoke(*url, "configure", "--account", "a", "maximum_live_memories=1")
    assert invoke(*url, "import", "-", "--account", "a", stdin=text).stdout.startswith("imported\t3\n")


@pytest.mark.usefixtures("full")
def test_an_account_that_gets_the_room_it_needs(run: Run, another_url: str) -> None:
    url = ("--database-url", another_url)
    text = run("export", "--account", "a").stdout
    invoke(*url, "configure", "maximum_live_memories=0")
    result = invoke(*url, "import", "-", "--account", "a", "--raise-ceiling", stdin=text)
    assert result.stdout.startswith("imported\t3\n")
    invoke(*url, "remember", "--account", "a", "one more", code=1)


@pytest.mark.usefixtures("full")
def test_what_is_there_and_replaced_otherwise_stays(run: Run) -> None:
    text = run("export", "--account", "a").stdout
    (live,) = documents(run("list", "--account", "a", "--json"))
    run("correct", live["id"], "newer", "--account", "a")
    result = run("import", "-", "--account", "a", stdin=text, code=1)
    assert result.stdout == "imported\t0\nalready_there\t3\n"
    assert complaints(result) == ["1 memories that were there are not replaced as in the file; they stay."]
    assert [each["body"] for each in documents(run("list", "--account", "a", "--json"))] == ["newer"]


@pytest.mark.usefixtures("full")
def test_another_accounts_memories_are_not_taken(run: Run, db: Db) -> None:
    text = run("export", "--account", "a").stdout
    before = db.execute("select * from memstore.memories order by id").fetchall()
    first, _ = complaints(run("import", "-", "--account", "b", stdin=text, code=1))
    assert first.startswith("line 2: The id is taken by a memory of another account.")
    assert db.execute("select * from memstore.memories order by id").fetchall() == before


@pytest.mark.usefixtures("full")
def test_where_an_export_goes(run: Run, db_url: str, tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("before")
    (tmp_path / "real.jsonl").chmod(0o644)
    link = tmp_path / "link.jsonl"
    link.symlink_to("real.jsonl")
    run("export", str(link), "--account", "a")
    assert link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    assert len(link.read_text().splitlines()) == 4
    assert run("export", "/dev/null", "--account", "a").stdout == "exported\t3\n"
    assert Path("/dev/null").is_char_device()

    missing = tmp_path / "none" / "a.jsonl"
    assert "No such file" in run("export", str(missing), "--account", "a", code=1).stderr
    assert complaints(run("export", str(tmp_path / "b"), "--account", "nobody", code=1)) == [
        "There is no account nobody."
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.jsonl", "real.jsonl"]

    process = start(db_url, "export", "--account", "a", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert process.communicate()[0] == link.read_text()


def test_an_export_is_of_one_moment(
    run: Run, db: Db, connect: Callable[..., Db], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memstore.cli import exporting

    monkeypatch.setattr(exporting, "_PAGE", 1)
    for body in ("one", "two", "three"):
        remember(run, body)
    ((actor,),) = db.execute("select id from memstore.users").fetchall()
    found = map(json.loads, exporting.export(connect(), actor))
    header = next(found)
    db.execute("select memstore.delete_memory(user_id, id) from memstore.memories where body = 'one'")
    db.execute("select memstore.insert_memory(%s, 'four')", [actor])
    assert header["memories"] == 3
    assert [each["body"] for each in found] == ["three", "two", "one"]


def test_a_reader_who_leaves(db: Db, db_url: str) -> None:
    db.execute("select memstore.configure(maximum_live_memories => 3000)")
    db.execute(
        "insert into memstore.memories (user_id, body)"
        " select memstore.create_user(external_ref => 'default'),"
        " repeat('x', 1000) from generate_series(1, 3000)"
    )
    process = start(db_url, "export")
    assert process.stdout
    assert process.stderr
    assert json.loads(process.stdout.readline())["memories"] == 3000
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == ""
