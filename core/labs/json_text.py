"""JSON as text and as a tree, so that writing it again loses nothing: numbers keep their digits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.text import Note

MAX_CHARS = 20_000
"""Longest text the labs read. A page's limit, not a format's: counting stays within a blink."""

MAX_DEPTH = 60
"""Deepest nesting: what a person pastes lies far below, and every walk of a tree stays safe."""

_LONE = re.compile("[\ud800-\udfff]")
_PROBLEMS = {
    "Expecting property name enclosed in double quotes": "key",
    "Expecting ':' delimiter": "colon",
    "Expecting ',' delimiter": "comma",
    "Expecting value": "value",
    "Extra data": "extra",
    "Unterminated string starting at": "open_text",
    "Invalid control character at": "control",
    "Invalid \\escape": "escape",
    "Invalid \\uXXXX escape": "escape",
    "Illegal trailing comma before end of object": "trailing",
    "Illegal trailing comma before end of array": "trailing",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A number with the digits it was written in."""

    literal: str


Json: TypeAlias = "dict[str, Json] | list[Json] | str | Number | bool | None"


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """A JSON text as a tree; of the keys in `twice`, given twice in one object, the last counts."""

    value: Json
    twice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How JSON is written: what stands after each part and each key."""

    comma: str = ", "
    colon: str = ": "


SPACED = Style()
MINIFIED = Style(",", ":")


def parse(text: str) -> Parsed | Note:
    """Return the tree of a JSON text, or what is wrong with it and where, counted from 1."""
    if len(text) > MAX_CHARS:
        return Note.of("tokenlab.json.long", n=len(text), most=MAX_CHARS)
    twice: list[str] = []

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            twice.extend(key for key in made if keys.count(key) > 1)
        return made

    try:
        value: Json = json.loads(
            text,
            object_pairs_hook=members,
            parse_int=Number,
            parse_float=Number,
            parse_constant=_refuse,
        )
    except json.JSONDecodeError as error:
        return _problem(text, error)
    except _NotAllowedError as error:
        return Note.of("tokenlab.json.constant", name=str(error))
    except RecursionError:
        return Note.of("tokenlab.json.deep", most=MAX_DEPTH)
    if _depth(value) > MAX_DEPTH:
        return Note.of("tokenlab.json.deep", most=MAX_DEPTH)
    return Parsed(value, tuple(dict.fromkeys(twice)))


class _NotAllowedError(ValueError):
    """A word that Python reads as a number and JSON does not know."""


def _refuse(name: str) -> Json:
    raise _NotAllowedError(name)


def _problem(text: str, error: json.JSONDecodeError) -> Note:
    """Return what is wrong in one sentence; the usual slips are named, the rest by the parser."""
    at = {"line": error.lineno, "column": error.colno}
    rest = text[error.pos :].lstrip()
    before = text[: error.pos].rstrip()
    if not text.strip():
        return Note.of("tokenlab.json.empty")
    kind = _PROBLEMS.get(error.msg, "other")
    if rest.startswith(("//", "/*", "#")):
        kind = "comment"
    elif rest.startswith("'"):
        kind = "quotes"
    elif rest[:1] in ("}", "]") and before.endswith(","):
        kind = "trailing"
    elif not rest and kind != "open_text":
        kind = "ends"
    return Note.of(f"tokenlab.json.{kind}", **at)


def _depth(value: Json) -> int:
    deepest, open_parts = 0, [(value, 1)]
    while open_parts:
        part, depth = open_parts.pop()
        deepest = max(deepest, depth)
        open_parts.extend((child, depth + 1) for child in children(part))
    return deepest


def children(value: Json) -> Sequence[Json]:
    """Return the values directly inside an object or a list; none of a scalar."""
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, list) else ()


def keys_of(value: Json) -> tuple[str, ...]:
    """Return every key of every object, once each, in the order they are met."""
    return tuple(dict.fromkeys(_keys(value)))


def _keys(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for child in children(value):
        yield from _keys(child)


def write(value: Json, style: Style = SPACED, aliases: Mapping[str, str] | None = None) -> str:
    """Return the tree as JSON on one line; a key that has an alias is written as that."""
    names = aliases or {}
    if isinstance(value, dict):
        members = (
            f"{quoted(names.get(key, key))}{style.colon}{write(child, style, aliases)}"
            for key, child in value.items()
        )
        return "{" + style.comma.join(members) + "}"
    if isinstance(value, list):
        return "[" + style.comma.join(write(child, style, aliases) for child in value) + "]"
    return scalar(value)


def scalar(value: str | Number | bool | None) -> str:
    """Return a text, number, truth value or null as JSON."""
    if isinstance(value, Number):
        return value.literal
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else quoted(value)


def quoted(text: str) -> str:
    """Return a text in quotes; letters stay as they are, halves of a pair stay escaped."""
    return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", json.dumps(text, ensure_ascii=False))
