"""A short matrix of predictions and measurements as a job, and the long one kept in the docs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from core.accuracy import Accuracy, AccuracyRow, accuracy
from core.background import Tell
from core.bench_accuracy import KEPT, shared
from core.engines import Target
from core.errors import InvalidData
from core.fitted import FittedProfile
from core.jobs import Control
from core.kept import load
from core.load import Capacity
from core.local.machine import describe_machine
from core.plan import Plan
from core.plan_io import read
from core.profiles import Setting
from core.scenarios import Scenario
from core.text import Note
from pages._ui.live.awaiting import awaited
from pages._ui.live.predicted import fitted
from pages._ui.live.shared import desk
from pages._ui.live.watch import Ahead

KIND = "accuracy"


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure: pipelines, techniques alone by id, repeats; the setting predicts."""

    scenarios: tuple[Scenario, ...]
    techniques: tuple[str, ...]
    repeats: int
    target: Target
    setting: Setting


@dataclass(frozen=True, slots=True)
class Table:
    """A finished matrix, and what it was measured with; `whole`: with nothing left out."""

    found: Accuracy
    engine: str
    date: str
    machine: str
    whole: bool = True

    @property
    def noise(self) -> float | None:
        """Share of the machine others had in the median run; None where it is not known."""
        return float(np.median(self.found.foreign)) if self.found.foreign else None


@dataclass(frozen=True, slots=True)
class _Run:
    """A run begins: which case, and how many of how many are done."""

    case: str
    done: int
    total: int


def work(control: Control, asked: Asked) -> Table:
    """Measure the matrix. Raises: as `core.accuracy.accuracy`."""

    def pass_on(news: object) -> None:
        if isinstance(news, Ahead):
            control.tell(0.0, Note.of("accuracy.ahead", n=news.runs))
        elif isinstance(news, _Run):
            words = Note.of("accuracy.run", n=news.done + 1, total=news.total)
            control.tell(news.done / news.total, words)

    found = awaited(control, partial(measure, asked), pass_on)
    date = datetime.now(tz=UTC).isoformat(timespec="minutes")
    return Table(found, asked.target.engine, date, describe_machine())


async def measure(asked: Asked, tell: Tell) -> Accuracy:
    """Open the engine in its turn and measure. Raises: as `work`."""
    async with desk().engine(asked.target, asked.setting, lambda n: tell(Ahead(n))) as engine:
        return await accuracy(
            asked.scenarios,
            {name: (name,) for name in asked.techniques},
            engine,
            asked.setting,
            repeats=asked.repeats,
            rng=np.random.default_rng(),
            capacity=_capacity(asked.target),
            tell=lambda _, case, done, total: tell(_Run(case, done, total)),
        )


def _capacity(target: Target) -> Callable[[Plan], Capacity | None]:
    """Return what calls of a plan share: the local engine's lanes, nothing elsewhere."""
    fits: Sequence[FittedProfile | None] = ()
    if target.engine == "local":
        fits = [fitted(target.engine, name) for name in (target.large, target.small)]
    known = [fit for fit in fits if fit is not None]
    return lambda plan: shared(plan, known) if known else None


def kept(file: Path = KEPT) -> Table | None:
    """Return the last full result, None where there is none. Raises InvalidData if it is broken."""
    data: Any = load(file)
    if data is None:
        return None
    try:
        rows = tuple(read(AccuracyRow, row, file.name) for row in data["rows"])
        others = tuple(float(share) for share in data["foreign"])
        found = Accuracy(rows, tuple(data["requests"]), others, int(data["failed"]))
        return Table(found, data["engine"], data["date"], data["machine"], data["whole"])
    except (KeyError, TypeError) as error:
        raise InvalidData(file.name, f"lacks or misuses {error}") from error
