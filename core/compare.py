"""Before and after on one workload and one seed: what every page, command and report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.metrics import Change, Reader, change, metric
from core.plan import Plan
from core.profiles import Setting
from core.request import Request
from core.rewrite import Choice, Context, LogEntry, apply
from core.scenarios import Scenario
from core.simulate import simulate
from core.timeline import Timeline
from core.workload import Workload, asked_before, only


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two timelines of the same requests and the log of what made the difference."""

    before: Timeline
    after: Timeline
    log: tuple[LogEntry, ...]

    def change(self, metric_id: str, reader: Reader, *, seed: int = 0) -> Change | None:
        """The paired change of one metric with its interval."""
        m = metric(metric_id)
        a, b = m.compute(self.before, reader), m.compute(self.after, reader)
        return change(a, b, rng=np.random.default_rng((seed, 0xB007)))


@lru_cache(maxsize=4096)
def rewritten(
    scenario: Scenario, choices: tuple[Choice, ...], setting: Setting
) -> tuple[Plan, tuple[LogEntry, ...]]:
    """The scenario's plan under these choices, and the log.

    What the choices before the last one did is remembered, so neighbouring sets cost one rewrite.
    """
    if not choices:
        return scenario.plan, ()
    plan, log = rewritten(scenario, choices[:-1], setting)
    plan, last = apply(plan, choices[-1:], Context(scenario, setting))
    return plan, log + last


def compare(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    workload: Workload,
    *,
    seed: int = 0,
) -> Comparison:
    """The naive plan against the plan with these choices, on paired samples."""
    plan, log = rewritten(scenario, choices, setting)
    before = simulate(scenario.plan, setting, workload, seed=seed)
    after = before if plan == scenario.plan else simulate(plan, setting, workload, seed=seed)
    return Comparison(before, after, log)


def typical(
    scenario: Scenario,
    request: Request,
    choices: tuple[Choice, ...],
    setting: Setting,
    *,
    repeated: bool = False,
) -> Comparison:
    """One request with every latency at its median: the last row is the one to show.

    `repeated`: it has been asked a minute before, so caches may know it.
    """
    workload = asked_before(scenario, request) if repeated else only(scenario, request)
    return compare(scenario, choices, setting.at_median(), workload)


@dataclass(frozen=True, slots=True)
class Gain:
    """What one technique is worth: alone, and within the set (what is lost without it).

    Medians of the paired change of one metric; negative is better for times. None where it does
    not apply.
    """

    technique: str
    alone: Change | None
    within: Change | None


def gains(
    scenario: Scenario,
    choices: Sequence[Choice],
    setting: Setting,
    workload: Workload,
    metric_id: str,
    reader: Reader,
    *,
    seed: int = 0,
) -> tuple[Gain, ...]:
    """The worth of each chosen technique, alone and within the set."""
    values = {
        plan: metric(metric_id).compute(simulate(plan, setting, workload, seed=seed), reader)
        for plan in _plans_for_gains(scenario, choices, setting)
    }
    rng = np.random.default_rng((seed, 0xB007))
    everything = tuple(choices)
    full = values[rewritten(scenario, everything, setting)[0]]
    found = []
    for choice in choices:
        alone_plan, alone_log = rewritten(scenario, (choice,), setting)
        rest = tuple(c for c in everything if c is not choice)
        rest_plan, _ = rewritten(scenario, rest, setting)
        alone = change(values[scenario.plan], values[alone_plan], rng=rng)
        within = change(values[rest_plan], full, rng=rng)
        used = alone_log[0].applied or rest_plan != rewritten(scenario, everything, setting)[0]
        found.append(
            Gain(
                choice.technique.id,
                alone if alone_log[0].applied else None,
                within if used else None,
            )
        )
    return tuple(found)


def _plans_for_gains(
    scenario: Scenario, choices: Sequence[Choice], setting: Setting
) -> dict[Plan, None]:
    sets = [(), tuple(choices), *((c,) for c in choices)]
    sets += [tuple(c for c in choices if c is not left) for left in choices]
    return dict.fromkeys(rewritten(scenario, s, setting)[0] for s in sets)
