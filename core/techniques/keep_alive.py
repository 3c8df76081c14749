"""Keep alive: connections stay open and warm between requests."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Pool connections, so that no call pays for a new one."""
    if plan.transport.keep_alive:
        return NotApplicable(Note.of("reason.already_warm"))
    return replace(plan, transport=replace(plan.transport, keep_alive=True))
