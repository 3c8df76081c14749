"""What the simulator says about an engine, if anything is known of its models' pace.

In this order: a profile fitted to the engine on this machine, the emulator's own profile, published
figures of the models. Without any of them nothing is predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from core import fitted_io
from core.engines import Target, priced
from core.errors import InvalidData, UnknownName
from core.fitted import FittedProfile
from core.fitted_setting import setting_of
from core.local.models import listing
from core.profiles import Profile, Setting, models

Basis = Literal["fitted", "emulated", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class Foresight:
    """The setting that predicts an engine, and what it rests on; `date` is that of the figures.

    `busy`: others used the machine too much while it was calibrated.
    """

    setting: Setting
    basis: Basis
    date: str
    busy: bool = False


def foresee(target: Target, base: Setting) -> Foresight | None:
    """Return what is known of the target's models; None where nothing is."""
    if target.engine == "emulator":
        return Foresight(base, "emulated", max(base.large.source_date, base.small.source_date))
    large, small = (fitted(target.engine, name) for name in (target.large, target.small))
    if large is not None and small is not None:
        date, busy = min(large.date, small.date), large.busy or small.busy
        return Foresight(_calibrated(large, small, base), "fitted", date, busy)
    rows = [_published(target.engine, name) for name in (target.large, target.small)]
    published = [row for row in rows if row is not None and not row.missing]
    if len(published) < len(rows):
        return None
    setting = _with_models(published[0], published[1], base)
    return Foresight(setting, "published", max(p.source_date for p in published))


def _published(engine: str, name: str) -> Profile | None:
    """Return the figures of a model at its effort, else of the same model at the first effort."""
    exact = models().get(name)
    known = exact is not None and exact.provider == engine.removesuffix("-responses")
    return exact if known else priced(engine, name)


# Settings are compared by identity: the same models shall give the same one.


@lru_cache(maxsize=32)
def _calibrated(large: FittedProfile, small: FittedProfile, base: Setting) -> Setting:
    return setting_of(large, small, base)


@lru_cache(maxsize=32)
def _with_models(large: Profile, small: Profile, base: Setting) -> Setting:
    return replace(base, large=large, small=small)


def fitted_name(engine: str, model: str) -> str:
    """Return the name under which a profile of this engine's model is kept."""
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in f"{engine}-{model}")
    return plain[:64]


def fitted(engine: str, model: str) -> FittedProfile | None:
    """Return the profile kept of this engine's model, None without a readable one."""
    try:
        return fitted_io.load(fitted_name(engine, model))
    except (UnknownName, InvalidData):
        return None


def named(target: Target, base: Setting) -> Setting:
    """Return the setting with the names of the models that are really asked."""
    if target.engine == "emulator":
        return base
    local = target.engine == "local"
    titles: dict[str, str] = {s.role: s.name for s in listing()} if local else {}
    large, small = (titles.get(name, name) for name in (target.large, target.small))
    return _with_models(replace(base.large, name=large), replace(base.small, name=small), base)
