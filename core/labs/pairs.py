"""Labelled example requests with their measured likeness, as a semantic cache sees them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from core.errors import InvalidData
from core.request import Lang, Request
from core.retrieval.guards import ALL_GUARDS, GuardId
from core.retrieval.quality import Candidate
from core.retrieval.semantic import NEIGHBOURS
from core.scenarios import DATA, Scenario, scenario

FILE = DATA / "measured" / "similarity.csv"


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two requests' messages are, by which encoder, and which guards object."""

    one: str
    other: str
    cosine: float
    encoder: str
    refused_by: frozenset[GuardId]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbour:
    """A cached request near an asked one."""

    request: Request
    cosine: float
    refused_by: frozenset[GuardId]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A request that is asked, and the cached ones nearest to it, nearest first."""

    request: Request
    near: tuple[Neighbour, ...]

    def is_right(self, neighbour: Neighbour) -> bool:
        """Return whether the neighbour's answer answers this request: both have one intent."""
        return neighbour.request.intent == self.request.intent

    def candidates(self) -> tuple[Candidate, ...]:
        """Return the neighbours as the sweep counts them."""
        return tuple(Candidate(n.cosine, self.is_right(n), n.refused_by) for n in self.near)

    def served(self, threshold: float, guards: Iterable[GuardId]) -> Neighbour | None:
        """Return the neighbour whose answer a cache would serve, or None."""
        on = frozenset(guards)
        passing = (n for n in self.near if n.cosine >= threshold and not n.refused_by & on)
        return next(passing, None)


@lru_cache(maxsize=8)
def likenesses(scenario_id: str) -> tuple[Likeness, ...]:
    """Return the measured pairs of a scenario; none where nothing was measured.

    Raises: InvalidData for a broken file.
    """
    if not FILE.exists():
        return ()
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(
            _likeness(number, row)
            for number, row in enumerate(csv.DictReader(lines), start=2)
            if row["scenario"] == scenario_id
        )


def _likeness(number: int, row: Mapping[str, str]) -> Likeness:
    cosine = float(row["cosine"])
    if not math.isfinite(cosine):
        raise InvalidData(FILE.name, "is not a number", line=number, key="cosine")
    names = frozenset(name for name in row["guards"].split("|") if name)
    for name in sorted(names - ALL_GUARDS):
        raise InvalidData(FILE.name, f"no guard {name!r}", line=number, key="guards")
    refused_by = cast("frozenset[GuardId]", names)
    return Likeness(row["id_a"], row["id_b"], cosine, row["encoder"], refused_by)


@lru_cache(maxsize=8)
def asked(scenario_id: str, lang: Lang) -> tuple[Asked, ...]:
    """Return each request of a language without a conversation, with the others it is compared to.

    Each is asked against all the others: nobody asks the cached wording itself, which the exact
    layer would find.
    """
    found = scenario(scenario_id)
    alone = {r.id: r for r in found.requests if r.lang == lang and not r.history}
    near: dict[str, list[Neighbour]] = {request_id: [] for request_id in alone}
    for pair in likenesses(scenario_id):
        if pair.one in alone and pair.other in alone:
            for here, there in ((pair.one, pair.other), (pair.other, pair.one)):
                near[here].append(Neighbour(alone[there], pair.cosine, pair.refused_by))
    return tuple(
        Asked(alone[i], tuple(sorted(rows, key=lambda n: -n.cosine)[:NEIGHBOURS]))
        for i, rows in near.items()
    )


def encoder_of(found: Scenario, lang: Lang) -> str:
    """Return the encoder that the pairs of a language were measured with; empty where none were."""
    ids = {r.id for r in found.requests if r.lang == lang}
    return next((pair.encoder for pair in likenesses(found.id) if pair.one in ids), "")
