"""The words of a text, and the white space around it: memstore.lexemes and memstore.trim_text."""

from __future__ import annotations

import itertools
import re
import string
import unicodedata
from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import sql

from memstore import schema
from tests.sql.cases import LANGUAGES, SPACES
from tests.sql.support import raw_insert, rows, value

# What Unicode 15 calls a letter with a capital, in the scripts that fold without a locale's help.
SCRIPTS = ((0x41, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x556), (0x1E00, 0x1FFF))
CAPITALS = [
    chr(code)
    for first, last in SCRIPTS
    for code in range(first, last + 1)
    if len(chr(code).lower()) == 1 and chr(code).lower() != chr(code)
]


def words(db: psycopg.Connection, text: str, language: str = "english") -> list[str]:
    result: list[str] = value(db, "select memstore.lexemes(%s, %s)", language, text)
    return result


def words_of_each(db: psycopg.Connection, texts: list[str], language: str = "simple") -> list[list[str]]:
    return [
        found
        for (found,) in rows(
            db,
            "select memstore.lexemes(%s, t.text) from unnest(%s::text[]) with ordinality t (text, position)"
            " order by t.position",
            language,
            texts,
        )
    ]


# words are found

FOUND = [
    ("english", "The setup lives in package.json.", "package json"),
    ("english", "The setup lives in package.json.", "PACKAGE-JSON"),
    ("english", "package json", "package.json"),
    ("english", "I write C++.", "c"),
    ("english", "I write C++.", "C#?"),
    ("english", "Deploys happen on Tuesdays.", "deployed tuesday"),
    ("english", "snake_case and kebab-case", "snake kebab case"),
    ("english", "Mail me at me@example.com, or see https://example.com/a?b=c", "example com https"),
    ("english", "rm -rf /tmp/cache", "rf tmp cache"),
    ("english", "Die Straße zum Café", "strasse"),
    ("english", "Die Straße zum Café", "STRASSE cafe CAFÉ Cafe\u0301"),
    ("english", "Die STRAẞE", "straße"),
    ("english", "Die strasse", "STRAẞE"),
    ("german", "Die Häuser", "hauser HÄUSER"),
    ("english", "naïve Ångström São Łódź Đorđe Ørsted", "naive angstrom sao lodz dorde orsted"),
    ("english", "Æsir, œuvre, Þór", "aesir oeuvre thor"),
    ("english", "İstanbul, Diyarbakır", "istanbul diyarbakir ISTANBUL"),
    ("english", "ﬁle ＡＢＣ x² ½", "file abc x2"),
    ("english", "the Ελλάδα", "ΕΛΛΑΔΑ ελλαδα"),
    ("greek", "ο Οδυσσέας", "ΟΔΥΣΣΕΑΣ οδυσσεας"),
    ("russian", "Я живу в Москве", "МОСКВА москву"),
    ("russian", "Ёлка и PostgreSQL", "елка postgresql"),
    ("russian", "The connections are slow.", "есть connections"),
    ("russian", "Какие connections?", "connections"),
    ("armenian", "Երեվանը մեծ է", "ԵՐԵՎԱՆԸ"),
    ("hindi", "मैं दिल्ली में रहता हूँ", "दिल्ली"),
    ("english", "मैं दिल्ली में रहता हूँ", "दिल्ली"),
    ("hindi", "हिन्दी भाषा", "भाषा।"),
    ("english", "ฉันทำงานที่กรุงเทพ", "กรุงเทพ"),
    ("english", "ฉันทำงานที่กรุงเทพ", "ทำงาน"),
    ("english", "李明在上海工作", "上海"),
    ("english", "李明在上海工作。", "「上海」"),
    ("english", "東京タワーへ行く", "タワー"),
    ("english", "ﾊﾝｶｸのカナ", "ハンカク"),
    ("english", "서울에서 일한다", "서울"),
    ("english", unicodedata.normalize("NFD", "서울에서 일한다"), "서울"),
    ("english", "使用pnpm安装", "pnpm"),
    ("arabic", "أعمل في القاهرة", "القاهرة"),
    ("english", "أعمل في القاهرة", "القاهرة"),
    ("arabic", "كِتَاب", "كتاب"),
    ("english", "\u200fالقاهرة\u200e 2026", "القاهرة"),
    ("english", "اسمي، القاهرة؟", "القاهرة"),
    ("yiddish", "איך רעד ייִדיש", "רעד"),
    ("tamil", "தமிழ் மொழி", "மொழி"),
    ("nepali", "काठमाडौं राजधानी", "राजधानी"),
    ("english", "shipped \N{PARTY POPPER}\N{PARTY POPPER}!", "\N{PARTY POPPER}"),
    ("english", "a \N{WOMAN}\u200d\N{WOMAN}\u200d\N{GIRL} trip", "\N{GIRL}"),
    ("english", "I \u2764\ufe0f it", "\u2764"),
    ("english", "hyphen\u00adation", "hyphenation"),
    ("english", "می\u200cخواهم", "میخواهم"),
    ("english", "zero\u200bwidth", "zero width"),
]


@pytest.mark.parametrize(("language", "body", "turn"), FOUND)
def test_a_turn_finds_a_body(
    language: str, body: str, turn: str, scratch_connection: psycopg.Connection
) -> None:
    asked = words(scratch_connection, turn, language)
    assert asked
    assert set(asked) <= set(words(scratch_connection, body, language))


@pytest.mark.parametrize(
    "text", ["", " ", "it's", "!?", "\u200d", "\u00ad", "the and of", "`~ -- ''", "…—“”"]
)
def test_a_text_without_words(text: str, scratch_connection: psycopg.Connection) -> None:
    assert words(scratch_connection, text) == []


def test_in_the_order_of_their_first_place_and_each_once(scratch_connection: psycopg.Connection) -> None:
    assert words(scratch_connection, "Zebra apple zebras, Apples: mango") == ["zebra", "appl", "mango"]
    assert words(scratch_connection, "上海上") == ["上", "上海", "海", "海上"]


def test_each_ascii_character(scratch_connection: psycopg.Connection) -> None:
    characters = [chr(code) for code in range(1, 128)]
    found = words_of_each(scratch_connection, [f"alpha{character}beta" for character in characters])
    for character, result in zip(characters, found, strict=True):
        word = f"alpha{character.lower()}beta"
        assert result == ([word] if character.isalnum() else ["alpha", "beta"]), character
    for accented in ("é", "上"):  # the same, read by the other branch
        more = words_of_each(
            scratch_connection, [f"alpha{character}beta {accented}" for character in characters]
        )
        assert [result[:-1] for result in more] == found


def test_each_white_space(scratch_connection: psycopg.Connection) -> None:
    for language in ("simple", "english"):
        for text in ("alpha{}beta", "älpha{}beta", "{}alpha{}beta{}"):
            texts = [text.replace("{}", space) for space in SPACES]
            for found in words_of_each(scratch_connection, texts, language):
                assert found == ["alpha", "beta"]


def test_capitals(scratch_connection: psycopg.Connection) -> None:
    assert words_of_each(scratch_connection, [f"q{letter}q" for letter in CAPITALS]) == words_of_each(
        scratch_connection, [f"q{letter.lower()}q" for letter in CAPITALS]
    )


LONG = {
    "one word": "x" * 2000,
    "an accented one": "é" * 2000,
    "four bytes each": "\N{DESERET CAPITAL LETTER LONG I}" * 2000,
    "100,000 letters": "x" * 100_000,
    "100,000 accented ones": "é" * 100_000,
    "100,000 Chinese ones": "上" * 100_000,
    "100,000 emoji": "\N{GRINNING FACE}" * 100_000,
    "100,000 marks": "\u0301" * 100_000,
    "50,000 words": "é " * 50_000,
    "100,000 full stops": "." * 100_000,
    "ligatures that unfold": "\ufdfa" * 5000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_long_texts(text: str, scratch_connection: psycopg.Connection) -> None:
    for language in ("english", "turkish") if len(text) < 10_000 else ("english",):
        count = value(
            scratch_connection, "select length(array_to_tsvector(memstore.lexemes(%s, %s)))", language, text
        )
        assert 0 <= count < 100


def test_a_word_cut_short_is_found_all_the_same(scratch_connection: psycopg.Connection) -> None:
    word = "x" * 2500
    assert words(scratch_connection, f"é {word}")[1:] == words(scratch_connection, word) != []


def test_unknown_language_and_null(scratch_connection: psycopg.Connection) -> None:
    assert words(scratch_connection, "alpha", "estonian") == []
    for arguments in ("null, 'x'", "'english', null"):
        assert value(scratch_connection, f"select memstore.lexemes({arguments})") is None


# properties

TEXT = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_characters="\0"),
        st.sampled_from("aeEiIsSßéÉ\u0301\u0308 .-'上ー\u200d\u00adあ한กд"),
    ),
    max_size=60,
)
ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=60)
ANY_LANGUAGE = st.sampled_from(LANGUAGES)


@given(ANY_LANGUAGE, TEXT)
@settings(deadline=None, max_examples=150)
def test_any_text_in_any_language(scratch_connection: psycopg.Connection, language: str, text: str) -> None:
    found = words(scratch_connection, text, language)
    assert len(found) == len(set(found))
    assert all(found)
    value(scratch_connection, "select array_to_tsvector(memstore.lexemes(%s, %s))", language, text)


@given(ANY_LANGUAGE, TEXT)
@settings(deadline=None, max_examples=150)
def test_composed_or_decomposed(scratch_connection: psycopg.Connection, language: str, text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert words(scratch_connection, composed, language) == words(scratch_connection, decomposed, language)


WORDS = st.lists(st.sampled_from(["running", "connections", "The", "houses", "are", "c3", "das", "les"]))


@given(ANY_LANGUAGE, st.one_of(ASCII, WORDS.map(" ".join)))
@settings(deadline=None, max_examples=150)
def test_an_accent_elsewhere_changes_no_word(
    scratch_connection: psycopg.Connection, language: str, text: str
) -> None:
    alone = words(scratch_connection, text, language)
    for accented in ("上", "д9"):
        added = words(scratch_connection, accented, language)
        assert words(scratch_connection, f"{text} {accented}", language) == [*alone, *added]


@given(ANY_LANGUAGE, TEXT, TEXT)
@settings(deadline=None, max_examples=150)
def test_a_text_has_the_words_of_its_parts(
    scratch_connection: psycopg.Connection, language: str, one: str, other: str
) -> None:
    both = words(scratch_connection, f"{one}\n{other}", language)
    parts = [words(scratch_connection, part, language) for part in (one, other)]
    assert both == list(dict.fromkeys([*parts[0], *parts[1]]))


# what search_vector has: the same words as a set, of ASCII texts by the server's parser

ORIGINAL = (schema.migrations_dir() / "0002-text.sql").read_text(encoding="utf-8")
BOUNDED = (schema.migrations_dir() / "0013-hostile-input.sql").read_text(encoding="utf-8")


def different(
    db: psycopg.Connection,
    texts: list[str],
    languages: list[str],
    *,
    reference: psycopg.Connection | None = None,
) -> list[tuple[str, str]]:
    """The texts of which lexeme_set gives other words than lexemes, which is 0002's, gives there."""
    query = """
        select l.language, array_to_tsvector(memstore.%s(l.language, t.text))::text
        from unnest(%%s::text[]) l (language), unnest(%%s::text[]) with ordinality t (text, position)
        order by l.language, t.position
    """
    found = rows(db, query % "lexeme_set", languages, texts)
    expected = rows(reference or db, query % "lexemes", languages, texts)
    return [
        (language, text)
        for (language, here), (_, there), text in zip(found, expected, texts * len(languages), strict=True)
        if here != there
    ]


def test_lexemes_are_the_originals(scratch_connection: psycopg.Connection) -> None:
    """What equals lexemes equals what 0002 made: its text is 0002's, but for 0013's bound on the passes."""
    body = (
        ORIGINAL.partition("create function memstore.lexemes(")[2].partition("as $$")[2].partition("$$;")[0]
    )
    assert len(body) > 5000
    loop, bounded = re.findall(r"constant text := \$l\$(.+?)\$l\$", BOUNDED, re.DOTALL)
    assert body.count(loop) == 1
    body = body.replace(loop, bounded).replace(
        "      v_letter text;\n", "      v_letter text;\n      v_passes integer := 0;\n"
    )
    assert rows(
        scratch_connection,
        "select p.prosrc = %s, p.proconfig from pg_proc p"
        " where p.oid = 'memstore.lexemes(text, text)'::regprocedure",
        body,
    ) == [(True, ["search_path=pg_catalog, pg_temp", "standard_conforming_strings=on"])]


# To a parser, a letter is an e or not, and a digit a digit.
ALPHABET = "1eaX"


def test_each_short_word(scratch_connection: psycopg.Connection) -> None:
    texts = ["".join(word) for length in range(1, 8) for word in itertools.product(ALPHABET, repeat=length)]
    assert different(scratch_connection, texts, ["simple"]) == []
    characters = string.digits + string.ascii_letters
    texts = [
        "".join(word) for length in range(1, 4) for word in itertools.product(characters[:36], repeat=length)
    ]
    assert different(scratch_connection, texts, ["english"]) == []


def test_each_pair_of_characters(scratch_connection: psycopg.Connection) -> None:
    """Between letters, between digits, and at both ends of a text."""
    pairs = ["".join(pair) for pair in itertools.product(map(chr, range(1, 128)), repeat=2)]
    for text in ("{}", "a{}b", "1{}2", "the 1e5{}house {}3"):
        assert different(scratch_connection, [text.replace("{}", pair) for pair in pairs], ["german"]) == []


def test_tokens_have_a_dictionary(scratch_connection: psycopg.Connection) -> None:
    """Whatever the parser makes of letters and digits is mapped, in each language to one dictionary."""
    texts = ["".join(word) for length in range(1, 6) for word in itertools.product(ALPHABET, repeat=length)]
    kinds = rows(
        scratch_connection,
        "select distinct k.alias from unnest(%s::text[]) t (text), ts_parse('default', lower(t.text)) p"
        " join ts_token_type('default') k using (tokid)",
        texts,
    )
    mapped = rows(
        scratch_connection,
        "select c.cfgname, array_agg(k.alias), array_agg(distinct d.dictname) from pg_ts_config c"
        " join pg_ts_config_map m on m.mapcfg = c.oid join pg_ts_dict d on d.oid = m.mapdict"
        " join ts_token_type('default') k on k.tokid = m.maptokentype"
        " where c.cfgnamespace = 'memstore'::regnamespace group by c.cfgname",
    )
    assert sorted(language for language, _, _ in mapped) == sorted(LANGUAGES)
    for _, aliases, dictionaries in mapped:
        assert {alias for (alias,) in kinds} <= set(aliases)
        assert len(dictionaries) == 1


NUMBERS = """
    1e5 1e5e 1E5x 12e3e4 1e1e1 e1e1 0x1f 123abc abc123 1.5e3x -1e5 1e-5a 1e+5a 007 1_000 1e e1 3.14.15 a1e5b
    99999999999999999999999 1e999999
""".split()  # noqa: SIM905


def test_numbers(scratch_connection: psycopg.Connection) -> None:
    assert different(scratch_connection, [*NUMBERS, " ".join(NUMBERS)], LANGUAGES) == []


@pytest.mark.parametrize("text", [*LONG.values(), "x" * 2047, "x " * 999, "e1" * 1000, "1e" * 1000], ids=len)
def test_long_texts_as_sets(text: str, scratch_connection: psycopg.Connection) -> None:
    assert different(scratch_connection, [text], ["english"]) == []


def test_bodies_as_sets(scratch_connection: psycopg.Connection) -> None:
    texts = [text for _, body, turn in FOUND for text in (body, turn)]
    assert different(scratch_connection, texts, LANGUAGES) == []
    assert different(scratch_connection, texts, ["estonian", "English", "memstore.english", ""]) == []


ASCII_TEXTS = [f"{chr(code)}{other}x" for code in range(1, 128) for other in ("", "i", "I", "1")]


def test_a_set_of_nothing(scratch_connection: psycopg.Connection) -> None:
    for arguments in ("null, 'x'", "'english', null"):
        assert value(scratch_connection, f"select memstore.lexeme_set({arguments})") is None
    for text in ("", " ", "the", "..."):
        assert value(scratch_connection, "select memstore.lexeme_set('english', %s)", text) == []


LIKELY = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *NUMBERS,
                "running",
                "The",
                "houses",
                "l'été",
                "https://a.b/c?d=e&f",
                "me@example.com",
                "<b>",
                "&amp;",
            ]
        ),
        st.text("eE019aZz-._/@:+' ", max_size=8),
        ASCII,
    ),
    max_size=12,
)


@given(st.lists(st.one_of(LIKELY.map(" ".join), LIKELY.map("".join), ASCII, TEXT), min_size=1, max_size=20))
@settings(deadline=None, max_examples=150)
def test_any_text_as_a_set(scratch_connection: psycopg.Connection, texts: list[str]) -> None:
    assert different(scratch_connection, texts, LANGUAGES) == []


# wherever it runs


@pytest.fixture
def with_locale(scratch_connection: psycopg.Connection) -> Iterator[Callable[[str], psycopg.Connection]]:
    """Makes databases of a locale, with the text functions in them."""
    name = sql.Identifier(f"{scratch_connection.info.dbname}_text")
    opened: list[psycopg.Connection] = []

    def drop() -> None:
        for connection in opened:
            connection.close()
        scratch_connection.execute(sql.SQL("drop database if exists {}").format(name))

    def create(locale: str) -> psycopg.Connection:
        drop()
        try:
            scratch_connection.execute(
                sql.SQL("create database {} template template0 encoding 'UTF8' locale {}").format(
                    name, locale
                )
            )
        except psycopg.errors.WrongObjectType:
            pytest.skip(f"the server has no locale {locale}")
        info = scratch_connection.info
        connection = psycopg.connect(
            info.dsn, password=info.password, dbname=f"{info.dbname}_text", autocommit=True
        )
        opened.append(connection)
        for migration in schema.migration_files():
            connection.execute(migration.read_bytes())
        return connection

    yield create
    drop()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.UTF-8", "tr_TR.UTF-8"])
def test_every_locale_gives_the_same_words(
    locale: str, with_locale: Callable[[str], psycopg.Connection], scratch_connection: psycopg.Connection
) -> None:
    db = with_locale(locale)
    cased = [chr(code) for code in range(0x80, 0x1F000) if chr(code).lower() != chr(code)]
    cased += map(chr, (0x1C89, 0xA7CB, 0xA7CC, 0xA7DA, 0xA7DC, *range(0x10D50, 0x10D66)))  # Unicode 16
    for language, texts in [
        ("simple", [f"q{letter}q" for letter in cased]),
        *((language, [text for _, body, turn in FOUND for text in (body, turn)]) for language in LANGUAGES),
    ]:
        # A capital reads as its small letter; so what a locale's own lower() would add shows up.
        small = [text.lower() for text in texts] if language == "simple" else texts
        expected = words_of_each(scratch_connection, small, language)
        different_here = [
            text
            for text, here, there in zip(texts, words_of_each(db, texts, language), expected, strict=True)
            if here != there
        ]
        assert not different_here
    texts = [*ASCII_TEXTS, *(text for _, body, turn in FOUND for text in (body, turn))]
    assert different(db, texts, LANGUAGES, reference=scratch_connection) == []


@pytest.mark.parametrize(
    ("setting", "content"), [("standard_conforming_strings", "off"), ("default_text_search_config", "simple")]
)
def test_no_setting_of_a_session_changes_the_words(
    setting: str, content: str, db: psycopg.Connection, db_url: str
) -> None:
    expected = [words(db, body, language) for language, body, _ in FOUND]
    with psycopg.connect(db_url, options=f"-c {setting}={content}") as other:
        assert [words(other, body, language) for language, body, _ in FOUND] == expected
        assert value(other, "select memstore.trim_text(%s)", f"{SPACES}x{SPACES}") == "x"


def test_the_generated_column(scratch: psycopg.Connection, holder: UUID) -> None:
    for language, body, _ in FOUND:
        raw_insert(scratch, holder, body, language=language)
    assert rows(
        scratch,
        "select count(*) from memstore.memories"
        " where search_vector = array_to_tsvector(memstore.lexemes(language, body))",
    ) == [(len(FOUND),)]


# trim_text


def test_trim_takes_white_space_from_both_ends(scratch_connection: psycopg.Connection) -> None:
    for space in (*SPACES, SPACES):
        trimmed = value(
            scratch_connection, "select memstore.trim_text(%s)", f"{space}a{space}b{space}{space}"
        )
        assert trimmed == f"a{space}b"
        assert value(scratch_connection, "select memstore.trim_text(%s)", space) == ""


def test_trim_takes_nothing_else(scratch_connection: psycopg.Connection) -> None:
    others = [
        chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000 and chr(code) not in SPACES
    ]
    assert (
        rows(
            scratch_connection,
            "select t.text from unnest(%s::text[]) t (text) where memstore.trim_text(t.text) <> t.text",
            others,
        )
        == []
    )
    assert value(scratch_connection, "select memstore.trim_text(null)") is None


def test_the_spaces_are_unicodes() -> None:
    # Python takes four control characters more (U+001C to U+001F).
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()} - set("\x1c\x1d\x1e\x1f")
    assert set(SPACES) == python
