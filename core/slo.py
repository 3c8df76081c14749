"""Common service levels for a streamed answer: time to the first token, time per token after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.dists import Array
from core.metrics import Summary, summary
from core.rewrite import shown_steps
from core.timeline import State, Timeline


@dataclass(frozen=True, slots=True)
class Level:
    """Limits that 99 of 100 requests are to keep, in seconds."""

    id: str
    ttft_s: float
    tpot_s: float
    source: str


LEVELS: tuple[Level, ...] = (
    Level("chat", 0.200, 0.050, "common chat target: 200 ms and 50 ms, p99"),
    Level("interactive", 0.450, 0.040, "MLPerf Inference, interactive: 450 ms and 40 ms, p99"),
    Level("server", 2.000, 0.200, "MLPerf Inference, server: 2000 ms and 200 ms, p99"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """The calls whose stream the person reads, (n,) each, the slower of several.

    `ttft_s` is from when the call could have been sent, so a wait for its place counts. NaN where a
    request made no such call.
    """

    ttft_s: Array
    tpot_s: Array

    @property
    def ttft(self) -> Summary:
        """Its percentiles."""
        return summary(self.ttft_s)

    @property
    def tpot(self) -> Summary:
        """Its percentiles."""
        return summary(self.tpot_s)


def streamed(timeline: Timeline) -> Streamed | None:
    """Times of the streams a person reads; None where the plan streams nothing to them."""
    steps = [s for s in shown_steps(timeline.plan) if s.stream]
    if not steps or timeline.plan.transport.buffered:
        return None
    ttft = np.full(timeline.n, np.nan)
    tpot = np.full(timeline.n, np.nan)
    for step in steps:
        k = timeline.column(step.id)
        ran = timeline.state[:, k] == State.RAN
        wait = timeline.first_s[:, k] - timeline.ready_s[:, k]
        pauses = np.maximum(timeline.usage.tokens_out[:, k] - 1, 1)
        pace = (timeline.end_s[:, k] - timeline.first_s[:, k]) / pauses
        ttft = np.fmax(ttft, np.where(ran, wait, np.nan))
        tpot = np.fmax(tpot, np.where(ran, pace, np.nan))
    return Streamed(ttft, tpot)


def kept(level: Level, found: Streamed, timeline: Timeline) -> float:
    """Share of all requests that keep both limits; failed ones do not, those without a call do."""
    late = (found.ttft_s > level.ttft_s) | (found.tpot_s > level.tpot_s)
    return float(np.mean(~late & ~timeline.failed))
