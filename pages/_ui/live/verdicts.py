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


@dataclass(frozen=True, slots=True)
class Judged:
    """One metric of one case; changes are shares of the naive plan's time, below 0 is faster."""

    row: AccuracyRow
    predicted_change: float
    measured_change: float
    verdict: Verdict

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
    return Judged(row, predicted, measured, _verdict(base, row, predicted, measured))


def _verdict(base: AccuracyRow, row: AccuracyRow, predicted: float, measured: float) -> Verdict:
    """A change whose repeats overlap those of the naive plan has no direction to be right about."""
    clear = row.high_s < base.low_s or row.low_s > base.high_s
    close = abs(predicted - measured) <= CLOSE
    if not clear:
        return "unclear" if close else "off"
    if predicted * measured <= 0:
        return "wrong"
    return "right" if close else "off"
