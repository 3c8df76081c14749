"""Predicted against measured: a calibrated engine's times beside those of the same plans, run.

Every case (the naive plan, techniques alone, sets of them) is run so many times, in random order
within each repeat, so that a machine that gets busier does not favour one of them. Services are not
measured: both sides take their published medians, so all that differs is the models' time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.compare import rewritten
from core.engines import warm_up
from core.errors import EngineError, InputError
from core.execute import Engine, Run, execute
from core.load import Capacity, under_load
from core.local.machine import watched
from core.metrics import Reader, metric
from core.plan import Plan
from core.profiles import Setting
from core.request import Request
from core.rewrite import Choice
from core.scenarios import Scenario
from core.techniques import choose
from core.timeline import Timeline
from core.workload import only

NAIVE = "naive"
METRICS = ("total_s", "first_visible_s")

Cases = Mapping[str, tuple[str, ...]]
"""Technique ids by the name of a case; the naive plan is added."""

OnRun = Callable[[str, str, int, int], None]
"""Told the pipeline, the case, and how many of how many runs are done."""

LIMIT_S = 900.0
"""Longest time of one run: on a busy machine a large local model needs minutes."""


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One metric of one case: the prediction, the median measured, and the range of its repeats."""

    scenario: str
    technique: str
    metric: str
    predicted_s: float
    measured_s: float
    low_s: float
    high_s: float
    repeats: int

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_s / self.measured_s - 1.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """All rows, with the noise of the machine meanwhile: shares of it that others used, 0..1.

    `requests` names the measured request of each pipeline, `failed` counts runs without an answer.
    """

    rows: tuple[AccuracyRow, ...]
    requests: tuple[str, ...]
    foreign: tuple[float, ...]
    failed: int

    def errors(self, metric_id: str) -> tuple[float, float]:
        """Median and p90 of the absolute error of one metric."""
        found = [abs(r.error) for r in self.rows if r.metric == metric_id]
        if not found:
            raise InputError(f"nothing was measured of {metric_id}")
        return statistics.median(found), float(np.percentile(found, 90))


async def accuracy(
    scenarios: Sequence[Scenario],
    cases: Cases,
    engine: Engine,
    setting: Setting,
    *,
    repeats: int,
    rng: np.random.Generator,
    capacity: Callable[[Plan], Capacity | None],
    tell: OnRun,
) -> Accuracy:
    """Predict and measure every case on the shortest English request of each pipeline.

    `setting` holds the calibrated models, `capacity` what calls of a plan share on this engine.

    Raises:
        EngineError: the warm-up failed, or no run of a case got an answer.
    """
    where = setting.at_median()
    await warm_up(engine)
    rows: list[AccuracyRow] = []
    foreign: list[float] = []
    failed, done, total = 0, 0, len(scenarios) * repeats * (len(cases) + 1)
    requests = []
    for of in scenarios:
        request = shortest(of, where)
        requests.append(f"{of.id} {request.id}")
        plans = _plans(of, cases, where)
        for plan in plans.values():
            if any(step.prompt_cache or step.predict for step in plan.llm_steps):
                await execute(plan, engine, where, only(of, request), limit_s=LIMIT_S)
        runs: dict[str, list[Run]] = {name: [] for name in plans}
        for _ in range(repeats):
            for position in rng.permutation(len(plans)):
                name = tuple(plans)[position]
                tell(of.id, name, done, total)
                with watched(foreign):
                    run = await execute(
                        plans[name], engine, where, only(of, request), limit_s=LIMIT_S
                    )
                runs[name].append(run)
                done += 1
        failed += sum(run.failed for found in runs.values() for run in found)
        for name, plan in plans.items():
            foreseen = predicted(plan, where, of, request, capacity(plan))
            rows += _rows(of.id, name, foreseen, runs[name])
    return Accuracy(tuple(rows), tuple(requests), tuple(foreign), failed)


def _plans(of: Scenario, cases: Cases, where: Setting) -> dict[str, Plan]:
    """Plans by case, without those in which nothing applies."""
    plans = {NAIVE: of.plan}
    for name, ids in cases.items():
        choices: tuple[Choice, ...] = choose(ids)
        plan, log = rewritten(of, choices, where)
        if any(entry.applied for entry in log):
            plans[name] = plan
    return plans


def shortest(of: Scenario, where: Setting) -> Request:
    """The answerable English request whose naive plan is predicted to take least."""
    able = [r for r in of.requests if r.lang == "en" and r.answerable]
    return min(able, key=lambda r: float(predicted(of.plan, where, of, r, None).total_s[0]))


def predicted(
    plan: Plan, where: Setting, of: Scenario, request: Request, capacity: Capacity | None
) -> Timeline:
    """The simulation of one request on its own, its calls sharing what they share."""
    return under_load(plan, where, only(of, request), capacity or Capacity()).timeline


def _rows(scenario: str, name: str, foreseen: Timeline, runs: Sequence[Run]) -> list[AccuracyRow]:
    """Rows of one case. Raises EngineError where no run got an answer."""
    answered = [run.timeline for run in runs if not run.failed]
    if not answered:
        errors = [run.error for run in runs if run.error is not None]
        raise errors[0] if errors else EngineError(f"{scenario} {name}: nothing was run")
    found = []
    for key in METRICS:
        compute = metric(key).compute
        values = [float(compute(t, Reader())[0]) for t in answered]
        middle = statistics.median(values)
        expected = float(compute(foreseen, Reader())[0])
        found.append(
            AccuracyRow(
                scenario, name, key, expected, middle, min(values), max(values), len(values)
            )
        )
    return found
