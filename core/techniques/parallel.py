"""Parallel calls: steps wait only for the data they need, not for their place in the program."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Drop every edge that is mere program order."""
    free = replace(plan, steps=tuple(replace(s, after=()) for s in plan.steps))
    if all(free.ancestors(s.id) == plan.ancestors(s.id) for s in plan.steps):
        return NotApplicable(Note.of("reason.all_dependent"))
    return free
