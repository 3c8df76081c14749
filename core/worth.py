"""What each switched-on technique is worth, and for how many requests.

A median hides what helps only some: a cache that serves every fifth request changes no median.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.compare import Gain, gains, rewritten
from core.dists import Array
from core.metrics import Reader, metric
from core.profiles import Setting
from core.rewrite import Choice
from core.scenarios import Scenario
from core.simulate import simulate
from core.text import Note
from core.timeline import Timeline
from core.workload import Workload


@dataclass(frozen=True, slots=True)
class Reach:
    """Shares of requests that get better and worse, and by how much (median of each group).

    `better_by` and `worse_by` are positive amounts in the metric's unit, 0 for an empty group.
    """

    better: float
    better_by: float
    worse: float
    worse_by: float


@dataclass(frozen=True, slots=True)
class Worth:
    """One technique's gain; why it is idle alone or in the set, if it is; whom it reaches there."""

    gain: Gain
    idle_alone: Note | None
    idle_within: Note | None
    reach: Reach | None

    @property
    def technique(self) -> str:
        """Its id."""
        return self.gain.technique


def worths(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    workload: Workload,
    *,
    metric_id: str,
    reader: Reader,
    seed: int = 0,
) -> tuple[Worth, ...]:
    """Return the worth of each choice, in their order."""
    found = gains(scenario, choices, setting, workload, metric_id, reader, seed=seed)
    full_plan, log = rewritten(scenario, choices, setting)
    better = metric(metric_id).better

    def values(chosen: tuple[Choice, ...]) -> Array:
        plan = rewritten(scenario, chosen, setting)[0]
        timeline = simulate(plan, setting, workload, seed=seed)
        return metric(metric_id).compute(timeline, reader)

    full = values(choices) if choices else np.empty(0)
    made = []
    for choice, gain, entry in zip(choices, found, log, strict=True):
        _, alone = rewritten(scenario, (choice,), setting)
        rest = tuple(c for c in choices if c is not choice)
        used = entry.applied and rewritten(scenario, rest, setting)[0] != full_plan
        reached = reach(values(rest), full, better=better) if used else None
        made.append(Worth(gain, alone[0].reason, entry.reason, reached))
    return tuple(made)


def one_by_one(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    workload: Workload,
    *,
    seed: int = 0,
) -> Iterator[Timeline]:
    """The naive program, then the choices switched on one after the other, in order of application.

    All on the same requests and luck, so what lies between two of them is the step and not noise.
    """
    for count in range(len(choices) + 1):
        plan, _ = rewritten(scenario, choices[:count], setting)
        yield simulate(plan, setting, workload, seed=seed)


def reach(before: Array, after: Array, *, better: str = "lower") -> Reach | None:
    """Who gains and who loses on the way from `before` to `after`, (n,) each; None without pairs.

    Changes below a millionth of the value are rounding.
    """
    ok = ~(np.isnan(before) | np.isnan(after))
    if not ok.any():
        return None
    saved = before[ok] - after[ok] if better == "lower" else after[ok] - before[ok]
    noise = 1e-6 * np.maximum(np.abs(before[ok]), np.abs(after[ok]))
    up, down = saved[saved > noise], -saved[saved < -noise]
    n = len(saved)
    return Reach(
        len(up) / n,
        float(np.median(up)) if len(up) else 0.0,
        len(down) / n,
        float(np.median(down)) if len(down) else 0.0,
    )
