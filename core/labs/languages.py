"""The same content in English and Korean, counted: what a language costs in tokens."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core import tokens
from core.request import Document
from core.scenarios import SCENARIOS, scenario


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A document in both languages: the same facts, each written in its own words."""

    id: str
    english: Document
    korean: Document

    @property
    def texts(self) -> tuple[str, str]:
        """Title and text, English first."""
        one, other = self.english, self.korean
        return f"{one.title}\n{one.text}", f"{other.title}\n{other.text}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Tokens of pairs under one encoding: Korean over English, by pair."""

    encoding: str
    english_tok: int
    korean_tok: int
    median: float
    low: float
    high: float


@lru_cache(maxsize=1)
def pairs() -> tuple[Pair, ...]:
    """Return the documents that the scenarios hold in both languages: `en-x` and `ko-x`."""
    found = []
    for name in SCENARIOS:
        by_id = {d.id: d for d in scenario(name).documents}
        for doc_id, document in by_id.items():
            other = by_id.get(doc_id.replace("en-", "ko-", 1))
            if doc_id.startswith("en-") and other is not None:
                found.append(Pair(f"{name}.{doc_id.removeprefix('en-')}", document, other))
    return tuple(found)


def ratios(of: Sequence[Pair]) -> tuple[Ratio, ...]:
    """Return the ratio of each encoding over these pairs. Raises: ValueError without any."""
    if not of:
        raise ValueError("no pairs to compare")
    return tuple(_ratio(table.encoding, of) for table in tokens.TABLES)


def _ratio(encoding: str, of: Sequence[Pair]) -> Ratio:
    counts = [tuple(tokens.count(text, encoding) for text in pair.texts) for pair in of]
    each = [korean / english for english, korean in counts]
    return Ratio(
        encoding,
        sum(english for english, _ in counts),
        sum(korean for _, korean in counts),
        statistics.median(each),
        min(each),
        max(each),
    )
