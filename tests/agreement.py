"""Whether a simulation and a run say the same of one request, to the microsecond."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from core.execute import Run, execute
from core.metrics import METRICS, Reader
from core.plan import Plan
from core.profiles import Setting
from core.simulate import simulate
from core.timeline import State, Timeline
from core.workload import Workload
from tests.paced import paced
from tests.virtual_time import run

MICROSECOND = 1e-6

Event = tuple[float, int, bool, str]


def disagreements(plan: Plan, setting: Setting, workload: Workload) -> list[str]:
    """What `simulate` and `execute` say differently of the workload's last request."""
    simulated = simulate(plan, setting, workload)
    executed = run_alone(plan, setting, workload)
    if executed.error is not None:
        return [f"failed: {executed.error}"]
    return list(differences(simulated, executed.timeline))


def run_alone(plan: Plan, setting: Setting, workload: Workload) -> Run:
    """A run on a virtual clock, by an engine that keeps the setting's time exactly."""
    request = workload.scenario.requests[int(workload.index[-1])]
    return run(execute(plan, paced(plan, setting, request), setting, workload))


def differences(a: Timeline, b: Timeline) -> Iterator[str]:
    """Differences between the last rows of two timelines of one plan."""
    for name in ("ready_s", "start_s", "first_s", "end_s"):
        of_a, of_b = (dict(zip(t.step_ids, getattr(t, name)[-1], strict=True)) for t in (a, b))
        yield from _different_times(name, of_a, of_b)
    for step, x, y in zip(a.step_ids, a.state[-1], b.state[-1], strict=True):
        if x != y:
            yield f"state of {step}: {State(int(x)).name} and {State(int(y)).name}"
    yield from _different_events(events(a), events(b))
    said = ({m.id: float(m.compute(t, Reader())[-1]) for m in METRICS} for t in (a, b))
    yield from _different_times("metric", *said)
    shown = ({step: float(at[-1]) for step, at in t.status.items()} for t in (a, b))
    yield from _different_times("status", *shown)
    for name in ("failed", "hit", "wrong"):
        if getattr(a, name)[-1] != getattr(b, name)[-1]:
            yield name


def _different_times(name: str, a: Mapping[str, float], b: Mapping[str, float]) -> Iterator[str]:
    for key in a.keys() | b.keys():
        x, y = a.get(key, math.nan), b.get(key, math.nan)
        if not near(x, y):
            yield f"{name} of {key}: {x:.6f} and {y:.6f}"


def _different_events(a: list[Event], b: list[Event]) -> Iterator[str]:
    if len(a) != len(b):
        yield f"{len(a)} and {len(b)} visible events"
    for x, y in zip(a, b, strict=False):
        if not near(x[0], y[0]) or x[1:] != y[1:]:
            yield f"visible {x} and {y}"
            return


def events(timeline: Timeline) -> list[Event]:
    """Time, characters, whether it closes a sentence or card, and text, for what can be seen."""
    seen, units = timeline.visible, timeline.units[-1]
    return [
        (float(t), int(chars), bool(closes), units[int(k)].text)
        for t, chars, closes, k in zip(
            seen.t_s[-1], seen.chars[-1], seen.closes[-1], seen.unit[-1], strict=True
        )
        if chars > 0
    ]


def near(x: float, y: float) -> bool:
    """Equal to the microsecond; no value is only equal to no value."""
    return (math.isnan(x) and math.isnan(y)) or abs(x - y) < MICROSECOND
