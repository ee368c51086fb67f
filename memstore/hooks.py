"""What the hooks of agents' clients give, and what they take for an answer.

As documented, and for the first two as their programs do it:

- Claude Code: https://code.claude.com/docs/en/hooks, as of 2026-09-07; tried with 2.1.197.
- Codex: https://developers.openai.com/codex/hooks, read in November 2026; tried with 0.171.0. Hooks of type
  `mcp_tool` run since 2026-08-18.
- Cursor: https://cursor.com/docs/hooks, read in November 2026.

Claude Code and Codex add a hook's output to the turn, and read it as a decision where it is JSON: so the note
is always inside of JSON of ours. Cursor has no field for a note before a turn, only at a session's start.
"""

import json
from collections.abc import Mapping
from pathlib import Path

SESSION_START, PROMPT_SUBMIT = "SessionStart", "UserPromptSubmit"
"""Events, as Claude Code and Codex call them."""

CURSOR_SESSION_START = "sessionStart"


def answer(event: str, note: str | None) -> str:
    """Writes what a hook answers.

    Args:
        event: The event, as the client calls it.
        note: The note of a recall.

    Returns:
        One JSON object; an empty text, which changes nothing, where there is no note.
    """
    if note is None:
        return ""
    if event == CURSOR_SESSION_START:
        return json.dumps({"additional_context": note})
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": note}})


def folder(given: Mapping[str, object]) -> Path:
    """Gives the folder that a session works in: that of the hook's input, else the current one."""
    roots = given.get("workspace_roots")  # Cursor's
    place = roots[0] if isinstance(roots, list) and roots else given.get("cwd")
    return Path(place) if isinstance(place, str) and place else Path.cwd()
