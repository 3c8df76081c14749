"""Text on its way to a reader, cut where it came in chunks, where sentences end, where cards do.

A sentence has ended when white space follows its last character: until then "3." may become "3.5".
So what a check may work on (a `Passage`) is known a chunk later than what can be read (a `Draft`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.output import Unit, readable

_STOPS = frozenset(".!?。！？")
_BEGUN = r"\\(?:u[0-9a-fA-F]{0,3})?"
_HALF = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_CUT_ESCAPE = re.compile(rf"(?<!\\)(?:\\\\)*(?P<cut>{_BEGUN}|{_HALF}(?:{_BEGUN})?)$")
"""An escape that has only begun, or the first half of a pair that stands for one character."""


@dataclass(slots=True)
class Draft:
    """A unit in the making: the sentence it belongs to may still be open. `group`: its passage."""

    field: str
    unit: str
    part: str
    text: str
    chunk: int
    piece: int
    group: int
    closes: bool = False
    known: int = -1

    @staticmethod
    def of(unit: Unit) -> Draft:
        """Return the draft of a unit that is known from elsewhere, with a passage of its own."""
        return Draft(
            unit.field, unit.unit, unit.part, unit.text, unit.token, unit.piece, unit.piece,
            unit.closes, unit.known,
        )  # fmt: skip

    @property
    def chars(self) -> int:
        """Characters that are not white space."""
        return len("".join(self.text.split()))

    def done(self) -> Unit:
        """Return the unit as it stands now."""
        known = self.chunk if self.known < 0 else self.known
        return Unit(
            self.field, self.unit, self.part, self.text, self.chunk, self.chars, self.closes,
            self.piece, known,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """A card, or some sentences of one text, complete: what a check on the stream works on."""

    group: int
    text: str
    chars: int


@dataclass(frozen=True, slots=True)
class Heard:
    """What one chunk brought: newly readable units, and passages it showed to be complete."""

    drafts: tuple[Draft, ...]
    passages: tuple[Passage, ...]


class Page:
    """All that could be read so far, with its pieces and passages numbered in order."""

    def __init__(self) -> None:
        self.chunk = -1
        self.drafts: list[Draft] = []
        self.piece = self.group = -1
        self._told = 0
        self._open: list[Draft] = []
        self._passages: list[Passage] = []

    def add(self, named: str, unit: str, part: str, text: str) -> Draft:
        """Put down something readable; it belongs to the current piece and passage."""
        draft = Draft(named, unit, part, text, self.chunk, self.piece, self.group)
        self.drafts.append(draft)
        self._open.append(draft)
        return draft

    def close(self, draft: Draft) -> None:
        """Complete the sentence or card of this draft, as this chunk shows it to be."""
        draft.closes, draft.known = True, self.chunk

    def pass_on(self) -> None:
        """Make a passage of all that is in none yet."""
        if self._open:
            text = "".join(d.text for d in self._open)
            chars = sum(d.chars for d in self._open)
            self._passages.append(Passage(self._open[0].group, text, chars))
            self._open = []

    def heard(self) -> Heard:
        """Return what is new since this was last asked."""
        fresh, passages = tuple(self.drafts[self._told :]), tuple(self._passages)
        self._told, self._passages = len(self.drafts), []
        return Heard(fresh, passages)


class RunningText:
    """One text value on a page: cut into drafts by chunk, into sentences by what follows them.

    `escaped` says that it is written with JSON's escapes; one that a chunk's end cuts in two comes
    with the next chunk.
    """

    def __init__(self, page: Page, name: str, sentences: int, *, escaped: bool) -> None:
        self._page, self._name, self._wanted = page, name, sentences
        self._escaped = escaped
        self._fresh: list[str] = []
        self._last: Draft | None = None
        self._ended = False
        self._finished = 0
        self._before = self._run = ""

    def take(self, char: str) -> None:
        """Take the next character, as it is written (escapes included)."""
        if not self._goes_on(char):
            self._run = self._break(char)
            if self._run:
                self._end_sentence()
        self._before = char
        self._fresh.append(char)

    def _goes_on(self, char: str) -> bool:
        """Return whether this is more of the white space that ended the last sentence."""
        return char.isspace() if self._run == "space" else self._run == "line" and char == "\n"

    def _break(self, char: str) -> str:
        if char.isspace() and self._before in _STOPS:
            return "space"
        return "line" if char == "\n" else ""

    def _end_sentence(self) -> None:
        """Note that a sentence ended before this character: in this chunk or with the last one."""
        if self._fresh:
            self._ended = True
        elif self._last is not None and not self._last.closes:
            self._close(self._last)

    def flush(self, *, last: bool = False) -> None:
        """Make a draft of what this chunk brought, but for a cut escape unless it is the `last`."""
        raw = "".join(self._fresh)
        cut = _CUT_ESCAPE.search(raw) if self._escaped and not last else None
        whole = raw if cut is None else raw[: cut.start("cut")]
        if not whole:
            return
        page = self._page
        if self._last is None or self._last.closes:
            page.piece += 1
            page.group += self._finished == 0
        text = readable(whole) if self._escaped else whole
        self._last = page.add(self._name, self._name, "", text)
        self._fresh = list(raw[len(whole) :])
        if self._ended:
            self._ended = False
            self._close(self._last)

    def _close(self, draft: Draft) -> None:
        self._page.close(draft)
        self._finished += 1
        if self._finished == self._wanted:
            self._finished = 0
            self._page.pass_on()

    def end(self, *, complete: bool) -> None:
        """End the text; `complete` says that its last sentence is one."""
        self.flush(last=True)
        if complete and self._last is not None and not self._last.closes:
            self._close(self._last)
        self._page.pass_on()
