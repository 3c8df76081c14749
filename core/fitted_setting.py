"""A calibrated engine in the simulator: its two models, on the path to it."""

from __future__ import annotations

from dataclasses import replace

from core.fitted import FittedProfile
from core.profiles import MEASURED_ROUTE, Setting, profile_of


def setting_of(large: FittedProfile, small: FittedProfile, base: Setting) -> Setting:
    """Return the base with the calibrated models; its services and their figures stay."""
    return replace(base, large=profile_of(large), small=profile_of(small), route=MEASURED_ROUTE)
