from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.prompt_diff import MAX_WORDS, Piece, diff


def old_of(pieces: tuple[Piece, ...]) -> str:
    return "".join(p.text for p in pieces if p.mark != "new")


def new_of(pieces: tuple[Piece, ...]) -> str:
    return "".join(p.text for p in pieces if p.mark != "gone")


def written(pieces: tuple[Piece, ...]) -> str:
    signs = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
    return "".join(f"{signs[p.mark][0]}{p.text}{signs[p.mark][1]}" for p in pieces)


texts = st.text(alphabet=st.sampled_from('ab가나 \n.,:"{}'), max_size=60)


@given(texts, texts)
def test_both_texts_can_be_read_off_the_changes(old: str, new: str) -> None:
    pieces = diff(old, new)
    assert (old_of(pieces), new_of(pieces)) == (old, new)


@given(texts, texts)
def test_pieces_are_whole_and_alternate(old: str, new: str) -> None:
    pieces = diff(old, new)
    assert all(p.text for p in pieces)
    marks = [p.mark for p in pieces]
    assert all(a != b for a, b in itertools.pairwise(marks))
    # What went always stands before what came in its place.
    assert ("new", "gone") not in list(itertools.pairwise(marks))


@given(texts)
def test_equal_texts_have_no_change(text: str) -> None:
    assert diff(text, text) == ((Piece("same", text),) if text else ())


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
        ("Keep it.\nBe brief.\n", "Keep it.\n", "Keep it.\n[-Be brief.\n-]"),
        # Words are compared within a line, and a name changes as a whole.
        (
            '{"user_sentiment": "angry"}',
            '{"tone_in": "angry"}',
            '{"[-user_sentiment-]{+tone_in+}": "angry"}',
        ),
        # A blank that went is a change of its own, not the end of the change before it.
        ('{"query": 1}', '{"q":1}', '{"[-query-]{+q+}":[- -]1}'),
        # A blank or "a" between two changed words says nothing.
        ("red cat", "blue dog", "[-red cat-]{+blue dog+}"),
        ("red or cat", "blue or dog", "[-red or cat-]{+blue or dog+}"),
        ("red and cat", "blue and dog", "[-red-]{+blue+} and [-cat-]{+dog+}"),
        ("주문을 취소해요", "주문을 바꿔요", "주문을 [-취소해요-]{+바꿔요+}"),
    ],
)
def test_changes_read_as_a_person_would_mark_them(old: str, new: str, shown: str) -> None:
    assert written(diff(old, new)) == shown


def test_a_line_that_moved_does_not_tear_its_neighbours() -> None:
    old = "one two three\nfour five six\nseven eight\n"
    new = "four five six\nseven eight\none two three\n"
    assert written(diff(old, new)) == (
        "[-one two three\n-]four five six\nseven eight\n{+one two three\n+}"
    )


def test_a_very_long_line_is_replaced_as_a_whole() -> None:
    old = " ".join(f"a{k}" for k in range(MAX_WORDS))
    pieces = diff(old, f"{old} end")
    assert [p.mark for p in pieces] == ["gone", "new"]


def test_words_are_counted_without_blanks() -> None:
    assert Piece("same", "  two words \n").words == 2
