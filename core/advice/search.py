"""The best sets of techniques: all of them where that is possible, found by climbing elsewhere."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.advice.climb import Climber, Score
from core.advice.value import WEIGHT, Bench, Outcome
from core.techniques import technique

EXHAUSTIVE_UP_TO = 8
"""Up to here every subset is valued."""

MONEY_WEIGHTS = (0.1, 0.3, 1.0, 3.0)
"""How much a cost of the naive plan's size counts against a wait of its size: for the front."""

EXCESS_WEIGHT = 100.0
"""A limit missed by so little as 1 % counts like a wait as long as the naive plan's."""

NEVER_S = 3600.0
"""Longer than any plan takes: what stands for a p95 that is no time at all."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the best set must keep: all None or False means no limit."""

    slo_s: float | None = None
    budget_usd: float | None = None
    max_changes: int | None = None
    no_quality_risk: bool = False
    no_infrastructure: bool = False

    def allows(self, bench: Bench, technique_id: str) -> bool:
        """Whether a technique may be used at all."""
        if self.no_quality_risk and bench.risk(technique_id) != "none":
            return False
        return not (self.no_infrastructure and technique(technique_id).infrastructure)

    def met(self, outcome: Outcome) -> bool:
        """Whether a set keeps the service level and the budget."""
        return self.excess(outcome) == 0.0

    def excess(self, outcome: Outcome) -> float:
        """By which shares of the limits a set exceeds them, added up; 0 where it keeps them.

        A set that leaves more than one request in 20 without an answer is the further from the
        service level the more it leaves.
        """
        slow_s = NEVER_S + outcome.failed if math.isinf(outcome.p95_s) else outcome.p95_s
        pairs = ((slow_s, self.slo_s), (outcome.cost_usd, self.budget_usd))
        return sum(max(0.0, have / limit - 1.0) for have, limit in pairs if limit is not None)


@dataclass(frozen=True, slots=True)
class Advice:
    """The best set, whether it keeps the limits, the sets nothing else beats, and the way there.

    Where no set keeps the limits, the best one is that which exceeds them least.
    `roadmap` switches the best set on one by one, most gain per effort first. `tried` are all sets
    that were valued, `simulated` counts the different plans they make.
    """

    naive: Outcome
    best: Outcome
    met: bool
    pareto: tuple[Outcome, ...]
    roadmap: tuple[Outcome, ...]
    tried: tuple[Outcome, ...]
    simulated: int
    exhaustive: bool

    @property
    def considered(self) -> int:
        """How many sets were valued."""
        return len(self.tried)


def _silent(_: float) -> None:
    """Nobody listens."""


def advise(
    bench: Bench,
    limits: Limits,
    candidates: Iterable[str] | None = None,
    progress: Progress = _silent,
) -> Advice:
    """The best set under these limits, of the candidates or of the whole catalogue.

    What `progress` raises ends the search.
    """
    usable = [t for t in bench.useful(candidates) if limits.allows(bench, t)]
    most = len(usable) if limits.max_changes is None else min(limits.max_changes, len(usable))
    every = len(usable) <= EXHAUSTIVE_UP_TO
    if every:
        found = list(_all_sets(bench, usable, most, progress))
    else:
        found = _climbed(bench, limits, usable, most, progress)
    best = min(found, key=lambda o: (limits.excess(o), *merit(o)))
    return Advice(
        bench.outcome(()),
        best,
        limits.met(best),
        pareto(found),
        roadmap(bench, best.techniques),
        tuple(found),
        bench.simulated,
        every,
    )


def merit(outcome: Outcome) -> tuple[float, ...]:
    """Smaller is better: the median to a hundredth of a second, then the tail, effort, cost."""
    return (
        outcome.failed > 0.5,
        round(outcome.p50_s, 2),
        outcome.risk,
        outcome.effort,
        round(outcome.p95_s, 2),
        outcome.cost_usd,
    )


def _all_sets(
    bench: Bench, usable: Sequence[str], most: int, progress: Progress
) -> Iterable[Outcome]:
    sets = [c for size in range(most + 1) for c in itertools.combinations(usable, size)]
    for done, chosen in enumerate(sets, start=1):
        yield bench.outcome(chosen)
        progress(done / len(sets))


# --- among many ----------------------------------------------------------------------------------


def _climbed(
    bench: Bench, limits: Limits, usable: Sequence[str], most: int, progress: Progress
) -> list[Outcome]:
    """Every set valued on the way to the fastest one, and to careful and to cheap ones."""
    pace = _Pace(progress)
    climber = Climber(bench, usable, most, pace.step)
    naive = climber.value(())

    def fast(outcome: Outcome) -> float:
        return outcome.p50_s + EXCESS_WEIGHT * naive.p50_s * limits.excess(outcome)

    def fastest_first(outcome: Outcome) -> tuple[float, ...]:
        return (limits.excess(outcome), *merit(outcome))

    pace.stage(0.2, typical=100)
    top = climber.up((), fast)
    pace.stage(0.3, typical=50)
    climber.usable = climber.promising(((), {"streaming"} & set(usable), top.techniques))
    pace.stage(0.75, typical=250)
    climber.exchanged(top, fast, fastest_first)
    pace.stage(1.0, typical=200)
    for score, without in _others(bench, climber.usable, naive, fast):
        climber.up((), score, without)
    progress(1.0)
    return [o for o in climber.found.values() if o.changes <= most]


def _others(
    bench: Bench, usable: Sequence[str], naive: Outcome, fast: Score
) -> Iterator[tuple[Score, list[str]]]:
    """What else to climb for, and without what: the fastest with less risk, and cheaper ones."""
    for level in sorted(WEIGHT.values()):
        risky = [t for t in usable if bench.outcome((t,)).risk > level]
        if risky:
            yield fast, risky
    for weight in MONEY_WEIGHTS if naive.cost_usd else ():
        yield _priced(weight * naive.p50_s / naive.cost_usd), []


def _priced(seconds_per_usd: float) -> Score:
    return lambda outcome: outcome.p50_s + seconds_per_usd * outcome.cost_usd


@dataclass(slots=True)
class _Pace:
    """Turns the steps of a search of unknown length into a share, stage by stage.

    After a stage's typical number of steps three quarters of its share are gone.
    """

    progress: Progress
    start: float = 0.0
    end: float = 0.0
    typical: int = 1
    steps: int = 0

    def stage(self, end: float, *, typical: int) -> None:
        """Begin a stage that ends at this share of the whole."""
        self.start, self.end, self.typical, self.steps = self.end, end, typical, 0

    def step(self) -> None:
        """One more set."""
        self.steps += 1
        gone = 1.0 - 0.25 ** (self.steps / self.typical)
        self.progress(self.start + (self.end - self.start) * gone)


# --- what is told about the sets -----------------------------------------------------------------


def pareto(found: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Sets that no other beats in wait, cost and risk at once, fastest first."""
    kept: list[Outcome] = []
    for one in sorted(found, key=lambda o: (o.p50_s, o.cost_usd, o.risk, o.effort)):
        beaten = any(
            k.p50_s <= one.p50_s and k.cost_usd <= one.cost_usd and k.risk <= one.risk for k in kept
        )
        if not beaten:
            kept.append(one)
    return tuple(kept)


def roadmap(bench: Bench, techniques: Iterable[str]) -> tuple[Outcome, ...]:
    """The set switched on one by one: each time the most seconds won per unit of effort."""
    left = set(techniques)
    here = bench.outcome(())
    steps: list[Outcome] = []
    while left:
        options = [bench.outcome(here.techniques | {t}) for t in left]
        gains = [(gain_per_effort(here, o), sorted(o.techniques), o) for o in options]
        following = max(gains, key=lambda gain: gain[:2])[2]
        steps.append(following)
        left -= following.techniques
        here = following
    return tuple(steps)


def in_order(bench: Bench, techniques: Iterable[str]) -> tuple[Outcome, ...]:
    """The techniques switched on one after the other, in the order given."""
    sets = itertools.accumulate(techniques, lambda on, t: on | {t}, initial=frozenset[str]())
    return tuple(bench.outcome(on) for on in sets)[1:]


def gain_per_effort(before: Outcome, after: Outcome) -> float:
    """Seconds of the median won per unit of effort; no effort counts as half a unit."""
    return (before.p50_s - after.p50_s) / max(after.effort - before.effort, 0.5)


def next_steps(
    bench: Bench, now: Iterable[str], limits: Limits, candidates: Iterable[str] | None = None
) -> tuple[Outcome, ...]:
    """Every single step from here, best first: what one more technique would bring."""
    here = frozenset(now)
    options = [t for t in bench.useful(candidates) if t not in here and limits.allows(bench, t)]
    return tuple(sorted((bench.outcome(here | {t}) for t in options), key=merit))
