"""Good sets among too many to try all: climb by the best next change, then exchange what is weak.

A climb adds, one at a time, the technique that lowers the score most. It tries the ones that helped
most before first, and stops looking once a fresh figure beats all remembered ones (lazy greedy;
source: Minoux 1978). Memory can be wrong here, since some techniques only work on top of others, so
everything is tried afresh before a climb ends. Then each member is taken out in turn and the climb
goes on without it; that frees a climb from what looked good alone but stands in the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from core.advice.value import Bench, Outcome

SMALLEST_GAIN_S = 0.01
"""A change that lowers the score by less is not worth making. Assumption: nobody notices it."""

Score = Callable[[Outcome], float]
Key = Callable[[Outcome], tuple[float, ...]]


@dataclass(slots=True)
class Climber:
    """Climbs over the sets of `usable` with at most `most` members; remembers all it has valued.

    `tell` is called at every new set; what it raises ends the search.
    """

    bench: Bench
    usable: Sequence[str]
    most: int
    tell: Callable[[], None]
    found: dict[frozenset[str], Outcome] = field(default_factory=dict)

    def value(self, techniques: Collection[str]) -> Outcome:
        """What a set is worth."""
        ids = frozenset(techniques)
        if ids not in self.found:
            self.tell()
            self.found[ids] = self.bench.outcome(ids)
        return self.found[ids]

    def promising(self, bases: Iterable[Collection[str]]) -> tuple[str, ...]:
        """The techniques that save time or money on top of some base (or by being in it)."""
        pairs = [
            (t, self.value(set(base) - {t}), self.value({*base, t}))
            for base in bases
            for t in self.usable
        ]
        kept = {t for t, without, with_it in pairs if _helps(without, with_it)}
        return tuple(t for t in self.usable if t in kept)

    def up(self, start: Collection[str], score: Score, without: Collection[str] = ()) -> Outcome:
        """Add what lowers the score most, again and again, for as long as something does."""
        here = self.value(start)
        gain = dict.fromkeys((t for t in self.usable if t not in {*start, *without}), math.inf)
        while gain and here.changes < self.most:
            best = self._best_next(here, gain, score)
            if gain[best] < SMALLEST_GAIN_S:
                break
            here = self.value({*here.techniques, best})
            del gain[best]
        return here

    def _best_next(self, here: Outcome, gain: dict[str, float], score: Score) -> str:
        """The best technique to add, and its gain brought up to date."""
        fresh: set[str] = set()
        while True:
            best = max(gain, key=gain.__getitem__)
            settled = gain[best] >= SMALLEST_GAIN_S or len(fresh) == len(gain)
            if best in fresh and settled:
                return best
            tried = best if best not in fresh else next(t for t in gain if t not in fresh)
            after = self.value({*here.techniques, tried})
            gain[tried] = score(here) - score(after) if math.isfinite(score(after)) else -math.inf
            fresh.add(tried)

    def exchanged(self, start: Outcome, score: Score, key: Key) -> Outcome:
        """Take each member out once and climb again without it; keep what has the smaller key.

        One round: in the shipped pipelines a second one wins less than a hundredth of a second.
        """
        here = start
        for member in sorted(start.techniques):
            if member in here.techniques:
                rest = here.techniques - {member}
                here = min(here, self.up(rest, score, without=(member,)), key=key)
        return here


def _helps(without: Outcome, with_it: Outcome) -> bool:
    """Whether the median, the slow end or the money gets noticeably less."""
    return (
        without.p50_s - with_it.p50_s >= SMALLEST_GAIN_S
        or without.p95_s - with_it.p95_s >= SMALLEST_GAIN_S
        or with_it.cost_usd <= 0.99 * without.cost_usd
    )
