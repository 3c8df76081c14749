"""The best sets of techniques: all of them where that is possible, a beam of the best elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.advice.value import Bench, Outcome
from core.rewrite import Level
from core.techniques import technique

BEAM = 12
"""How many of the best sets of one size are grown to the next."""

EXHAUSTIVE_UP_TO = 8
"""Up to here every subset is valued."""

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
        found = technique(technique_id)
        risk: Level = bench.risks.get(technique_id, found.risk)
        if self.no_quality_risk and risk != "none":
            return False
        return not (self.no_infrastructure and found.infrastructure)

    def met(self, outcome: Outcome) -> bool:
        """Whether a set keeps the service level and the budget."""
        if self.budget_usd is not None and outcome.cost_usd > self.budget_usd:
            return False
        return self.slo_s is None or outcome.p95_s <= self.slo_s


@dataclass(frozen=True, slots=True)
class Advice:
    """The best set, whether it keeps the limits, the sets nothing else beats, and the way there.

    `roadmap` switches the best set on one by one, most gain per effort first.
    """

    naive: Outcome
    best: Outcome
    met: bool
    pareto: tuple[Outcome, ...]
    roadmap: tuple[Outcome, ...]
    considered: int
    simulated: int
    exhaustive: bool


def _silent(_: float) -> None:
    """Nobody listens."""


def advise(
    bench: Bench,
    limits: Limits,
    candidates: Iterable[str] | None = None,
    progress: Progress = _silent,
) -> Advice:
    """The best set under these limits among the candidates, the whole catalogue where none are named."""
    usable = [t for t in bench.useful(candidates) if limits.allows(bench, t)]
    most = len(usable) if limits.max_changes is None else min(limits.max_changes, len(usable))
    every = len(usable) <= EXHAUSTIVE_UP_TO
    found = list(
        _all_sets(bench, usable, most, progress)
        if every
        else _beam(bench, usable, most, progress)
    )
    fitting = [o for o in found if limits.met(o)]
    best = min(fitting or found, key=merit)
    return Advice(
        bench.outcome(()),
        best,
        bool(fitting),
        pareto(found),
        roadmap(bench, best.techniques),
        len(found),
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


def _beam(
    bench: Bench, usable: Sequence[str], most: int, progress: Progress
) -> Iterable[Outcome]:
    """Sets grown one technique at a time from the best of the size before.

    A step also looks two ahead through `streaming`, without which some others do nothing.
    """
    level = [bench.outcome(())]
    seen: set[frozenset[str]] = {frozenset()}
    yield level[0]
    for size in range(1, most + 1):
        grown: list[Outcome] = []
        for parent in level:
            for t in usable:
                chosen = parent.techniques | {t}
                if chosen not in seen:
                    seen.add(chosen)
                    grown.append(bench.outcome(chosen))
        if not grown:
            return
        yield from grown
        before = min(merit(o) for o in level)
        level = sorted(grown, key=merit)[:BEAM]
        progress(size / most)
        if merit(level[0])[:2] > before[:2] and size > 2:
            return  # one more change only makes it worse


def pareto(found: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Sets that no other beats in wait, cost and risk at once, fastest first."""
    kept: list[Outcome] = []
    for one in sorted(found, key=lambda o: (o.p50_s, o.cost_usd, o.risk, o.effort)):
        beaten = any(
            k.p50_s <= one.p50_s and k.cost_usd <= one.cost_usd and k.risk <= one.risk
            for k in kept
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
        following = max((bench.outcome(here.techniques | {t}) for t in left),
                        key=lambda o: (gain_per_effort(here, o), sorted(o.techniques)))
        steps.append(following)
        left -= following.techniques
        here = following
    return tuple(steps)


def gain_per_effort(before: Outcome, after: Outcome) -> float:
    """Seconds of the median won per unit of effort; no effort counts as half a unit."""
    return (before.p50_s - after.p50_s) / max(after.effort - before.effort, 0.5)


def next_steps(bench: Bench, now: Iterable[str], limits: Limits) -> tuple[Outcome, ...]:
    """Every single step from here, best first: what one more technique would bring."""
    here = frozenset(now)
    options = [t for t in bench.useful() if t not in here and limits.allows(bench, t)]
    return tuple(sorted((bench.outcome(here | {t}) for t in options), key=merit))
