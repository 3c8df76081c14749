"""What the simulator says about an engine, if anything is known of its models' pace.

In this order: a profile fitted to the engine on this machine, the emulator's own profile, published
figures of the models. Without any of them nothing is predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from core import fitted_io
from core.engines import Target, priced
from core.errors import InvalidData, UnknownName
from core.fitted import FittedProfile
from core.local.models import listing
from core.profiles import Profile, Setting

Basis = Literal["fitted", "emulated", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class Foresight:
    """The setting that predicts an engine, and what it rests on; `date` is that of the figures."""

    setting: Setting
    basis: Basis
    date: str


def foresee(target: Target, base: Setting) -> Foresight | None:
    """Return what is known of the target's models; None where nothing is."""
    if target.engine == "emulator":
        return Foresight(base, "emulated", max(base.large.source_date, base.small.source_date))
    large, small = (fitted(target.engine, name) for name in (target.large, target.small))
    if large is not None and small is not None:
        from core.fitted_setting import setting_of  # noqa: PLC0415  (filled in below)

        return Foresight(setting_of(large, small, base), "fitted", min(large.date, small.date))
    rows = [priced(target.engine, name) for name in (target.large, target.small)]
    published = [row for row in rows if row is not None and not row.missing]
    if len(published) < len(rows):
        return None
    setting = replace(base, large=published[0], small=published[1])
    return Foresight(setting, "published", max(p.source_date for p in published))


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
    titles = {state.role: state.name for state in listing()} if target.engine == "local" else {}

    def renamed(profile: Profile, model: str) -> Profile:
        return replace(profile, name=titles.get(model, model))

    return replace(
        base, large=renamed(base.large, target.large), small=renamed(base.small, target.small)
    )
