"""A person's own message, matched to the example request whose reference answers fit it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from core.errors import InputError
from core.request import Request
from core.scenarios import Scenario

MAX_MESSAGE_CHARS = 2000

CLOSE_ENOUGH = 0.25
"""Least similarity at which an example answers a message. Assumption, chosen so that paraphrases of
the shipped requests pass and other topics do not."""


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The nearest example and how near it is, 0 to 1; `request` is it with the person's words."""

    example: Request
    similarity: float
    request: Request

    @property
    def answers(self) -> bool:
        """Whether the example is near enough to answer the message."""
        return self.similarity >= CLOSE_ENOUGH


def check_message(message: str) -> str:
    """The message without surrounding space. Raises InputError if it is empty or too long."""
    text = message.strip()
    if not text:
        raise InputError("the message is empty; write a question")
    if len(text) > MAX_MESSAGE_CHARS:
        raise InputError(
            f"the message has {len(text):,} characters; up to {MAX_MESSAGE_CHARS:,} are possible"
        )
    return text


@lru_cache(maxsize=256)
def asking(scenario: Scenario, message: str) -> Scenario:
    """The scenario with one request only: the nearest example in the person's own words."""
    return replace(scenario, requests=(nearest(scenario, message).request,))


def nearest(scenario: Scenario, message: str) -> Match:
    """The example request most like the message. Raises InputError as `check_message`."""
    text = check_message(message)
    rarity = _rarity(scenario)
    asked = _triples(text)
    alone = [r for r in scenario.requests if not r.history]
    scored = [(_cosine(asked, _triples(r.message), rarity), r) for r in alone]
    similarity, best = max(scored, key=lambda s: s[0])
    return Match(best, similarity, replace(best, message=text))


@lru_cache(maxsize=2048)
def _triples(text: str) -> Counter[str]:
    """Counts of character triples; pairs for Hangul, whose syllables carry more."""
    padded = f"  {' '.join(text.lower().split())} "
    size = 2 if any("가" <= c <= "힣" for c in padded) else 3
    return Counter(padded[i : i + size] for i in range(len(padded) - size + 1))


@lru_cache(maxsize=16)
def _rarity(scenario: Scenario) -> Mapping[str, float]:
    """How much a triple says: the logarithm of how few of the examples have it."""
    seen = Counter(t for r in scenario.requests for t in set(_triples(r.message)))
    count = len(scenario.requests)
    return {t: math.log((1 + count) / (1 + n)) for t, n in seen.items()}


def _cosine(a: Counter[str], b: Counter[str], rarity: Mapping[str, float]) -> float:
    unseen = max(rarity.values(), default=1.0)
    x = {t: n * rarity.get(t, unseen) for t, n in a.items()}
    y = {t: n * rarity.get(t, unseen) for t, n in b.items()}
    dot = sum(v * y.get(t, 0.0) for t, v in x.items())
    return dot / (math.hypot(*x.values()) * math.hypot(*y.values()) or 1.0)
