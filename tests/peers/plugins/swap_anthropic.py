"""The suite of the SDK's memory tool over files, against memstore: `pytest -p swap_anthropic`.

The suite looks at files, and makes some: each command first takes files that are new to items, and then
writes what items there are to files.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from anthropic.lib.tools import _beta_builtin_memory_tool as peer

from memstore import Store
from memstore.integrations.anthropic import ROOT, AsyncMemstoreMemoryTool, MemstoreMemoryTool

STORE = Store(os.environ["MEMSTORE_PEERS_URL"])
_number = itertools.count()


class Mirrored(MemstoreMemoryTool):
    """The tool with a folder beside it."""

    def __init__(self, base_path: str = "./memory") -> None:
        actor = STORE.create_user(external_ref=f"files-{os.getpid()}-{next(_number)}")
        super().__init__(STORE, actor)
        self.base_path = Path(base_path)
        self.memory_root: Any = self.base_path / "memories"
        self.files = self.memory_root
        self.files.mkdir(parents=True, mode=0o700, exist_ok=True)

    def take(self) -> None:
        for file in self.files.rglob("*"):
            if file.is_file() and not file.is_symlink():
                path = (ROOT, *file.relative_to(self.files).parts)
                if self._file(path) is None:
                    value = {"content": file.read_bytes().decode()}
                    STORE.put_items(self._actor, [{"namespace": path[:-1], "key": path[-1], "value": value}])

    def give(self) -> None:
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir(parents=True, mode=0o700, exist_ok=True)
        for path, item in self._below((ROOT,)):
            file = self.files.joinpath(*path[1:])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(str(item.value["content"]).encode())


class AsyncMirrored(AsyncMemstoreMemoryTool):
    """Likewise."""

    def __init__(self, base_path: str = "./memory") -> None:
        super().__init__(STORE)
        self._tool = Mirrored(base_path)
        self.base_path = self._tool.base_path
        self.memory_root = anyio.Path(self._tool.files)

    async def _ensure_memory_root(self) -> None:
        pass


def _around(name: str) -> Callable[..., Any]:
    plain = getattr(MemstoreMemoryTool, name)

    def method(self: Mirrored, command: Any) -> Any:
        self.take()
        try:
            return plain(self, command)
        finally:
            self.give()

    return method


for _name in ("view", "create", "str_replace", "insert", "delete", "rename"):
    setattr(Mirrored, _name, _around(_name))
peer.BetaLocalFilesystemMemoryTool = Mirrored
peer.BetaAsyncLocalFilesystemMemoryTool = AsyncMirrored
