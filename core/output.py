"""Reference values -> the text an LLM step writes, and which of it a person can read, and when.

Only displayable values count: keys and braces cannot be read. A text field is readable token by
token; a list of cards when the list closes (JSON) or card by card (JSON Lines).
"""

from __future__ import annotations

import bisect
import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from core import tokens
from core.excerpt import SENTENCE_END, sentences
from core.plan import Field, Form, Signature
from core.prompt import plain
from core.request import Item, Value

ACCEPTED_SPEED = 4.0
"""Accepted prediction tokens come this many times faster (3 to 5 in published tests)."""

MIN_ACCEPTED_RUN = 8
"""Shortest run of matching tokens counted as accepted. Assumption: drafts are checked in blocks."""


@dataclass(frozen=True, slots=True)
class Span:
    """A readable stretch of the output text, `start` to `end` in characters.

    `opens_at` is None where each character is readable as it arrives, else the offset whose
    arrival makes the whole span readable. `closes` marks the last span of a card. `fact` is text
    the page fills in, where the output has none.
    """

    field: str
    unit: str
    part: str
    start: int
    end: int
    opens_at: int | None
    closes: bool
    fact: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """The text of one answer and its readable spans, in order."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What appears at once: some characters of a text, or one value of a card.

    `token` is the index of the output token that makes it readable, `chars` its non-space
    characters, `closes` whether it completes a sentence or a card, `piece` the sentence or card
    it belongs to. `known` is the token that shows that it does: a sentence has ended for sure
    when white space follows, a value when its quote does (only a check has to know).
    """

    field: str
    unit: str
    part: str
    text: str
    token: int
    chars: int
    closes: bool
    piece: int
    known: int


def write(signature: Signature, values: Mapping[str, Value]) -> Output:
    """The reference answer of a call in its form, with spans. Empty where values are missing."""
    fields = [f for f in signature.fields if f.name in values]
    if not fields:
        return Output("", ())
    writer = _Writer(signature)
    if signature.form is Form.TEXT:
        writer.text_value(fields[0], _text_of(signature, values[fields[0].name]), quote=False)
    elif signature.form is Form.JSONL:
        writer.lines(fields, values)
    else:
        writer.json_object(fields, values)
    return Output("".join(writer.parts), tuple(writer.spans))


def _text_of(signature: Signature, value: Value) -> str:
    """The value as text, shortened to its first sentences where a concise answer is asked."""
    text = str(value)
    if signature.concise >= 1.0:
        return text
    parts = sentences(text)
    return " ".join(parts[: max(1, math.ceil(len(parts) * signature.concise))])


class _Writer:
    """Builds output text and its spans together, so offsets are exact."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.parts: list[str] = []
        self.spans: list[Span] = []
        self.at = 0
        self.comma, self.colon = (",", ":") if signature.minify else (", ", ": ")

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.at += len(text)

    def key(self, name: str, alias: str) -> str:
        return alias if self.signature.short_keys else name

    def json_object(self, fields: list[Field], values: Mapping[str, Value]) -> None:
        self.put("{")
        for i, field in enumerate(fields):
            self.put(self.comma if i else "")
            if field.stops:
                return
            self.put(json.dumps(self.key(field.name, field.alias)) + self.colon)
            self.value(field, values[field.name])
        self.put("}")

    def value(self, field: Field, value: Value) -> None:
        if field.shown == "text":
            self.text_value(field, _text_of(self.signature, value), quote=True)
        elif field.items:
            start = len(self.spans)
            self.put("[")
            for i, item in enumerate(cast("tuple[Item, ...]", value)):
                self.put(self.comma if i else "")
                self.item(field, item, i, "")
            self.put("]")
            self.open_spans(start)
        else:
            self.put(self.scalar(value))

    def scalar(self, value: Value) -> str:
        return json.dumps(plain(value), ensure_ascii=False, separators=(self.comma, self.colon))

    def text_value(self, field: Field, text: str, *, quote: bool) -> None:
        shown = json.dumps(text, ensure_ascii=False)[1:-1] if quote else text
        self.put('"' if quote else "")
        if field.shown == "text":
            span = Span(field.name, field.name, "", self.at, self.at + len(shown), None, True)
            self.spans.append(span)
        self.put(shown)
        self.put('"' if quote else "")

    def item(self, field: Field, item: Item, number: int, lead: str) -> None:
        self.put("{" + lead)
        comma = bool(lead)
        for i, (name, alias) in enumerate(field.items):
            last = i == len(field.items) - 1
            unit = f"{field.name}.{number}"
            if name in field.facts:
                fact = item.get(name, "")
                at = self.at
                self.spans.append(Span(field.name, unit, name, at, at, at, last, fact))
                continue
            self.put(self.comma if comma else "")
            self.put(json.dumps(self.key(name, alias)) + self.colon + '"')
            shown = json.dumps(item.get(name, ""), ensure_ascii=False)[1:-1]
            if field.shown == "cards":
                end = self.at + len(shown)
                self.spans.append(Span(field.name, unit, name, self.at, end, end, last))
            self.put(shown + '"')
            comma = True
        self.put("}")

    def open_spans(self, start: int) -> None:
        """All spans from number `start` on become readable with the character before here."""
        for i in range(start, len(self.spans)):
            s = self.spans[i]
            self.spans[i] = replace(s, opens_at=self.at)

    def lines(self, fields: list[Field], values: Mapping[str, Value]) -> None:
        for field in (f for f in fields if f.items):
            kind = "k" if self.signature.short_keys else "kind"
            lead = f'"{kind}"{self.colon}{json.dumps(self.key(field.name, field.alias))}'
            for i, item in enumerate(cast("tuple[Item, ...]", values[field.name])):
                start = len(self.spans)
                self.item(field, item, i, lead)
                self.put("\n")
                self.open_spans(start)
        rest = [f for f in fields if not f.items]
        if rest:
            self.json_object(rest, values)


def units(output: Output) -> tuple[Unit, ...]:
    """What appears when, in order of arrival: the output cut at its token boundaries."""
    ends = tokens.offsets(output.text)
    found: list[Unit] = []
    piece = -1
    open_unit = ""
    for span in output.spans:
        if span.opens_at is None:
            new = _text_units(output.text, span, ends, piece + 1)
            found.extend(new)
            piece = new[-1].piece if new else piece
            continue
        if span.unit != open_unit:
            piece, open_unit = piece + 1, span.unit
        text = span.fact or readable(output.text[span.start : span.end])
        token = bisect.bisect_left(ends, span.opens_at)
        chars = len("".join(text.split()))
        found.append(
            Unit(span.field, span.unit, span.part, text, token, chars, span.closes, piece, token)
        )
    return tuple(found)


def _text_units(text: str, span: Span, ends: tuple[int, ...], piece: int) -> list[Unit]:
    """One unit a token; a token that ends a sentence closes it, the last one always does."""
    body = text[span.start : span.end]
    stops = {span.start + m.start() for m in SENTENCE_END.finditer(body)} | {span.end}
    found: list[Unit] = []
    at = span.start
    token = bisect.bisect_right(ends, span.start)
    while at < span.end:
        upto = min(ends[token], span.end)
        shown = text[at:upto]
        if shown:
            here = [s for s in stops if at < s <= upto]
            closes = bool(here)
            after = bisect.bisect_right(ends, min(here)) if here else token
            known = min(max(token, after), len(ends) - 1)
            seen = readable(shown)
            chars = len("".join(seen.split()))
            found.append(Unit(span.field, span.unit, "", seen, token, chars, closes, piece, known))
            piece += closes
        at, token = max(at, upto), token + 1
    return found


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def readable(raw: str) -> str:
    """JSON escapes undone; half of a pair that stands for one character becomes a mark."""
    if "\\" not in raw:
        return raw

    def undone(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)

    text = _ESCAPE.sub(undone, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How long an output takes, in units of one token's time.

    `at[k]` is when token k is there, counted from the first token; `accepted` and `rejected` count
    the prediction's tokens. Source: time = first + (new + rejected)/speed + accepted/(speed k).
    """

    at: tuple[float, ...]
    accepted: int = 0
    rejected: int = 0


def decoding(text: str, prediction: str | None) -> Decoding:
    """Token arrival of `text`, with or without a prediction of it."""
    written = tokens.encode(text)
    if not prediction:
        return Decoding(tuple(float(k) for k in range(len(written))))
    guess = tokens.encode(prediction)
    cost = [1.0] * len(written)
    first = 1.0
    accepted = rejected = 0
    pending = 0.0
    blocks = difflib.SequenceMatcher(None, guess, written, autojunk=False).get_matching_blocks()
    a = 0
    for block in blocks:
        pending += block.a - a
        rejected += block.a - a
        a = block.a + block.size
        if block.size == 0:
            continue
        if block.size < MIN_ACCEPTED_RUN:
            rejected += block.size
            pending += block.size
        else:
            accepted += block.size
            for k in range(block.b, block.b + block.size):
                cost[k] = 1.0 / ACCEPTED_SPEED
            first = cost[0]
        cost[block.b] += pending
        pending = 0.0
    if cost:
        cost[-1] += pending
    at: list[float] = []
    total = -first
    for c in cost:
        total += c
        at.append(total)
    return Decoding(tuple(at), accepted, rejected)
