"""Importing the file of MCP's own memory server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run, complaints, documents

# As @modelcontextprotocol/server-memory writes its file, and as its tool read_graph answers.
ADA = {
    "type": "entity",
    "name": "Ada_L",
    "entityType": "person",
    "observations": ["Writes Rust", "Is in Oslo"],
}
ACME = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
WORKS = {"type": "relation", "from": "Ada_L", "to": "Acme", "relationType": "works_at"}
BODIES = {
    "Ada_L: person": "entity:Ada_L",
    "Ada_L: Writes Rust": "entity:Ada_L",
    "Ada_L: Is in Oslo": "entity:Ada_L",
    "Acme: company": "entity:Acme",
    "Ada_L works_at Acme": "entity:Ada_L",
}


def lines(*parts: Any) -> str:
    return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in parts)


def scopes(run: Run, *options: str) -> dict[str, str]:
    return {memory["body"]: memory["scope"] for memory in documents(run("list", "--json", *options))}


def load(run: Run, text: str, *options: str, code: int = 0) -> Any:
    return run("import", "--from", "server-memory", "-", *options, stdin=text, code=code)


def test_it_is_imported_and_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + lines(ADA, "", ACME, WORKS).replace("\n", "\r\n").encode())
    said = run("import", str(file), "--from", "server-memory")
    assert said.stdout == "imported\t5\nalready_there\t0\n"
    assert scopes(run) == BODIES
    assert {memory["bucket"] for memory in documents(run("list", "--json"))} == {"learned"}
    assert run("import", str(file), "--from", "server-memory").stdout == "imported\t0\nalready_there\t5\n"
    # Another account's are its own.
    assert (
        run("import", str(file), "--from", "server-memory", "--account", "other").stdout[:10] == "imported\t5"
    )
    assert "works_at" in run("recall", "where does Ada_L work at?").stdout


def test_a_graph_as_one_document(run: Run) -> None:
    without = [{name: value for name, value in part.items() if name != "type"} for part in (ADA, ACME, WORKS)]
    graph = {"entities": without[:2], "relations": without[2:]}
    assert load(run, json.dumps(graph, indent=2)).stdout == "imported\t5\nalready_there\t0\n"
    assert load(run, json.dumps(graph)).stdout == "imported\t0\nalready_there\t5\n"
    assert load(run, lines(ADA, ACME, WORKS)).stdout == "imported\t0\nalready_there\t5\n"
    assert scopes(run) == BODIES


@pytest.mark.parametrize("batch", ["1", "2", "1000"])
def test_malformed_lines_are_named_and_the_others_kept(run: Run, batch: str) -> None:
    text = lines(
        ADA,
        '{"type": "entity", "name": "private',
        {"type": "entity", "name": "private", "entityType": "x"},
        {"type": "relation", "from": "private", "to": 7, "relationType": "x"},
        {"type": "entity", "name": "private", "entityType": "x", "observations": ["kept?", 7]},
        ["private"],
        {"type": ["private"]},
        {"type": "entity", "name": "private", "entityType": "x", "observations": ["\0"]},
        {"type": "entity", "name": "private", "entityType": "x", "observations": [], "$key": 1},
        ACME,
        WORKS,
    )
    said = load(run, text, "--batch", batch, code=1)
    found = complaints(said)
    assert sorted(int(line.split(":")[0].removeprefix("line ")) for line in found[:-1]) == list(range(2, 10))
    assert "private" not in said.stdout + said.stderr
    assert set(scopes(run)) - {"private: x"} == BODIES.keys()


def test_long_ones_are_kept_whole(run: Run) -> None:
    long = " ".join(f"word{number}" for number in range(1000))
    name = "n" * 300
    entity = {"type": "entity", "name": name, "entityType": "t", "observations": [long, " "], "tags": ["a"]}
    load(run, json.dumps(entity))
    memories = documents(run("list", "--json"))
    said = [memory["body"].removeprefix(f"{name}: ") for memory in reversed(memories)]
    assert said[0] == "t" and " ".join(" ".join(said[1:]).split()) == long
    assert {memory["metadata"]["entity"] for memory in memories} == {name}
    assert memories[-1]["metadata"]["tags"] == ["a"]
    assert {len(memory["scope"]) for memory in memories} == {200}
    assert load(run, json.dumps(entity)).stdout.startswith("imported\t0\n")


def test_the_ceiling(run: Run) -> None:
    run("configure", "maximum_live_memories=3")
    refused, count = complaints(load(run, lines(ADA, ACME, WORKS), code=1))
    assert refused.startswith("lines 1 to 3: ") and "0 memories were imported" in count
    assert load(run, lines(ADA, ACME, WORKS), "--raise-ceiling").stdout.startswith("imported\t5\n")


def test_another_program(run: Run) -> None:
    assert "--from takes server-memory" in run("import", "--from", "diary", "-", stdin="", code=2).stderr
