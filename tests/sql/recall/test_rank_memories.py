"""rank_memories: the candidates, their lexical score by the formula, what is eligible, and the order."""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import log
from typing import NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo

from memstore import schema
from tests.sql.cases import SPACES
from tests.sql.ranking import (
    LABELS,
    LANGUAGES,
    START,
    WORDS,
    Memory,
    Shares,
    configure,
    exact_scores,
    first_of_each_body,
    is_named,
    lexemes,
    ranking_scores,
)
from tests.sql.support import SYSTEM, account_of, call, insert, raw_insert, refused, rows, supersede, value

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

CAPITALS = [("STRAẞE", "strasse"), ("ЁЖ", "еж"), ("ⰃⰎ", "ⰳⰾ"), ("ႫႠ", "ⴋⴀ"), ("ᎠᏂ", "ꭰꮒ"), ("𐐔𐐇", "𐐼𐐯")]


class Ranked(NamedTuple):
    """A memory with its lexical score."""

    body: str
    score: float
    eligible: bool


def ranked(db: psycopg.Connection, actor: UUID, query: str | None) -> list[Ranked]:
    found = rows(
        db,
        "select (memory).body, lexical_score, eligible from memstore.rank_memories(%s, %s) r",
        actor,
        query,
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


words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
corpora = st.lists(
    st.builds(
        Memory,
        language=st.sampled_from(LANGUAGES),
        bucket=st.sampled_from(["user", "learned", "learned"]),
        words=words,
        label=st.sampled_from(LABELS),
        age=st.integers(0, 2),
        source=st.sampled_from([None, None, "a", "b"]),
        superseded=st.sampled_from([False] * 5 + [True]),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    corpus=corpora,
    turn=words,
    floor=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    shares=st.sampled_from(
        [Shares(0, 0, 0, 0), Shares(0.6, 0.4, 0.4, 0.3), Shares(0.25, 1, 1, 0), Shares(0.5, 0.1, 0, 1)]
    ),
)
def test_ranking_is_the_formula(
    scratch: psycopg.Connection, corpus: list[Memory], turn: list[str], floor: float, shares: Shares
) -> None:
    with undone(scratch) as actor:
        configure(scratch, floor, shares)
        stored = {}
        for memory in corpus:
            moment = START - timedelta(days=memory.age)
            replaced = {"superseded_at": moment} if memory.superseded else {}
            row = raw_insert(
                scratch,
                actor,
                memory.body,
                language=memory.language,
                bucket=memory.bucket,
                source_ref=memory.source,
                inserted_at=moment,
                **replaced,
            )
            stored[row] = memory
        live = {row: memory for row, memory in stored.items() if not memory.superseded}
        covered = exact_scores(
            live,
            {row: set(lexemes(scratch, m.language, m.body)) for row, m in live.items()},
            {language: lexemes(scratch, language, " ".join(turn)) for language in LANGUAGES},
            shares,
        )
        named = {row for row, memory in live.items() if is_named(scratch, memory, " ".join(turn))}
        expected = ranking_scores(live, covered, named, shares)
        result = rows(
            scratch,
            "select (memory).id, score, eligible, lexical_score, semantic_score"
            " from memstore.rank_memories(%s, %s) r",
            actor,
            " ".join(turn),
        )

    assert {row for row, *_ in result} == live.keys()
    for row, score, _, lexical, semantic in result:
        assert (score, lexical) == (round(score, 6), round(lexical, 6))
        assert score == pytest.approx(expected[row], abs=2e-6)
        assert lexical == pytest.approx(covered[row], abs=0.500001e-6)
        assert semantic is None
    order = [row for row, *_ in result]
    above = [row for row, _, _, lexical, _ in result if live[row].bucket == "user" or lexical > floor]
    assert [row for row, _, eligible, *_ in result if eligible] == first_of_each_body(above, live)
    score_of = {row: score for row, score, *_ in result}
    assert order == sorted(live, key=lambda row: (-score_of[row], live[row].age, row))


def test_score_of_two_words(scratch: psycopg.Connection, holder: UUID) -> None:
    for body in ("alpha beta", "alpha", "beta", "gamma", "alpha delta"):
        insert(scratch, holder, body)
    alpha, unknown = log(1 + 2.5 / 3.5), log(1 + 5.5 / 0.5)
    assert scores(scratch, holder, "alpha unknown") == {
        "alpha beta": round(alpha / (alpha + unknown), 6),
        "alpha": round(alpha / (alpha + unknown), 6),
        "alpha delta": round(alpha / (alpha + unknown), 6),
        "beta": 0,
        "gamma": 0,
    }


def test_frequencies_are_those_of_the_memory_s_own_language(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    insert(scratch, holder, "alpha", language="german")
    insert(scratch, holder, "alpha beta", language="english")
    before = scores(scratch, holder, "alpha beta")
    for number in range(5):
        insert(scratch, holder, f"beta {number}", language="german")
    after = scores(scratch, holder, "alpha beta")
    assert after["alpha beta"] == before["alpha beta"] == 1
    assert after["alpha"] > before["alpha"] > 0


def test_frequencies_count_no_row_but_the_candidates(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha")
    insert(scratch, holder, "beta")
    before = scores(scratch, holder, "alpha beta gamma")
    other = account_of(scratch, "other")
    for number in range(4):
        insert(scratch, other, f"alpha {number}")
        insert(scratch, holder, f"alpha {number}", **SYSTEM)
    raw_insert(scratch, holder, "alpha dead", language="english", superseded_at=LATER)
    assert scores(scratch, holder, "alpha beta gamma") == before


def test_a_source_of_several_languages_scores_no_more_than_1(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    for language in ("english", "german", "simple"):
        insert(scratch, holder, f"npm {language}", language=language, source_ref="job-1")
    assert scores(scratch, holder, "npm") == {"npm english": 1, "npm german": 1, "npm simple": 1}


def test_a_word_counts_for_the_two_memories_before_and_after(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    """In the same source and language, live ones alone; of several shares by the largest."""
    configure(scratch, 0, Shares(0.5, 0.3, 0, 0))
    source = ["a", "b", "c", "alpha d", "e", "f", "g", "alpha h", "alpha i"]
    dead = {"superseded_at": LATER}
    for number, body in enumerate(source):
        for prefix, ref, language, more in (
            ("", "job-1", "english", {}),
            ("other ", None, "english", {}),
            ("fremd ", "job-1", "german", {}),
            ("alpha dead ", "job-1", "english", dead),
        ):
            raw_insert(
                scratch,
                holder,
                prefix + body,
                language=language,
                source_ref=ref,
                inserted_at=START + timedelta(number),
                **more,
            )
    found = scores(scratch, holder, "alpha")
    for prefix in ("", "fremd "):
        assert [found[prefix + body] for body in source] == [0, 0.09, 0.3, 1, 0.5, 0.25, 0.3, 1, 1]
    assert [found[f"other {body}"] for body in source] == [0, 0, 0, 1, 0, 0, 0, 1, 1]


def named(db: psycopg.Connection, actor: UUID, query: str) -> dict[str, float]:
    """By how much more than by its words each memory is ranked, of memories without a source."""
    configure(db, 0, Shares(0, 0, 1, 0))
    db.execute("select memstore.configure(time_share => 0)")
    found = rows(
        db,
        "select (memory).body, 2 * score / lexical_score from memstore.rank_memories(%s, %s)"
        " where lexical_score > 0",
        actor,
        query,
    )
    return {body: round(more, 3) for body, more in found}


@pytest.mark.parametrize(
    ("body", "language", "turn", "expected"),
    [
        ("Caroline: I moved", "english", "Where did Caroline move?", True),
        ("CAROLINE: I moved", "english", "caroline's move", True),
        ("Caroline (at work): moved", "english", "caroline moved", True),
        ("Caroline Lee of Bern: moved", "english", "caroline moved", False),
        ("Dr. Lee: moved", "english", "dr lee moved", True),
        ("Dr. Lee: moved", "english", "lee moved", False),
        ("O'Brien: moved", "english", "brien moved", False),
        ("O'Brien: moved", "english", "o'brien moved", True),
        ("2026-01-05: moved", "english", "moved on 2026-01-05", True),
        ("2026-01-05: moved", "english", "moved on 2026-01-06", False),
        ("[Caroline]: moved", "english", "caroline moved", True),
        ("Moved: Caroline", "english", "caroline", False),
        ("Caroline moved", "english", "caroline moved", False),
        (": Caroline moved", "english", "caroline moved", False),
        ("Movers: moved", "english", "moved", False),
        ("École: fermée", "french", "l'ecole est fermée", True),
        ("Ecole: fermée", "french", "École fermée", True),
        ("Straße: gesperrt", "german", "strasse gesperrt", True),
        ("李明: 在上海", "simple", "李明在哪里", True),
        ("李明: 在上海", "simple", "明在上海", False),
        ("мир: дом", "russian", "мир и дом", True),
        ("When moving: call", "english", "when do I call", False),
        ("When moving: call", "simple", "when do I call", True),
        ("и: дом", "russian", "и дом", False),
        ("dog " + "x" * 37 + ": ran", "english", "dog ran", True),
        ("dog " + "x" * 38 + ": ran", "english", "dog ran", False),
    ],
)
def test_a_memory_that_the_turn_names_counts_more(
    scratch: psycopg.Connection, holder: UUID, body: str, language: str, turn: str, expected: bool
) -> None:
    insert(scratch, holder, body, language=language)
    assert named(scratch, holder, turn) == {body: 2 if expected else 1}


def test_the_best_of_a_source_counts_for_all_of_it(scratch: psycopg.Connection, holder: UUID) -> None:
    """Also for those of another language, and for learned ones, which are not eligible by it."""
    configure(scratch, 0, Shares(0, 0, 0, 0.5))
    for body, source, language in (
        ("alpha beta", "a", "english"),
        ("alpha", "a", "english"),
        ("gamma", "a", "german"),
        ("delta", "A", "english"),
        ("epsilon", None, "english"),
        ("alpha zeta", None, "english"),
    ):
        insert(scratch, holder, body, source_ref=source, language=language, bucket="learned")
    found = {
        body: (score, lexical, eligible)
        for body, score, lexical, eligible in rows(
            scratch,
            "select (memory).body, score, lexical_score, eligible"
            " from memstore.rank_memories(%s, 'alpha beta')",
            holder,
        )
    }
    part = found["alpha"][1]
    assert 0 < part < 1
    assert found == {
        "alpha beta": (1, 1, True),
        "alpha": (pytest.approx((part + 0.5) / 1.5, abs=1e-6), part, True),
        "gamma": (pytest.approx(0.5 / 1.5, abs=1e-6), 0, False),
        "delta": (0, 0, False),
        "epsilon": (0, 0, False),
        "alpha zeta": (part, part, True),
    }


@pytest.mark.parametrize("hybrid", [False, True])
def test_without_the_shares_the_score_is_the_fused_one(
    scratch: psycopg.Connection, holder: UUID, hybrid: bool
) -> None:
    vector = {"embedding_model": "m"} if hybrid else {}
    for number in range(12):
        body = f"{'Alpha: ' if number % 2 else ''}{WORDS[number % 5]} alpha {WORDS[number % 3]}"
        numbers = {"embedding": [1, number - 6]} if hybrid else {}
        insert(scratch, holder, body, source_ref=f"job-{number % 3}", **vector, **numbers)
    ranking = (
        "select (memory).id, score, case when semantic_score is null then lexical_score"
        " else 0.6 * lexical_score + 0.4 * semantic_score end"
        " from memstore.rank_memories(%s, 'alpha pnpm install', %s::real[], %s)"
    )
    turn = (holder, [1, 1] if hybrid else None, "m" if hybrid else None)
    shared = rows(scratch, ranking, *turn)
    configure(scratch, 0, Shares(0.6, 0.4, 0, 0))
    fused = rows(scratch, ranking, *turn)
    assert [row for row, *_ in shared] != [row for row, *_ in fused]
    for _, score, of_both in fused:
        assert score == pytest.approx(of_both, abs=1.1e-6 if hybrid else 0)


def test_a_repeated_word_counts_once(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha beta")
    insert(scratch, holder, "beta beta beta gamma")
    assert ranked(scratch, holder, "alpha beta beta BETA, betas!") == ranked(scratch, holder, "alpha beta")


def test_the_language_of_the_memory_reads_the_turn(scratch: psycopg.Connection, holder: UUID) -> None:
    for language, body in (("english", "He runs."), ("simple", "He runs!"), ("german", "Er rennt ins Haus.")):
        insert(scratch, holder, body, language=language)
    assert found(scratch, holder, "running") == ["He runs."]
    assert found(scratch, holder, "runs") == ["He runs!", "He runs."]
    assert found(scratch, holder, "Häuser") == ["Er rennt ins Haus."]


@pytest.mark.parametrize(
    "language", ["arabic", "armenian", "greek", "hindi", "nepali", "russian", "tamil", "yiddish"]
)
def test_a_latin_word_among_another_script_is_found(
    scratch: psycopg.Connection, holder: UUID, language: str
) -> None:
    insert(scratch, holder, "Собираю packages", language=language)
    assert found(scratch, holder, "packages") == ["Собираю packages"]


# The order


def test_ties_go_by_newest_then_id(scratch: psycopg.Connection, holder: UUID) -> None:
    ids = sorted(uuid4() for _ in range(4))
    for body, row, day in (("d", ids[3], 1), ("c", ids[1], 1), ("a", ids[2], 2), ("e", ids[0], 0)):
        raw_insert(scratch, holder, body, id=row, language="simple", inserted_at=START + timedelta(days=day))
    assert [memory.body for memory in ranked(scratch, holder, "nothing in common")] == ["a", "c", "d", "e"]


def test_a_higher_score_goes_before_a_newer_memory(scratch: psycopg.Connection, holder: UUID) -> None:
    for body in ("alpha beta", "alpha", "gamma"):
        insert(scratch, holder, body)
    assert [memory.body for memory in ranked(scratch, holder, "alpha beta")] == [
        "alpha beta",
        "alpha",
        "gamma",
    ]


def test_same_answer_whenever_asked_and_however_inserted(scratch: psycopg.Connection) -> None:
    memories = [
        (uuid4(), f"{WORDS[n % 7]} {WORDS[n % 5]} {WORDS[n % 11]}", START + timedelta(n % 3))
        for n in range(40)
    ]
    turn = " ".join(WORDS)
    answers = []
    for order in (memories, memories[::-1], sorted(memories)):
        with undone(scratch) as actor:
            for row, body, moment in order:
                raw_insert(scratch, actor, body, id=row, language="english", inserted_at=moment)
            answers += [rows(scratch, _IDS_AND_SCORES, actor, turn) for _ in range(7)]
            scratch.execute("analyze memstore.memories")
            answers.append(rows(scratch, _IDS_AND_SCORES, actor, turn))
    assert len(answers[0]) == 40
    assert all(answer == answers[0] for answer in answers)


_IDS_AND_SCORES = "select (memory).id, score from memstore.rank_memories(%s, %s) r"


# The candidates


def test_candidates_are_the_live_memories_of_user_and_learned(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    insert(scratch, holder, "alpha user")
    insert(scratch, holder, "alpha learned", bucket="learned")
    insert(scratch, holder, "alpha system", **SYSTEM)
    old = insert(scratch, holder, "alpha old")["id"]
    supersede(scratch, holder, old, "alpha new")
    raw_insert(
        scratch, holder, "alpha orphan", language="english", superseded_at=datetime(2100, 1, 1, tzinfo=UTC)
    )
    assert sorted(found(scratch, holder, "alpha")) == ["alpha learned", "alpha new", "alpha user"]


def test_system_is_no_candidate_where_system_recall_is_on(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha", **{**SYSTEM, "admission": "admitted"})
    scratch.execute("select memstore.configure(system_recall_enabled => true)")
    assert ranked(scratch, holder, "alpha") == []


def test_another_account_s_memories_are_no_candidates(scratch: psycopg.Connection) -> None:
    accounts = {
        UUID("00000000-0000-4000-8000-000000000001"): "Account",
        UUID("00000000-0000-4000-8000-000000000002"): "account",
        UUID("00000000-0000-4000-8000-000000000010"): "Account ",
        UUID("00000000-0000-4000-9000-000000000001"): "Ａccount",
    }
    for row, ref in accounts.items():
        scratch.execute("select memstore.create_user(%s, %s)", [row, ref])
        insert(scratch, row, f"alpha of {ref}.")
    for row, ref in accounts.items():
        assert found(scratch, row, "alpha of account") == [f"alpha of {ref}."]


# What is eligible


def test_a_user_memory_is_always_eligible(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "I use pnpm, not npm.")
    scratch.execute("select memstore.configure(lexical_floor => 1)")
    assert ranked(scratch, holder, "install the deps") == [("I use pnpm, not npm.", 0, True)]


def test_a_learned_memory_is_eligible_above_the_floor_only(scratch: psycopg.Connection, holder: UUID) -> None:
    for body in ("alpha beta", "alpha gamma", "delta"):
        insert(scratch, holder, body, bucket="learned")
    best, middle, none = ranked(scratch, holder, "alpha beta")
    assert (best.score, best.eligible, none.score, none.eligible) == (1, True, 0, False)
    for floor, eligible in ((0, True), (middle.score - 1e-6, True), (middle.score, False), (1, False)):
        scratch.execute("select memstore.configure(lexical_floor => %s)", [floor])
        assert [m.eligible for m in ranked(scratch, holder, "alpha beta")] == [floor < 1, eligible, False]


# The turn


@pytest.mark.parametrize("turn", [None, "", " ", SPACES], ids=["NULL", "empty", "space", "all white space"])
def test_a_blank_turn_ranks_nothing(scratch: psycopg.Connection, holder: UUID, turn: str | None) -> None:
    insert(scratch, holder, "I use pnpm, not npm.")
    assert ranked(scratch, holder, turn) == []


def test_a_turn_of_stop_words_or_punctuation_scores_nothing(
    scratch: psycopg.Connection, holder: UUID
) -> None:
    insert(scratch, holder, "It is what it was.")
    insert(scratch, holder, "It is learned.", bucket="learned")
    for turn in ("the and of", "?!", "\u200b", "\u0301\u0301", "\u202e", "\ufe0f"):
        assert ranked(scratch, holder, turn) == [
            ("It is learned.", 0, False),
            ("It is what it was.", 0, True),
        ]


def test_each_corpus_word_finds_its_memory(scratch: psycopg.Connection, holder: UUID) -> None:
    remember_corpus(scratch, holder)
    for _, turn, body in CORPUS:
        assert body in found(scratch, holder, turn), turn
        assert ranked(scratch, holder, turn)[0].eligible


@pytest.mark.parametrize(("capitals", "small"), CAPITALS)
def test_capitals_are_found_by_small_letters(
    scratch: psycopg.Connection, holder: UUID, capitals: str, small: str
) -> None:
    insert(scratch, holder, capitals)
    assert found(scratch, holder, small) == [capitals]


def test_punctuation_is_never_an_operator(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha beta", bucket="learned")
    insert(scratch, holder, "beta", bucket="learned")
    insert(scratch, holder, "gamma", bucket="learned")
    expected = ranked(scratch, holder, "alpha beta")
    for sign in [*string.punctuation, *["<->", ":*", "&&", "||", "!!", "''", "'", "$$", "--", "/*", "*/"]]:
        for turn in (f"{sign}alpha{sign}beta{sign}", f"alpha {sign} beta", f"{sign} {sign}alpha beta"):
            assert ranked(scratch, holder, turn) == expected, turn
        assert found(scratch, holder, sign) == [], sign
    for turn in ("alpha & beta | !(", "alpha:* <-> beta:*b", "!alpha beta", "alpha or beta", "-alpha -beta"):
        assert {"alpha beta", "beta"} == set(found(scratch, holder, turn)), turn


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
def test_no_turn_fails_and_stored_words_are_found(
    scratch: psycopg.Connection, holder: UUID, turn: str
) -> None:
    insert(scratch, holder, "I use pnpm.", bucket="learned")
    assert found(scratch, holder, turn) == ["I use pnpm."]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turn=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80),
    language=st.sampled_from(["simple", *LANGUAGES, "arabic", "hindi", "turkish", "yiddish", "tamil"]),
)
def test_any_text_is_found_by_itself(scratch: psycopg.Connection, turn: str, language: str) -> None:
    with undone(scratch) as actor:
        insert(scratch, actor, f"zebra {turn}", language=language)
        insert(scratch, actor, "quagga", language=language)
        best = ranked(scratch, actor, f"{turn} zebra")[0]
        assert best.body == call(scratch, "list_memories", actor=actor)[1]["body"]
        assert best.score == 1


def test_only_the_first_512_characters_count(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "pnpm")
    for filler in ("-", "\N{EM DASH}", "\N{GRINNING FACE}"):
        assert found(scratch, holder, filler * 508 + "pnpm") == ["pnpm"]
        assert found(scratch, holder, filler * 509 + "pnpm") == []
    assert found(scratch, holder, " " * 512 + "pnpm") == []


def test_only_the_first_64_distinct_words_count(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "pnpm", language="simple")
    others = [f"z{number}" for number in range(64)]
    assert found(scratch, holder, " ".join([*others[:63], *others[:63], "pnpm", "a0"])) == ["pnpm"]
    assert found(scratch, holder, " ".join([*others, "pnpm"])) == []
    assert found(scratch, holder, " ".join(["pnpm", *others])) == ["pnpm"]
    # Words beyond count neither for the score nor against it.
    assert scores(scratch, holder, " ".join(["pnpm", *others])) == scores(
        scratch, holder, " ".join(["pnpm", *others[:63]])
    )


# The function


def test_signature(scratch: psycopg.Connection) -> None:
    arguments, result, volatility, definer = rows(
        scratch,
        "select pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile, prosecdef"
        " from pg_proc where pronamespace = 'memstore'::regnamespace and proname = 'rank_memories'",
    )[0]
    assert arguments == (
        "actor uuid, query text, embedding real[] DEFAULT NULL::real[],"
        " embedding_model text DEFAULT NULL::text,"
        " scopes text[] DEFAULT NULL::text[], filter jsonb DEFAULT NULL::jsonb,"
        " maximum integer DEFAULT NULL::integer, include_superseded boolean DEFAULT false"
    )
    assert result == (
        "TABLE(memory memstore.memory, score double precision, lexical_score double precision,"
        " semantic_score double precision, eligible boolean)"
    )
    assert (volatility, definer) == ("s", True)


def test_ranked_memory_is_what_get_memory_gives(scratch: psycopg.Connection, holder: UUID) -> None:
    insert(scratch, holder, "alpha", bucket="learned", source_ref="job-1", language="german")
    assert value(
        scratch,
        "select r.memory = memstore.get_memory(%s, (r.memory).id) from memstore.rank_memories(%s, 'alpha') r",
        holder,
        holder,
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


@pytest.fixture(params=["C", "C.UTF-8"])
def other(
    db: psycopg.Connection, db_url: str, request: pytest.FixtureRequest
) -> Iterator[psycopg.Connection]:
    """A connection to a database whose LC_CTYPE is the C library's of this name."""
    name = f"{db.info.dbname}_ctype"
    try:
        db.execute(
            f"create database {name} template template0 encoding 'UTF8' locale_provider libc"
            f" lc_collate '{request.param}' lc_ctype '{request.param}'".encode()
        )
    except (psycopg.errors.WrongObjectType, psycopg.errors.InvalidParameterValue):
        pytest.skip(f"this server has no locale {request.param}")
    try:
        url = make_conninfo(db_url, dbname=name)
        schema.migrate(url)
        with psycopg.connect(url) as connection:
            yield connection
    finally:
        db.execute(f"drop database {name} with (force)".encode())


@pytest.mark.long
def test_same_answers_under_any_ctype(db: psycopg.Connection, other: psycopg.Connection) -> None:
    turns = [turn for _, turn, _ in CORPUS]
    turns += [*map(str.upper, turns), *(body for _, _, body in CORPUS)]
    answers = []
    for connection in (db, other):
        with undone(connection) as actor:
            remember_corpus(connection, actor)
            answers.append(
                [[m[:2] for m in ranked(connection, actor, turn) if m.score > 0] for turn in turns]
            )
    assert all(answers[0][: len(CORPUS)])
    assert answers[0] == answers[1]


@pytest.mark.long
def test_same_words_under_any_ctype(db: psycopg.Connection, other: psycopg.Connection) -> None:
    texts = [*(body for _, _, body in CORPUS), *(capitals for capitals, _ in CAPITALS)]
    for text in texts:
        for language in ("simple", "english", "german", "greek", "russian", "turkish"):
            assert lexemes(db, language, text) == lexemes(other, language, text)
            assert lexemes(db, language, text.upper()) == lexemes(other, language, text.upper())


def test_maximum(undone: psycopg.Connection, holder: UUID) -> None:
    for body in ("alpha", "alpha beta", "gamma"):
        insert(undone, holder, body)
    ranked = "select (memory).body from memstore.rank_memories(%s, 'alpha beta', maximum => %s)"
    for maximum in (0, 1, 2, 3, 5, None):
        assert rows(undone, ranked, holder, maximum) == rows(undone, ranked, holder, None)[:maximum]
    with refused("argument_invalid", "maximum", "MS012"):
        rows(undone, ranked, holder, -1)


_WITH_SUPERSEDED = (
    "select (memory).body, (memory).superseded_at is not null, score, eligible"
    " from memstore.rank_memories(%s, %s, %s::real[], %s, %s::text[], include_superseded => %s)"
)


@pytest.mark.parametrize("embedding", [None, [1.0, 0.5]], ids=["words", "meaning"])
def test_superseded_memories_change_nothing_of_the_others(
    scratch: psycopg.Connection, holder: UUID, embedding: list[float] | None
) -> None:
    """Of one source, one body and one language, so that words, neighbours and twins could."""
    for number in range(30):
        raw_insert(
            scratch,
            holder,
            ["alpha", "beta gamma", "alpha gamma", "delta"][number % 4],
            bucket=["user", "learned"][number % 2],
            source_ref=[None, "s"][number % 3 > 0],
            language=["english", "german"][number % 5 == 0],
            embedding=[1, number / 30] if number % 2 else None,
            embedding_model="m" if number % 2 else None,
            superseded_at="9999-01-01" if number % 7 > 3 else None,
        )
    asked = (holder, "alpha beta zebra", embedding, embedding and "m", None)
    alone = rows(scratch, _WITH_SUPERSEDED, *asked, False)
    told = rows(scratch, _WITH_SUPERSEDED, *asked, True)
    assert [row for row in told if not row[1]] == alone
    superseded = [row for row in told if row[1]]
    assert len(superseded) == 12 and len(alone) == 18
    assert not any(eligible for *_, eligible in superseded)
    assert max(score for _, _, score, _ in superseded) > 0.2
    assert [score for _, _, score, _ in told] == sorted((row[2] for row in told), reverse=True)
    assert rows(scratch, _WITH_SUPERSEDED, *asked[:4], ["none"], True) == told  # all are for everything


def test_an_account_with_superseded_memories_alone(scratch: psycopg.Connection, holder: UUID) -> None:
    raw_insert(scratch, holder, "alpha", superseded_at="9999-01-01")
    assert rows(scratch, _WITH_SUPERSEDED, holder, "alpha", None, None, None, False) == []
    ((body, superseded, score, eligible),) = rows(
        scratch, _WITH_SUPERSEDED, holder, "alpha", None, None, None, True
    )
    assert (body, superseded, eligible) == ("alpha", True, False) and score > 0.5
