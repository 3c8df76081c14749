"""What a set of techniques is worth: simulated once on common random numbers, then remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from core.compare import rewritten
from core.dists import Array
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

ADVICE_SEED = 0

ADVISED: Mapping[str, Mapping[str, object]] = {"predicted_output": {"what_if": False}}
"""Parameters that differ from the defaults: nothing is advised that the models do not offer."""

WEIGHT: dict[Level, int] = {"none": 0, "low": 1, "medium": 2, "high": 3}
"""Classes of effort and risk as numbers, to add up and to compare."""

Goal = Literal["reader_wait_s", "first_useful_s", "total_s"]
GOALS: tuple[Goal, ...] = get_args(Goal)

Levels = Mapping[str, Level]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One set of techniques: its times (median and p95 over requests), mean cost, effort, risk.

    `failed` is the share of requests without an answer. The median is of those with one; in the
    p95 the others count as never answered, so it is inf where more than one in 20 fails.
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


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one plan did: each goal's times (n,), NaN without an answer, and the mean cost."""

    times: Mapping[Goal, Array]
    cost_usd: float


@dataclass(slots=True, eq=False)
class Runs:
    """Plans of one pipeline run on the same n requests, each once; safe to share by threads."""

    scenario: Scenario
    setting: Setting
    reader: Reader = field(default_factory=Reader)
    n: int = ADVICE_N
    workload: Workload = field(init=False)
    _by_plan: dict[Plan, Run] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.workload = stream(self.scenario, self.n)

    @property
    def simulated(self) -> int:
        """How many different plans have been simulated."""
        return len(self._by_plan)

    def run(self, plan: Plan) -> Run:
        """Run the plan, or remember how it ran."""
        with self._lock:
            if plan not in self._by_plan:
                self._by_plan[plan] = self._simulated(plan)
            return self._by_plan[plan]

    def _simulated(self, plan: Plan) -> Run:
        timeline = simulate(plan, self.setting, self.workload, seed=ADVICE_SEED)
        times = {goal: metric(goal).compute(timeline, self.reader) for goal in GOALS}
        cost = metric("cost_usd").compute(timeline, self.reader)
        return Run(times, float(np.nanmean(cost)))


@dataclass(slots=True, eq=False)
class Bench:
    """One pipeline, one setting, one workload on which sets of techniques are compared.

    `efforts` and `risks` override the catalogue's by technique id. Sets that make the same plan are
    simulated once; benches that differ only in goal, limits and classes may share their `runs`.
    """

    scenario: Scenario
    setting: Setting
    reader: Reader = field(default_factory=Reader)
    goal: Goal = "reader_wait_s"
    slo_s: float = 2.0
    n: int = ADVICE_N
    efforts: Levels = field(default_factory=dict)
    risks: Levels = field(default_factory=dict)
    runs: Runs | None = None
    _runs: Runs = field(init=False)
    _by_set: dict[frozenset[str], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._runs = self.runs or Runs(self.scenario, self.setting, self.reader, self.n)

    def outcome(self, techniques: Iterable[str]) -> Outcome:
        """What this set is worth. Raises UnknownName."""
        ids = frozenset(techniques)
        if ids not in self._by_set:
            self._by_set[ids] = self._made(ids)
        return self._by_set[ids]

    @property
    def simulated(self) -> int:
        """How many different plans have been simulated."""
        return self._runs.simulated

    def effort(self, technique_id: str) -> Level:
        """What class of work it is to put a technique in."""
        return self.efforts.get(technique_id, technique(technique_id).effort)

    def risk(self, technique_id: str) -> Level:
        """What class of harm a technique may do to answers."""
        return self.risks.get(technique_id, technique(technique_id).risk)

    def _made(self, ids: frozenset[str]) -> Outcome:
        run = self._runs.run(self._plan(ids))
        waits = run.times[self.goal]
        ok = ~np.isnan(waits)
        p50 = np.median(waits[ok]) if ok.any() else np.inf
        p95 = np.percentile(np.where(ok, waits, np.inf), 95, method="higher")
        return Outcome(
            ids,
            float(p50),
            float(p95),
            run.cost_usd,
            float(np.mean(ok & (waits <= self.slo_s))),
            float(np.mean(~ok)),
            sum(WEIGHT[self.effort(t)] for t in ids),
            max((WEIGHT[self.risk(t)] for t in ids), default=0),
            any(technique(t).infrastructure for t in ids),
        )

    def _plan(self, ids: frozenset[str]) -> Plan:
        return rewritten(self.scenario, choose(sorted(ids), ADVISED), self.setting)[0]

    def useful(self, candidates: Iterable[str] | None = None) -> tuple[str, ...]:
        """The candidates that change the plan, alone or on top of streaming; others are pruned."""
        ids = [t.id for t in TECHNIQUES] if candidates is None else list(candidates)
        bases: tuple[frozenset[str], ...] = (frozenset(), frozenset({"streaming"}))
        return tuple(
            t for t in ids if any(self._plan(b) != self._plan(b | {t}) for b in bases if t not in b)
        )
