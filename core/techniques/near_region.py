"""Near region: the model endpoint next door instead of across an ocean."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.durations import rtt_s
from core.plan import Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Call the model in the region of the caller."""
    near = replace(plan, transport=replace(plan.transport, near=True))
    if rtt_s(near, context.setting) >= rtt_s(plan, context.setting):
        return NotApplicable(Note.of("reason.already_near"))
    return near
