"""Small model: calls that only read things off their input go to the small model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.output import write
from core.plan import LlmStep, Plan
from core.prompt import input_text
from core.rewrite import Context, NotApplicable, update_llm, within
from core.techniques._tuned import TUNED_PRICE, tuned
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`shots`: examples added to make up for the smaller model, taken from the scenario.

    `tuned`: a variant tuned on the large model's answers, which writes what people read, too, for
    `tuned_price` times the small model's price.
    """

    shots: int = within(0, 0, 6, 1)
    tuned: bool = False
    tuned_price: float = within(TUNED_PRICE, 1.0, 4.0, 0.1)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Give every call of routine fields to the small model, to a tuned one all the others, too."""
    if context.setting.large.name == context.setting.small.name:
        return NotApplicable(Note.of("reason.same_model"))

    def smaller(step: LlmStep) -> LlmStep:
        if step.role == "small" or not (step.signature.routine or params.tuned):
            return step
        if params.tuned:
            step = tuned(step, params.tuned_price)
        examples = step.signature.examples + shots(step, params.shots, context)
        return replace(step, role="small", signature=replace(step.signature, examples=examples))

    changed = update_llm(plan, smaller)
    return NotApplicable(Note.of("reason.no_routine_call")) if changed == plan else changed


def shots(step: LlmStep, count: int, context: Context) -> tuple[str, ...]:
    """Worked examples of a call, from the scenario's least asked requests."""
    found: list[str] = []
    for request in reversed(context.scenario.requests):
        if len(found) == count:
            break
        answer = write(step.signature, request.values).text
        if answer:
            given = [f"{i.value}: {input_text(i, request)}" for i in step.signature.inputs]
            found.append("\n".join([*given, f"Answer: {answer}"]))
    return tuple(found)
