"""Claude's memory tool over items: `MemstoreMemoryTool` and `AsyncMemstoreMemoryTool`.

A file is an item: its folders are the namespace, its name is the key, and its text is the value's `content`.
So a path is labels and nothing else: there are no links, and `..` is resolved by the text alone, never beyond
`/memories`. What is returned and refused is worded as the tool's documentation has it.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from uuid import UUID

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from memstore import InvalidValue, ItemChanged, QuotaReached, Store
from memstore.models import Item

T = TypeVar("T")
_Path = tuple[str, ...]

ROOT: Final = "memories"
"""The first label of each namespace, and the folder that the model sees."""

_PAGE: Final = 1000
_ATTEMPTS: Final = 10
_MOST_LINES: Final = 999_999
_UNITS: Final = "BKMG"


class MemstoreMemoryTool(BetaAbstractMemoryTool):
    """The memory tool whose files are items of one account.

    Args:
        store: The store, which belongs to the caller.
        actor: The account; None for that of a bound role.
        options: Those of the tool itself, such as `cache_control`.

    An edit is written only where the file is still what was read, and is else made again; a folder is renamed
    in one transaction. Each command raises `ToolError`, which the model is told, where it can't be done.
    """

    def __init__(self, store: Store, actor: UUID | str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._store = store
        self._actor = actor

    def view(self, command: Any) -> str:
        """Shows a file with the numbers of its lines, or what is in a folder, two levels deep."""
        path = _labels(command.path)
        file = self._file(path)
        if file is None:
            below = self._below(path)
            if not below and len(path) > 1:
                raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
            return _listing(command.path.rstrip("/"), len(path), below)
        lines = _text_of(file).split("\n")
        if len(lines) > _MOST_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = last if command.view_range[1] == -1 else command.view_range[1]
        return f"Here's the content of {command.path} with line numbers:\n" + _numbered(lines, first, last)

    def create(self, command: Any) -> str:
        """Creates a file where there is none."""
        path = _labels(command.path)
        if len(path) == 1 or self._below(path) or not self._put(_change(path, command.file_text, 0)):
            raise ToolError(f"File {command.path} already exists")
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        """Replaces a text that occurs once in a file."""

        def replace(text: str) -> tuple[str, str]:
            places = _places(text, command.old_str)
            if not places:
                raise ToolError(
                    f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in"
                    f" {command.path}."
                )
            at = [text.count("\n", 0, place) + 1 for place in places]
            if len(at) > 1:
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in"
                    f" lines: {', '.join(map(str, at))}. Please ensure it is unique"
                )
            new = text.replace(command.old_str, command.new_str)
            shown = _numbered(new.split("\n"), max(at[0] - 2, 1), at[0] + 2)
            return new, (
                "The memory file has been edited. Here is the snippet showing the change (with line"
                f" numbers):\n{shown}"
            )

        return self._edit(command.path, replace)

    def insert(self, command: Any) -> str:
        """Inserts lines after a line of a file; 0 is its beginning."""

        def insert(text: str) -> tuple[str, str]:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range"
                    f" [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            new = "\n".join(lines)
            return new if new.endswith("\n") else f"{new}\n", f"The file {command.path} has been edited."

        return self._edit(command.path, insert)

    def delete(self, command: Any) -> str:
        """Deletes a file, or a folder with what is in it."""
        path = _labels(command.path)
        if len(path) == 1:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._delete([path] if self._file(path) else [each for each, _ in self._below(path)]):
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Moves a file, or a folder with what is in it, at once."""
        old, new = _labels(command.old_path), _labels(command.new_path)
        if len(old) == 1:
            raise ToolError("Cannot rename the /memories directory itself")
        for _ in range(_ATTEMPTS):
            if len(new) == 1 or self._file(new) or self._below(new):
                raise ToolError(f"The destination {command.new_path} already exists")
            file = self._file(old)
            moved = [(old, file)] if file else self._below(old)
            if not moved:
                raise ToolError(f"The path {command.old_path} does not exist")
            if new[: len(old)] == old:
                raise ToolError(f"The destination {command.new_path} lies in {command.old_path}")
            changes: list[dict[str, object]] = []
            for path, item in moved:
                changes.append(_change(path, None, item.version))
                changes.append(_change(new + path[len(old) :], _text_of(item), 0))
            if self._put(*changes):
                return f"Successfully renamed {command.old_path} to {command.new_path}"
        raise ToolError(f"The path {command.old_path} is being changed by others. Please try again.")

    def clear_all_memory(self) -> str:
        """Deletes all files."""
        self._delete([path for path, _ in self._below((ROOT,))])
        return "All memory cleared"

    def _file(self, path: _Path) -> Item | None:
        if len(path) == 1:
            return None
        with _told():
            found = self._store.get_items(self._actor, [{"namespace": path[:-1], "key": path[-1]}])
        return found[0] if found else None

    def _below(self, path: _Path) -> list[tuple[_Path, Item]]:
        """The files of a folder and its folders, by path."""
        files: list[tuple[_Path, Item]] = []
        while True:
            with _told():
                page = self._store.search_items(self._actor, namespace=path, page_size=_PAGE, skip=len(files))
            files += (((*found.item.namespace, found.item.key), found.item) for found in page)
            if len(page) < _PAGE:
                return sorted(files, key=lambda file: file[0])

    def _edit(self, path: str, change: Callable[[str], tuple[str, str]]) -> str:
        labels = _labels(path)
        for _ in range(_ATTEMPTS):
            file = self._file(labels)
            if file is None:
                if len(labels) == 1 or self._below(labels):
                    raise ToolError(f"The path {path} is not a file.")
                raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
            text, answer = change(_text_of(file))
            if self._put(_change(labels, text, file.version)):
                return answer
        raise ToolError(f"The file {path} is being changed by others. Please view it again.")

    def _put(self, *changes: dict[str, object]) -> bool:
        """Writes where each file is still of its version."""
        try:
            with _told():
                self._store.put_items(self._actor, changes)
        except ItemChanged:
            return False
        return True

    def _delete(self, paths: list[_Path]) -> bool:
        return bool(paths) and self._put(*(_change(path, None, None) for path in paths))


class AsyncMemstoreMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for an asynchronous client: each command runs in a thread."""

    def __init__(self, store: Store, actor: UUID | str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._tool = MemstoreMemoryTool(store, actor)

    async def view(self, command: Any) -> str:
        """As of `MemstoreMemoryTool`, like all that follow."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: Any) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: Any) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: Any) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: Any) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: Any) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> str:  # noqa: D102
        return await asyncio.to_thread(self._tool.clear_all_memory)


@contextmanager
def _told() -> Iterator[None]:
    """Tells the model what it can do something about."""
    try:
        yield
    except (InvalidValue, QuotaReached) as refusal:
        told = str(refusal)
    else:
        return
    raise ToolError(told)


def _labels(path: str) -> _Path:
    """The labels of a path, the root's included."""
    if path != f"/{ROOT}" and not path.startswith(f"/{ROOT}/"):
        raise ToolError(f"Path must start with /{ROOT}, got: {path}")
    labels: list[str] = []
    for label in path.split("/")[2:]:
        if label == "..":
            if not labels:
                raise ToolError(f"Path {path} would escape /{ROOT} directory")
            labels.pop()
        elif label not in ("", "."):
            labels.append(label)
    return (ROOT, *labels)


def _change(path: _Path, text: str | None, version: int | None) -> dict[str, object]:
    value = None if text is None else {"content": text}
    return {"namespace": path[:-1], "key": path[-1], "value": value, "if_version": version}


def _text_of(item: Item) -> str:
    return str(item.value.get("content", ""))


def _places(text: str, part: str) -> list[int]:
    places = []
    place = text.find(part)
    while place >= 0:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first))


def _listing(shown: str, depth: int, files: list[tuple[_Path, Item]]) -> str:
    """What is in a folder, with the sizes of the texts, those of hidden files counted."""
    sizes: dict[_Path, int] = {}
    folders: set[_Path] = set()
    total = 0
    for path, item in files:
        size = len(_text_of(item).encode())
        total += size
        names = path[depth:]
        if any(name.startswith(".") for name in names[:2]):
            continue
        for length in range(1, min(len(names), 2) + 1):
            sizes[names[:length]] = sizes.get(names[:length], 0) + size
            if length < len(names):
                folders.add(names[:length])
    lines = [f"{_size(total)}\t{shown}"]
    for names in sorted(sizes):
        lines.append(f"{_size(sizes[names])}\t{shown}/{'/'.join(names)}{'/' if names in folders else ''}")
    return (
        f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:\n"
        + "\n".join(lines)
    )


def _size(size: float) -> str:
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"
