"""Cascade: the small model first; a gate looks at its answer and escalates what is not good."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Cascade, LlmStep, Plan
from core.rewrite import Context, NotApplicable, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`escalation_rate`: share of small answers the gate refuses. An assumption; count your own."""

    escalation_rate: float = within(0.3, 0.0, 1.0, 0.05)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Put every answer of the large model behind a try of the small one."""
    if context.setting.large.name == context.setting.small.name:
        return NotApplicable(Note.of("reason.same_model"))
    large = [s for s in shown_steps(plan) if s.role == "large" and not _cascades(s)]
    if not large:
        return NotApplicable(Note.of("reason.no_large_answer"))
    policy = Cascade("rule_check", params.escalation_rate)
    return plan.with_steps(*(replace(s, policies=(*s.policies, policy)) for s in large))


def _cascades(step: LlmStep) -> bool:
    return any(isinstance(p, Cascade) for p in step.policies)
