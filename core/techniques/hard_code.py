"""Fixed replies: thanks, greetings and the wish for a person are answered from a table."""

from __future__ import annotations

from dataclasses import dataclass

from core.plan import AnswerCache, Plan
from core.rewrite import Context, NotApplicable
from core.small_talk import coverage
from core.techniques._lookup import look_up_first
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Look into the table first."""
    if coverage(context.scenario.requests) == 0.0:
        return NotApplicable(Note.of("reason.no_small_talk"))
    answered = look_up_first(plan, (AnswerCache("fixed", 0.0),))
    return NotApplicable(Note.of("reason.already_fixed")) if answered == plan else answered
