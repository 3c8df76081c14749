"""One user request with the reference text of every step, and the documents it may draw on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Lang = Literal["en", "ko"]
Scalar = str | int | float | bool
Item = Mapping[str, str]
Value = Scalar | tuple[str, ...] | tuple[Item, ...]
"""A step's reference value: a scalar, lines of text, or a list of cards."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One short text of a scenario's library."""

    id: str
    lang: Lang
    title: str
    category: str
    text: str
    updated: str


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One message with its history and what each step would answer; compared by identity.

    `known` is text known before the call (a template, the last itinerary), by output field.
    `passages` are the documents the search returns for it, best first.
    """

    id: str
    lang: Lang
    task: str
    intent: str
    tags: tuple[str, ...]
    history: tuple[Turn, ...]
    message: str
    values: Mapping[str, Value]
    doc_ids: tuple[str, ...]
    known: Mapping[str, Value]
    answerable: bool
    passages: tuple[Document, ...]

    def flag(self, value: str) -> bool:
        """A true/false reference value; a value this request does not have is false."""
        return bool(self.values.get(value, False))
