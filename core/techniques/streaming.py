"""Streaming: the answer appears as it is written. The work takes exactly as long as before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, shown_steps
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`before_check`: show text while a check of the whole answer is still to come."""

    before_check: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Stream every step whose text is shown; the check then follows, or holds the text back."""
    silent = [s for s in shown_steps(plan) if not s.stream]
    if not silent:
        return NotApplicable(Note.of("reason.already_streams"))
    changed: list[LlmStep] = [replace(s, stream=True) for s in silent]
    early = params.before_check and bool(plan.show.gates)
    return plan.with_steps(*changed, replace(plan.show, early=early))
