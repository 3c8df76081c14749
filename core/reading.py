"""An answer read while it is being written: what of it a person can see, chunk by chunk.

The counterpart of `core.output.write`, for text that comes from anywhere: a model's own words, an
answer that was cut off. Keys, braces and fields that nobody is shown cannot be read; a text value
is readable as it arrives, a card when its list (JSON) or its line (JSON Lines) is complete. What is
not valid JSON is skipped, never an error: a model may write what it likes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from core.output import Unit, readable
from core.passages import Heard, Page, RunningText
from core.plan import Field, Form, Signature
from core.request import Item, Value

KINDS = ("kind", "k")
"""Keys under which a line of JSON Lines says which list its entry belongs to."""


@dataclass(slots=True)
class _Level:
    """An open brace or bracket: the key or the number of the entry that is being written."""

    bracket: str
    key: str = ""
    number: int = 0
    wants_key: bool = True


@dataclass(slots=True)
class _Card:
    """An object that is or may be a card: its list, its place there, its (key, text) pairs."""

    kind: str = ""
    number: int = 0
    values: list[tuple[str, str]] = field(default_factory=list)


class Reader:
    """Reads one answer to a signature; `sentences` of a text make up one passage.

    `known` holds the data from which the page fills in the facts of a card (`Field.facts`).
    """

    def __init__(
        self, signature: Signature, *, sentences: int = 1, known: Mapping[str, Value]
    ) -> None:
        self._form, self._sentences, self._known = signature.form, sentences, known
        self._fields = {f.alias: f for f in signature.fields}
        self._fields.update({f.name: f for f in signature.fields})
        self._page = Page()
        self._chunks: list[str] = []
        self._levels: list[_Level] = []
        self._string: list[str] | None = None
        self._escaped = False
        self._value: RunningText | None = None
        self._cards: list[_Card] = []
        self._line = _Card()
        self._numbers: dict[str, int] = {}
        if self._form is Form.TEXT and signature.fields[0].shown == "text":
            self._value = RunningText(
                self._page, signature.fields[0].name, sentences, escaped=False
            )

    @property
    def text(self) -> str:
        """All that was read so far."""
        return "".join(self._chunks)

    def units(self) -> tuple[Unit, ...]:
        """Return what can be read, in order; `token` and `known` count chunks."""
        return tuple(draft.done() for draft in self._page.drafts)

    def feed(self, text: str) -> Heard:
        """Take the next chunk."""
        self._page.chunk += 1
        self._chunks.append(text)
        for char in text:
            if self._form is not Form.TEXT:
                self._structured(char)
            elif self._value is not None:
                self._value.take(char)
        if self._value is not None:
            self._value.flush()
        return self._page.heard()

    def finish(self, *, cut: bool = False) -> Heard:
        """Take note that nothing more comes; `cut` says that the answer is not complete."""
        if self._form is Form.JSONL and not cut and not self._levels:
            self._show_cards()
        if self._value is not None:
            self._value.end(complete=self._form is Form.TEXT and not cut)
            self._value = None
        return self._page.heard()

    def _structured(self, char: str) -> None:
        if self._string is not None:
            self._in_string(char)
        elif char in "{[":
            if not self._levels:
                self._show_cards()
                self._line = _Card()
            self._levels.append(_Level(char))
        elif not self._levels:
            if char == "\n":
                self._show_cards()
        elif char == '"':
            self._begin_string()
        elif char in "}]":
            self._close_level()
        elif char == ":":
            self._levels[-1].wants_key = False
        elif char == ",":
            self._levels[-1].wants_key = True
            self._levels[-1].number += 1

    def _close_level(self) -> None:
        """End a list of cards, or a line of JSON Lines (whose card its line's end shows)."""
        self._levels.pop()
        if self._form is Form.JSONL:
            named = self._fields.get(self._line.kind)
            if not self._levels and named is not None and named.items:
                self._line.kind = named.name
                self._line.number = self._numbers.get(named.name, 0)
                self._numbers[named.name] = self._line.number + 1
                self._cards.append(self._line)
        elif len(self._levels) == 1:
            self._show_cards()

    def _begin_string(self) -> None:
        self._string = []
        level = self._levels[-1]
        if len(self._levels) == 1 and not level.wants_key and not self._line.kind:
            named = self._fields.get(level.key)
            if named is not None and named.shown == "text":
                self._value = RunningText(self._page, named.name, self._sentences, escaped=True)

    def _in_string(self, char: str) -> None:
        assert self._string is not None  # noqa: S101  (only called inside a string)
        if char == '"' and not self._escaped:
            self._end_string("".join(self._string))
            return
        self._escaped = char == "\\" and not self._escaped
        if self._value is not None:
            self._value.take(char)
        else:
            self._string.append(char)

    def _end_string(self, raw: str) -> None:
        self._string = None
        level, depth = self._levels[-1], len(self._levels)
        if self._value is not None:
            self._value.end(complete=True)
            self._value = None
        elif level.bracket == "{" and level.wants_key:
            level.key = raw
        elif depth == 1 and self._form is Form.JSONL:
            if level.key in KINDS and not self._line.kind:
                self._line.kind = raw
            else:
                self._line.values.append((level.key, raw))
        elif depth == 3 and self._form is Form.JSON:
            self._card_value(self._levels[0].key, self._levels[1].number, (level.key, raw))

    def _card_value(self, key: str, number: int, value: tuple[str, str]) -> None:
        named = self._fields.get(key)
        if named is None or not named.items:
            return
        if not self._cards or self._cards[-1].number != number:
            self._cards.append(_Card(named.name, number))
        self._cards[-1].values.append(value)

    def _show_cards(self) -> None:
        """Make all cards that are complete readable with this chunk."""
        for card in self._cards:
            named = self._fields[card.kind]
            if named.shown == "cards":
                self._show_card(named, card)
        self._cards = []

    def _show_card(self, named: Field, card: _Card) -> None:
        parts = {key: part for part, alias in named.items for key in (alias, part)}
        written = {parts[key]: readable(raw) for key, raw in card.values if key in parts}
        if not written:
            return
        written |= self._facts(named, written)
        page, unit = self._page, f"{named.name}.{card.number}"
        page.piece += 1
        page.group += 1
        for part, _ in named.items:
            if part in written:
                last = page.add(named.name, unit, part, written[part])
        page.close(last)
        page.pass_on()

    def _facts(self, named: Field, written: Mapping[str, str]) -> Mapping[str, str]:
        """Return what the data say of the entry with these words, or nothing."""
        entries = cast("tuple[Item, ...]", self._known.get(named.name, ()))
        for entry in entries if named.facts else ():
            if all(entry.get(part, "") == text for part, text in written.items()):
                return {part: entry.get(part, "") for part in named.facts}
        return dict.fromkeys(named.facts, "")
