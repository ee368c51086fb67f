"""LangGraph's store over items: `MemstoreStore` and `AsyncMemstoreStore`, in place of LangGraph's own.

An item of LangGraph's is an item of an account, whose namespace it keeps. The account is one for the whole
store, or named by a label of the namespace, so that `delete_user` erases one customer.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, TypeAlias, TypedDict
from uuid import UUID

from langgraph.store.base import (
    BaseStore,
    Embeddings,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)
from langgraph.store.base.embed import EmbeddingsLambda

from memstore import ActorUnknown, AsyncStore, Store, StoreUnavailable, models
from memstore.api import calls
from memstore.wire import Call

_Texts: TypeAlias = tuple[list[str], bool]
"""What is to be embedded, and whether it is a query."""
_Work: TypeAlias = "Generator[Call[Any] | _Texts, Any, list[Result]]"

_ACCOUNTS_KEPT: Final = 10_000
_SWEEP_MINUTES: Final = 5.0
_EMBEDDING_THREADS: Final = 4


class Index(TypedDict, total=False):
    """What is embedded, and how a search ranks.

    Attributes:
        dims: The number of dimensions; the database holds it by the model.
        embed: LangChain's embeddings, a function, or a name such as `openai:text-embedding-3-small`.
        fields: The paths of the value to embed, each by itself; `["$"]`, the whole value, where left out.
        model: The name under which the embeddings are stored, which may not be another model's; that of
            `embed` where left out.
        ranking: `meaning`, where the score is the cosine, or `fused`, where the words of the query count too.
    """

    dims: int
    embed: Any
    fields: list[str] | None
    model: str
    ranking: str


class _MemstoreBase(BaseStore):
    """What both stores share: ops as calls of functions, without doing them."""

    supports_ttl = True

    def __init__(
        self,
        *,
        account: UUID | str | None = None,
        account_segment: int | None = None,
        index: Index | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if account is not None and account_segment is not None:
            raise ValueError("An account is fixed or named by a label of the namespace, not both.")
        self._account = account
        self._segment = account_segment
        self._known: OrderedDict[str, UUID] = OrderedDict()
        self.ttl_config = ttl
        self.index_config = index
        self._embeddings: Embeddings | None = None
        if index is not None:
            if unknown := index.keys() - Index.__annotations__.keys():
                raise ValueError(f"index has no key {min(unknown)}: embeddings are compared by their cosine.")
            if index.get("ranking", "meaning") not in ("meaning", "fused"):
                raise ValueError("index['ranking'] is meaning or fused.")
            self._embeddings = ensure_embeddings(index["embed"])
            self._fields = _tokenized(index.get("fields") or ["$"])
            self._model = index.get("model") or _name_of(index["embed"])
            self._fused = index.get("ranking") == "fused"

    def _embeds_in_threads(self) -> bool:
        embeddings = self._embeddings
        if isinstance(embeddings, EmbeddingsLambda):
            return not hasattr(embeddings, "afunc")
        return embeddings is not None and type(embeddings).aembed_documents is Embeddings.aembed_documents

    # A generator asks for calls and embeddings, and whoever drives it does them.

    def _work(self, ops: Sequence[Op]) -> _Work:
        for op in ops:
            validate_op_namespace(op)
        results: list[Result] = [None] * len(ops)
        gets: dict[str | None, list[int]] = {}
        puts: dict[str | None, dict[tuple[tuple[str, ...], str], PutOp]] = {}
        for place, op in enumerate(ops):
            if isinstance(op, GetOp):
                gets.setdefault(self._owner(op.namespace), []).append(place)
            elif isinstance(op, PutOp):
                puts.setdefault(self._owner(op.namespace), {})[op.namespace, op.key] = op
        # As LangGraph's own have it, the reads of a batch come before its writes.
        for owner, places in gets.items():
            yield from self._as(owner, lambda actor: self._get(actor, ops, places, results))  # noqa: B023
        for place, op in enumerate(ops):
            if isinstance(op, SearchOp):
                found: list[SearchItem] = []
                owner = self._owner(op.namespace_prefix)
                yield from self._as(owner, lambda actor: self._search(actor, op, found))  # noqa: B023
                results[place] = found
            elif isinstance(op, ListNamespacesOp):
                listed: list[tuple[str, ...]] = []
                owner = self._owner(_literal_prefix(op))
                yield from self._as(owner, lambda actor: self._list(actor, op, listed))  # noqa: B023
                results[place] = listed
        for owner, given in puts.items():
            items = yield from self._items(given.values())
            yield from self._as(owner, lambda actor: self._put(actor, items), create=True)  # noqa: B023
        return results

    def _owner(self, namespace: Sequence[str]) -> str | None:
        """The application's id of the account that a namespace is of; None for the store's own."""
        if self._segment is None:
            return self._account if isinstance(self._account, str) else None
        if len(namespace) <= self._segment:
            raise ValueError(f"The namespace names no account: its label {self._segment} is missing.")
        return namespace[self._segment]

    def _as(
        self, owner: str | None, work: "Callable[[UUID | None], _Steps]", create: bool = False
    ) -> "_Steps":
        """Does the work as the account; where there is none and it isn't created, nothing."""
        if owner is None:
            yield from work(self._account if isinstance(self._account, UUID) else None)
            return
        for again in (False, True):
            actor = self._known.get(owner)
            if actor is None:
                actor = (
                    yield calls.create_user(external_ref=owner)
                    if create
                    else calls.find_user(external_ref=owner)
                )
                if actor is None:
                    return
                self._known[owner] = actor
                if len(self._known) > _ACCOUNTS_KEPT:
                    self._known.popitem(last=False)
            try:
                yield from work(actor)
            except ActorUnknown:  # erased since
                self._known.pop(owner, None)
                if again:
                    raise
            else:
                return

    def _get(
        self, actor: UUID | None, ops: Sequence[Op], places: list[int], results: list[Result]
    ) -> "_Steps":
        keys = [_path(ops[place]) for place in places]
        found = yield calls.get_items(actor=actor, keys=keys)
        items = {(item.namespace, item.key): item for item in found}
        renewed = []
        for place, key in zip(places, keys, strict=True):
            op = ops[place]
            assert isinstance(op, GetOp)  # noqa: S101
            item = items.get((op.namespace, op.key))
            if item is not None:
                results[place] = Item(**_fields_of(item))
                if op.refresh_ttl and item.ttl_seconds is not None:
                    renewed.append(key)
        if renewed:
            yield calls.renew_items(actor=actor, keys=renewed)

    def _search(self, actor: UUID | None, op: SearchOp, found: list[SearchItem]) -> "_Steps":
        by_words, meant = op.query, {}
        if op.query and self._embeddings is not None:
            (vector,) = yield [op.query], True
            meant = {"embedding": vector, "embedding_model": self._model}
            by_words = op.query if self._fused else None
        hits: list[models.FoundItem] = yield calls.search_items(
            actor=actor,
            namespace=op.namespace_prefix,
            query=by_words,
            filter=op.filter or None,
            page_size=op.limit,
            skip=op.offset,
            **meant,
        )
        found += (SearchItem(**_fields_of(hit.item), score=hit.score) for hit in hits)
        renewed = [
            {"namespace": hit.item.namespace, "key": hit.item.key}
            for hit in hits
            if hit.item.ttl_seconds is not None
        ]
        if op.refresh_ttl and renewed:
            yield calls.renew_items(actor=actor, keys=renewed)

    def _list(self, actor: UUID | None, op: ListNamespacesOp, listed: list[tuple[str, ...]]) -> "_Steps":
        conditions = [
            {"match": condition.match_type, "path": list(condition.path)}
            for condition in op.match_conditions or ()
        ]
        listed += yield calls.list_item_namespaces(
            actor=actor,
            conditions=conditions,
            maximum_depth=op.max_depth,
            page_size=op.limit,
            skip=op.offset,
        )

    def _items(self, puts: Iterable[PutOp]) -> "Generator[_Texts, Any, list[dict[str, object]]]":
        """The items to put, with their embeddings."""
        items: list[dict[str, object]] = []
        texts: list[tuple[list[dict[str, object]], str, str]] = []
        for op in puts:
            item: dict[str, object] = {"namespace": op.namespace, "key": op.key, "value": op.value}
            items.append(item)
            if op.value is None:
                continue
            if op.ttl is not None:
                item["ttl_seconds"] = op.ttl * 60
            if op.index is False:
                item["indexed"] = False
            elif self._embeddings is not None:
                embeddings: list[dict[str, object]] = []
                item["embeddings"] = embeddings
                fields = self._fields if op.index is None else _tokenized(op.index)
                for path, tokens in fields:
                    parts = get_text_at_path(op.value, tokens)
                    names = [path] if len(parts) == 1 else [f"{path}.{n}" for n in range(len(parts))]
                    texts += ((embeddings, name, part) for name, part in zip(names, parts, strict=True))
        if texts:
            vectors = yield [text for _, _, text in texts], False
            for (embeddings, name, _), vector in zip(texts, vectors, strict=True):
                embeddings.append({"field": name, "embedding": vector, "embedding_model": self._model})
        return items

    def _put(self, actor: UUID | None, items: list[dict[str, object]]) -> "_Steps":
        yield calls.put_items(actor=actor, items=items)

    def _sweep(self) -> "Generator[Call[Any], Any, int]":
        """Deletes what has expired of the accounts that this store knows."""
        if self._segment is None and not isinstance(self._account, str):
            actors: list[UUID | None] = [self._account]
        else:
            if isinstance(self._account, str) and self._account not in self._known:
                actor = yield calls.find_user(external_ref=self._account)
                if actor is not None:
                    self._known[self._account] = actor
            actors = list(self._known.values())
        deleted = 0
        for actor in actors:
            with suppress(ActorUnknown):
                deleted += yield calls.delete_expired_items(actor=actor)
        return deleted

    def _sweep_seconds(self, minutes: float | None) -> float:
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        return 60 * (minutes or configured or _SWEEP_MINUTES)


_Steps: TypeAlias = "Generator[Call[Any] | _Texts, Any, None]"


class MemstoreStore(_MemstoreBase):
    """A `BaseStore` over a `memstore.Store`, which belongs to the caller.

    Args:
        store: The store.
        account: The application's id of the account that all items belong to, created where it is missing,
            or the account itself; None for that of a bound role.
        account_segment: In its place, which label of a namespace is the application's id of its account, from
            0. A search or a list whose prefix doesn't reach the label is refused with a `ValueError`.
        index: What is embedded; without it, a query searches by words.
        ttl: LangGraph's configuration of times to live.

    Each method raises `memstore.MemstoreError` where the database refuses.
    """

    def __init__(
        self,
        store: Store,
        *,
        account: UUID | str | None = None,
        account_segment: int | None = None,
        index: Index | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(account=account, account_segment=account_segment, index=index, ttl=ttl)
        self._store = store
        self._stop = threading.Event()
        self._sweeper: threading.Thread | None = None

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, **options: Any) -> Iterator["MemstoreStore"]:
        """Opens a store of its own, and closes it.

        Args:
            conn_string: A connection string or URL.
            options: Those of the constructor.
        """
        with Store(conn_string) as store:
            yield cls(store, **options)

    def setup(self) -> None:
        """Checks that the database has a schema that fits: the owner installs it with `memstore migrate`.

        Raises:
            SchemaOutdated: It has not.
        """
        self._store.schema_version()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does ops: first reads, then writes, those of an account all or none; of a path the last counts."""
        result: list[Result] = self._run(self._work(list(ops)))
        return result

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Does the same in a thread."""
        return await asyncio.get_running_loop().run_in_executor(None, self.batch, ops)

    def _run(self, work: Generator[Any, Any, Any]) -> Any:
        try:
            asked = next(work)
            while True:
                try:
                    answer = self._do(asked)
                except Exception as error:
                    asked = work.throw(error)
                else:
                    asked = work.send(answer)
        except StopIteration as done:
            return done.value

    def _do(self, asked: Call[Any] | _Texts) -> Any:
        if isinstance(asked, Call):
            return self._store.run(asked)
        assert self._embeddings is not None  # noqa: S101
        texts, query = asked
        return [self._embeddings.embed_query(texts[0])] if query else self._embeddings.embed_documents(texts)

    def sweep_ttl(self) -> int:
        """Deletes the expired items of the account, or of those that this store has met, and tells how many.

        The operator's `prune_items` deletes those of all accounts.
        """
        deleted: int = self._run(self._sweep())
        return deleted

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweeps in a thread, every 5 minutes unless told otherwise."""
        if self._sweeper is not None:
            return
        seconds = self._sweep_seconds(sweep_interval_minutes)
        self._stop.clear()

        def sweep() -> None:
            while not self._stop.wait(seconds):
                try:
                    self.sweep_ttl()
                except StoreUnavailable:  # the next one finds it again
                    continue

        self._sweeper = threading.Thread(target=sweep, name="memstore-sweeper", daemon=True)
        self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> None:
        """Ends the thread, and waits for it for so many seconds at most."""
        self._stop.set()
        if self._sweeper is not None:
            self._sweeper.join(timeout)
            self._sweeper = None


class AsyncMemstoreStore(_MemstoreBase):
    """The same over a `memstore.AsyncStore`, made in the event loop that it is used in.

    Ops that are asked for at once are done as one batch. Where the database refuses it, each caller's are
    done by themselves, so that a refusal is told to its own caller alone.
    """

    def __init__(
        self,
        store: AsyncStore,
        *,
        account: UUID | str | None = None,
        account_segment: int | None = None,
        index: Index | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        super().__init__(account=account, account_segment=account_segment, index=index, ttl=ttl)
        self._store = store
        self._loop = asyncio.get_running_loop()
        # LangChain runs what has no coroutine in the loop's threads, which may all be waiting for this store.
        self._embedder = ThreadPoolExecutor(_EMBEDDING_THREADS) if self._embeds_in_threads() else None
        self._waiting: list[tuple[list[Op], asyncio.Future[list[Result]]]] = []
        self._server: asyncio.Task[None] | None = None
        self._sweeper: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncIterator["AsyncMemstoreStore"]:
        """Opens a store of its own, and closes it.

        Args:
            conn_string: A connection string or URL.
            options: Those of the constructor.
        """
        async with AsyncStore(conn_string) as store:
            yield cls(store, **options)

    async def setup(self) -> None:
        """Checks that the database has a schema that fits: the owner installs it with `memstore migrate`.

        Raises:
            SchemaOutdated: It has not.
        """
        await self._store.schema_version()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does ops from another thread than the event loop's.

        Raises:
            asyncio.InvalidStateError: It is called in the event loop, which would wait for itself.
        """
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            raise asyncio.InvalidStateError(
                "Call the methods that begin with a in the event loop: aget, aput."
            )
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Does ops: first reads, then writes, those of an account all or none; of a path the last counts."""
        answer: asyncio.Future[list[Result]] = self._loop.create_future()
        self._waiting.append((list(ops), answer))
        if self._server is None or self._server.done():
            self._server = self._loop.create_task(self._serve())
        return await answer

    async def _serve(self) -> None:
        while self._waiting:
            asked = [(ops, answer) for ops, answer in self._waiting if not answer.done()]
            self._waiting.clear()
            try:
                results = iter(await self._run(self._work([op for ops, _ in asked for op in ops])))
            except Exception as error:
                alone = len(asked) == 1 or isinstance(error, StoreUnavailable)
                for ops, answer in asked:
                    await self._serve_one(ops, answer, error if alone else None)
            else:
                for ops, answer in asked:
                    _tell(answer, [next(results) for _ in ops])

    async def _serve_one(
        self, ops: list[Op], answer: "asyncio.Future[list[Result]]", error: Exception | None
    ) -> None:
        try:
            if error is not None:
                raise error
            _tell(answer, await self._run(self._work(ops)))
        except Exception as refusal:
            if not answer.done():
                answer.set_exception(refusal)

    async def _run(self, work: Generator[Any, Any, Any]) -> Any:
        try:
            asked = next(work)
            while True:
                try:
                    answer = await self._do(asked)
                except Exception as error:
                    asked = work.throw(error)
                else:
                    asked = work.send(answer)
        except StopIteration as done:
            return done.value

    async def _do(self, asked: Call[Any] | _Texts) -> Any:
        if isinstance(asked, Call):
            return await self._store.run(asked)
        assert self._embeddings is not None  # noqa: S101
        texts, query = asked
        if self._embedder is None:
            if query:
                return [await self._embeddings.aembed_query(texts[0])]
            return await self._embeddings.aembed_documents(texts)
        if query:
            return [await self._loop.run_in_executor(self._embedder, self._embeddings.embed_query, texts[0])]
        return await self._loop.run_in_executor(self._embedder, self._embeddings.embed_documents, texts)

    async def sweep_ttl(self) -> int:
        """Deletes the expired items of the account, or of those that this store has met, and tells how many.

        The operator's `prune_items` deletes those of all accounts.
        """
        deleted: int = await self._run(self._sweep())
        return deleted

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweeps in a task, every 5 minutes unless told otherwise."""
        if self._sweeper is not None:
            return
        seconds = self._sweep_seconds(sweep_interval_minutes)

        async def sweep() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await self.sweep_ttl()
                except StoreUnavailable:  # the next one finds it again
                    continue

        self._sweeper = asyncio.create_task(sweep())

    async def stop_ttl_sweeper(self) -> None:
        """Ends the task."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait([self._sweeper])
            self._sweeper = None


def _tell(answer: "asyncio.Future[list[Result]]", results: list[Result]) -> None:
    if not answer.done():  # its caller may have gone
        answer.set_result(results)


def _path(op: Any) -> Mapping[str, object]:
    return {"namespace": op.namespace, "key": op.key}


def _fields_of(item: models.Item) -> dict[str, Any]:
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.inserted_at,
        "updated_at": item.updated_at,
    }


def _literal_prefix(op: ListNamespacesOp) -> tuple[str, ...]:
    """The labels with which each namespace that is listed begins."""
    prefixes = [list(each.path) for each in op.match_conditions or () if each.match_type == "prefix"]
    literal = ()
    for path in prefixes:
        labels = tuple(path[: path.index("*")] if "*" in path else path)
        literal = max(literal, labels, key=len)
    return literal


def _tokenized(paths: Iterable[str]) -> list[tuple[str, Any]]:
    return [(path, path if path == "$" else tokenize_path(path)) for path in paths]


def _name_of(embed: Any) -> str:
    """The name of a model, as LangChain's embeddings have it."""
    if isinstance(embed, str):
        return embed
    for attribute in ("model", "model_name", "model_id"):
        if isinstance(name := getattr(embed, attribute, None), str):
            return name
    return str(getattr(embed, "__qualname__", type(embed).__qualname__))
