"""Prune the context: of each passage only the sentences that bear on the question, verbatim."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, retrieved, update_llm
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Prune every input that a search has found."""
    found = retrieved(plan)

    def pruned(step: LlmStep) -> LlmStep:
        inputs = tuple(
            replace(i, prune=True) if i.value in found else i for i in step.signature.inputs
        )
        return replace(step, signature=replace(step.signature, inputs=inputs))

    changed = update_llm(plan, pruned)
    return NotApplicable(Note.of("reason.no_passages")) if changed == plan else changed
