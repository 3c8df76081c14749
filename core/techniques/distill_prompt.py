"""Distilled prompt: a small model tuned on good answers needs no examples in its prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, update_llm, within
from core.techniques._tuned import TUNED_PRICE, tuned
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`tuned_price`: how many times the small model's price the tuned one costs."""

    tuned_price: float = within(TUNED_PRICE, 1.0, 4.0, 0.1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Give every routine call that has examples to the tuned small model, without them."""

    def distilled(step: LlmStep) -> LlmStep:
        if not (step.signature.routine and step.signature.examples):
            return step
        bare = replace(step, signature=replace(step.signature, examples=()))
        return tuned(bare, params.tuned_price)

    changed = update_llm(plan, distilled)
    return NotApplicable(Note.of("reason.no_examples")) if changed == plan else changed
