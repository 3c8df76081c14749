"""Pairs of example questions that show what a semantic cache is up against, found in the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.labs.pairs import Likeness, likenesses
from core.request import Lang, Request
from core.scenarios import SCENARIOS, scenario

Kind = Literal["same", "numbers", "polarity", "critical_terms", "unrelated", "languages"]
KINDS: tuple[Kind, ...] = (
    "same",
    "numbers",
    "polarity",
    "critical_terms",
    "unrelated",
    "languages",
)


@dataclass(frozen=True, slots=True)
class ExamplePair:
    """Two questions and what they are an example of."""

    kind: Kind
    asked: str
    cached: str


@dataclass(frozen=True, slots=True, eq=False)
class _Labelled:
    """A measured pair with its requests."""

    pair: Likeness
    one: Request
    other: Request

    @property
    def same(self) -> bool:
        return self.one.intent == self.other.intent


@lru_cache(maxsize=2)
def example_pairs(lang: Lang) -> tuple[ExamplePair, ...]:
    """Return an example of each kind that the measured pairs hold, in the order of `KINDS`.

    The nearest pair of its kind is taken: a paraphrase nobody objects to, for each guard two
    questions that it alone tells apart. `unrelated` are two Korean ones, whatever the language, and
    `languages` the same question in both.
    """
    rows = [row for row in _labelled() if row.one.lang == lang]
    rules: dict[Kind, Callable[[_Labelled], bool]] = {
        "same": lambda row: row.same and not row.pair.refused_by,
        "numbers": lambda row: not row.same and row.pair.refused_by == {"numbers"},
        "polarity": lambda row: not row.same and row.pair.refused_by == {"polarity"},
        "critical_terms": lambda row: not row.same and row.pair.refused_by == {"critical_terms"},
    }
    found = [
        ExamplePair(kind, best.one.message, best.other.message)
        for kind, rule in rules.items()
        if (best := _nearest(row for row in rows if rule(row))) is not None
    ]
    return (*found, *_korean(lang))


def _nearest(rows: Iterator[_Labelled]) -> _Labelled | None:
    return max(rows, key=lambda row: row.pair.cosine, default=None)


def _labelled() -> Iterator[_Labelled]:
    for name in SCENARIOS:
        by_id = {r.id: r for r in scenario(name).requests}
        for pair in likenesses(name):
            yield _Labelled(pair, by_id[pair.one], by_id[pair.other])


def _korean(lang: Lang) -> Iterator[ExamplePair]:
    """Yield two Korean questions that are about other things, and one in both languages."""
    korean = [row for row in _labelled() if row.one.lang == "ko" and not row.same]
    furthest = min(korean, key=lambda row: row.pair.cosine, default=None)
    if furthest is not None:
        yield ExamplePair("unrelated", furthest.one.message, furthest.other.message)
    first = {r.lang: r.message for r in reversed(scenario(SCENARIOS[0]).requests) if not r.history}
    if len(first) > 1:
        other: Lang = "ko" if lang == "en" else "en"
        yield ExamplePair("languages", first[lang], first[other])
