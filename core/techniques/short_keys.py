"""Short keys: structured answers use short field names; what they mean moves into the prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Form, LlmStep, Plan
from core.rewrite import Context, NotApplicable, update_llm
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`minify`: also no spaces between the parts."""

    minify: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Every structured call answers under its aliases."""

    def shorten(step: LlmStep) -> LlmStep:
        if step.signature.form is Form.TEXT:
            return step
        minify = step.signature.minify or params.minify
        return replace(step, signature=replace(step.signature, short_keys=True, minify=minify))

    shorter = update_llm(plan, shorten)
    return NotApplicable(Note.of("reason.no_structure")) if shorter == plan else shorter
