"""What happened when: the one result of every engine, simulated or real.

Rows are requests (n), columns are steps (S) in the plan's order. All times are seconds from the
moment the user asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from core.dists import Array
from core.output import Unit
from core.plan import Plan
from core.request import Request

Mask = npt.NDArray[np.bool_]

V = TypeVar("V")


class State(IntEnum):
    """What became of a step for one request."""

    RAN = 0
    SKIPPED = 1
    CACHED = 2
    CANCELLED = 3
    FAILED = 4


@dataclass(frozen=True, slots=True, eq=False)
class Visible:
    """What the person sees of the answer, arrays (n, K) in order of time; `chars` 0 pads.

    `t_s` of a pad is that of the last real event. `unit` (n, K) points into the row's units.
    """

    t_s: Array
    chars: Array
    closes: Mask
    unit: npt.NDArray[np.int64]

    @property
    def total_chars(self) -> Array:
        """Visible characters of the whole answer, (n,)."""
        total: Array = self.chars.sum(axis=1)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """What the LLM calls used, arrays (n, S); NaN where an engine did not report it."""

    tokens_in: Array
    tokens_cached: Array
    tokens_out: Array
    tokens_reasoning: Array
    tokens_rejected: Array
    cost_usd: Array
    calls: Array


class Later(Generic[V]):
    """A value that is made when first asked for; what it is made from is let go then."""

    def __init__(self, make: Callable[[], V]) -> None:
        self._make: Callable[[], V] | None = make
        self._made: list[V] = []

    @property
    def value(self) -> V:
        """The value. Two threads may both make it; they get equal ones."""
        if (make := self._make) is not None:
            self._made = [make()]
            self._make = None
        return self._made[0]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Start, first output and end of every step, and the visible events.

    `ready_s`, `start_s`, `first_s`, `end_s`: (n, S); a skipped step starts and ends when it was
    ready. `first_s` is NaN where a step has no output before its end. `state`: (n, S) of `State`.
    `failed`: (n,) requests that got no answer. `hit`: (n,) answers served from a cache of answers,
    `wrong`: (n,) those of another question. `status`: visible reactions before the answer, by step
    id, (n,) with NaN where none. `units`: per row, what its visible events show.
    """

    plan: Plan
    engine: str
    requests: tuple[Request, ...]
    ready_s: Array
    start_s: Array
    first_s: Array
    end_s: Array
    state: npt.NDArray[np.int8]
    failed: Mask
    hit: Mask
    wrong: Mask
    used: Later[Usage] = field(repr=False)
    status: Mapping[str, Array]
    units: tuple[tuple[Unit, ...], ...]
    seen: Later[Visible] = field(repr=False)

    @property
    def n(self) -> int:
        """How many requests."""
        return len(self.requests)

    @property
    def step_ids(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(s.id for s in self.plan.steps)

    def column(self, step_id: str) -> int:
        """The column of a step."""
        return self.step_ids.index(step_id)

    @property
    def visible(self) -> Visible:
        """The visible events."""
        return self.seen.value

    @property
    def usage(self) -> Usage:
        """What the calls used."""
        return self.used.value

    @property
    def total_s(self) -> Array:
        """When all work needed for the answer is done, (n,); NaN for failed requests."""
        total: Array = self.end_s[:, self.column(self.plan.show.id)]
        return np.where(self.failed, np.nan, total)


def critical_path(
    timeline: Timeline, row: int, *, to_first_visible: bool = False
) -> tuple[str, ...]:
    """Steps that own the wait of one request, first to last: walking back with `<=`.

    To the end, or to the first visible answer (where a streaming step counts by its first output).
    Each step is preceded by the one it waited for longest; ties go to the later step in the plan.
    """
    at = timeline.column(timeline.plan.show.id)
    path: list[str] = []
    here = timeline.plan.show.id
    limit = float(timeline.end_s[row, at])
    if to_first_visible:
        seen = timeline.visible
        real = seen.chars[row] > 0
        limit = float(seen.t_s[row][real].min()) if real.any() else limit
    while waits := timeline.plan.waits(here):
        path.append(here)
        reached = {w: _reached(timeline, row, w, limit) for w in waits}
        here = max(reached, key=lambda w: (reached[w], timeline.column(w)))
        limit = float(timeline.start_s[row, timeline.column(here)])
    path.append(here)
    skipped = timeline.state[row] == State.SKIPPED
    return tuple(p for p in reversed(path) if not skipped[timeline.column(p)])


def _reached(timeline: Timeline, row: int, step_id: str, limit: float) -> float:
    """When a step let the next one go on: its end, or its first output if it was still running."""
    column = timeline.column(step_id)
    end = float(timeline.end_s[row, column])
    first = float(timeline.first_s[row, column])
    return end if end <= limit or np.isnan(first) else min(first, limit)
