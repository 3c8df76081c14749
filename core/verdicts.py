"""What a prediction of a change was worth, judged by what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from core.accuracy import NAIVE, Accuracy, AccuracyRow

Verdict = Literal["right", "off", "wrong", "unclear"]

CLOSE = 0.10
"""A predicted change is called right where it misses the measured one by at most this share of the
naive plan's time. Assumption: less than people notice in a wait of seconds."""

FEWEST_REPEATS = 3
"""Ranges of fewer repeats say nothing; those of three, apart by chance, are so one time in ten."""

NO_CHANGE = 0.01
"""A predicted change below this share says "the same", which has no direction. Assumption."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One metric of one case; changes are shares of the naive plan's time, below 0 is faster.

    `clear`: the repeats are enough, and apart from those of the naive plan.
    """

    row: AccuracyRow
    predicted_change: float
    measured_change: float
    clear: bool

    @property
    def directed(self) -> bool:
        """Whether there is a direction to be right about: a clear change where one is predicted."""
        return self.clear and abs(self.predicted_change) >= NO_CHANGE

    @property
    def same_direction(self) -> bool:
        """Whether both changes go the same way."""
        return self.predicted_change * self.measured_change > 0

    @property
    def verdict(self) -> Verdict:
        """What the prediction was worth."""
        if self.directed and not self.same_direction:
            return "wrong"
        if abs(self.miss) > CLOSE:
            return "off"
        return "right" if self.clear else "unclear"

    @property
    def miss(self) -> float:
        """Predicted less measured change."""
        return self.predicted_change - self.measured_change


def judged(found: Accuracy, metric_id: str) -> Iterator[Judged]:
    """Yield every case but the naive one, in the order in which it was measured."""
    naive = {r.scenario: r for r in found.rows if r.technique == NAIVE and r.metric == metric_id}
    for row in found.rows:
        base = naive.get(row.scenario)
        if row.metric == metric_id and row.technique != NAIVE and base is not None:
            yield _judge(base, row)


def _judge(base: AccuracyRow, row: AccuracyRow) -> Judged:
    predicted = row.predicted_s / base.predicted_s - 1.0
    measured = row.measured_s / base.measured_s - 1.0
    apart = row.high_s < base.low_s or row.low_s > base.high_s
    enough = min(base.repeats, row.repeats) >= FEWEST_REPEATS
    return Judged(row, predicted, measured, apart and enough)
