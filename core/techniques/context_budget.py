"""Context budget: fewer passages go into the prompt, and no more tokens than allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable, tighter, update_found, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`top_k` passages at the most, and at the most `budget_tok` tokens of them."""

    top_k: int = within(2, 1, 8, 1)
    budget_tok: int = within(300, 50, 4000, 50)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Tighten every input that a search has found; a limit that is tighter already stays."""
    changed = update_found(
        plan,
        lambda i: replace(
            i,
            top_k=tighter(i.top_k, params.top_k),
            budget_tok=tighter(i.budget_tok, params.budget_tok),
        ),
    )
    return NotApplicable(Note.of("reason.within_budget")) if changed == plan else changed
