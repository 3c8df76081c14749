"""JSON read and written, its shapes, short names, tokens as pieces, shared beginnings."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import tokens
from core.labs import guide_keys, languages, short_keys
from core.labs.json_text import MAX_CHARS, MAX_DEPTH, MINIFIED, Json, Parsed, keys_of, parse, write
from core.labs.shapes import ENCODINGS, arrays, as_table, from_arrays, shapes
from core.labs.shared_prefix import SHOWN_CHARS, example_prompts, reuse, sharing
from core.labs.token_pieces import token_pieces
from core.labs.token_time import token_time
from core.profiles import models
from core.scenarios import scenario
from core.text import LANGS, Note, say

KEYS = st.text(st.characters(codec="utf-8"), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def tree(text: str) -> Json:
    found = parse(text)
    assert isinstance(found, Parsed), found
    return found.value


# --- JSON -----------------------------------------------------------------------------------------


@given(PLAIN)
def test_nothing_is_lost_by_reading_and_writing(data: Any) -> None:
    written = write(tree(json.dumps(data)), MINIFIED)
    assert json.loads(written) == data
    assert write(tree(written), MINIFIED) == written


def test_numbers_keep_the_digits_they_were_written_in() -> None:
    given_text = '{"a":1.0,"b":1e5,"c":-0,"d":123456789012345678901234567890.10}'
    assert write(tree(given_text), MINIFIED) == given_text


def test_half_a_surrogate_pair_stays_escaped() -> None:
    assert write(tree(r'["\ud83d", "\ud83d\ude00"]'), MINIFIED) == '["\\ud83d","😀"]'


BAD = [
    ("", "empty"),
    ("{", "ends"),
    ('{"a": 1', "ends"),
    ('{"a": 1,}', "trailing"),
    ("[1, 2,]", "trailing"),
    ("{'a': 1}", "quotes"),
    ('{"a": 1, // note\n"b": 2}', "comment"),
    ('{"a" 1}', "colon"),
    ('{"a": 1 "b": 2}', "comma"),
    ('{"a": }', "value"),
    ('{"a": 1} x', "extra"),
    ('{"a": "b', "open_text"),
    ('{"a": "b\nc"}', "control"),
    (r'{"a": "\q"}', "escape"),
    ('{"a": NaN}', "constant"),
    ("[" * 10_000 + "]" * 10_000, "deep"),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "deep"),
    ('"' + "x" * MAX_CHARS + '"', "long"),
    ("{a: 1}", "key"),
]


@pytest.mark.parametrize(("text", "kind"), BAD, ids=[f"{k}-{t[:12]!r}" for t, k in BAD])
def test_bad_json_is_one_clear_line_in_both_languages(text: str, kind: str) -> None:
    found = parse(text)
    assert isinstance(found, Note)
    assert found.key == f"tokenlab.json.{kind}"
    for lang in LANGS:
        assert "\n" not in say(found, lang)


def test_a_mistake_is_placed() -> None:
    found = parse('{\n  "a": 1,\n  "b" 2\n}')
    assert isinstance(found, Note)
    assert dict(found.args) == {"line": 3, "column": 7}


def test_a_key_given_twice_is_told() -> None:
    found = parse('{"a": 1, "a": 2, "b": {"c": 1, "c": 1}}')
    assert isinstance(found, Parsed)
    assert set(found.twice) == {"a", "c"}


# --- shapes ---------------------------------------------------------------------------------------

ROWS = '[{"name": "Aria", "price": 199}, {"name": "Beam, 11", "price": 349}]'


@given(st.lists(st.fixed_dictionaries({"a": PLAIN, "b": PLAIN}), min_size=2, max_size=4))
def test_arrays_can_be_turned_back(rows: list[Any]) -> None:
    value = tree(json.dumps(rows))
    assert from_arrays(arrays(value)) == value or "columns" in json.dumps(rows)


def test_arrays_write_each_key_once() -> None:
    written = write(arrays(tree(ROWS)), MINIFIED)
    assert json.loads(written) == {
        "columns": ["name", "price"],
        "rows": [["Aria", 199], ["Beam, 11", 349]],
    }


def test_a_table_is_csv_that_a_csv_reader_reads() -> None:
    table = as_table(tree(ROWS))
    assert table is not None
    assert list(csv.reader(io.StringIO(table))) == [
        ["name", "price"], ["Aria", "199"], ["Beam, 11", "349"],
    ]  # fmt: skip


def test_plain_values_around_a_list_stand_above_it() -> None:
    assert as_table(tree('{"city": "Osaka", "stays": ' + ROWS + "}")) == (
        'city,Osaka\nstays\nname,price\nAria,199\n"Beam, 11",349'
    )


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', "[1, 2]", '[{"a": 1}]', '[{"a": 1}, {"b": 1}]', '[{"a": [1]}, {"a": [2]}]', "3"],
)
def test_what_is_no_table_is_refused_with_a_reason(text: str) -> None:
    assert as_table(tree(text)) is None
    parsed = parse(text)
    assert isinstance(parsed, Parsed)
    (table,) = [s for s in shapes(text, parsed, {}) if s.id == "table"]
    assert table.reason is not None
    assert table.tokens == ()


def test_every_shape_is_counted_in_every_encoding() -> None:
    parsed = parse(ROWS)
    assert isinstance(parsed, Parsed)
    found = {s.id: s for s in shapes(ROWS, parsed, {"name": "n", "price": "p"})}
    assert found["short_minified"].text == '[{"n":"Aria","p":199},{"n":"Beam, 11","p":349}]'
    for shape in found.values():
        assert shape.tokens == tuple(tokens.count(shape.text, e) for e in ENCODINGS)
    assert found["minified"].tokens < found["given"].tokens
    assert found["table"].tokens < found["minified"].tokens


@pytest.mark.parametrize(("rows", "pays"), [(2, False), (10, True)])
def test_arrays_pay_only_from_some_rows_on(rows: int, pays: bool) -> None:
    text = json.dumps([{"name": f"item {i}", "price": i} for i in range(rows)])
    parsed = parse(text)
    assert isinstance(parsed, Parsed)
    found = {s.id: s.tokens[0] for s in shapes(text, parsed, {})}
    assert (found["arrays"] < found["minified"]) == pays


# --- short names ----------------------------------------------------------------------------------


@given(st.lists(KEYS, unique=True, max_size=12))
def test_proposed_names_are_different_and_never_cost_more(keys: list[str]) -> None:
    found = short_keys.propose(keys)
    assert list(found) == keys
    assert len(set(found.values())) == len(keys)
    for key, alias in found.items():
        assert tokens.count(f'"{alias}":') <= tokens.count(f'"{key}":')


def test_a_name_is_taken_from_the_keys_own_words() -> None:
    keys = ("user_requesting_to_talk_to_human", "queryType", "response_tone", "response")
    assert short_keys.propose(keys) == {
        "user_requesting_to_talk_to_human": "human",
        "queryType": "type",
        "response_tone": "tone",
        "response": "response",
    }


def test_a_persons_lines_win_and_the_rest_stays_proposed() -> None:
    found = short_keys.from_lines(
        "long_a = x\n\n", ("long_a", "long_b"), {"long_a": "a", "long_b": "b"}
    )
    assert found.aliases == {"long_a": "x", "long_b": "b"}
    assert found.problems == ()


def test_lines_that_say_nothing_are_told_and_names_never_collide() -> None:
    keys = ("one", "two", "three")
    lines = "one = two\nnonsense\nfour = 4\nthree = " + "x" * 200
    found = short_keys.from_lines(lines, keys, {"one": "a", "two": "two", "three": "c"})
    assert found.aliases == {"one": "one", "two": "two", "three": "c"}
    assert [p.key.rpartition(".")[2] for p in found.problems] == [
        "line", "unknown", "line", "shared",
    ]  # fmt: skip


@given(st.dictionaries(KEYS.filter(str.isprintable), KEYS, max_size=6))
def test_whatever_is_written_the_data_can_be_read_back(lines: dict[str, str]) -> None:
    keys = tuple(lines) or ("a",)
    found = short_keys.from_lines(short_keys.as_lines(lines), keys, short_keys.propose(keys))
    assert len(set(found.aliases.values())) == len(found.aliases)


def test_renamed_keys_are_renamed_everywhere_and_values_nowhere() -> None:
    value = tree('{"name": "name", "in": [{"name": 1}]}')
    assert keys_of(value) == ("name", "in")
    assert write(value, MINIFIED, {"name": "n"}) == '{"n":"name","in":[{"n":1}]}'


# --- tokens as pieces -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_pieces_are_the_text_and_hold_every_token(encoding: str, text: str) -> None:
    pieces = token_pieces(text, encoding)
    assert "".join(piece.text for piece in pieces) == text
    assert sum((piece.tokens for piece in pieces), ()) == tokens.encode(text, encoding)
    assert all(piece.text for piece in pieces)


def test_a_syllable_of_several_tokens_is_one_piece() -> None:
    (piece,) = token_pieces("뱁", "cl100k_base")
    assert (piece.text, len(piece.tokens)) == ("뱁", tokens.count("뱁", "cl100k_base"))
    assert len(piece.tokens) > 1


# --- shared beginnings ----------------------------------------------------------------------------


def test_two_prompts_share_their_first_tokens() -> None:
    found = sharing("You are a bot. Question: one", "You are a bot. Question: two")
    assert found.shared_tok == tokens.count("You are a bot. Question:")
    assert (found.one_after, found.other_after) == (" one", " two")
    assert found.before == "You are a bot. Question:"


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_is_shared_is_the_beginning_of_both(one: str, other: str) -> None:
    one, other = (t.encode("utf-8", "replace").decode() for t in (one, other))
    found = sharing(one, other)
    assert 0 <= found.shared_tok <= min(found.one_tok, found.other_tok)
    assert sharing(one, one).shared_tok == found.one_tok
    assert len(found.before) <= SHOWN_CHARS
    if found.shared_tok:
        assert one.startswith(found.before) or found.before in one


@pytest.mark.parametrize("lang", LANGS)
def test_fixed_parts_first_makes_the_support_prompt_reusable(lang: str) -> None:
    model = models()["gpt-5.5 (none)"]  # reuses from 1,024 tokens on, in steps of 128
    naive, turned = (
        reuse(
            sharing(*example_prompts(scenario("support"), "assistant", lang, static_first=s)), model
        )
        for s in (False, True)
    )
    assert naive.reusable_tok == 0
    assert turned.reusable_tok == 1024
    assert turned.saved_s == pytest.approx(1.024 * 0.010)


# --- languages, the guide's figure, time ----------------------------------------------------------


def test_korean_costs_more_tokens_and_far_more_in_the_older_table() -> None:
    found = {r.encoding: r for r in languages.ratios(languages.pairs())}
    assert len(languages.pairs()) >= 20
    assert 1.2 < found["o200k_base"].median < 1.8
    assert found["cl100k_base"].median > found["o200k_base"].median + 0.5
    assert all(r.low <= r.median <= r.high for r in found.values())
    with pytest.raises(ValueError, match="no pairs"):
        languages.ratios(())


def test_the_guides_claim_of_nineteen_tokens_is_about_right_until_comments_are_written() -> None:
    routine = [row for row in guide_keys.key_counts() if row.keys == 7]
    assert {row.encoding for row in routine} == set(ENCODINGS)
    for row in routine:
        assert abs(row.saved - guide_keys.CLAIMED) <= 5
        assert row.saved_with_comments < 0
    for whole in guide_keys.in_practice():
        assert whole.answer_minified_tok < whole.answer_short_tok < whole.answer_long_tok
        assert whole.prompt_short_tok > whole.prompt_long_tok


def test_output_weighs_more_than_input() -> None:
    model = models()["gpt-5.5 (none)"]
    found = token_time(model, saved_out_tok=100, added_in_tok=100)
    assert model.tokens_per_s is not None
    assert found.output_s == pytest.approx(100 / model.tokens_per_s)
    assert found.input_s == pytest.approx(0.001)
