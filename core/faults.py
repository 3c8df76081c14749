"""Faults of the searches outside the house: how often they fail, how long their tail is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from core.errors import InputError
from core.plan import Plan
from core.profiles import Setting
from core.rewrite import external_searches

MAX_TAIL = 4.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Of every external search: the share that fails (None: as published), p95 times `tail`.

    Raises InputError for what cannot be.
    """

    fail_rate: float | None = None
    tail: float = 1.0

    def __post_init__(self) -> None:
        if self.fail_rate is not None and not 0 <= self.fail_rate <= 1:
            raise InputError(f"the failure rate is {self.fail_rate}; from 0 to 1 is valid")
        if not 1 <= self.tail <= MAX_TAIL:
            raise InputError(f"the tail is {self.tail}; from 1 to {MAX_TAIL:g} times is valid")


def external(plan: Plan) -> tuple[str, ...]:
    """Names of the services outside the house that a plan searches."""
    return tuple(dict.fromkeys(s.service for s in external_searches(plan)))


@lru_cache(maxsize=256)
def with_faults(setting: Setting, plan: Plan, faults: Faults) -> Setting:
    """The setting with these faults; the same one for the same arguments."""
    names = external(plan)
    if faults == Faults() or not names:
        return setting
    services = dict(setting.services)
    for name in names:
        s = setting.service(name)
        rate = s.fail_rate if faults.fail_rate is None else faults.fail_rate
        services[name] = replace(s, fail_rate=rate, p95_s=s.p95_s * faults.tail)
    return replace(setting, services=services)
