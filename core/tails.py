"""The tail: which step owns it, what share keeps a limit, and for whom it is worst.

The time a request takes is split along its critical path: each step gets the time from when the one
before it let it go on. The parts of all steps add up to the whole, so what slow requests take more
than the mean can be shared out among steps without a rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core.charts import share_within
from core.dists import Array
from core.metrics import MIN_P95, Summary, summary
from core.plan import LlmStep, WorkKind
from core.rewrite import shown_steps
from core.scenarios import Scenario
from core.timeline import Mask, State, Timeline
from core.workload import Ints, simple

SLOW = 0.95
"""Requests at or above this quantile are the slow ones."""

BANDS: tuple[tuple[float, float], ...] = (
    (0.0, 0.5),
    (0.5, 0.75),
    (0.75, 0.9),
    (0.9, 0.95),
    (0.95, 0.99),
    (0.99, 1.0),
)
"""Bands of requests in order of the time they took, as quantiles."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One step over the requests that ran it: how long it took, and how long it waited before."""

    step: str
    took: Summary
    waited: Summary


def step_times(timeline: Timeline) -> tuple[StepTimes, ...]:
    """Percentiles of each step but the one that shows the answer."""
    found = []
    for column, step in enumerate(timeline.plan.steps):
        if step.kind == "show":
            continue
        ran = timeline.state[:, column] != State.SKIPPED
        start, ready = timeline.start_s[ran, column], timeline.ready_s[ran, column]
        took = summary(timeline.end_s[ran, column] - start)
        found.append(StepTimes(step.id, took, summary(start - ready)))
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Seconds on the critical path by step, (n, S), and how much of them was waiting for a place.

    Rows add up to the whole: to the end, or to the first visible answer.
    """

    path_s: Array
    wait_s: Array


def parts(timeline: Timeline, *, to_first_visible: bool = False) -> Parts:
    """Split every request's time along its critical path, as `core.timeline.critical_path` goes."""
    n, steps = timeline.n, timeline.plan.steps
    path, wait = np.zeros((n, len(steps))), np.zeros((n, len(steps)))
    show = timeline.column(timeline.plan.show.id)
    here = np.full(n, show)
    until = timeline.end_s[:, show].copy()
    if to_first_visible:
        seen = np.where(timeline.visible.chars > 0, timeline.visible.t_s, np.inf).min(axis=1)
        until = np.where(np.isfinite(seen), seen, until)
    limit = until.copy()
    for column in range(len(steps) - 1, -1, -1):
        rows = np.flatnonzero(here == column)
        before = [timeline.column(w) for w in timeline.plan.waits(steps[column].id)]
        reached = np.zeros(len(rows))
        if before:
            found = _reached(timeline, rows, np.array(sorted(before)), limit[rows])
            best = found.shape[1] - 1 - np.argmax(found[:, ::-1], axis=1)
            reached = found[np.arange(len(rows)), best]
            here[rows] = np.array(sorted(before))[best]
        own = until[rows] - reached
        path[rows, column] = own
        waited = timeline.start_s[rows, column] - timeline.ready_s[rows, column]
        wait[rows, column] = np.clip(waited, 0.0, np.maximum(own, 0.0))
        until[rows] = reached
        limit[rows] = timeline.start_s[rows, here[rows]]
    return Parts(path, wait)


def _reached(timeline: Timeline, rows: Ints, columns: Ints, limit: Array) -> Array:
    """When each of these steps let the next one go on, (rows, columns)."""
    at = np.ix_(rows, columns)
    end, first = timeline.end_s[at], timeline.first_s[at]
    upto = limit[:, None]
    return np.where((end <= upto) | np.isnan(first), end, np.minimum(first, upto))


@dataclass(frozen=True, slots=True)
class Owner:
    """A step's part in the tail: of what slow requests take more than the mean.

    `share` of the whole excess, negative where slow requests spend less than the mean in it;
    `excess_s` a slow request; `wait_s` of that is waiting for a place.
    """

    step: str
    share: float
    excess_s: float
    wait_s: float


def owners(found: Parts, step_ids: tuple[str, ...], failed: Mask) -> tuple[Owner, ...]:
    """Who owns the slow end, the largest part first; nobody with fewer than 20 answers."""
    path, wait = found.path_s[~failed], found.wait_s[~failed]
    total = path.sum(axis=1)
    if len(total) < MIN_P95:
        return ()
    slow = total >= np.quantile(total, SLOW)
    excess = path[slow].mean(axis=0) - path.mean(axis=0)
    waiting = wait[slow].mean(axis=0) - wait.mean(axis=0)
    whole = float(excess.sum())
    rows = [
        Owner(
            step,
            float(excess[k]) / whole if whole > 0 else 0.0,
            float(excess[k]),
            float(waiting[k]),
        )
        for k, step in enumerate(step_ids)
    ]
    return tuple(sorted(rows, key=lambda o: -o.excess_s))


def bands(found: Parts, failed: Mask) -> tuple[Parts, ...]:
    """Mean parts (1, S) of the requests in each of BANDS; NaN where a band is empty."""
    path, wait = found.path_s[~failed], found.wait_s[~failed]
    order = np.argsort(path.sum(axis=1), kind="stable")
    empty = np.full((1, path.shape[1]), np.nan)
    means = []
    for low, high in BANDS:
        rows = order[round(low * len(order)) : round(high * len(order))]
        means.append(
            Parts(path[rows].mean(axis=0, keepdims=True), wait[rows].mean(axis=0, keepdims=True))
            if len(rows)
            else Parts(empty, empty)
        )
    return tuple(means)


# --- slices ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slice:
    """Requests that have something in common, the `value` of a `facet`; `within` keep the limit.

    `low` and `high` are the fewest and most tokens, where they have their length in common.
    """

    facet: str
    value: str
    values: Summary
    within: float
    low: float | None = None
    high: float | None = None


Facet = Callable[[Timeline, Scenario], npt.NDArray[np.str_]]


def slices(
    timeline: Timeline, scenario: Scenario, values: Array, limit_s: float
) -> Iterator[Slice]:
    """All slices of all facets that tell any requests apart; values (n,) of a metric."""
    lengths = {"input": timeline.usage.tokens_in, "output": timeline.usage.tokens_out}
    for name, facet in FACETS.items():
        labels = facet(timeline, scenario)
        codes = list(dict.fromkeys(labels.tolist()))
        if len(codes) < 2:
            continue
        for code in sorted(codes, key=lambda c: ORDER.index(c) if c in ORDER else len(ORDER)):
            rows = labels == code
            used = lengths[name].sum(axis=1)[rows] if name in lengths else None
            yield Slice(
                name,
                code,
                summary(values[rows]),
                share_within(values[rows], limit_s),
                None if used is None else float(used.min()),
                None if used is None else float(used.max()),
            )


ORDER = ("short", "medium", "long", "large", "small", "both", "none", "miss", "hit", "yes", "no")
"""The order in which the values of facets are listed; tasks come as they come."""


def _thirds(used: Array) -> npt.NDArray[np.str_]:
    """Each third of the requests by length; equal ones stay together."""
    low, high = np.quantile(used, (1 / 3, 2 / 3))
    return np.where(used <= low, "short", np.where(used <= high, "medium", "long"))


def _model(timeline: Timeline, scenario: Scenario) -> npt.NDArray[np.str_]:
    """Who wrote the answer: by role and rule; none where it came without a model."""
    large = np.zeros(timeline.n, dtype=bool)
    small = np.zeros(timeline.n, dtype=bool)
    for step in shown_steps(timeline.plan):
        ran = timeline.state[:, timeline.column(step.id)] == State.RAN
        goes_small = _small(step, timeline, scenario)
        large |= ran & ~goes_small
        small |= ran & goes_small
    one = np.where(large, "large", np.where(small, "small", "none"))
    return np.where(large & small, "both", one)


def _small(step: LlmStep, timeline: Timeline, scenario: Scenario) -> Mask:
    if step.role == "small" or step.small_if is None:
        return np.full(timeline.n, step.role == "small")
    by_rule = simple(scenario, step.small_if)
    return by_rule[[_rows(scenario)[r.id] for r in timeline.requests]]


@lru_cache(maxsize=8)
def _rows(scenario: Scenario) -> Mapping[str, int]:
    return {r.id: k for k, r in enumerate(scenario.requests)}


def _retrieval(timeline: Timeline, _: Scenario) -> npt.NDArray[np.str_]:
    """Whether a search was made."""
    searched = np.zeros(timeline.n, dtype=bool)
    for step in timeline.plan.work_steps:
        if step.work is WorkKind.SEARCH:
            searched |= timeline.state[:, timeline.column(step.id)] == State.RAN
    return np.where(searched, "yes", "no")


FACETS: Mapping[str, Facet] = {
    "task": lambda t, _: np.array([r.task for r in t.requests]),
    "model": _model,
    "input": lambda t, _: _thirds(t.usage.tokens_in.sum(axis=1)),
    "output": lambda t, _: _thirds(t.usage.tokens_out.sum(axis=1)),
    "cache": lambda t, _: np.where(t.hit, "hit", "miss"),
    "retrieval": _retrieval,
    "lang": lambda t, _: np.array([r.lang for r in t.requests]),
}
