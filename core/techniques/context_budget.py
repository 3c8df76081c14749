"""Context budget: fewer passages go into the prompt, and no more tokens than allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Input, LlmStep, Plan
from core.rewrite import Context, NotApplicable, retrieved, update_llm, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`top_k` passages at the most, and at the most `budget_tok` tokens of them."""

    top_k: int = within(2, 1, 8, 1)
    budget_tok: int = within(300, 50, 4000, 50)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Tighten every input that a search has found; a limit that is tighter already stays."""
    found = retrieved(plan)

    def tightened(step: LlmStep) -> LlmStep:
        inputs = tuple(
            _within_budget(i, params) if i.value in found else i for i in step.signature.inputs
        )
        return replace(step, signature=replace(step.signature, inputs=inputs))

    changed = update_llm(plan, tightened)
    return NotApplicable(Note.of("reason.within_budget")) if changed == plan else changed


def _within_budget(given: Input, params: Params) -> Input:
    def least(own: int | None, limit: int) -> int:
        return limit if own is None else min(own, limit)

    return replace(
        given,
        top_k=least(given.top_k, params.top_k),
        budget_tok=least(given.budget_tok, params.budget_tok),
    )
