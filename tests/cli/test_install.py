"""`memstore install`: on the files of clients that have other entries, and by the clients' own commands."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memstore.cli.editing import Json, Toml, Unreadable, replace
from tests.cli.running import complaints, invoke

CLIENTS = {
    "claude-code": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/config.toml", ".codex/hooks.json"],
    "cursor": [".cursor/mcp.json", ".cursor/hooks.json"],
}
IN_PROJECT = CLIENTS | {"claude-code": [".mcp.json", ".claude/settings.json"]}

# As people have them: other servers and hooks, comments, other indentations.
FOREIGN = {
    ".claude.json": """{
  "numStartups": 7,
  "mcpServers": {"other": {"command": "x", "args": []}},
  "é": 1.50
}""",
    ".mcp.json": """{
\t"mcpServers": {
\t\t"other": {
\t\t\t"command": "x"
\t\t}
\t}
}
""",
    ".claude/settings.json": """{
    "model": "opus",
    "hooks": {
        "UserPromptSubmit": [
            {"hooks": [{"type": "command", "command": "mine"}]}
        ],
        "Stop": []
    }
}
""",
    ".codex/config.toml": """# mine
model = "x"  # keep

[mcp_servers.other]  # of work
command = "o"

[tui]
theme = 'dark'
""",
    ".codex/hooks.json": '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"mine"}]}]}}\n',
    ".cursor/mcp.json": '{\r\n  "mcpServers": {\r\n    "other": {"url": "https://x.org"}\r\n  }\r\n}\r\n',
    ".cursor/hooks.json": '{"version": 1, "hooks": {"sessionStart": [{"command": "mine"}], "stop": []}}',
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without any client's command, which is the current folder, too."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def put(home: Path, names: list[str]) -> dict[str, bytes]:
    for name in names:
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes(FOREIGN[name].encode())
    return files(home)


def parsed(path: Path) -> Any:
    return (tomllib if path.suffix == ".toml" else json).loads(path.read_text())


def contains(whole: Any, part: Any) -> bool:
    """Whether all of a document is in another: entries of objects, elements of arrays in their order."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return all(contains(*pair) for pair in zip(whole, part, strict=False)) and len(whole) >= len(part)
    return bool(whole == part)


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("client", CLIENTS)
def test_in_and_out(home: Path, client: str, foreign: bool, project: bool) -> None:
    names = (IN_PROJECT if project else CLIENTS)[client]
    before = put(home, names if foreign else [])
    documents = {name: parsed(home / name) for name in before}
    options = ["--project"] if project else []

    result = invoke("install", client, *options, "--account", "me")
    assert result.stdout.splitlines() == [f"changed {home / name}" for name in names]
    installed = files(home)
    assert installed.keys() == set(names)
    for name, document in documents.items():
        assert contains(parsed(home / name), document)
    servers = parsed(home / names[0])
    server = (servers.get("mcpServers") or servers["mcp_servers"])["memstore"]
    assert (server["command"], server["args"]) == ("memstore", ["mcp", "--account", "me"])
    hooks = parsed(home / names[1])["hooks"]
    start = "memstore hook session-start --account me"
    if client == "cursor":
        assert parsed(home / names[1])["version"] == 1
        assert hooks["sessionStart"][-1]["command"] == start
    else:
        assert hooks["SessionStart"][-1]["hooks"][0]["command"] == start
        assert hooks["UserPromptSubmit"][-1]["hooks"] == [
            {
                "type": "mcp_tool",
                "server": "memstore",
                "tool": "recall",
                "input": {"query": "${prompt}", "hook": "UserPromptSubmit"},
                "timeout": 10,
            }
        ]

    assert invoke("install", client, *options, "--account", "me").stdout == "There is nothing to change.\n"
    assert files(home) == installed
    invoke("install", client, *options, "--account", "you")  # another account takes the place of the first
    texts = [text.decode() for text in files(home).values()]
    assert [text.count("you") for text in texts] == [1, 1]
    assert sum(text.count("session-start") for text in texts) == 1

    invoke("install", client, *options, "--uninstall")
    assert files(home) == before
    assert invoke("install", client, *options, "--uninstall").stdout == "There is nothing to change.\n"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_scope_is_that_of_server_and_hook(home: Path, client: str) -> None:
    invoke("install", client, "--scope", "project:x")
    servers = parsed(home / CLIENTS[client][0])
    server = (servers.get("mcpServers") or servers["mcp_servers"])["memstore"]
    assert server["args"] == ["mcp", "--scope", "project:x"]
    hooks = (home / CLIENTS[client][1]).read_text()
    assert "memstore hook session-start --scope project:x" in hooks


@pytest.mark.parametrize("client", CLIENTS)
def test_printing_writes_nothing(home: Path, client: str) -> None:
    shown = invoke("install", client, "--print").stdout
    assert all(str(home / name) in shown for name in CLIENTS[client])
    assert "session-start" in shown
    documents = [
        json.loads(line) for line in invoke("install", client, "--print", "--json").stdout.splitlines()
    ]
    assert [document["file"] for document in documents] == [str(home / name) for name in CLIENTS[client]]
    assert files(home) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", b"{"),
        (".claude/settings.json", b'// mine\n{"hooks": {}}'),
        (".claude/settings.json", b'{"hooks": []}'),
        (".claude/settings.json", b'{"hooks": {"UserPromptSubmit": {}}}'),
        (".claude/settings.json", b'{"hooks": null}'),
        (".claude/settings.json", b'{"hooks": {"UserPromptSubmit": null}}'),
        (".claude/settings.json", b'{"a": 1, "a": 2}'),
        (".claude.json", b'{"mcpServers": {"memstore": null}}'),
        (".claude.json", b'{"mcpServers": {"memstore": {"command": "memstore", "args": {}}}}'),
        (".claude/settings.json", b"[]"),
        (".claude/settings.json", b"\xff"),
        (".claude/settings.json", b"[" * 100_000),
        (".claude.json", b'{"mcpServers": 1}'),
        (".claude.json", b'{"mcpServers": {"memstore": {"command": "another"}}}'),
        (".codex/config.toml", b"a = = 1"),
        (".codex/config.toml", b"a = 1\na = 2"),
        (".codex/config.toml", b"mcp_servers = 1"),
        (".cursor/mcp.json", b'{"mcpServers": {"memstore": {"url": "https://example.org"}}}'),
    ],
)
def test_a_file_that_is_refused_is_left_alone(home: Path, name: str, text: bytes) -> None:
    client = {".cl": "claude-code", ".co": "codex", ".cu": "cursor"}[name[:3]]
    put(home, CLIENTS[client])
    (home / name).write_bytes(text)
    before = files(home)
    (said,) = complaints(invoke("install", client, code=1))
    assert said.startswith(f"{home / name}: ")
    assert said.endswith("Nothing was changed.")
    assert "example.org" not in said
    assert files(home) == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_read_only_file_is_left_alone(home: Path, client: str) -> None:
    """Also where its folder may be written; and none of the client's other files is written before."""
    put(home, CLIENTS[client])
    last = home / CLIENTS[client][-1]
    last.chmod(0o444)
    before = files(home)
    (said,) = complaints(invoke("install", client, code=1))
    assert said == f"{last}: it is read-only. Nothing was changed."
    assert files(home) == before
    invoke("install", client, "--print")
    last.chmod(0o644)
    invoke("install", client)
    last.chmod(0o444)
    before = files(home)
    invoke("install", client)
    invoke("install", client, "--uninstall", code=1)
    assert files(home) == before


def test_what_its_client_writes_meanwhile_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home, CLIENTS["cursor"])
    file = home / ".cursor/hooks.json"
    written = replace

    def client_writes(path: Path, text: str) -> None:
        written(path, text)
        file.write_text('{"version": 1, "mine": 1}')

    with monkeypatch.context() as patch:
        patch.setattr("memstore.cli.installing.replace", client_writes)
        (said,) = complaints(invoke("install", "cursor", code=1))
    assert said == f"{file}: it was changed meanwhile, by its client perhaps. Run it again."
    assert file.read_text() == '{"version": 1, "mine": 1}'
    invoke("install", "cursor")
    assert json.loads(file.read_text())["mine"] == 1 and "memstore" in file.read_text()


def test_modes_and_links_stay(home: Path) -> None:
    put(home, CLIENTS["cursor"])
    (home / "kept").mkdir()
    real = (home / ".cursor/mcp.json").rename(home / "kept/mcp.json")
    real.chmod(0o640)
    (home / ".cursor/mcp.json").symlink_to("../kept/mcp.json")
    (home / ".cursor/hooks.json").unlink()
    (home / ".cursor/hooks.json").symlink_to("../kept/hooks.json")  # which isn't there
    invoke("install", "cursor")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "memstore" in real.read_text()
    assert (home / ".cursor/mcp.json").is_symlink()
    assert (home / ".cursor/hooks.json").is_symlink()
    assert "memstore" in (home / "kept/hooks.json").read_text()
    assert sorted(path.name for path in (home / "kept").iterdir()) == ["hooks.json", "mcp.json"]
    invoke("install", "cursor", "--uninstall")
    assert (home / ".cursor/hooks.json").is_symlink()


def test_hooks_that_a_user_moved_together(home: Path) -> None:
    invoke("install", "claude-code")
    settings = home / ".claude/settings.json"
    document = json.loads(settings.read_text())
    document["hooks"]["UserPromptSubmit"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    settings.write_text(json.dumps(document))
    invoke("install", "claude-code", "--uninstall")
    assert json.loads(settings.read_text()) == {
        "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


STAND_IN = """#!/bin/sh
echo "$@" >> "$HOME/said"
case "$2 $4" in
  "add-json user") echo "{\\"mcpServers\\": {\\"memstore\\": $6}}" > "$HOME/.claude.json";;
  "remove user") echo "{}" > "$HOME/.claude.json";;
esac
exit ${FAILING:-0}
"""


@pytest.fixture
def own_commands(home: Path) -> Path:
    """Stand-ins for the clients' commands, which note what they are told."""
    (home / "bin").mkdir()
    for name in ("claude", "codex"):
        (home / "bin" / name).write_text(STAND_IN)
        (home / "bin" / name).chmod(0o755)
    return home / "said"


def test_a_clients_own_command_writes_its_server(
    home: Path, own_commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "$ claude mcp add-json" in invoke("install", "claude-code", "--print").stdout
    server = {"type": "stdio", "command": "memstore", "args": ["mcp", "--account", "me"]}
    add = ["mcp add-json --scope {} memstore", json.dumps(server)]
    for _ in range(2):
        invoke("install", "claude-code", "--account", "me")
        assert own_commands.read_text().splitlines() == [" ".join(add).replace("{}", "user")]
        assert parsed(home / ".claude.json") == {"mcpServers": {"memstore": server}}
    # It refuses a name that is there; so ours goes first where it differs.
    invoke("install", "claude-code")
    assert own_commands.read_text().splitlines()[1] == "mcp remove --scope user memstore"
    assert parsed(home / ".claude.json")["mcpServers"]["memstore"]["args"] == ["mcp"]
    invoke("install", "claude-code", "--project", "--account", "me")
    assert own_commands.read_text().splitlines()[-1] == " ".join(add).replace("{}", "project")
    invoke("install", "claude-code", "--uninstall")
    assert parsed(home / ".claude.json") == {}

    own_commands.unlink()
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text('[mcp_servers.memstore]\ncommand = "memstore"\nargs = ["mcp"]\n')
    invoke("install", "codex", "--account", "me")
    invoke("install", "codex", "--project")  # which it has no option for
    invoke("install", "codex", "--uninstall")
    assert own_commands.read_text().splitlines() == [
        "mcp add memstore -- memstore mcp --account me",
        "mcp remove memstore",
    ]

    monkeypatch.setenv("FAILING", "1")
    (said,) = complaints(invoke("install", "claude-code", code=1))
    assert said == "claude mcp add-json: it failed"


def test_a_password_stays_out(home: Path) -> None:
    url = "postgresql://bot:secret@host/agents"
    (said,) = complaints(invoke("install", "cursor", "--database-url", url, code=2))
    assert "secret" not in said
    assert files(home) == {}
    invoke("install", "cursor", "--database-url", "postgresql://bot@host/agents")
    args = parsed(home / ".cursor/mcp.json")["mcpServers"]["memstore"]["args"]
    assert args == ["mcp", "--database-url", "postgresql://bot@host/agents"]


def test_other_places(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    invoke("install", "claude-code")
    invoke("install", "codex")
    assert files(home).keys() == {
        *("claude/.claude.json", "claude/settings.json", "codex/config.toml", "codex/hooks.json"),
    }
    assert complaints(invoke("install", "emacs", code=2)) == [
        "there is no client emacs; there are claude-code, codex, cursor"
    ]


# Changing text.


def some_value(chance: random.Random, depth: int = 0) -> Any:
    if depth > 3 or chance.random() < 0.3:
        return chance.choice([1, 1.5, -2e300, "x", 'a"{}[],:\\', "é\u2028", None, True, {}, []])
    number = chance.randrange(1, 4)
    if chance.random() < 0.6:
        return {f"{chance.choice('abc')}{i}": some_value(chance, depth + 1) for i in range(number)}
    return [some_value(chance, depth + 1) for _ in range(number)]


def test_what_is_added_to_json_goes_without_a_trace() -> None:
    chance = random.Random(7)
    for _ in range(500):
        document: dict[str, Any] = {key: some_value(chance) for key in "ab"[: chance.randrange(3)]}
        if chance.random() < 0.5:
            document["servers"] = {"other": some_value(chance)}
        if chance.random() < 0.5:
            document["hooks"] = chance.choice([{"start": [some_value(chance)]}, {"stop": [1]}])
        text = json.dumps(
            document, indent=chance.choice([None, 1, 4, "\t"]), ensure_ascii=chance.random() < 0.5
        ) + chance.choice(["", "\n"])
        text = chance.choice(["", "\ufeff"]) + text.replace("\n", chance.choice(["\n", "\r\n"]))
        edited = Json(text)
        place = len(document.get("hooks", {}).get("start", []))
        edited.add(("servers", "memstore"), {"args": ["a"]})
        edited.add(("hooks", "start", place), {"hooks": [{"type": "c"}]})
        document.setdefault("servers", {})["memstore"] = {"args": ["a"]}
        document.setdefault("hooks", {}).setdefault("start", []).append({"hooks": [{"type": "c"}]})
        assert json.loads(edited.write().removeprefix("\ufeff")) == document
        edited.remove(("hooks", "start", place, "hooks", 0))
        edited.remove(("servers", "memstore"))
        assert edited.write() == text


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffmodel = 'x'\r\n[mcp_servers.a]\r\ncommand = 'o'\r\n",
        "",
        "a = 1",
        'model = "x" # k\n',
        '# c\n[mcp_servers.other]\ncommand = "o" # c\n',
        "[mcp_servers]\n[mcp_servers.o]\nx=1\n\n[z]\ny=2 # q\n",
        'mcp_servers = {o = {command = "x"}}\n',
        '[mcp_servers.o]\nx = 1\n\n[mcp_servers.o.env]\nA = "b"\n\n[projects."/x"]\nt = "y"\n',
    ],
)
def test_what_is_added_to_toml_goes_without_a_trace(text: str) -> None:
    edited = Toml(text)
    entry = {"command": "x", "args": ["a"]}
    edited.add(("mcp_servers", "memstore"), entry)
    added = edited.write()
    document = tomllib.loads(text.removeprefix("\ufeff"))
    document.setdefault("mcp_servers", {})["memstore"] = entry
    assert added.startswith("\ufeff") == text.startswith("\ufeff")
    assert tomllib.loads(added.removeprefix("\ufeff")) == document
    again = Toml(added)
    again.remove(("mcp_servers", "memstore"))
    assert again.write() == text


def test_an_interrupted_write_leaves_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = put(home, CLIENTS["cursor"])

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    assert complaints(invoke("install", "cursor", code=1)) == ["No space left on device"]
    assert files(home) == before


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("options", [[], ["--print"], ["--project"]])
def test_no_entry_for_a_server_that_cannot_run(home: Path, client: str, options: list[str]) -> None:
    put(home, CLIENTS[client])
    invoke("install", client)
    before = files(home)
    program = "import sys; sys.modules['mcp'] = None\nfrom memstore.cli import main\nmain()"

    def without_mcp(*line: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, "install", client, *line]
        return subprocess.run(command, capture_output=True, text=True, cwd=home)

    refused = without_mcp(*options)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert (
        refused.stderr == "memstore: memstore install needs more packages: pip install 'pg-memstore[mcp]'\n"
    )
    assert files(home) == before
    assert without_mcp("--uninstall").returncode == 0
    assert files(home) != before


def test_unreadable_json_is_not_quoted() -> None:
    with pytest.raises(Unreadable, match="isn't JSON") as caught:
        Json('{"token": secret}')
    assert "secret" not in str(caught.value)
