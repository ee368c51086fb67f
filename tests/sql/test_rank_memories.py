"""rank_memories: the candidates, their lexical score by the formula, what is eligible, and the order."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import log
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo
from support import SYSTEM, account_of, call, insert, raw_insert, refused, rows, supersede, value

from memstore import schema

BLANK = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
BLANK += "\u2028\u2029\u202f\u205f\u3000"
START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)

# Memory by memory: the language, a turn that finds it among the others, and the body.
CORPUS = [
    ("english", "rm -rf", "Never run rm -rf on the shared disk."),
    ("english", "C++", "The engine is written in C++."),
    ("english", "it's slow", "It's the linter that's slow."),
    ("english", "package json", "Versions are pinned in package.json."),
    ("english", "strasse", "The office is at Straße 12."),
    ("english", "cafe", "Stand-up is in the café."),
    ("english", "上海", "李明在上海工作。"),
    ("english", "東京", "来週は東京へ行きます。"),
    ("english", "부산", "부산에서 만나요."),
    ("english", "ภาษาไทย", "ฉันพูดภาษาไทยได้"),
    ("english", "\N{ROCKET}", "Releases are announced with \N{ROCKET}."),
    ("english", "ﬁle naïve", "A naive file walk is enough."),
    ("hindi", "किताबें", "मुझे किताबें पढ़ना पसंद है।"),
    ("arabic", "القهوة", "أحب القهوة في الصباح"),
    ("russian", "собаке", "У меня есть собака."),
    ("german", "häusern", "Wir wohnen in alten Häusern."),
    ("turkish", "ISPARTA", "Gül ısparta'dan gelir."),
    ("greek", "ΔΡΟΜΟΣ", "Ο δρόμος είναι κλειστός."),
    ("simple", "the", "the"),
]


class Ranked(NamedTuple):
    body: str
    score: float
    eligible: bool


def ranked(db: psycopg.Connection, actor: UUID, query: str | None) -> list[Ranked]:
    found = rows(
        db, "select (memory).body, score, eligible from memstore.rank_memories(%s, %s) r", actor, query
    )
    return [Ranked(*row) for row in found]


def found(db: psycopg.Connection, actor: UUID, query: str) -> list[str]:
    """The bodies that have a word of the turn, best first."""
    return [memory.body for memory in ranked(db, actor, query) if memory.score > 0]


def scores(db: psycopg.Connection, actor: UUID, query: str) -> dict[str, float]:
    return {memory.body: memory.score for memory in ranked(db, actor, query)}


@contextmanager
def undone(db: psycopg.Connection) -> Iterator[UUID]:
    """An account of a transaction that is rolled back."""
    with db.transaction(force_rollback=True):
        yield account_of(db, "account-undone")


def remember_corpus(db: psycopg.Connection, actor: UUID) -> None:
    for language, _, body in CORPUS:
        raw_insert(db, actor, body, language=language, bucket="learned", inserted_at=START)


# The score


WORDS = [
    "pnpm",
    "npm",
    "install",
    "installs",
    "the",
    "Café",
    "cafe",
    "Straße",
    "上海",
    "dogs",
    "собака",
    "v2",
]
LANGUAGES = ["english", "german", "russian", "simple"]


class Memory(NamedTuple):
    language: str
    bucket: str
    words: list[str]
    age: int
    superseded: bool

    @property
    def body(self) -> str:
        return " ".join(self.words)


words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
corpora = st.lists(
    st.builds(
        Memory,
        language=st.sampled_from(LANGUAGES),
        bucket=st.sampled_from(["user", "learned", "learned"]),
        words=words,
        age=st.integers(0, 2),
        superseded=st.sampled_from([False] * 5 + [True]),
    ),
    max_size=14,
)


def lexemes(db: psycopg.Connection, language: str, text: str) -> list[str]:
    result: list[str] = value(db, "select memstore.lexemes(%s, %s)", language, text)
    return result


def exact_scores(
    words_of: Mapping[UUID, tuple[str, set[str]]], turn_of: Mapping[str, list[str]]
) -> dict[UUID, float]:
    """The formula, read word by word. words_of: each candidate's language and words."""

    def weight(language: str, lexeme: str) -> float:
        same_language = [has for its_language, has in words_of.values() if its_language == language]
        n, df = len(same_language), sum(lexeme in has for has in same_language)
        return log(1 + (n - df + 0.5) / (df + 0.5))

    result = {}
    for memory, (language, has) in words_of.items():
        weights = {lexeme: weight(language, lexeme) for lexeme in turn_of[language]}
        covered = sum(weights[lexeme] for lexeme in weights if lexeme in has)
        result[memory] = covered / sum(weights.values()) if weights else 0.0
    return result


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(corpus=corpora, turn=words, floor=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_ranking_is_the_formula(
    db: psycopg.Connection, corpus: list[Memory], turn: list[str], floor: float
) -> None:
    with undone(db) as actor:
        db.execute("select memstore.configure(lexical_floor => %s)", [floor])
        stored = {}
        for memory in corpus:
            moment = START - timedelta(days=memory.age)
            replaced = {"superseded_at": moment} if memory.superseded else {}
            row = raw_insert(
                db,
                actor,
                memory.body,
                language=memory.language,
                bucket=memory.bucket,
                inserted_at=moment,
                **replaced,
            )
            stored[row] = memory
        live = {row: memory for row, memory in stored.items() if not memory.superseded}
        expected = exact_scores(
            {row: (m.language, set(lexemes(db, m.language, m.body))) for row, m in live.items()},
            {language: lexemes(db, language, " ".join(turn)) for language in LANGUAGES},
        )
        result = rows(
            db,
            "select (memory).id, score, eligible, lexical_score, semantic_score"
            " from memstore.rank_memories(%s, %s) r",
            actor,
            " ".join(turn),
        )

    assert {row for row, *_ in result} == live.keys()
    for row, score, eligible, lexical, semantic in result:
        assert score == lexical == round(score, 6)
        assert score == pytest.approx(expected[row], abs=0.500001e-6)
        assert semantic is None
        assert eligible is (live[row].bucket == "user" or score > floor)
    order = [row for row, *_ in result]
    score_of = {row: score for row, score, *_ in result}
    assert order == sorted(live, key=lambda row: (-score_of[row], live[row].age, row))


def test_score_of_two_words(db: psycopg.Connection, account: UUID) -> None:
    for body in ("alpha beta", "alpha", "beta", "gamma", "alpha delta"):
        insert(db, account, body)
    alpha, unknown = log(1 + 2.5 / 3.5), log(1 + 5.5 / 0.5)
    assert scores(db, account, "alpha unknown") == {
        "alpha beta": round(alpha / (alpha + unknown), 6),
        "alpha": round(alpha / (alpha + unknown), 6),
        "alpha delta": round(alpha / (alpha + unknown), 6),
        "beta": 0,
        "gamma": 0,
    }


def test_frequencies_are_those_of_the_memory_s_own_language(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha", language="german")
    insert(db, account, "alpha beta", language="english")
    before = scores(db, account, "alpha beta")
    for number in range(5):
        insert(db, account, f"beta {number}", language="german")
    after = scores(db, account, "alpha beta")
    assert after["alpha beta"] == before["alpha beta"] == 1
    assert after["alpha"] > before["alpha"] > 0


def test_frequencies_count_no_row_but_the_candidates(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha")
    insert(db, account, "beta")
    before = scores(db, account, "alpha beta gamma")
    other = account_of(db, "account-2")
    for number in range(4):
        insert(db, other, f"alpha {number}")
        insert(db, account, f"alpha {number}", **SYSTEM)
    raw_insert(db, account, "alpha dead", language="english", superseded_at=LATER)
    assert scores(db, account, "alpha beta gamma") == before


def test_a_repeated_word_counts_once(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha beta")
    insert(db, account, "beta beta beta gamma")
    assert ranked(db, account, "alpha beta beta BETA, betas!") == ranked(db, account, "alpha beta")


def test_the_language_of_the_memory_reads_the_turn(db: psycopg.Connection, account: UUID) -> None:
    for language, body in (("english", "He runs."), ("simple", "He runs!"), ("german", "Er rennt ins Haus.")):
        insert(db, account, body, language=language)
    assert found(db, account, "running") == ["He runs."]
    assert found(db, account, "runs") == ["He runs!", "He runs."]
    assert found(db, account, "Häuser") == ["Er rennt ins Haus."]


@pytest.mark.parametrize("language", ["arabic", "armenian", "greek", "hindi", "nepali", "russian", "tamil"])
def test_a_latin_word_among_another_script_is_found(
    db: psycopg.Connection, account: UUID, language: str
) -> None:
    insert(db, account, "Собираю packages", language=language)
    assert found(db, account, "packages") == ["Собираю packages"]


# The order


def test_ties_go_by_newest_then_id(db: psycopg.Connection, account: UUID) -> None:
    ids = sorted(uuid4() for _ in range(4))
    for body, row, day in (("d", ids[3], 1), ("c", ids[1], 1), ("a", ids[2], 2), ("e", ids[0], 0)):
        raw_insert(db, account, body, id=row, language="simple", inserted_at=START + timedelta(days=day))
    assert [memory.body for memory in ranked(db, account, "nothing in common")] == ["a", "c", "d", "e"]


def test_a_higher_score_goes_before_a_newer_memory(db: psycopg.Connection, account: UUID) -> None:
    for body in ("alpha beta", "alpha", "gamma"):
        insert(db, account, body)
    assert [memory.body for memory in ranked(db, account, "alpha beta")] == ["alpha beta", "alpha", "gamma"]


def test_same_answer_whenever_asked_and_however_inserted(db: psycopg.Connection) -> None:
    memories = [
        (uuid4(), f"{WORDS[n % 7]} {WORDS[n % 5]} {WORDS[n % 11]}", START + timedelta(n % 3))
        for n in range(40)
    ]
    turn = " ".join(WORDS)
    answers = []
    for order in (memories, memories[::-1], sorted(memories)):
        with undone(db) as actor:
            for row, body, moment in order:
                raw_insert(db, actor, body, id=row, language="english", inserted_at=moment)
            answers += [rows(db, _IDS_AND_SCORES, actor, turn) for _ in range(7)]
            db.execute("analyze memstore.memories")
            answers.append(rows(db, _IDS_AND_SCORES, actor, turn))
    assert len(answers[0]) == 40
    assert all(answer == answers[0] for answer in answers)


_IDS_AND_SCORES = "select (memory).id, score from memstore.rank_memories(%s, %s) r"


# The candidates


def test_candidates_are_the_live_memories_of_user_and_learned(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha user")
    insert(db, account, "alpha learned", bucket="learned")
    insert(db, account, "alpha system", **SYSTEM)
    old = insert(db, account, "alpha old")["id"]
    supersede(db, account, old, "alpha new")
    raw_insert(
        db, account, "alpha orphan", language="english", superseded_at=datetime(2100, 1, 1, tzinfo=UTC)
    )
    assert sorted(found(db, account, "alpha")) == ["alpha learned", "alpha new", "alpha user"]


def test_system_is_no_candidate_where_system_recall_is_on(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha", **{**SYSTEM, "admission": "admitted"})
    db.execute("select memstore.configure(system_recall_enabled => true)")
    assert ranked(db, account, "alpha") == []


def test_another_account_s_memories_are_no_candidates(db: psycopg.Connection) -> None:
    accounts = {
        UUID("00000000-0000-4000-8000-000000000001"): "Account",
        UUID("00000000-0000-4000-8000-000000000002"): "account",
        UUID("00000000-0000-4000-8000-000000000010"): "Account ",
        UUID("00000000-0000-4000-9000-000000000001"): "Ａccount",
    }
    for row, ref in accounts.items():
        db.execute("select memstore.create_user(%s, %s)", [row, ref])
        insert(db, row, f"alpha of {ref}.")
    for row, ref in accounts.items():
        assert found(db, row, "alpha of account") == [f"alpha of {ref}."]


# What is eligible


def test_a_user_memory_is_always_eligible(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "I use pnpm, not npm.")
    db.execute("select memstore.configure(lexical_floor => 1)")
    assert ranked(db, account, "install the deps") == [("I use pnpm, not npm.", 0, True)]


def test_a_learned_memory_is_eligible_above_the_floor_only(db: psycopg.Connection, account: UUID) -> None:
    for body in ("alpha beta", "alpha gamma", "delta"):
        insert(db, account, body, bucket="learned")
    best, middle, none = ranked(db, account, "alpha beta")
    assert (best.score, best.eligible, none.score, none.eligible) == (1, True, 0, False)
    for floor, eligible in ((0, True), (middle.score - 1e-6, True), (middle.score, False), (1, False)):
        db.execute("select memstore.configure(lexical_floor => %s)", [floor])
        assert [m.eligible for m in ranked(db, account, "alpha beta")] == [floor < 1, eligible, False]


# The turn


@pytest.mark.parametrize("turn", [None, "", " ", BLANK], ids=["NULL", "empty", "space", "all white space"])
def test_a_blank_turn_ranks_nothing(db: psycopg.Connection, account: UUID, turn: str | None) -> None:
    insert(db, account, "I use pnpm, not npm.")
    assert ranked(db, account, turn) == []


def test_a_turn_of_stop_words_or_punctuation_scores_nothing(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "It is what it was.")
    insert(db, account, "It is learned.", bucket="learned")
    for turn in ("the and of", "?!", "\u200b", "\u0301\u0301", "\u202e", "\ufe0f"):
        assert ranked(db, account, turn) == [
            ("It is learned.", 0, False),
            ("It is what it was.", 0, True),
        ]


def test_each_corpus_word_finds_its_memory(db: psycopg.Connection, account: UUID) -> None:
    remember_corpus(db, account)
    for _, turn, body in CORPUS:
        assert body in found(db, account, turn), turn
        assert ranked(db, account, turn)[0].eligible


@pytest.mark.parametrize(
    ("capitals", "small"), [("STRAẞE", "strasse"), ("ⰃⰎ", "ⰳⰾ"), ("ႫႠ", "ⴋⴀ"), ("ᎠᏂ", "ꭰꮒ"), ("𐐔𐐇", "𐐼𐐯")]
)
def test_capitals_are_found_by_small_letters(
    db: psycopg.Connection, account: UUID, capitals: str, small: str
) -> None:
    insert(db, account, capitals)
    assert found(db, account, small) == [capitals]


def test_punctuation_is_never_an_operator(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha beta", bucket="learned")
    insert(db, account, "beta", bucket="learned")
    insert(db, account, "gamma", bucket="learned")
    expected = ranked(db, account, "alpha beta")
    for sign in [*string.punctuation, *"<-> :* && || !! '' ' $$ -- /* */".split()]:
        for turn in (f"{sign}alpha{sign}beta{sign}", f"alpha {sign} beta", f"{sign} {sign}alpha beta"):
            assert ranked(db, account, turn) == expected, turn
        assert found(db, account, sign) == [], sign
    for turn in ("alpha & beta | !(", "alpha:* <-> beta:*b", "!alpha beta", "alpha or beta", "-alpha -beta"):
        assert {"alpha beta", "beta"} == set(found(db, account, turn)), turn


@pytest.mark.parametrize(
    "turn",
    [
        "rm -rf pnpm",
        "C++ pnpm",
        "it's pnpm",
        'pnpm"',
        "pnpm\\",
        "'pnpm",
        "''pnpm\\'",
        "foo & pnpm | !(",
        "pnpm:*",
        "a <-> pnpm",
        "pnpm:b*",
        "\N{GRINNING FACE}pnpm\N{GRINNING FACE}",
        "\N{WOMAN}\u200d\N{PERSONAL COMPUTER}\N{VARIATION SELECTOR-16} pnpm",
        "\u0301 pnpm \u0301\u0323",
        "\u202epnpm\u202c שלום",
        "مرحبا pnpm",
        "上海pnpm上海",
        "ｐｎｐｍ",
        "PN\u00adPM",
        "p\u200bnpm pnpm",
        "\ufeffpnpm",
        "\u0001pnpm\u001f",
        "\ue000 pnpm \U0010ffff",
        "pnpm" + "\u0300" * 300,
        "pnpm " + "x" * 100_000,
        "pnpm " + "漢" * 100_000,
        "pnpm " + "\N{GRINNING FACE}" * 100_000,
        "pnpm " + "'" * 100_000,
    ],
    ids=lambda turn: ascii(turn[:24])[1:-1],
)
def test_no_turn_fails_and_stored_words_are_found(db: psycopg.Connection, account: UUID, turn: str) -> None:
    insert(db, account, "I use pnpm.", bucket="learned")
    assert found(db, account, turn) == ["I use pnpm."]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turn=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80),
    language=st.sampled_from(["simple", *LANGUAGES, "arabic", "hindi", "turkish", "yiddish", "tamil"]),
)
def test_any_text_is_found_by_itself(db: psycopg.Connection, turn: str, language: str) -> None:
    with undone(db) as actor:
        insert(db, actor, f"zebra {turn}", language=language)
        insert(db, actor, "quagga", language=language)
        best = ranked(db, actor, f"{turn} zebra")[0]
        assert best.body == call(db, "list_memories", actor=actor)[1]["body"]
        assert best.score == 1


def test_only_the_first_512_characters_count(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "pnpm")
    for filler in ("-", "\N{EM DASH}", "\N{GRINNING FACE}"):
        assert found(db, account, filler * 508 + "pnpm") == ["pnpm"]
        assert found(db, account, filler * 509 + "pnpm") == []
    assert found(db, account, " " * 512 + "pnpm") == []


def test_only_the_first_64_distinct_words_count(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "pnpm", language="simple")
    others = [f"z{number}" for number in range(64)]
    assert found(db, account, " ".join([*others[:63], *others[:63], "pnpm", "a0"])) == ["pnpm"]
    assert found(db, account, " ".join([*others, "pnpm"])) == []
    assert found(db, account, " ".join(["pnpm", *others])) == ["pnpm"]
    # Words beyond count neither for the score nor against it.
    assert scores(db, account, " ".join(["pnpm", *others])) == scores(
        db, account, " ".join(["pnpm", *others[:63]])
    )


# The function


def test_signature(db: psycopg.Connection) -> None:
    arguments, result, volatility, definer = rows(
        db,
        "select pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile, prosecdef"
        " from pg_proc where pronamespace = 'memstore'::regnamespace and proname = 'rank_memories'",
    )[0]
    assert arguments == (
        "actor uuid, query text, embedding real[] DEFAULT NULL::real[],"
        " embedding_model text DEFAULT NULL::text"
    )
    assert result == (
        "TABLE(memory memstore.memory, score double precision, lexical_score double precision,"
        " semantic_score double precision, eligible boolean)"
    )
    assert (volatility, definer) == ("s", True)


def test_ranked_memory_is_what_get_memory_gives(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha", bucket="learned", source_ref="job-1", language="german")
    assert value(
        db,
        "select r.memory = memstore.get_memory(%s, (r.memory).id) from memstore.rank_memories(%s, 'alpha') r",
        account,
        account,
    )


def test_an_unknown_or_erased_account_is_refused(db: psycopg.Connection, account: UUID) -> None:
    db.execute("update memstore.users set external_ref = null, erased_at = now() where id = %s", [account])
    for actor in (None, uuid4(), account):
        for turn in ("alpha", "", None):
            with refused("actor_unknown", "actor"):
                call(db, "rank_memories", actor=actor, query=turn)


def test_ranking_works_where_nothing_can_be_written(db: psycopg.Connection, account: UUID) -> None:
    insert(db, account, "alpha")
    with db.transaction():
        db.execute("set transaction read only")
        assert found(db, account, "alpha") == ["alpha"]


# The database


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_same_answers_under_any_ctype(db: psycopg.Connection, db_url: str, locale: str) -> None:
    name = f"{db.info.dbname}_ctype"
    try:
        db.execute(
            f"create database {name} template template0 encoding 'UTF8' locale_provider libc"
            f" lc_collate '{locale}' lc_ctype '{locale}'".encode()
        )
    except (psycopg.errors.WrongObjectType, psycopg.errors.InvalidParameterValue):
        pytest.skip(f"this server has no locale {locale}")
    try:
        url = make_conninfo(db_url, dbname=name)
        schema.migrate(url)
        with psycopg.connect(url) as other:
            answers = [everything(connection) for connection in (db, other)]
    finally:
        db.execute(f"drop database {name} with (force)".encode())
    assert answers[0] == answers[1]


def everything(db: psycopg.Connection) -> list[Any]:
    """What the turns of the corpus, in lower and upper case, are told."""
    with undone(db) as actor:
        remember_corpus(db, actor)
        turns = [turn for _, turn, _ in CORPUS]
        answers: list[Any] = [
            [tuple(memory[:2]) for memory in ranked(db, actor, turn) if memory.score > 0]
            for turn in [*turns, *map(str.upper, turns), *(body for _, _, body in CORPUS)]
        ]
        assert all(answers[: len(turns)])
        answers += rows(
            db, 'select language, search_vector::text from memstore.memories order by body collate "C"'
        )
        return answers
