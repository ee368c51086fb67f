"""What is imported when: help texts wait for nothing, and what is missing is told in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

import memstore

MORE_PACKAGES = "memstore: the command needs more packages: pip install 'pg-memstore[cli]'\n"
NO_TYPER = "import sys; sys.modules['typer'] = None\n"
NO_LIBPQ = (
    "import sys, ctypes.util\n"
    "sys.modules['psycopg_c'] = sys.modules['psycopg_binary'] = None\n"
    "ctypes.util.find_library = lambda name: None\n"
)


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("missing", [NO_TYPER, NO_LIBPQ], ids=["typer", "libpq"])
def test_a_missing_extra_is_one_line(missing: str) -> None:
    result = python(f"{missing}from memstore.cli import main\nmain()", "list")
    assert (result.returncode, result.stdout, result.stderr) == (1, "", MORE_PACKAGES)


@pytest.mark.parametrize(
    ("program", "unneeded"),
    [
        ("import memstore", {"psycopg", "yoyo", "typer", "rich"}),
        ("from memstore import *", {"yoyo", "typer", "rich", "onnxruntime", "numpy"}),
        ("import memstore.schema", {"yoyo"}),
        ("from memstore.cli import main; sys.argv[1:] = ['--help']; main()", {"psycopg", "yoyo"}),
        ("from memstore.cli import main; sys.argv[1:] = ['embed', '--help']; main()", {"psycopg", "numpy"}),
        ("import memstore.cli.session", {"yoyo", "onnxruntime", "numpy"}),
    ],
)
def test_what_is_not_imported(program: str, unneeded: set[str]) -> None:
    watch = f"import atexit, sys; atexit.register(lambda: print('loaded:', *{unneeded} & set(sys.modules)))\n"
    result = python(watch + program)
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "loaded:")


def test_all_names_are_there() -> None:
    assert sorted(memstore.__all__) == memstore.__all__
    assert {name: getattr(memstore, name).__module__ for name in memstore.__all__}
    assert {*memstore.__all__, "errors"} <= set(dir(memstore))
    for program in ("memstore.errors.QuotaReached", "memstore.models.Memory", "memstore.Store"):
        assert python(f"import memstore; {program}").returncode == 0
    with pytest.raises(AttributeError, match="module 'memstore' has no attribute 'Memories'"):
        _ = memstore.Memories  # type: ignore[attr-defined]
