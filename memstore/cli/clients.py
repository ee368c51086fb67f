"""The configuration of agents' clients: where the server and the hooks of memstore stand in it.

The formats are those of the documentation:

- Claude Code: https://code.claude.com/docs/en/mcp and /hooks, as of 2026-09-07. The server is in
  `~/.claude.json` or the project's `.mcp.json`, hooks are in `settings.json`.
- Codex: https://developers.openai.com/codex/mcp and /hooks, read in November 2026. The server is in
  `config.toml`. The hooks are in `hooks.json` beside it: a version before 2026-08, which doesn't know
  `mcp_tool`, refuses the file that has one, and of `config.toml` that would be all of the configuration.
- Cursor: https://cursor.com/docs/mcp and /hooks, read in November 2026. It has no field for context before
  a prompt; there the agent calls recall itself.

A client's own command writes the server's entry where it is on the path and takes what is to be written.
"""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memstore import hooks
from memstore.cli.editing import Document, Json, Keys, Toml, Unreadable

NAME: Final = "memstore"
"""What the server is called in every client."""

# Seconds. A client that isn't answered in time goes on without.
_PROMPT_TIMEOUT: Final = 10
_START_TIMEOUT: Final = 30

# Not when a session is resumed, whose context still has the note.
_STARTS: Final = "startup|clear|compact"


@dataclass(frozen=True)
class Entry:
    """What is written to a client's file.

    Attributes:
        file: The file.
        keys: Where in it.
        value: What.
        form: How the file is read.
        blank: What a new file begins with.
    """

    file: Path
    keys: tuple[str, ...]
    value: dict[str, Any]
    form: Callable[[str], Document] = Json
    blank: str = "{}\n"

    def at(self, document: Document) -> Any:
        """Gives what is at `keys`; None where nothing is.

        Raises:
            Unreadable: The file isn't as its client writes it.
        """
        value: Any = document.content
        for key in self.keys:
            if not isinstance(value, dict):
                raise Unreadable(f"what has {key} isn't an object")
            if key in value and value[key] is None:
                raise Unreadable(f"{key} is null")
            value = value.get(key, {} if key != self.keys[-1] else None)
        return value

    def found(self, document: Document) -> list[Keys]:
        """Finds ours, whatever its options are."""
        raise NotImplementedError

    def stands(self, document: Document) -> bool:
        """Tells whether the value is there, and nothing else of ours."""
        raise NotImplementedError

    def place(self, document: Document) -> Keys:
        """Gives the keys under which the value is added."""
        return self.keys


@dataclass(frozen=True)
class Server(Entry):
    """A server's entry, in an object of servers.

    Attributes:
        add: The client's own command that adds it; empty where it has none.
        remove: The one that removes it.
        replaces: Whether `add` replaces an entry of that name.
    """

    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    replaces: bool = False

    @property
    def has_command(self) -> bool:
        """Whether the client's own command is on the path."""
        return bool(self.add and shutil.which(self.add[0]))

    def found(self, document: Document) -> list[Keys]:
        """Finds ours."""
        value = self.at(document)
        ours = (
            isinstance(value, dict)
            and Path(str(value.get("command"))).name == "memstore"
            and isinstance(value.get("args"), list)
            and value["args"][:1] == ["mcp"]
        )
        return [self.keys] if ours else []

    def stands(self, document: Document) -> bool:
        """Tells whether the value is there; the client or its user may have added to it.

        Raises:
            Unreadable: Another program's has the name.
        """
        value = self.at(document)
        if value is not None and not self.found(document):
            raise Unreadable(f"its entry {NAME} is another program's")
        return value is not None and value.items() >= self.value.items()


@dataclass(frozen=True)
class Hook(Entry):
    """A hook, in the array of its event."""

    def at(self, document: Document) -> list[Any]:
        """Gives the event's hooks."""
        value = super().at(document)
        if not isinstance(value, list | None):
            raise Unreadable(f"hooks.{self.keys[-1]} isn't an array")
        return value or []

    def found(self, document: Document) -> list[Keys]:
        """Finds ours; where they stand in a group with others, without the group."""
        found: list[Keys] = []
        for number, each in enumerate(self.at(document)):
            group = each.get("hooks") if isinstance(each, dict) else None
            group = group if isinstance(group, list) else []
            ours = [place for place, hook in enumerate(group) if _is_ours(hook)]
            if _is_ours(each) or (ours and len(ours) == len(group)):
                found.append((*self.keys, number))
            else:
                found += [(*self.keys, number, "hooks", place) for place in ours]
        return found

    def stands(self, document: Document) -> bool:
        """Tells whether the hook is there, once."""
        return len(self.found(document)) == 1 and self.value in self.at(document)

    def place(self, document: Document) -> Keys:
        """Gives the end of the array."""
        return (*self.keys, len(self.at(document)))


def _is_ours(hook: Any) -> bool:
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "mcp_tool":
        return hook.get("server") == NAME and hook.get("tool") == "recall"
    try:
        words = shlex.split(str(hook.get("command")))
    except ValueError:
        return False
    return len(words) > 1 and Path(words[0]).name == "memstore" and words[1] == "hook"


def claude_code(project: Path | None, program: str, options: Sequence[str]) -> Iterator[Entry]:
    """Gives the entries for Claude Code.

    Args:
        project: The project's folder; None for all of the user's projects.
        program: The command.
        options: Those of the command that say which account and database.
    """
    scope = "project" if project else "user"
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    settings = Path(home) if home else Path.home() / ".claude"
    servers = Path(home or Path.home()) / ".claude.json"
    if project:
        settings, servers = project / ".claude", project / ".mcp.json"
    server = {"type": "stdio", **_server(program, options)}
    yield Server(
        servers,
        ("mcpServers", NAME),
        server,
        add=("claude", "mcp", "add-json", "--scope", scope, NAME, json.dumps(server)),
        remove=("claude", "mcp", "remove", "--scope", scope, NAME),
    )
    yield from _hooks(settings / "settings.json", program, options)


def codex(project: Path | None, program: str, options: Sequence[str]) -> Iterator[Entry]:
    """Gives the entries for Codex; its own command knows no project's file."""
    place = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    server = _server(program, options)
    yield Server(
        project / ".codex" / "config.toml" if project else place / "config.toml",
        ("mcp_servers", NAME),
        server,
        form=Toml,
        blank="",
        add=() if project else ("codex", "mcp", "add", NAME, "--", program, *server["args"]),
        remove=("codex", "mcp", "remove", NAME),
        replaces=True,
    )
    yield from _hooks((project / ".codex" if project else place) / "hooks.json", program, options)


def cursor(project: Path | None, program: str, options: Sequence[str]) -> Iterator[Entry]:
    """Gives the entries for Cursor."""
    place = (project or Path.home()) / ".cursor"
    yield Server(place / "mcp.json", ("mcpServers", NAME), _server(program, options))
    yield Hook(
        place / "hooks.json",
        ("hooks", hooks.CURSOR_SESSION_START),
        _session_start(program, options),
        blank='{\n  "version": 1\n}\n',
    )


CLIENTS: Final = {"claude-code": claude_code, "codex": codex, "cursor": cursor}


def _server(program: str, options: Sequence[str]) -> dict[str, Any]:
    return {"command": program, "args": ["mcp", *options]}


def _session_start(program: str, options: Sequence[str]) -> dict[str, Any]:
    # One shell command: all three clients know this form.
    line = shlex.join([program, "hook", "session-start", *options])
    return {"type": "command", "command": line, "timeout": _START_TIMEOUT}


def _hooks(file: Path, program: str, options: Sequence[str]) -> Iterator[Entry]:
    recall = {
        "type": "mcp_tool",
        "server": NAME,
        "tool": "recall",
        "input": {"query": "${prompt}", "hook": hooks.PROMPT_SUBMIT},
        "timeout": _PROMPT_TIMEOUT,
    }
    start = {"matcher": _STARTS, "hooks": [_session_start(program, options)]}
    yield Hook(file, ("hooks", hooks.SESSION_START), start)
    yield Hook(file, ("hooks", hooks.PROMPT_SUBMIT), {"hooks": [recall]})
