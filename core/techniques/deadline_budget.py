"""Deadline budget: one limit for the request; what is left decides what a step may do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Deadline, LlmStep, Plan, Step, WorkKind
from core.rewrite import Context, NotApplicable, external_searches, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`slo_s` is the limit; the others say how much of it must be left for a step to do all it can.

    With less than `drop_left_s` optional work is left out, with less than `small_left_s` the small
    model answers, with less than `short_left_s` the answer ends after `short_tok` readable tokens.
    """

    slo_s: float = within(5.0, 0.5, 60.0, 0.5)
    drop_left_s: float = within(3.0, 0.1, 60.0, 0.1)
    small_left_s: float = within(2.5, 0.1, 60.0, 0.1)
    short_left_s: float = within(1.5, 0.1, 60.0, 0.1)
    short_tok: int = within(80, 10, 1000, 10)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Tell each step that can do less how much time must be left for it to do all."""
    if any(isinstance(p, Deadline) for s in plan.steps for p in s.policies):
        return NotApplicable(Note.of("reason.already_budgeted"))
    drop = Deadline(params.slo_s, params.drop_left_s)
    small = Deadline(params.slo_s, params.small_left_s, "small")
    short = Deadline(params.slo_s, params.short_left_s, "short", params.short_tok)
    two_models = context.setting.large.name != context.setting.small.name
    reranks = [s for s in plan.work_steps if s.work is WorkKind.RERANK]
    optional = [*external_searches(plan), *reranks]
    changed: list[Step] = [replace(s, policies=(*s.policies, drop)) for s in optional]
    for step in shown_steps(plan):
        levels = (small, short) if two_models and _large(step) else (short,)
        changed.append(replace(step, policies=(*step.policies, *levels)))
    return plan.with_steps(*changed)


def _large(step: LlmStep) -> bool:
    return step.role == "large"
