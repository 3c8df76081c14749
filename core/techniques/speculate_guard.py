"""Speculate on the guard: begin the work at once, and throw it away where the guard says no."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan, ShowStep, Speculate, Step, WorkStep
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`answer`: begin the answer too, not only the search that the guard is asked about."""

    answer: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Start what a call only decides about beside it, where nothing else is read of that call."""
    guessed = plan
    for guard in plan.llm_steps:
        bold = _beside(guessed, guard, params)
        policy = Speculate(guard.id)
        guessed = guessed.with_steps(
            *(replace(s, policies=(*s.policies, policy)) for s in bold if policy not in s.policies)
        )
    return NotApplicable(Note.of("reason.no_guard")) if guessed == plan else guessed


def _beside(plan: Plan, guard: LlmStep, params: Params) -> list[Step]:
    """Find what could run beside the guard: the steps it decides about, and what follows them."""
    behind = {guard.id}  # what has to wait for it
    beside: dict[str, Step] = {}
    for step in plan.steps:
        asked = any(plan.producer.get(w.value) == guard.id for w in step.when)
        needs = {plan.producer[v] for v in _data(step, guard, plan)}
        follows = isinstance(step, LlmStep) and params.answer and needs & set(beside)
        layered = isinstance(step, WorkStep) and (step.layers or step.per_piece)
        able = not isinstance(step, ShowStep) and not layered and step.id != guard.id
        if not needs & behind and able and (asked or follows):
            beside[step.id] = step
        elif needs & (behind | set(beside)) or asked:
            behind.add(step.id)
    return list(beside.values())


def _data(step: Step, guard: LlmStep, plan: Plan) -> list[str]:
    """Values made by steps that it needs, but for the guard's own conditions."""
    conditions = [w.value for w in step.when if plan.producer.get(w.value) != guard.id]
    return [v for v in (*step.reads, *conditions) if v in plan.producer]
