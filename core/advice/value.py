"""What a set of techniques is worth: simulated once on common random numbers, then remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core.compare import rewritten
from core.metrics import Reader, metric
from core.plan import Plan
from core.profiles import Setting
from core.rewrite import Level
from core.scenarios import Scenario
from core.simulate import simulate
from core.techniques import TECHNIQUES, choose, technique
from core.workload import Workload, stream

ADVICE_N = 200
"""Requests per set. Enough for an order of merit: all sets meet the same requests and luck."""

WEIGHT: dict[Level, int] = {"none": 0, "low": 1, "medium": 2, "high": 3}
"""Classes of effort and risk as numbers, to add up and to compare."""

Goal = Literal["reader_wait_s", "first_useful_s", "total_s"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One set of techniques: its times (median and p95 over requests), mean cost, effort, risk.

    `failed` is the share of requests without an answer; times are of those with one.
    """

    techniques: frozenset[str]
    p50_s: float
    p95_s: float
    cost_usd: float
    within_slo: float
    failed: float
    effort: int
    risk: int
    infrastructure: bool

    @property
    def changes(self) -> int:
        """How many techniques."""
        return len(self.techniques)


@dataclass(slots=True, eq=False)
class Bench:
    """One pipeline, one setting, one workload on which sets of techniques are compared.

    `levels` overrides the catalogue's effort and risk by technique id. Sets that make the same plan
    are simulated once.
    """

    scenario: Scenario
    setting: Setting
    reader: Reader = field(default_factory=Reader)
    goal: Goal = "reader_wait_s"
    slo_s: float = 2.0
    n: int = ADVICE_N
    efforts: dict[str, Level] = field(default_factory=dict)
    risks: dict[str, Level] = field(default_factory=dict)
    workload: Workload = field(init=False)
    _by_plan: dict[Plan, tuple[float, float, float, float, float]] = field(default_factory=dict)
    _by_set: dict[frozenset[str], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workload = stream(self.scenario, self.n)

    def outcome(self, techniques: Iterable[str]) -> Outcome:
        """What this set is worth. Raises UnknownName."""
        ids = frozenset(techniques)
        if ids not in self._by_set:
            self._by_set[ids] = self._made(ids)
        return self._by_set[ids]

    @property
    def simulated(self) -> int:
        """How many different plans have been simulated."""
        return len(self._by_plan)

    def _made(self, ids: frozenset[str]) -> Outcome:
        plan, _ = rewritten(self.scenario, choose(sorted(ids)), self.setting)
        if plan not in self._by_plan:
            self._by_plan[plan] = self._measured(plan)
        p50, p95, cost, within, failed = self._by_plan[plan]
        return Outcome(
            ids,
            p50,
            p95,
            cost,
            within,
            failed,
            sum(WEIGHT[self.efforts.get(t, technique(t).effort)] for t in ids),
            max((WEIGHT[self.risks.get(t, technique(t).risk)] for t in ids), default=0),
            any(technique(t).infrastructure for t in ids),
        )

    def _measured(self, plan: Plan) -> tuple[float, float, float, float, float]:
        timeline = simulate(plan, self.setting, self.workload)
        waits = metric(self.goal).compute(timeline, self.reader)
        cost = metric("cost_usd").compute(timeline, self.reader)
        ok = ~np.isnan(waits)
        if not ok.any():
            return (np.inf, np.inf, float(np.nanmean(cost)), 0.0, 1.0)
        return (
            float(np.median(waits[ok])),
            float(np.percentile(waits[ok], 95)),
            float(np.nanmean(cost)),
            float(np.mean(ok & (waits <= self.slo_s))),
            float(np.mean(~ok)),
        )

    def useful(self, candidates: Iterable[str] | None = None) -> tuple[str, ...]:
        """The candidates that change the plan, alone or on top of streaming; others are pruned."""
        ids = [t.id for t in TECHNIQUES] if candidates is None else list(candidates)
        bases: tuple[frozenset[str], ...] = (frozenset(), frozenset({"streaming"}))

        def plan(chosen: frozenset[str]) -> Plan:
            return rewritten(self.scenario, choose(sorted(chosen)), self.setting)[0]

        return tuple(t for t in ids if any(plan(b) != plan(b | {t}) for b in bases if t not in b))
