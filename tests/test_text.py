from __future__ import annotations

import re
from pathlib import Path

import pytest

from core import text as texts
from core.errors import InvalidData, UnknownName
from core.korean import settle_particles
from core.text import LANGS, Note, say, text

GOOD = """
[en]
title = "Hello {name}"
[en.deep.er]
n = "{n:,} items"
[ko]
title = "{name}님, 안녕하세요"
[ko.deep.er]
n = "항목 {n:,}개"
"""


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.toml").write_text(GOOD, encoding="utf-8")
    loaded = texts.load(tmp_path)
    monkeypatch.setattr(texts, "catalogue", lambda: loaded)


@pytest.mark.usefixtures("good")
def test_a_key_is_file_tables_and_name() -> None:
    assert text("en", "one.title", name="Ada") == "Hello Ada"
    assert text("ko", "one.deep.er.n", n=1234) == "항목 1,234개"


def test_arguments_may_be_called_lang_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "catalogue", lambda: {"en": {"a.x": "{lang} {key}"}, "ko": {}})
    assert text("en", "a.x", lang=1, key=2) == "1 2"


@pytest.mark.usefixtures("good")
def test_an_unknown_key_names_near_ones() -> None:
    with pytest.raises(UnknownName, match=r"en text 'one\.titel': did you mean 'one\.title'"):
        text("en", "one.titel")


@pytest.mark.usefixtures("good")
def test_a_missing_argument_is_the_callers_mistake() -> None:
    with pytest.raises(TypeError, match=r"'one\.title' needs name"):
        text("en", "one.title")


@pytest.mark.usefixtures("good")
def test_notes_are_values_and_render_inside_out() -> None:
    inner = Note.of("one.deep.er.n", n=2)
    note = Note.of("one.title", name=inner)
    assert note == Note("one.title", (("name", inner),))
    assert hash(note) == hash(Note.of("one.title", name=Note.of("one.deep.er.n", n=2)))
    assert say(note, "en") == "Hello 2 items"
    assert say(note, "ko") == "항목 2개님, 안녕하세요"


def test_equal_notes_do_not_depend_on_the_order_of_arguments() -> None:
    assert Note.of("k", a=1, b=2) == Note.of("k", b=2, a=1)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('[en]\na = "x"\n[ko]\na = "x\n', r"bad\.toml:4: \(whole file\): "),
        ('[en]\na = "x"\n', r"bad\.toml:1: ko: there must be a table \[ko\]"),
        ('[en]\n[ko]\n\n[de]\na = "x"\n', r"bad\.toml:4: de: only \[en\] and \[ko\]"),
        ("[en]\na = 3\n[ko]\n", r"bad\.toml:2: en\.a: must be a text, not int"),
        ('[en]\n[ko.b]\nc = ["x"]\n', r"bad\.toml:3: ko\.b\.c: must be a text, not list"),
        ('[en]\na = "  "\n[ko]\n', r"bad\.toml:2: en\.a: is empty"),
        ('[en]\n"A b" = "x"\n[ko]\n', r"bad\.toml:2: en\.A b: names are lower-case"),
        ('[en]\n[ko]\na = "ok"\nb = "{}"\n', r"bad\.toml:4: ko\.b: placeholder \{\} must"),
        ('[en]\na = "{x.y}"\n[ko]\n', r"bad\.toml:2: en\.a: placeholder \{x\.y\} must be a plain"),
        ('[en]\na = "{x"\n[ko]\n', r"bad\.toml:2: en\.a: .*for braces"),
        ("[en]\na.b = 1\n[ko]\n", r"bad\.toml:2: en\.a\.b: must be a text"),
    ],
)
def test_a_broken_file_is_named_with_line_and_key(
    tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "bad.toml").write_text(source, encoding="utf-8")
    with pytest.raises(InvalidData, match=message):
        texts.load(tmp_path)


def test_gaps_are_missing_keys_and_other_placeholders(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[en]\nboth = "{n}"\nonly = "x"\n[ko]\nboth = "{m}"\nelse = "x"\n', encoding="utf-8"
    )
    assert [(gap.key, gap.problem) for gap in texts.gaps(texts.load(tmp_path))] == [
        ("a.both", "placeholders differ: ['n'] and ['m']"),
        ("a.else", "no text in en"),
        ("a.only", "no text in ko"),
    ]


def test_both_languages_of_the_app_say_the_same() -> None:
    assert texts.gaps() == ()


@pytest.mark.parametrize("lang", LANGS)
def test_texts_survive_markdown(lang: texts.Lang) -> None:
    """Two tildes strike through what is between them, two dollars make a formula of it."""
    pairs = {"~": re.compile(r"(?<!\\)~"), "$": re.compile(r"(?<!\\)\$")}
    bad = {
        key: sign
        for key, value in texts.catalogue()[lang].items()
        for sign, pattern in pairs.items()
        if len(pattern.findall(value)) > 1
    }
    assert bad == {}


def test_nothing_was_left_untranslated() -> None:
    english, korean = (texts.catalogue()[lang] for lang in LANGS)
    words = {k: re.sub(r"\{.*?\}", "", v).split() for k, v in korean.items()}
    assert [k for k, v in korean.items() if len(words[k]) > 3 and v == english[k]] == []
    assert [k for k, v in english.items() if re.search("[가-힣]{2,}", v)] == []


@pytest.mark.parametrize(
    ("double", "settled"),
    [
        ("예산을(를) 껐어요", "예산을 껐어요"),
        ("캐시을(를) 껐어요", "캐시를 껐어요"),
        ("서울(으)로", "서울로"),
        ("부산(으)로", "부산으로"),
        ("제주(으)로", "제주로"),
        ("3이(가)", "3이"),
        ("p95은(는)", "p95는"),
        ("10(으)로", "10으로"),
        ("7(으)로", "7로"),
        ("25%이(가)", "25%가"),
        ("LLM은(는)", "LLM은"),
        ("API과(와)", "API와"),
        ("‘모델’을(를)", "‘모델’을"),
        ("**검색**이(가)", "**검색**이"),
        ("cache을(를)", "cache을(를)"),  # a silent e: the reading is not known
        ("그림 (을)를", "그림 (을)를"),
    ],
)
def test_particles_follow_the_sound_before_them(double: str, settled: str) -> None:
    assert settle_particles(double) == settled
