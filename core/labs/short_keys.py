"""Short names for long keys: a proposal to start from, and what a person made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from core import tokens
from core.text import Note

MAX_ALIAS = 40
"""Longest name a person may give: a longer one is no alias."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_FIRST = (5, 4, 3)  # letters of a word's beginning that are tried as its abbreviation
_FILLERS = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "far", "for", "from", "has", "have", "in",
     "is", "it", "its", "of", "on", "or", "so", "that", "the", "to", "was", "with")
)  # fmt: skip
_READABLE = 1  # tokens a name may cost more than the cheapest one, if it can be read
_MOST_NUMBERED = 100


@dataclass(frozen=True, slots=True)
class Edited:
    """What a person's lines say: an alias for each key they name, and what is wrong with others."""

    aliases: Mapping[str, str]
    problems: tuple[Note, ...]


def propose(keys: Sequence[str], encoding: str = tokens.DEFAULT_ENCODING) -> dict[str, str]:
    """Return a short name for each key, all different, in the order of the keys.

    It is the first word of the key from its end on, where English puts the head, that costs next
    to nothing more than the cheapest candidate. A key that gains nothing keeps its name, as does
    one that cannot stand on a line of its own.
    """
    taken = set(keys)
    out: dict[str, str] = {}
    for key in keys:
        own = _cost(key, encoding)
        free = [name for name in _candidates(key) if name not in taken and key.isprintable()]
        least = min((_cost(name, encoding) for name in free), default=own) + _READABLE
        best = next((name for name in free if _cost(name, encoding) <= least), key)
        out[key] = best if _cost(best, encoding) < own else key
        taken.add(out[key])
    return out


def _cost(key: str, encoding: str) -> int:
    """Tokens of a key as it stands in JSON."""
    return tokens.count(f'"{key}":', encoding)


def _candidates(key: str) -> Iterator[str]:
    """Yield abbreviations of a key: its words from the last on, their beginnings, initials."""
    words = [word.lower() for word in _WORDS.findall(key)]
    telling = [word for word in reversed(words) if word not in _FILLERS] or words
    yield from telling
    yield from (word[:n] for word in telling for n in _FIRST if len(word) > n)
    initials = "".join(word[0] for word in words) or "k"
    yield initials
    yield from (f"{initials}{n}" for n in range(2, _MOST_NUMBERED))


def as_lines(aliases: Mapping[str, str]) -> str:
    """Return aliases as a person edits them: one `key = alias` a line."""
    return "\n".join(f"{key} = {alias}" for key, alias in aliases.items())


def from_lines(lines: str, keys: Iterable[str], proposed: Mapping[str, str]) -> Edited:
    """Return the aliases of `keys`: those of the lines, else those proposed.

    A line that does not hold a key and an alias is left out and told. Keys that would share a name
    keep their own: the data could not be read back.
    """
    given, problems = _read(lines, frozenset(keys))
    aliases = {key: given.get(key, proposed.get(key, key)) for key in proposed}
    while shared := _first_shared(aliases):
        alias, owners = shared
        problems.append(
            Note.of("tokenlab.alias.shared", one=owners[0], other=owners[1], alias=alias)
        )
        aliases.update({key: key for key in owners})
    return Edited(aliases, tuple(problems))


def _first_shared(aliases: Mapping[str, str]) -> tuple[str, list[str]] | None:
    """Return the first alias that several keys have, with these keys; None where all differ."""
    owners: dict[str, list[str]] = {}
    for key, alias in aliases.items():
        owners.setdefault(alias, []).append(key)
    return next(((alias, found) for alias, found in owners.items() if len(found) > 1), None)


def _read(lines: str, known: frozenset[str]) -> tuple[dict[str, str], list[Note]]:
    found: dict[str, str] = {}
    problems: list[Note] = []
    for number, line in enumerate(lines.splitlines(), start=1):
        if not line.strip():
            continue
        key, equals, alias = (part.strip() for part in line.rpartition("="))
        if not equals or not key or not alias or len(alias) > MAX_ALIAS:
            problems.append(Note.of("tokenlab.alias.line", line=number))
        elif key not in known:
            problems.append(Note.of("tokenlab.alias.unknown", line=number, name=key[:MAX_ALIAS]))
        else:
            found[key] = alias
    return found, problems


def legend(aliases: Mapping[str, str]) -> str:
    """Return what a prompt has to say about the aliases: one line each, none for unchanged keys."""
    return "\n".join(f"{alias} = {key}" for key, alias in aliases.items() if alias != key)
