"""Reading an answer as it comes must find what the writer put there, however it is cut."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import tokens
from core.compare import rewritten
from core.output import Unit, units, write
from core.passages import Passage
from core.profiles import setting
from core.reading import Reader
from core.request import Item, Value
from core.scenarios import SCENARIOS, Scenario, scenario
from core.signature import Field, Form, Signature
from core.techniques import TECHNIQUES, choose
from tests.sampling import slow_but

TEXT = Field("answer", "a", "the answer", shown="text")
CARDS = Field("stays", "s", "places", shown="cards", items=(("name", "n"), ("area", "r")))
NOTE = Field("note", "x", "a remark")
VALUES: dict[str, Value] = {
    "answer": 'It is "3.5" days. Then\nit ends! 끝났어요. 🙂',
    "stays": ({"name": "Tide House", "area": "Hamdeok"}, {"name": "동문시장", "area": "제주"}),
    "note": "noted",
}


def signature(*fields: Field, form: Form = Form.JSON, **changes: bool) -> Signature:
    made = Signature("Answer.", (), (), fields, form=form)
    return replace(made, **changes)  # type: ignore[arg-type]


def read(asked: Signature, chunks: list[str], *, cut: bool = False, sentences: int = 1) -> Reader:
    reader = Reader(asked, sentences=sentences, known=VALUES)
    for chunk in chunks:
        reader.feed(chunk)
    reader.finish(cut=cut)
    return reader


def in_tokens(text: str) -> list[str]:
    ends = tokens.offsets(text)
    return [text[a:b] for a, b in zip((0, *ends), ends, strict=False)]


def all_signatures(of: Scenario) -> set[Signature]:
    """Of all plans that one technique makes, in all forms that fit them."""
    plans = [of.plan, *(rewritten(of, choose((t.id,)), setting())[0] for t in TECHNIQUES)]
    found = {s.signature for plan in plans for s in plan.llm_steps}
    found |= {replace(s, form=Form.JSONL) for s in found if s.form is Form.JSON}
    return found | {replace(s, minify=not s.minify) for s in found}


@pytest.mark.parametrize("name", slow_but("travel", SCENARIOS))
def test_it_finds_what_the_writer_wrote_token_by_token(name: str) -> None:
    of = scenario(name)
    read_any = 0
    for asked in sorted(all_signatures(of), key=repr):
        for request in of.requests[::9]:
            output = write(asked, request.values)
            reader = Reader(asked, known=request.values)
            for chunk in in_tokens(output.text):
                reader.feed(chunk)
            reader.finish()
            assert reader.units() == units(output)
            read_any += bool(reader.units())
    assert read_any > 20


ALL_FORMS = [
    signature(NOTE, TEXT),
    signature(TEXT, CARDS, NOTE, short_keys=True),
    signature(TEXT, form=Form.TEXT),
    signature(CARDS, TEXT, form=Form.JSONL, minify=True),
    signature(replace(CARDS, facts=("area",)), NOTE),
]


@settings(max_examples=40)
@given(st.data())
def test_however_it_is_cut_the_same_can_be_read(data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from(ALL_FORMS))
    output = write(asked, VALUES)
    places = st.integers(0, len(output.text))
    at = sorted({0, len(output.text), *data.draw(st.lists(places, max_size=12))})
    chunks = [output.text[a:b] for a, b in itertools.pairwise(at)]
    whole, cut = read(asked, [output.text]).units(), read(asked, chunks).units()

    def shown(found: tuple[Unit, ...]) -> dict[str, str]:
        names = dict.fromkeys((u.unit, u.part) for u in found)
        return {
            f"{n}.{p}": "".join(u.text for u in found if (u.unit, u.part) == (n, p))
            for n, p in names
        }

    assert shown(cut) == shown(whole)
    assert [u.token for u in cut] == sorted(u.token for u in cut)


def test_escapes_come_whole() -> None:
    chunks = ['{"answer": "a\\', "nb \\ud8", "3d\\ude42 \\\\", '\\"c\\u00e9."}']
    found = read(signature(TEXT), chunks).units()
    assert [u.text for u in found] == ["a", "\nb ", "🙂 \\", '"cé.']
    raw = read(signature(TEXT, form=Form.TEXT), ["C:\\new", "\\"]).units()
    assert "".join(u.text for u in raw) == "C:\\new\\"


def test_keys_and_braces_cannot_be_read() -> None:
    found = read(signature(NOTE, TEXT), ['{"note": "no', 'ted", "answer": "Yes', '."}']).units()
    assert [(u.text, u.token, u.closes) for u in found] == [("Yes", 1, False), (".", 2, True)]


def test_a_sentence_has_ended_when_something_follows() -> None:
    reader = Reader(signature(TEXT), known={})
    assert reader.feed('{"answer": "It is 3.').passages == ()
    assert reader.feed("5 days.").passages == ()
    assert reader.feed(" Then").passages == (Passage(0, "It is 3.5 days.", 12),)
    assert reader.feed(' it ends."').passages == (Passage(1, " Then it ends.", 11),)
    assert [u.known for u in reader.units()] == [0, 2, 2, 3]


def test_sentences_are_handed_on_in_groups_that_end_with_their_text() -> None:
    asked = signature(TEXT, NOTE)
    heard = Reader(asked, sentences=2, known={}).feed('{"answer": "A. B. C.", "note": "n"}')
    # one chunk is one unit: what arrives together is checked together
    assert heard.passages == (Passage(0, "A. B. C.", 6),)
    reader = Reader(asked, sentences=2, known={})
    handed = [
        p for c in ('{"answer": "A', ".", " B", ".", " C", '."') for p in reader.feed(c).passages
    ]
    assert [p.text for p in handed] == ["A. B.", " C."]


def test_cards_of_a_list_appear_when_it_closes_and_lines_one_by_one() -> None:
    listed = ['{"stays": [{"name": "A", "area": "B"}', ', {"name": "C", "area": "D"}', "]}"]
    found = read(signature(CARDS), listed).units()
    assert {u.token for u in found} == {2}
    lines = [
        '{"kind": "stays", "name": "A", "area": "B"}',
        "\n",
        '{"kind": "stays", "name": "C"}\n',
    ]
    found = read(signature(CARDS, form=Form.JSONL), lines).units()
    assert [(u.unit, u.part, u.text, u.token, u.closes) for u in found] == [
        ("stays.0", "name", "A", 1, False),
        ("stays.0", "area", "B", 1, True),
        ("stays.1", "name", "C", 2, True),
    ]


def test_the_last_line_counts_without_its_end_unless_it_was_cut_off() -> None:
    line = ['{"kind": "stays", "name": "A", "area": "B"}']
    asked = signature(CARDS, form=Form.JSONL)
    assert len(read(asked, line).units()) == 2
    assert read(asked, line, cut=True).units() == ()
    assert read(asked, ['{"kind": "stays", "name": "A"']).units() == ()


def test_a_text_cut_off_ends_no_sentence_but_is_handed_on() -> None:
    for asked, text in (
        (signature(TEXT), '{"answer": "It is'),
        (signature(TEXT, form=Form.TEXT), "It is"),
    ):
        reader = Reader(asked, known={})
        assert reader.feed(text).passages == ()
        assert reader.finish(cut=True).passages == (Passage(0, "It is", 4),)
        assert [u.closes for u in reader.units()] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON at all",
        '{"answer": 5}',
        '{"answer": ["x"]}',
        "{",
        '{"other": "x"}',
        "]]}}",
        '"a"',
    ],
)
def test_what_does_not_have_the_form_shows_nothing(text: str) -> None:
    assert read(signature(TEXT, CARDS), [text]).units() == ()


def test_words_around_the_object_are_not_shown() -> None:
    found = read(signature(TEXT), ['Sure! ```json\n{"answer": "Yes."}\n``` "bye"']).units()
    assert [u.text for u in found] == ["Yes."]


def test_entries_with_other_keys_or_words_keep_what_is_known() -> None:
    chunks = ['{"stays": [{"name": "X", "rating": "5"}, {"rating": "4"}]}']
    assert [u.text for u in read(signature(CARDS), chunks).units()] == ["X"]
    facts = signature(replace(CARDS, facts=("area",)))
    entry: Item = {"name": "Tide House"}
    known = read(
        facts, [f'{{"stays": [{{"name": "{entry["name"]}"}}, {{"name": "Else"}}]}}']
    ).units()
    assert [(u.part, u.text) for u in known] == [
        ("name", "Tide House"), ("area", "Hamdeok"), ("name", "Else"), ("area", ""),
    ]  # fmt: skip
