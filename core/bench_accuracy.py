"""`bench accuracy`: the local engine calibrated, then predicted and measured; kept in the docs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from core import live
from core.accuracy import METRICS, NAIVE, Accuracy, Cases, accuracy
from core.calibrate import calibrate
from core.engines import DEFAULT_MODELS, Target
from core.errors import UnknownName
from core.execute import Engine
from core.fitted import FittedProfile
from core.fitted_setting import setting_of
from core.kept import keep
from core.load import Capacity
from core.local.machine import BUSY_SHARE, describe_machine, usable_cores
from core.local.provider import MOST_LANES
from core.plan import Plan
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, PRESETS, TECHNIQUES
from core.verdicts import NO_CHANGE, judged

DOCS = Path(__file__).parent.parent / "docs"
KEPT = DOCS / "accuracy.json"
DEFAULT_REPEATS = 5
SCHEMA = 1

BARS = {"total_s": 0.08, "first_visible_s": 0.12}
P90_BAR = 0.25
"""Largest errors that are good enough: median by metric, and p90 of either."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure: pipelines, techniques and presets by id (all where none), repeats."""

    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    techniques: tuple[str, ...] = ()
    repeats: int = DEFAULT_REPEATS

    def __post_init__(self) -> None:
        known = [t.id for t in TECHNIQUES]
        for name in self.techniques:
            if name not in known and name not in PRESETS:
                raise UnknownName("technique", name, (*known, *PRESETS))
        for name in self.scenarios:
            scenario(name)
        live.check_repeats(self.repeats)

    @property
    def cases(self) -> Cases:
        """Named ones, else each headline technique alone and every preset that has some."""
        if self.techniques:
            return {n: PRESETS.get(n, (n,)) for n in self.techniques}
        alone = {name: (name,) for name in HEADLINE_ORDER}
        return {**alone, **{name: ids for name, ids in PRESETS.items() if ids}}

    @property
    def whole(self) -> bool:
        """Whether this is the full table."""
        return not self.techniques and set(self.scenarios) == set(SCENARIOS)


def run(asked: Asked, tell: Callable[[str], None], folder: Path = DOCS) -> dict[str, object]:
    """Calibrate, measure, write `accuracy.json` and `accuracy.md` to the folder; return the data.

    Takes minutes to hours. Raises: EngineError, InputError where the folder cannot be written.
    """
    fits, found = asyncio.run(_measured(asked, tell))
    data = report(asked, fits, found)
    keep(folder, KEPT.stem, data, page(data, found))
    return data


async def _measured(
    asked: Asked, tell: Callable[[str], None]
) -> tuple[tuple[FittedProfile, ...], Accuracy]:
    rng = np.random.default_rng(0)
    target = Target("local", *DEFAULT_MODELS["local"])
    async with live.using(target, setting()) as engine:
        fits = [await _fit(engine, role, rng, tell) for role in ("large", "small")]
        calibrated = setting_of(fits[0], fits[1], setting())
        found = await accuracy(
            [scenario(name) for name in asked.scenarios],
            asked.cases,
            engine,
            calibrated,
            repeats=asked.repeats,
            rng=rng,
            capacity=lambda plan: shared(plan, fits),
            tell=lambda of, case, done, total: tell(f"{done}/{total} runs, {of}, {case}"),
        )
    return tuple(fits), found


async def _fit(
    engine: Engine, role: str, rng: np.random.Generator, tell: Callable[[str], None]
) -> FittedProfile:
    model = engine.large if role == "large" else engine.small
    return await calibrate(
        model.provider,
        model.name,
        rng=rng,
        on_probe=lambda done, total: tell(f"calibrating {role}: {done}/{total}"),
    )


def shared(plan: Plan, fits: Sequence[FittedProfile]) -> Capacity:
    """What calls of a plan share on the local engine: one large model, a lane for each core.

    Calls on two lanes slow each other down as the small model's did when it was calibrated.
    """
    roles = {step.role for step in plan.llm_steps}
    lanes = 1 if roles == {"large"} else min(usable_cores(), MOST_LANES)
    pairs = [s.decode for fit in fits[1:] for s in fit.slowdowns if s.concurrency == lanes]
    slower = max(min(pairs, default=1.0) - 1.0, 0.0)
    return Capacity(pool=lanes, slowdown=slower if lanes > 1 else 0.0)


def report(asked: Asked, fits: Sequence[FittedProfile], found: Accuracy) -> dict[str, object]:
    """The result as plain data, with date and machine."""
    directed = [one for key in METRICS for one in judged(found, key) if one.directed]
    return {
        "schema": SCHEMA,
        "date": datetime.now(tz=UTC).isoformat(timespec="minutes"),
        "machine": describe_machine(),
        "engine": "local",
        "whole": asked.whole,
        "repeats": asked.repeats,
        "requests": list(found.requests),
        "failed": found.failed,
        "foreign": list(found.foreign),
        "calibration_busy": any(fit.busy for fit in fits),
        "errors": {
            key: dict(zip(("median", "p90"), found.errors(key), strict=True)) for key in METRICS
        },
        "bars": {**BARS, "p90": P90_BAR},
        "signs_clear": len(directed),
        "signs_right": sum(one.same_direction for one in directed),
        "rows": [asdict(row) for row in found.rows],
        "fits": [asdict(fit) for fit in fits],
    }


def page(data: dict[str, object], found: Accuracy) -> str:
    """The result as a page of the docs."""
    lines = [
        "# Predicted against measured",
        "",
        f"Local engine, {data['date']}, {data['machine']}. {data['repeats']} runs of each case on",
        f"{', '.join(found.requests)}; written by `python -m core bench accuracy`.",
        "",
    ]
    if not data["whole"]:
        lines += ["This is a part of the table: not all pipelines and techniques were run.", ""]
    lines += [_noise(found.foreign), ""]
    for key in METRICS:
        middle, p90 = found.errors(key)
        bars = f"bars {BARS[key]:.0%} and {P90_BAR:.0%}"
        lines.append(f"- `{key}`: median absolute error {middle:.1%}, p90 {p90:.1%} ({bars})")
    lines += [
        f"- sign of the change: right in {data['signs_right']} of {data['signs_clear']} rows whose",
        f"  range is apart from that of the naive plan, where {NO_CHANGE:.0%} or more is predicted",
        f"- runs without an answer: {found.failed}",
        "",
        "| pipeline | case | metric | predicted s | measured s | range s | error |",
        "| --- | --- | --- | ---: | ---: | --- | ---: |",
    ]
    lines += [
        f"| {r.scenario} | {r.technique} | `{r.metric}` | {r.predicted_s:.2f} | "
        f"{r.measured_s:.2f} | {r.low_s:.2f} to {r.high_s:.2f} | {r.error:+.1%} |"
        for r in sorted(found.rows, key=lambda r: (r.scenario, r.technique != NAIVE))
    ]
    return "\n".join(lines) + "\n"


def _noise(foreign: Sequence[float]) -> str:
    if not foreign:
        return "Noise of the machine: not known here."
    return (
        f"Noise: other programs used {np.median(foreign):.0%} of the machine in the median run and "
        f"{max(foreign):.0%} at most. Above {BUSY_SHARE:.0%} a run says little about the engine."
    )
