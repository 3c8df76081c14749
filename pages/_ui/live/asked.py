"""What a run is of, and what came of it: kept for the visit, so another page does not lose it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.compare import Comparison, typical
from core.dists import Array
from core.live import LiveRace
from core.metrics import Metric, Reader
from core.profiles import Setting
from core.request import Request
from core.rewrite import Choice
from core.scenarios import Scenario
from core.text import Lang
from pages._ui.live.predicted import Foresight
from pages._ui.view import View


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the techniques, the engine by name, and how often; compared by value.

    `setting` holds the names of the models really asked and gives the times of what is simulated.
    `own_words`: the models write freely, not the reference answers.
    """

    scenario: Scenario
    request: Request
    choices: tuple[Choice, ...]
    engine: str
    setting: Setting
    repeats: int
    repeated: bool
    own_words: bool

    @property
    def same_as(self) -> tuple[object, ...]:
        """What makes two runs comparable, without objects made anew at each run of the page."""
        models = (self.setting.large.name, self.setting.small.name)
        return (self.scenario.id, self.request.message, self.choices, self.engine, models,
                self.repeated, self.own_words)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A finished race with its prediction, which is None where nothing is known of the models."""

    asked: Asked
    race: LiveRace
    foresight: Foresight | None

    @property
    def whole(self) -> tuple[int, ...]:
        """The repeats in which both sides got an answer, counted from 0."""
        runs = zip(self.race.runs_before, self.race.runs_after, strict=True)
        return tuple(k for k, (a, b) in enumerate(runs) if not (a.failed or b.failed))

    @property
    def typical_repeat(self) -> int | None:
        """The repeat whose total with the techniques is the median one; None without any whole."""
        totals = self.race.after.total_s
        ordered = sorted(self.whole, key=lambda k: float(totals[k]))
        return ordered[(len(ordered) - 1) // 2] if ordered else None

    def values(self, m: Metric, reader: Reader) -> tuple[Array, Array]:
        """A metric's values, before and after, one for each repeat; NaN where there is none."""
        return m.compute(self.race.before, reader), m.compute(self.race.after, reader)

    def predicted(self, m: Metric, reader: Reader) -> tuple[float, float] | None:
        """What the simulator says of both sides, every latency at its median."""
        if self.foresight is None:
            return None
        found = typical(
            self.asked.scenario,
            self.asked.request,
            self.asked.choices,
            self.foresight.setting,
            repeated=self.asked.repeated,
        )
        a, b = (float(m.compute(t, reader)[-1]) for t in (found.before, found.after))
        return a, b


@dataclass(frozen=True, slots=True)
class MeasuredView(View):
    """One repeat of a measured race, as the race element and the headline take it."""

    measured: Comparison

    @property
    def race(self) -> Comparison:
        """What was measured."""
        return self.measured


def view_of(found: Measured, repeat: int, reader: Reader, lang: Lang) -> MeasuredView:
    """Return the view of one repeat."""
    asked, race = found.asked, found.race
    timelines = (race.runs_before[repeat].timeline, race.runs_after[repeat].timeline)
    return MeasuredView(
        asked.scenario,
        asked.request,
        asked.choices,
        asked.setting,
        reader,
        asked.repeated,
        lang,
        Comparison(*timelines, race.log),
    )


def median(values: Array) -> float:
    """The median of the values there are; NaN where there is none."""
    real = values[~np.isnan(values)]
    return float(np.median(real)) if len(real) else float("nan")
