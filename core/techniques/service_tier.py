"""Service tier: the provider's faster, dearer tier."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Send every call to the fast tier."""
    if plan.transport.fast_tier:
        return NotApplicable(Note.of("reason.already_fast"))
    return replace(plan, transport=replace(plan.transport, fast_tier=True))
