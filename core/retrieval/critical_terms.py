"""Words on which an answer hangs, in groups whose members exclude each other.

A question about a refund is not one about an exchange, and a trip to Tokyo is not one to Osaka,
however alike the sentences are. The groups stand in `critical_terms.toml`, which says how to read
them. They are made for the two scenarios and for everyday service questions; another domain adds
its own: this is the part of a semantic cache that has to be written by hand.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from core.errors import InvalidData

FILE = Path(__file__).with_name("critical_terms.toml")


@dataclass(frozen=True, slots=True)
class Term:
    """One member of a group with the patterns that recognise it, and as where one sets out from."""

    name: str
    named: re.Pattern[str]
    as_origin: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Group:
    """Terms that exclude each other; `alone` and `directed` as explained in the file."""

    id: str
    terms: tuple[Term, ...]
    any_named: re.Pattern[str]
    alone: bool
    directed: bool

    def named_in(self, question: str) -> frozenset[str]:
        """Return the members the (normalised) question names."""
        if not self.any_named.search(question):
            return frozenset()
        found = [term for term in self.terms if term.named.search(question)]
        if not self.directed or len(found) < 2:
            return frozenset(term.name for term in found)
        return frozenset(
            f"from {term.name}" if term.as_origin.search(question) else term.name for term in found
        )


def critical_differences(asked: str, cached: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what only one of the two questions names, for each of them; both empty if nothing."""
    only_asked: set[str] = set()
    only_cached: set[str] = set()
    for group, a, b in zip(groups(), _named(asked), _named(cached), strict=True):
        if a != b and (group.alone or (a and b)):
            only_asked |= a - b
            only_cached |= b - a
    return frozenset(only_asked), frozenset(only_cached)


@lru_cache(maxsize=4096)
def _named(question: str) -> tuple[frozenset[str], ...]:
    """Return what a question names, by group; kept, since cached questions come back."""
    plain = " ".join(unicodedata.normalize("NFKC", question).casefold().split())
    return tuple(group.named_in(plain) for group in groups())


@lru_cache(maxsize=1)
def groups() -> tuple[Group, ...]:
    """Return the groups of the file, read once. Raises: InvalidData."""
    return read_groups(FILE)


def read_groups(file: Path) -> tuple[Group, ...]:
    """Read groups of terms. Raises: InvalidData for a file or pattern that is broken."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(_group(cast("dict[str, object]", raw)) for raw in data["group"])
    except tomllib.TOMLDecodeError as error:
        raise InvalidData(file.name, str(error)) from None
    except (KeyError, ValueError, re.error) as error:
        raise InvalidData(file.name, f"a group is broken: {error}") from None


def _group(raw: dict[str, object]) -> Group:
    terms = cast("dict[str, list[str]]", raw["terms"])
    made = tuple(_term(name, *forms) for name, forms in terms.items())
    return Group(
        str(raw["id"]),
        made,
        re.compile("|".join(f"(?:{term.named.pattern})" for term in made), re.IGNORECASE),
        bool(raw.get("alone", False)),
        bool(raw.get("directed", False)),
    )


def _term(name: str, english: str, korean: str) -> Term:
    return Term(
        name,
        re.compile(rf"\b(?:{english})\b|(?:{korean})", re.IGNORECASE),
        re.compile(
            rf"\bfrom\s+(?:\w+\s+)?(?:{english})\b|(?:{korean})\s?(?:에서|발)", re.IGNORECASE
        ),
    )
