"""Trim the schema: output fields nobody reads are not written."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, read_values, update_llm
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Drop every field that is neither shown nor read by anybody."""
    wanted = read_values(plan)

    def trimmed(step: LlmStep) -> LlmStep:
        fields = step.signature.fields
        kept = tuple(f for f in fields if f.read or f.name in wanted)
        if not kept or kept == fields:
            return step
        return replace(step, signature=replace(step.signature, fields=kept))

    changed = update_llm(plan, trimmed)
    return NotApplicable(Note.of("reason.all_read")) if changed == plan else changed
