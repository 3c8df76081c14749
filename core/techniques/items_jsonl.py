"""Items as JSON Lines: a list streams entry by entry, and each finished one is a card."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Form, LlmStep, Plan
from core.rewrite import Context, NotApplicable, shown_steps
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`before_check`: show cards while a check of the whole answer is still to come."""

    before_check: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Let every call that writes cards write them one a line, and stream."""
    whole = [s for s in shown_steps(plan) if _lists(s) and s.signature.form is not Form.JSONL]
    if not whole:
        return NotApplicable(Note.of("reason.no_list"))
    changed = [
        replace(s, stream=True, signature=replace(s.signature, form=Form.JSONL)) for s in whole
    ]
    early = plan.show.early or (params.before_check and bool(plan.show.gates))
    return plan.with_steps(*changed, replace(plan.show, early=early))


def _lists(step: LlmStep) -> bool:
    return any(f.shown == "cards" for f in step.signature.fields)
