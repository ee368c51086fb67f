"""The suites that other projects ship, run against memstore: `python -m tests.peers [SUITE ...]`.

Their source distributions are downloaded by hash, unpacked and run as they are; a plugin of plugins/ replaces
what they import. expected/ names each test that fails, with the reason. What fails or passes otherwise is an
error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import psycopg
from psycopg.conninfo import make_conninfo

from memstore import schema
from tests.servers import Server, private_server

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
# In which the peers are installed, and their sources kept.
PLACE = Path(os.environ.get("MEMSTORE_PEERS", ROOT / ".venv-peers"))
URL = "postgres://postgres:postgres@localhost:5441/"


class Suite(NamedTuple):
    """A file of tests of a source distribution.

    Attributes:
        source: the distribution.
        tests: the file.
        plugin: what replaces its imports.
        options: of pytest.
    """

    source: str
    tests: str
    plugin: str
    options: tuple[str, ...] = ()


SUITES = {
    "checkpoint-postgres-store": Suite(
        "langgraph-checkpoint-postgres", "tests/test_store.py", "swap_langgraph"
    ),
    "checkpoint-postgres-async-store": Suite(
        "langgraph-checkpoint-postgres", "tests/test_async_store.py", "swap_langgraph"
    ),
    "checkpoint-store": Suite("langgraph-checkpoint", "tests/test_store.py", "swap_langgraph"),
    # Ours, where a framework ships no tests; in the same environment.
    "own": Suite("", "tests/peers/own", "", ("-o", "asyncio_mode=auto", "--confcutdir=tests/peers/own")),
    "memory-tool": Suite(
        "anthropic",
        "tests/lib/tools/memory_tools/test_filesystem.py",
        "swap_anthropic",
        ("-o", "addopts=", "-o", "filterwarnings=", "-o", "asyncio_mode=auto", "--noconftest"),
    ),
}


def prepare() -> Path:
    """The Python of the peers' environment, which is made where there is none."""
    python = PLACE / "bin" / "python"
    if not python.exists():
        venv.create(PLACE, with_pip=True)
        environment = HERE / "environment.txt"
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", environment, "-e", ROOT], check=True)
    return python


def unpack(python: Path) -> dict[str, Path]:
    """The unpacked source distributions, by name."""
    folder = PLACE / "sources"
    wanted = re.findall(r"^([\w-]+)==(\S+)", (HERE / "sources.txt").read_text(encoding="utf-8"), re.MULTILINE)
    found = {}
    for name, version in wanted:
        target = folder / f"{name.replace('-', '_')}-{version}"
        found[name] = target
        if target.exists():
            continue
        # Their build requirements are in the environment: an isolated one would be made for each.
        options = ["-q", "--no-deps", "--no-build-isolation", "--require-hashes", "--no-binary", ":all:"]
        options += ["-r", str(HERE / "sources.txt"), "-d", str(folder)]
        subprocess.run([python, "-m", "pip", "download", *options], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as packed:
                if hasattr(tarfile, "data_filter"):
                    packed.extractall(folder, filter="data")
                else:  # Python before 3.11.4; the hash has been looked at
                    packed.extractall(folder)
    return found


def install(server: Server) -> str:
    """Makes the template of the suites' databases, and returns a URL of the server without a database."""
    options = {"host": server.host, "port": server.port, "user": server.user}
    template = make_conninfo(**options, dbname="template1")
    with psycopg.connect(template, autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
        schema.migrate(template)
        connection.execute((HERE / "template.sql").read_bytes())
    with psycopg.connect(make_conninfo(**options, dbname="postgres"), autocommit=True) as connection:
        connection.execute("create database peers")
    return f"postgres://{server.user}@{quote(server.host, safe='')}:{server.port}/"


def run(python: Path, folder: Path, suite: Suite, url: str) -> tuple[dict[str, bool], str]:
    """Of each test that ran whether it passed, and what pytest said."""
    conftest = folder / "tests" / "conftest.py"
    if folder != ROOT and conftest.exists():
        text = conftest.read_text(encoding="utf-8")
        conftest.write_text(
            re.sub(rf"{re.escape(URL)}|postgres://[^@]+@%[^/]+/", url, text), encoding="utf-8"
        )
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.xml")
        options = ["-q", "--tb=short", "-p", "no:cacheprovider", f"--junit-xml={report}", *suite.options]
        options += ["-p", suite.plugin] if suite.plugin else []
        command = [str(python), "-m", "pytest", *options, suite.tests]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{HERE / 'plugins'}:{ROOT}",
            "MEMSTORE_PEERS_URL": f"{url}peers",
            "MEMSTORE_PEERS_SUITE": suite.source,
        }
        said = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
        if not report.exists():
            raise SystemExit(said.stdout + said.stderr)
        cases = ElementTree.parse(report).getroot().iter("testcase")
        results: dict[str, bool] = {}
        for case in cases:
            if case.find("skipped") is None:
                name = f"{str(case.get('classname')).split('.test_')[-1]}::{case.get('name')}"
                failed = case.find("failure") is not None or case.find("error") is not None
                results[name] = results.get(name, True) and not failed
    return results, said.stdout


def expected(name: str) -> dict[str, str]:
    """The tests that are expected to fail, with the reason."""
    path = HERE / "expected" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    failures: dict[str, str] = {}
    reason = ""
    for line in lines:
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            failures[line] = reason
    return failures


def main(names: list[str]) -> int:
    """Runs suites, all where none is named; 1 where one differs from what is expected of it."""
    python = prepare()
    sources = unpack(python)
    differing = 0
    with private_server(max_connections="200") as server:
        url = install(server)
        for name in names or SUITES:
            suite = SUITES[name]
            results, said = run(python, sources.get(suite.source, ROOT), suite, url)
            Path(f"{PLACE / name}.log").write_text(said, encoding="utf-8")
            failed = {test for test, passed in results.items() if not passed}
            known = expected(name)
            print(f"{name}: {len(results) - len(failed)} of {len(results)} passed", flush=True)
            unexpected = sorted(failed - known.keys()) + sorted(
                f"{test} passed" for test in known.keys() - failed
            )
            for each in unexpected:
                print(f"  unexpected: {each}")
            if unexpected:
                differing = 1
                print(f"  {PLACE / name}.log has what pytest said")
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
