"""Calibration as a job: probes one or both models of an engine, fits, keeps the profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import fitted_io
from core.background import Tell
from core.calibrate import calibrate
from core.engines import Target
from core.fitted import FittedProfile, Sample
from core.jobs import Control
from core.plan import ModelRole
from core.profiles import Setting
from core.text import Note
from pages._ui.live.awaiting import awaited
from pages._ui.live.predicted import fitted_name
from pages._ui.live.shared import desk
from pages._ui.live.watch import Ahead

KIND = "calibrate"


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted profile with the calls it was fitted to."""

    role: ModelRole
    profile: FittedProfile
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a job found; `kept` tells whether the profiles were saved."""

    fits: tuple[Fit, ...]
    kept: bool


@dataclass(frozen=True, slots=True)
class _Probed:
    """So much of the whole is done, 0 to 1; the model being probed."""

    share: float
    model: str


def work(
    control: Control, target: Target, setting: Setting, roles: Sequence[ModelRole], *, keep: bool
) -> Calibration:
    """Probe the models of these roles, one after the other.

    Raises:
        EngineError: the engine cannot be opened, or more than a third of the probes failed.
        InputError: a profile cannot be saved.
    """

    def pass_on(news: object) -> None:
        if isinstance(news, Ahead):
            control.tell(0.0, Note.of("calibrate.ahead", n=news.runs))
        elif isinstance(news, _Probed):
            control.tell(news.share, Note.of("calibrate.probing", model=news.model))

    fits = awaited(control, lambda tell: probe(target, setting, roles, tell), pass_on)
    for fit in fits if keep else ():
        fitted_io.save(fit.profile)
    return Calibration(fits, keep)


async def probe(
    target: Target, setting: Setting, roles: Sequence[ModelRole], tell: Tell
) -> tuple[Fit, ...]:
    """Open the engine in its turn and probe it. Raises: as `work`."""
    found: list[Fit] = []
    async with desk().engine(target, setting, lambda runs: tell(Ahead(runs))) as engine:
        for number, role in enumerate(roles):
            model = engine.model(role, "")
            samples: list[Sample] = []

            def probed(done: int, total: int, number: int = number, name: str = model.name) -> None:
                tell(_Probed((number + done / total) / len(roles), name))

            tell(_Probed(number / len(roles), model.name))
            profile = await calibrate(
                model.provider,
                model.name,
                rng=np.random.default_rng(),
                name=fitted_name(target.engine, model.name),
                on_probe=probed,
                on_samples=samples.extend,
            )
            found.append(Fit(role, profile, tuple(samples)))
    return tuple(found)
