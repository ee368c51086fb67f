"""Importing by command."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.cli.running import Run, complaints, documents

GOOD = '{"body": "one", "id": "00000000-0000-4000-8000-00000000000a"}'


def test_import_and_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    second = {
        "body": "Häuser",
        "bucket": "learned",
        "source_ref": "build 7",
        "language": "german",
        "id": str(uuid4()),
    }
    file.write_bytes(b"\xef\xbb\xbf" + f"{GOOD}\r\n\n  \n{json.dumps(second)}".encode())
    assert run("import", str(file)).stdout == "imported\t2\nalready_there\t0\n"
    assert [memory["body"] for memory in documents(run("list", "--json"))] == ["Häuser", "one"]
    assert documents(run("import", str(file), "--json")) == [{"imported": 0, "already_there": 2}]
    assert run("import", "-", stdin="").stdout == "imported\t0\nalready_there\t0\n"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"body": "private words"', "The line isn't JSON: Expecting ',' delimiter, at character 25."),
        ("private words", "The line isn't JSON: Expecting value, at character 1."),
        (b'{"body": "private words\xff"}', "The line isn't UTF-8: see byte 24."),
        ("[" * 100_000, "The line can't be read: it is nested too deep, or a number in it is too long."),
        ('"private words"', "The line isn't an object whose keys are arguments of insert_memory."),
        ('{"private words": 1}', "The line isn't an object whose keys are arguments of insert_memory."),
        ('{"body": 1}', "`body` must be a string."),
        (
            '{"body": "private words", "bucket": "mine"}',
            "The bucket is user, learned or system.",
        ),
        ('{"body": "private words\\u0000"}', "memories holds a NUL character, which PostgreSQL can't store."),
        ('{"body": "private words", "embedding": [NaN]}', "memories can't be written as JSON."),
        (
            '{"body": "private words", "id": "00000000-0000-4000-8000-00000000000a"}',
            "The id is taken. Repeat a call with the same content, or leave the id out.",
        ),
    ],
)
def test_import_names_the_line(run: Run, line: str | bytes, complaint: str) -> None:
    run("import", "-", stdin=GOOD)
    bad = line if isinstance(line, bytes) else line.encode()
    stdin = b"\n".join(
        [b'{"body": "kept"}', b"", b'{"body": "kept too"}', b'{"body": "not kept"}', bad, b"..."]
    )
    result = run("import", "-", "--batch", "2", stdin=stdin, code=1)
    assert complaints(result) == [
        f"line 5: {complaint}",
        "Nothing of that batch is kept. Before it, 2 memories were imported.",
    ]
    assert [memory["body"] for memory in documents(run("list", "--json"))] == ["kept too", "kept", "one"]


def test_import_names_all_broken_rules(run: Run) -> None:
    stdin = '{"body": "one"}\n{"body": "", "bucket": "mine"}'
    first, second, _ = complaints(run("import", "-", stdin=stdin, code=1))
    assert first.startswith("line 2: The bucket is ")
    assert second.startswith("line 2: The body has 1 to 2,000 characters")


def test_import_beyond_the_ceiling(run: Run) -> None:
    run("configure", "maximum_live_memories=3")
    lines = "".join(f'{{"body": "memory {n}", "id": "{UUID(int=n)}"}}\n' for n in range(1, 6))
    refused, count = complaints(run("import", "-", "--batch", "2", stdin=lines, code=1))
    assert refused.startswith("lines 3 to 4: ")
    assert "memstore configure --account NAME maximum_live_memories=NUMBER" in refused
    assert "2 memories were imported" in count
    run("configure", "--account", "default", "maximum_live_memories=5")
    assert documents(run("import", "-", "--json", stdin=lines)) == [{"imported": 3, "already_there": 2}]


def test_import_of_no_file(run: Run) -> None:
    assert "No such file" in run("import", "no-such-file", code=2).stderr
