"""Show the steps: while people wait, the screen says what is really being done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan, Step
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Announce every model call and every service over the network when it begins."""
    calls: list[Step] = [s for s in plan.llm_steps if not s.announce]
    calls += [
        s for s in plan.work_steps if not s.announce and context.setting.service(s.service).remote
    ]
    if not any(isinstance(s, LlmStep) for s in calls):
        return NotApplicable(Note.of("reason.already_announced"))
    return plan.with_steps(*(replace(s, announce=True) for s in calls))
