"""Output limit: an answer stops after so many tokens, finished or not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`max_tok`: most tokens an answer may have."""

    max_tok: int = within(200, 16, 4000, 8)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Limit every call whose text people see."""
    free = [s for s in shown_steps(plan) if _unlimited(s, params.max_tok)]
    if not free:
        return NotApplicable(Note.of("reason.already_limited"))
    return plan.with_steps(*(replace(s, max_output_tok=params.max_tok) for s in free))


def _unlimited(step: LlmStep, limit: int) -> bool:
    return step.max_output_tok is None or step.max_output_tok > limit
