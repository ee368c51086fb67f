"""Putting memstore into the files of a client, and taking it out again."""

import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memstore.cli.clients import Entry, Server
from memstore.cli.editing import Document, Unreadable, read, replace

_MAXIMUM_WAIT: Final = 60  # seconds for a client's own command


class Installation:
    """The entries of a client, and its files as they are. All are read before one is written.

    Args:
        entries: The entries.

    Raises:
        Unreadable: A file isn't as the client writes it.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._texts: dict[Path, str | None] = {}
        self._documents: dict[Path, Document] = {}
        for entry in entries:
            with _naming(entry.file):
                if entry.file not in self._documents:
                    self._texts[entry.file] = read(entry.file)
                    self._documents[entry.file] = entry.form(self._texts[entry.file] or entry.blank)
                entry.found(self._documents[entry.file])

    def show(self, adding: bool) -> dict[str, str]:
        """Gives what would be run for, or added to or removed from, which file."""
        shown: dict[str, str] = {}
        documents: dict[Path, Document] = {}
        for entry in self._entries:
            if isinstance(entry, Server) and entry.has_command:
                shown[str(entry.file)] = f"$ {shlex.join(entry.add if adding else entry.remove)}"
                continue
            document = documents.setdefault(entry.file, entry.form(entry.blank))
            document.add(entry.place(document), entry.value)
            shown[str(entry.file)] = document.write().strip()
        return shown

    def install(self) -> list[str]:
        """Puts the entries in, and gives the files that changed.

        Raises:
            Unreadable: A file is read-only, or has another program's entry of our name; or the client's
                command fails.
        """
        for entry in self._entries:
            with _naming(entry.file):
                entry.stands(self._documents[entry.file])
        return self._change(adding=True)

    def uninstall(self) -> list[str]:
        """Takes the entries out, and gives the files that changed.

        Raises:
            Unreadable: A file is read-only, or the client's command fails.
        """
        return self._change(adding=False)

    def _change(self, adding: bool) -> list[str]:
        due = [entry for entry in self._entries if self._is_due(entry, adding)]
        for entry in due:
            with _naming(entry.file):
                if self._texts[entry.file] is not None and not entry.file.stat().st_mode & 0o222:
                    raise Unreadable("it is read-only")
        edited: dict[Path, Entry] = {}
        for entry in due:
            document = self._documents[entry.file]
            found = entry.found(document)
            if isinstance(entry, Server) and entry.has_command:
                if found and not (adding and entry.replaces):
                    _run(entry.remove)
                if adding:
                    _run(entry.add)
                continue
            edited[entry.file] = entry
            for keys in reversed(found):
                document.remove(keys)
            if adding:
                document.add(entry.place(document), entry.value)
        for file, entry in edited.items():
            if read(file) != self._texts[file]:
                raise Unreadable(f"{file}: it was changed meanwhile, by its client perhaps. Run it again.")
            text = self._documents[file].write()
            if text == entry.blank and not file.is_symlink():
                file.unlink()  # which was made for the entries
            else:
                replace(file, text)
        return list(dict.fromkeys(str(entry.file) for entry in due))

    def _is_due(self, entry: Entry, adding: bool) -> bool:
        document = self._documents[entry.file]
        return not entry.stands(document) if adding else bool(entry.found(document))


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    try:
        yield
    except Unreadable as problem:
        raise Unreadable(f"{file}: {problem}. Nothing was changed.") from None


def _run(words: Sequence[str]) -> None:
    try:
        result = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_MAXIMUM_WAIT
        )
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{shlex.join(words[:3])} took longer than {_MAXIMUM_WAIT} s") from None
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines() or ["it failed"]
        raise Unreadable(f"{shlex.join(words[:3])}: {said[-1]}")
