"""The memory store of Pydantic AI's harness over items: `MemstoreMemoryStore`, for its capability `Memory`.

A file is an item: its folders are the namespace, its name is the key. What an operation did is an item beside
the files, written with them, so that one that is repeated within a day does nothing again.
"""

from typing import Final
from uuid import UUID, uuid4

from pydantic_ai_harness import memory as harness

from memstore import AsyncStore, Item, ItemChanged

_FILES: Final = "notebook"
_OPERATIONS: Final = ("notebook operations",)
# What an operation did is kept for a day.
_RECEIPT: Final = {"namespace": _OPERATIONS, "if_version": 0, "ttl_seconds": 86_400, "indexed": False}
_PAGE: Final = 1000


class MemstoreMemoryStore:
    """A `SearchableMemoryStore` over a `memstore.AsyncStore`, which belongs to the caller."""

    def __init__(self, store: AsyncStore, actor: UUID | str | None = None) -> None:
        """Takes the store, and the account; None for that of a bound role."""
        self._store = store
        self._actor = actor

    async def read(self, path: str, *, max_chars: int) -> harness.MemoryFile | None:
        """Returns a file, cut to so many characters."""
        if max_chars <= 0:
            raise ValueError("max_chars must be positive")
        item = await self._get(*_place(path))
        if item is None:
            return None
        content, operation = str(item.value["content"]), item.value.get("operation")
        return harness.MemoryFile(
            content[:max_chars],
            str(item.value["version"]),
            operation_id=operation and str(operation),
            truncated=len(content) > max_chars,
        )

    async def get_operation(self, operation: harness.MemoryOperation) -> harness.MemoryMutation | None:
        """Returns what an operation did, or None where it did nothing yet."""
        receipt = await self._get(_OPERATIONS, operation.id)
        if receipt is None:
            return None
        if receipt.value["fingerprint"] != operation.fingerprint:
            raise harness.MemoryOperationConflictError("The operation's id was used with other arguments.")
        version = receipt.value.get("version")
        return harness.MemoryMutation(
            str(version) if version else None, replayed=True, existed=bool(receipt.value["existed"])
        )

    async def write(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        operation: harness.MemoryOperation | None = None,
    ) -> harness.MemoryMutation:
        """Writes a file where it is of the version, or absent for None."""
        return await self._change(path, content, expected_version, operation)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: harness.MemoryOperation | None = None
    ) -> harness.MemoryMutation:
        """Deletes a file where it is of the version."""
        return await self._change(path, None, expected_version, operation)

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Lists the paths that begin with a prefix, in order."""
        if limit <= 0:
            raise ValueError("limit must be positive")
        folders = prefix.split("/")[:-1]
        paths: list[str] = []
        while True:
            page = await self._store.search_items(
                self._actor, namespace=(_FILES, *folders), page_size=_PAGE, skip=len(paths)
            )
            paths += (_path(found.item) for found in page)
            if len(page) < _PAGE:
                return sorted(path for path in paths if path.startswith(prefix))[:limit]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> harness.MemorySearchResult:
        """Searches the files directly in a folder by words: all are compared, whatever `max_files` says."""
        if not query.split() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return harness.MemorySearchResult(matches=[], scanned=0, truncated=False)
        namespace = (_FILES, *prefix.split("/")[:-1])
        found = await self._store.search_items(self._actor, namespace=namespace, query=query, page_size=_PAGE)
        matches: list[harness.MemorySearchMatch] = []
        left, truncated = max_chars, False
        for each in found:
            if not each.score or each.item.namespace != namespace:
                continue
            path = _path(each.item)
            left -= len(path.removeprefix(prefix))
            if truncated := left <= 0 or len(matches) == limit:
                break
            snippet = str(each.item.value["content"])[: min(left, max_file_chars)]
            matches.append(harness.MemorySearchMatch(path, snippet, each.score))
            left -= len(snippet)
        return harness.MemorySearchResult(matches, len(found), truncated)

    async def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        found = await self._store.get_items(self._actor, [{"namespace": namespace, "key": key}])
        return found[0] if found else None

    async def _change(
        self, path: str, content: str | None, expected: str | None, operation: harness.MemoryOperation | None
    ) -> harness.MemoryMutation:
        namespace, key = _place(path)
        version = None if content is None else uuid4().hex
        while True:
            if operation is not None and (done := await self.get_operation(operation)):
                return done
            item = await self._get(namespace, key)
            if (str(item.value["version"]) if item else None) != expected:
                raise harness.MemoryConflictError("The file changed before it could be written.")
            named = operation and operation.id
            value = version and {"content": content, "version": version, "operation": named}
            change = {"value": value, "if_version": item.version if item else 0}
            changes: list[dict[str, object]] = [{"namespace": namespace, "key": key, **change}]
            if operation is not None:
                did = {"fingerprint": operation.fingerprint, "version": version, "existed": item is not None}
                changes.append(_RECEIPT | {"key": operation.id, "value": did})
            try:
                await self._store.put_items(self._actor, changes)
            except ItemChanged:  # by another writer, whose change the next round finds
                continue
            return harness.MemoryMutation(version, replayed=False, existed=item is not None)


def _place(path: str) -> tuple[tuple[str, ...], str]:
    *folders, name = path.split("/")
    return (_FILES, *folders), name


def _path(item: Item) -> str:
    return "/".join((*item.namespace[1:], item.key))
