"""Rerank gate: the passages are put in a better order only where the search was not sure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Gate, Plan, WorkKind
from core.rewrite import Context, NotApplicable, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`close_share`: share of searches whose best scores lie close together. An assumption."""

    close_share: float = within(0.3, 0.0, 1.0, 0.05)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Put a look at the scores in front of each rerank."""
    always = [
        s
        for s in plan.work_steps
        if s.work is WorkKind.RERANK and not any(isinstance(p, Gate) for p in s.policies)
    ]
    if not always:
        return NotApplicable(Note.of("reason.no_rerank"))
    gate = Gate("score_check", params.close_share)
    return plan.with_steps(*(replace(s, policies=(gate, *s.policies)) for s in always))
