"""Answer first: what people read is written before what programs read, conclusion on top."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Form, LlmStep, Plan
from core.rewrite import Context, NotApplicable, shown_steps
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Move the shown fields of every answer to its front."""
    late = [s for s in shown_steps(plan) if not s.signature.answer_first and _buried(s)]
    if not late:
        return NotApplicable(Note.of("reason.answer_leads"))
    return plan.with_steps(*(_led(s) for s in late))


def _buried(step: LlmStep) -> bool:
    """Whether something nobody sees is written before something people see."""
    order = [f.shown != "no" for f in step.signature.fields]
    return step.signature.form is not Form.TEXT and order != sorted(order, reverse=True)


def _led(step: LlmStep) -> LlmStep:
    fields = tuple(sorted(step.signature.fields, key=lambda f: f.shown == "no"))
    return replace(step, signature=replace(step.signature, fields=fields, answer_first=True))
