"""Distilled prompt: a small model tuned on good answers needs no examples in its prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, update_llm
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Give every routine call that has examples to the tuned small model, without them."""

    def tuned(step: LlmStep) -> LlmStep:
        if not (step.signature.routine and step.signature.examples):
            return step
        return replace(step, role="small", signature=replace(step.signature, examples=()))

    changed = update_llm(plan, tuned)
    return NotApplicable(Note.of("reason.no_examples")) if changed == plan else changed
