"""What an answer in a model's own words holds: valid JSON or not, and fields that say the same.

A form that saves tokens (short keys, several calls in one, one call split) is worth its time only
where the fields survive it. Nothing here calls a model: texts go in, findings come out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from core.execute.own_words import read_values
from core.prompt import as_text
from core.request import Value
from core.retrieval.keywords import keyword_terms
from core.retrieval.script import normalise
from core.signature import Form, Signature

SAME_WORDS = 0.5
"""Texts of several words say the same from this F1 of their terms on. Assumption: half the words
in common is a paraphrase at best; labels, numbers and true/false values must be equal."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One call's text: `valid` JSON as a whole, and the values a lenient reader finds in it.

    `complete`: every field that was asked for is among them.
    """

    valid: bool
    complete: bool
    values: Mapping[str, Value]


def reading(signature: Signature, text: str) -> Reading:
    """Return what a call's text holds.

    Valid means that a strict parser takes the whole text: one object (JSON), or one object a line
    (JSON Lines). Text around an object makes it invalid, though its values may still be read.
    """
    values = read_values(signature, text)
    complete = all(field.name in values for field in signature.fields)
    return Reading(_is_valid(signature.form, text), complete, values)


def _is_valid(form: Form, text: str) -> bool:
    if form is Form.TEXT:
        return bool(text.strip())
    parts = text.strip().splitlines() if form is Form.JSONL else [text]
    return bool(parts) and all(map(_is_object, parts))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (json.JSONDecodeError, RecursionError):
        return False


def says_the_same(value: Value, other: Value) -> bool:
    """Return whether two values of a field agree.

    Numbers and true/false values by what they are, also where a model wrote them as text; labels
    by their letters; texts of several words, and lists, by `SAME_WORDS`.
    """
    one, two = (normalise(as_text(v)) for v in (value, other))
    if one == two:
        return True
    if _number(one) is not None and _number(one) == _number(two):
        return True
    several = all(len(text.split()) > 1 for text in (one, two))
    return several and overlap(one, two) >= SAME_WORDS


def overlap(text: str, other: str) -> float:
    """Return the F1 of the terms of two texts, 0 where they share none.

    Source: Rajpurkar et al. 2016 (SQuAD), with stems for words and syllable pairs for Korean.
    """
    one, two = (Counter(keyword_terms(t)) for t in (text, other))
    shared = (one & two).total()
    return 2 * shared / (one.total() + two.total()) if shared else 0.0


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
