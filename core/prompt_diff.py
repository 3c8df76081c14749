"""What changed between two texts, word by word, as a person would mark it.

Lines are compared first and words only within lines that changed, so that text which merely stands
elsewhere on the page does not fall to pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Mark = Literal["same", "gone", "new"]

MIN_ISLAND_CHARS = 3
"""Equal text shorter than this between two changes of words belongs to them: it is coincidence."""

MAX_WORDS = 1500
"""Longest pair of changed passages compared word by word; a longer one is replaced as a whole."""

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_NAME = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that stayed, went or came."""

    mark: Mark
    text: str

    @property
    def words(self) -> int:
        """How many words it has; a run of signs between blanks is one."""
        return len(self.text.split())


def diff(old: str, new: str) -> tuple[Piece, ...]:
    """Return the way from `old` to `new`.

    Without what came it reads as `old`, without what went as `new`.
    """
    if old == new:
        return (Piece("same", old),) if old else ()
    return tuple(_joined(_by_line(old.splitlines(keepends=True), new.splitlines(keepends=True))))


def _by_line(old: list[str], new: list[str]) -> Iterator[Piece]:
    for tag, a0, a1, b0, b1 in _opcodes(old, new):
        gone, came = "".join(old[a0:a1]), "".join(new[b0:b1])
        if tag == "replace":
            yield from _by_word(gone, came)
        else:
            yield from _change(tag, gone, came)


def _by_word(old: str, new: str) -> Iterator[Piece]:
    a, b = _WORD.findall(old), _WORD.findall(new)
    if max(len(a), len(b)) > MAX_WORDS:
        yield from (Piece("gone", old), Piece("new", new))
        return
    codes = _opcodes(a, b)
    texts = [("".join(a[a0:a1]), "".join(b[b0:b1])) for _, a0, a1, b0, b1 in codes]
    for k, (tag, *_) in enumerate(codes):
        island = tag == "equal" and 0 < k < len(codes) - 1 and _is_island(texts, k)
        yield from _change("replace" if island else tag, *texts[k])


def _is_island(texts: Sequence[tuple[str, str]], k: int) -> bool:
    """Return whether equal text is chance: hardly a word, on one line, between changed words."""
    text = texts[k][0]
    if "\n" in text or len(text.strip()) >= MIN_ISLAND_CHARS:
        return False
    return all(any(_NAME.search(t) for t in texts[j]) for j in (k - 1, k + 1))


def _opcodes(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    matcher: SequenceMatcher[str] = SequenceMatcher(None, a, b, autojunk=False)
    return list(matcher.get_opcodes())


def _change(tag: str, gone: str, came: str) -> Iterator[Piece]:
    if tag == "equal":
        yield Piece("same", gone)
        return
    if gone:
        yield Piece("gone", gone)
    if came:
        yield Piece("new", came)


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbouring changes as one: first all that went, then all that came."""
    gone = came = same = ""
    for piece in pieces:
        if piece.mark == "same":
            yield from _change("replace", gone, came)
            gone = came = ""
            same += piece.text
            continue
        if same:
            yield Piece("same", same)
            same = ""
        gone += piece.text if piece.mark == "gone" else ""
        came += piece.text if piece.mark == "new" else ""
    yield from _change("replace", gone, came)
    if same:
        yield Piece("same", same)
