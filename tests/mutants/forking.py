"""Runs programs in processes that have what they import already: most of the time of few tests would be that.

Reads lines from stdin, each a JSON list of a module and its arguments, and a file for what it prints; answers
each with the exit code. Nothing of the checkout is imported before it forks.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback

_SLOW = (
    "psycopg",
    "psycopg_pool",
    "pytest",
    "hypothesis.strategies",
    "pytest_postgresql.plugin",
    "yoyo",
    "trio",
    "rich",
)


def _run(module: str, arguments: list[str], output: str) -> int:
    os.setsid()
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if module == "pytest":
        import pytest

        return int(pytest.main(arguments))
    return int(importlib.import_module(module).main(*arguments))


def main() -> None:
    for name in _SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        module, arguments, output = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                code = _run(module, arguments, output)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
