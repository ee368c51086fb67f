"""Changes in other programs' configuration files: an entry comes or goes, and every other byte stays.

JSON is changed in its text, since the standard library would write all of it anew; TOML by tomlkit.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, Final

Key = str | int
Keys = Sequence[Key]

_BLANK: Final = " \t\r\n"
_DECODER: Final = JSONDecoder()


class Unreadable(Exception):
    """A file isn't as its program writes it; the message says what is wrong, and quotes nothing of it."""


class Json:
    """A JSON document.

    Args:
        text: Its text.
    """

    def __init__(self, text: str) -> None:
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self.text: str = text.removeprefix(self._mark)
        self.content: dict[str, Any] = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.text, object_pairs_hook=_once)
        except json.JSONDecodeError as error:
            raise Unreadable(f"it isn't JSON: {error.msg}, line {error.lineno}") from None
        except (ValueError, RecursionError):
            raise Unreadable("it can't be read: a key is there twice, or it is nested too deep") from None
        if not isinstance(content, dict):
            raise Unreadable("it isn't a JSON object")
        return content

    def write(self) -> str:
        """Gives the text."""
        return self._mark + self.text

    def add(self, keys: Keys, value: object) -> None:
        """Adds a member to the object, or an element to the array, that is at `keys` but for the last key.

        Objects on the way there that are missing are made; the last key of an element is its index.
        """
        at, depth = self._start(), 0
        for depth, key in enumerate(keys[:-1]):  # noqa: B007
            child = next((value for name, _, value, _ in _children(self.text, at) if name == key), None)
            if child is None:
                break
            at = child
        else:
            depth = len(keys) - 1
        for key in reversed(keys[depth + 1 :]):
            value = {key: value} if isinstance(key, str) else [value]
        children = list(_children(self.text, at))
        unit = self._unit()
        newline = "\r\n" if "\r\n" in self.text else "\n"
        if children:
            between = self.text[at + 1 : children[0][1]]
            start, comma, after = children[-1][3], ",", ""
        else:
            between, after = f"{newline}{unit * (depth + 1)}", f"{newline}{unit * depth}"
            start, comma = at + 1, ""
        if "\n" in between:
            indent = between.rpartition("\n")[2]
            written = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)
        else:
            written = json.dumps(value, ensure_ascii=False)
            between = between or (" " if comma else "")
        name = f"{json.dumps(keys[depth], ensure_ascii=False)}: " if isinstance(keys[depth], str) else ""
        end = start if children else self._end(at) - 1
        self._replace(start, end, f"{comma}{between}{name}{written}{after}")

    def remove(self, keys: Keys) -> None:
        """Removes what is at `keys`, and the objects and arrays around it that are empty then."""
        while True:
            at = self._start()
            for key in keys[:-1]:
                at = next(value for name, _, value, _ in _children(self.text, at) if name == key)
            children = list(_children(self.text, at))
            number = next(number for number, child in enumerate(children) if child[0] == keys[-1])
            if number:
                self._replace(children[number - 1][3], children[number][3], "")
            elif len(children) > 1:
                self._replace(children[0][1], children[1][1], "")
            else:
                self._replace(at + 1, self._end(at) - 1, "")
                if len(keys) > 1:
                    keys = keys[:-1]
                    continue
            return

    def _replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self.content = self._read()

    def _start(self) -> int:
        return _skip(self.text, 0)

    def _end(self, at: int) -> int:
        _, end = _DECODER.raw_decode(self.text, at)
        return end

    def _unit(self) -> str:
        """Gives the indentation of one level."""
        start = self._start()
        blank = self.text[start + 1 : _skip(self.text, start + 1)]
        return blank.rpartition("\n")[2] or "  " if "\n" in blank else "  "


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _children(text: str, at: int) -> Iterator[tuple[Key, int, int, int]]:
    """Gives the members of an object, or elements of an array: key, start, start of the value, and end."""
    named, at, number = text[at] == "{", _skip(text, at + 1), 0
    while text[at] not in "}]":
        key: Key = number
        start = at
        if named:
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        value = at
        _, at = _DECODER.raw_decode(text, at)
        yield key, start, value, at
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1


class Toml:
    """A TOML document, with the same methods.

    Args:
        text: Its text.
    """

    def __init__(self, text: str) -> None:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        try:
            self._document: Any = tomlkit.parse(text.removeprefix(self._mark))
        except (TOMLKitError, RecursionError):
            raise Unreadable("it isn't TOML") from None

    @property
    def content(self) -> dict[str, Any]:
        """What it says."""
        content: dict[str, Any] = self._document.unwrap()
        return content

    def write(self) -> str:
        """Gives the text."""
        return self._mark + str(self._document.as_string())

    def add(self, keys: Keys, value: object) -> None:
        """Adds a table's entry, with the tables around it that are missing."""
        import tomlkit

        table: Any = self._document
        for key in keys[:-1]:
            if key not in table:
                table.append(key, tomlkit.table(is_super_table=True))
            table = table[key]
        table.append(keys[-1], value)

    def remove(self, keys: Keys) -> None:
        """Removes what is at `keys`, and the tables around it that are empty then."""
        before, removed = self.write(), self._at(keys).unwrap()
        for depth in range(len(keys) - 1, -1, -1):
            table = self._at(keys[:depth])
            if depth == len(keys) - 1 or not table[keys[depth]]:
                del table[keys[depth]]
        # tomlkit leaves the blank that it put around the entry: what `add` would put again goes, too. Between
        # tables that may be a blank line which was there before, so there it stays.
        after = self.write()
        at = next(
            (at for at, two in enumerate(zip(before, after, strict=False)) if len(set(two)) > 1), len(after)
        )
        fewer = (after[:place] + after[place + 1 :] for place in range(max(at - 2, 0), at + 1))
        for text in (*fewer, after) if not after[at:].strip() else (after, *fewer):
            with suppress(Unreadable):
                without = Toml(text)
                again = Toml(text)
                again.add(keys, removed)
                if again.write() == before:
                    self._document = without._document
                    return

    def _at(self, keys: Keys) -> Any:
        table: Any = self._document
        for key in keys:
            table = table[key]
        return table


Document = Json | Toml


def read(path: Path) -> str | None:
    """Reads a file; None where there is none.

    Raises:
        Unreadable: It isn't UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Unreadable("it isn't UTF-8") from None


def replace(path: Path, text: str) -> None:
    """Writes a file all at once, with the mode and the owner that it had; of a link, what it points to."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            if target.exists():
                found = target.stat()
                if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, found.st_uid, found.st_gid)
                os.fchmod(descriptor, found.st_mode & 0o7777)
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
