"""What a person is looking at: both plans under one load, and a limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from core.compare import Comparison, rewritten
from core.dists import Array
from core.faults import Faults, with_faults
from core.load import Capacity, Load, compare_under_load, under_load
from core.load.harm import Harm, Point, harms, rates
from core.metrics import Reader, metric, summary
from core.plan import Plan
from core.profiles import Setting
from core.rewrite import Choice
from core.scenarios import Scenario
from core.tails import Parts, parts
from core.text import Lang
from core.workload import stream

TAIL_N, SEED = 1000, 0
"""Requests behind the page's figures and behind each point of a curve: near saturation a p95 grows
with how long one watches, so figures from fewer would not fit each other."""

LIMITED = ("total_s", "first_visible_s", "first_useful_s", "reader_wait_s")
"""Metrics a limit can be on."""


@dataclass(frozen=True, slots=True)
class TailView:
    """Pipeline and techniques, the load, faults of searches outside, and a limit. Hashable.

    `setting` is without the faults.
    """

    scenario: Scenario
    choices: tuple[Choice, ...]
    setting: Setting
    reader: Reader
    rate_per_s: float
    capacity: Capacity
    faults: Faults
    metric_id: str
    slo_s: float
    lang: Lang

    @property
    def faulty(self) -> Setting:
        """The setting with the faults."""
        return with_faults(self.setting, self.scenario.plan, self.faults)

    @property
    def loaded(self) -> tuple[Comparison, Load, Load]:
        """Both plans under the load."""
        return _loaded(self.scenario, self.choices, self.faulty, self.rate_per_s, self.capacity)

    @property
    def values(self) -> tuple[Array, Array]:
        """What the limit is on, before and after, (n,)."""
        found, m = self.loaded[0], metric(self.metric_id)
        return m.compute(found.before, self.reader), m.compute(found.after, self.reader)

    @property
    def parts(self) -> tuple[Parts, Parts]:
        """Both plans' time along the critical path: to the end, or to the first visible answer."""
        return _parts(replace(self, slo_s=0.0, lang="en"))

    @property
    def harms(self) -> tuple[Harm, ...]:
        """Techniques that are a loss under this load."""
        return _harms(replace(self, slo_s=0.0, lang="en"))

    @property
    def plans(self) -> tuple[Plan, Plan]:
        """Before and after."""
        return self.scenario.plan, rewritten(self.scenario, self.choices, self.faulty)[0]

    @property
    def curves(self) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
        """p95 against arrivals, before and after, with what is known of the chosen rate."""
        _, before, after = self.loaded
        one, other = (
            _curve(self, plan, load.bearable_per_s, summary(values).p95)
            for plan, load, values in zip(self.plans, (before, after), self.values, strict=True)
        )
        return one, other

    @property
    def to_first(self) -> bool:
        """Whether the limit is on something before the end of the work."""
        return self.metric_id != "total_s"


@lru_cache(maxsize=32)
def _loaded(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    rate_per_s: float,
    capacity: Capacity,
) -> tuple[Comparison, Load, Load]:
    workload = stream(scenario, TAIL_N, seed=SEED, rate_per_s=rate_per_s)
    return compare_under_load(scenario, choices, setting, workload, capacity, seed=SEED)


@lru_cache(maxsize=32)
def _parts(view: TailView) -> tuple[Parts, Parts]:
    found = view.loaded[0]
    before = parts(found.before, to_first_visible=view.to_first)
    return before, parts(found.after, to_first_visible=view.to_first)


@lru_cache(maxsize=32)
def _harms(view: TailView) -> tuple[Harm, ...]:
    workload = stream(view.scenario, TAIL_N, seed=SEED, rate_per_s=view.rate_per_s)
    return harms(
        view.scenario,
        view.choices,
        view.faulty,
        workload,
        view.capacity,
        view.metric_id,
        view.reader,
        seed=SEED,
    )


def _curve(
    view: TailView, plan: Plan, bearable_per_s: float, now_s: float | None
) -> tuple[Point, ...]:
    rated = rates(bearable_per_s)
    points = _points(
        plan, view.scenario, view.faulty, view.capacity, rated, view.metric_id, view.reader
    )
    here = Point(view.rate_per_s, now_s)
    return tuple(sorted((*points, here), key=lambda p: p.rate_per_s))


@lru_cache(maxsize=64)
def _points(
    plan: Plan,
    scenario: Scenario,
    setting: Setting,
    capacity: Capacity,
    rated: tuple[float, ...],
    metric_id: str,
    reader: Reader,
) -> tuple[Point, ...]:
    m, found = metric(metric_id), []
    for rate in rated:
        workload = stream(scenario, TAIL_N, seed=SEED, rate_per_s=rate)
        timeline = under_load(plan, setting, workload, capacity, seed=SEED).timeline
        found.append(Point(rate, summary(m.compute(timeline, reader)).p95))
    return tuple(found)
