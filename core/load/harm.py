"""Techniques that cost under load: what they save alone, they take from all others.

A technique that makes calls besides those it helps (a hedge, a speculation, more parts) is fast
while there are places to spare. Here each such technique is left out, under the same load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.compare import rewritten
from core.load import Capacity, under_load
from core.metrics import Reader, metric, summary
from core.profiles import Setting
from core.rewrite import Choice
from core.scenarios import Scenario
from core.simulate import simulate
from core.workload import Workload

NOTICED = 0.01
"""A p95 that is longer by less than this share is no loss."""


@dataclass(frozen=True, slots=True)
class Harm:
    """A technique with which p95 is longer than without it, under this load.

    `more_calls`: how many more calls a request makes with it, as a share; `used`: share of the pool
    in use with it, None without a pool.
    """

    technique: str
    with_s: float
    without_s: float
    more_calls: float
    used: float | None


def harms(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    workload: Workload,
    capacity: Capacity,
    metric_id: str,
    reader: Reader,
    *,
    seed: int = 0,
) -> tuple[Harm, ...]:
    """Those of the chosen techniques that make more calls and are a loss under this load."""
    m = metric(metric_id)
    whole, _ = rewritten(scenario, choices, setting)
    calls = simulate(whole, setting, workload, seed=seed).usage.calls.sum()
    full = under_load(whole, setting, workload, capacity, seed=seed)
    p95 = summary(m.compute(full.timeline, reader)).p95
    found = []
    for choice in choices:
        rest = tuple(c for c in choices if c is not choice)
        plan, _ = rewritten(scenario, rest, setting)
        fewer = simulate(plan, setting, workload, seed=seed).usage.calls.sum()
        if plan == whole or calls <= fewer or p95 is None:
            continue
        less = under_load(plan, setting, workload, capacity, seed=seed)
        without = summary(m.compute(less.timeline, reader)).p95
        if without is not None and p95 > without * (1 + NOTICED):
            more = full.timeline.usage.calls.sum() / less.timeline.usage.calls.sum() - 1
            found.append(Harm(choice.technique.id, p95, without, float(more), full.load.used))
    return tuple(sorted(found, key=lambda h: h.without_s / h.with_s))


@dataclass(frozen=True, slots=True)
class Point:
    """A plan at one rate of arrivals: its p95 in seconds, None with too few answers."""

    rate_per_s: float
    p95_s: float | None


SHARES = (0.1, 0.5, 0.65, 0.8, 0.9, 0.97, 1.05)
"""Rates of a curve, as shares of what the plan can bear."""


def rates(bearable_per_s: float) -> tuple[float, ...]:
    """Rates from next to nothing to more than a plan can bear; none where it can bear anything."""
    return tuple(bearable_per_s * s for s in SHARES) if np.isfinite(bearable_per_s) else ()
