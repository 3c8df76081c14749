"""Timeout and fallback: an external search that takes too long, or fails, is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, Timeout, WorkStep
from core.rewrite import Context, NotApplicable, external_searches, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`after_s`: how long the search may take."""

    after_s: float = within(0.8, 0.1, 10.0, 0.1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Limit every external search; the plan then goes on with the data of the house."""
    patient = [s for s in external_searches(plan) if not _limited(s)]
    if not patient:
        return NotApplicable(Note.of("reason.no_external_search"))
    policy = Timeout(params.after_s)
    return plan.with_steps(*(replace(s, policies=(*s.policies, policy)) for s in patient))


def _limited(step: WorkStep) -> bool:
    return any(isinstance(p, Timeout) for p in step.policies)
