"""By command too, accounts whose names look alike never mix."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import Run, complaints, documents

NAMES = ["a", "ab", "a_1", "%", "A", "a ", " a", "\uff41", "e\u0301", "\u00e9", "*", "default", "null", "--"]


def test_each_has_its_own(run: Run) -> None:
    for number, name in enumerate(NAMES):
        run(f"--account={name}", "remember", f"It builds, says {number}.")
        line = json.dumps({"body": f"It was imported, says {number}."})
        run("import", "-", f"--account={name}", stdin=line)
    ids = {}
    for number, name in enumerate(NAMES):
        told = documents(run("list", "--json", f"--account={name}"))
        assert [each["body"] for each in told] == [
            f"It was imported, says {number}.",
            f"It builds, says {number}.",
        ]
        ids[name] = told[0]["id"]
        note = run("recall", "imported", f"--account={name}").stdout
        assert f"says {number}." in note and note.count("says") == 2
    for name in NAMES[1:]:
        for command in ("show", "history", "forget"):
            (line,) = complaints(run(command, ids["a"], f"--account={name}", code=1))
            assert line.startswith("The account has no such memory.")
        assert "superseded so" in run("correct", ids["a"], "No.", f"--account={name}", code=1).stderr
    accounts = [document["external_ref"] for document in documents(run("accounts", "--json"))]
    assert sorted(accounts) == sorted(NAMES)


@pytest.mark.parametrize("name", ["b", "a  ", "aB", "%%", "\u00c9"])
def test_no_such_account(run: Run, name: str) -> None:
    for each in NAMES:
        run(f"--account={each}", "remember", "It builds.")
    (line,) = complaints(run("list", f"--account={name}", code=1))
    assert line == f"There is no account {name}."


def test_an_empty_name_is_not_the_default_account(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert complaints(run("remember", "It builds.", "--account", "", code=1))
    assert complaints(run("list", "--account", "", code=1))
    assert complaints(run("list", "--database-url", "", code=2)) == ["--database-url is empty"]
    monkeypatch.setenv("MEMSTORE_ACCOUNT", "")
    run("remember", "It builds.")
    assert [document["external_ref"] for document in documents(run("accounts", "--json"))] == ["default"]
