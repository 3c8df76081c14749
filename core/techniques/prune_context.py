"""Prune the context: of all passages only the sentences that bear most on the question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Input, LlmStep, Plan
from core.rewrite import Context, NotApplicable, retrieved, update_llm, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`keep` sentences of all passages stay."""

    keep: int = within(8, 2, 20, 1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Prune every input that a search has found; a limit that is tighter already stays."""
    found = retrieved(plan)

    def pruned(step: LlmStep) -> LlmStep:
        inputs = tuple(
            _fewer(i, params.keep) if i.value in found else i for i in step.signature.inputs
        )
        return replace(step, signature=replace(step.signature, inputs=inputs))

    changed = update_llm(plan, pruned)
    return NotApplicable(Note.of("reason.no_passages")) if changed == plan else changed


def _fewer(given: Input, keep: int) -> Input:
    return replace(given, sentences=keep if given.sentences is None else min(given.sentences, keep))
