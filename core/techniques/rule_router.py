"""Rule router: rules on task and length send simple requests to the small model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, SmallIf
from core.rewrite import Context, NotApplicable, shown_steps, within
from core.text import Note

TASKS = ("small_talk", "handover", "templated", "general")
"""Tasks a small model can be trusted with: short replies, and text that mostly stands already."""


@dataclass(frozen=True, slots=True)
class Params:
    """`max_tok`: longest message with its history that still counts as simple."""

    max_tok: int = within(80, 10, 1000, 10)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Let a rule choose the model of each open answer, request by request."""
    if context.setting.large.name == context.setting.small.name:
        return NotApplicable(Note.of("reason.same_model"))
    if not any(r.task in TASKS for r in context.scenario.requests):
        return NotApplicable(Note.of("reason.no_simple_task"))
    large = [s for s in shown_steps(plan) if s.role == "large" and s.small_if is None]
    if not large:
        return NotApplicable(Note.of("reason.no_large_answer"))
    rule = SmallIf(TASKS, params.max_tok)
    return plan.with_steps(*(replace(s, small_if=rule) for s in large))
