"""Many requests at once: model calls share connections, a provider's limits, an engine.

Without contention `core.simulate` says all; with it, calls wait for each other. A simulation says
which calls there are and what follows what; a sweep over all of them in order of time says how long
each waits; and the simulation is made again with these waits. When a sweep finds the waits it was
given, calls and waits fit each other exactly. A sweep knows hedges, chains, guards and deadlines,
so two or three rounds are the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.attempts import Sharing, Slot
from core.compare import Comparison, rewritten
from core.dists import Array
from core.durations import new_connection_s
from core.load.capacity import Capacity, erlang_wait_s
from core.load.flow import Column, flow, single
from core.load.sweep import Swept, sweep
from core.plan import Plan
from core.profiles import Setting
from core.rewrite import Choice
from core.scenarios import Scenario
from core.simulate import Run
from core.timeline import Timeline
from core.workload import Workload

__all__ = [
    "Capacity",
    "Load",
    "Loaded",
    "compare_under_load",
    "erlang_wait_s",
    "queue_waits",
    "under_load",
]

MAX_ROUNDS = 30
SAME_S = 1e-9
"""Waits that differ by less are the same: what is left of it is rounding."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the shared resources saw. Per-second figures are over the time of the whole stream.

    `busy`: calls under way on average, `used`: that as a share of the pool, None without one.
    `bearable_per_s`: requests per second beyond which the queue grows without end, at the calls
    each request made here. `gap_s`: by how much waits and calls do not fit, 0 where they do.
    """

    arrivals_per_s: float
    calls: int
    busy: float
    used: float | None
    bearable_per_s: float
    new_connections: int
    longest_queue: int
    rounds: int
    gap_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A timeline whose calls waited for each other (start after ready), and what was shared."""

    timeline: Timeline
    load: Load


def under_load(
    plan: Plan, setting: Setting, workload: Workload, capacity: Capacity, *, seed: int = 0
) -> Loaded:
    """What happens to each request of the workload if calls share this capacity.

    Raises: as `core.simulate.simulate`.
    """
    pooled = capacity.pool is not None
    cold = new_connection_s(plan, setting) if pooled and not plan.transport.keep_alive else 0.0
    slots: Mapping[Column, Slot] = {}
    rounds, gap = 0, np.inf
    while gap > SAME_S and rounds < MAX_ROUNDS:
        run = Run(plan, setting, workload, seed, Sharing(workload.n, slots, pooled))
        timeline = run.timeline()
        swept = sweep(flow(run), capacity, cold)
        gap, slots = _gap_s(slots, swept.slots), swept.slots
        rounds += 1
    return Loaded(timeline, _load(workload, capacity, swept, rounds, gap))


def compare_under_load(
    scenario: Scenario,
    choices: tuple[Choice, ...],
    setting: Setting,
    workload: Workload,
    capacity: Capacity,
    *,
    seed: int = 0,
) -> tuple[Comparison, Load, Load]:
    """The naive plan against the plan with these choices under the same stream of requests."""
    plan, log = rewritten(scenario, choices, setting)
    before = under_load(scenario.plan, setting, workload, capacity, seed=seed)
    same = plan == scenario.plan
    after = before if same else under_load(plan, setting, workload, capacity, seed=seed)
    return Comparison(before.timeline, after.timeline, log), before.load, after.load


def queue_waits(arrival_s: Array, hold_s: Array, capacity: Capacity) -> Array:
    """Waits (n,) of calls that ask at these times, in order, and take so long alone."""
    swept = sweep(single(arrival_s, hold_s), capacity)
    return swept.slots["call", ""].wait_s


def _gap_s(old: Mapping[Column, Slot], new: Mapping[Column, Slot]) -> float:
    """Largest difference between two rounds; inf where a call is sent in only one of them."""
    if old.keys() != new.keys():
        return np.inf
    gaps = [0.0]
    for column, slot in new.items():
        for name in ("wait_s", "connect_s", "first_x", "decode_x"):
            a, b = getattr(old[column], name), getattr(slot, name)
            if (np.isfinite(a) != np.isfinite(b)).any():
                return np.inf
            both = np.isfinite(a)
            gaps.append(float(np.abs(a[both] - b[both]).max(initial=0.0)))
    return max(gaps)


def _load(workload: Workload, capacity: Capacity, swept: Swept, rounds: int, gap: float) -> Load:
    n, ledger = workload.n, swept.ledger
    span = max(swept.span_s, 1e-12)
    busy = ledger.busy_s / span
    arriving = float(workload.arrival_s[-1] - workload.arrival_s[0])
    return Load(
        (n - 1) / arriving if arriving > 0 else 0.0,
        ledger.calls,
        busy,
        None if capacity.pool is None else busy / capacity.pool,
        capacity.bearable_per_s(ledger.calls / n, ledger.tokens / n, ledger.work_s / n),
        ledger.connections,
        ledger.longest_queue,
        rounds,
        gap,
    )
