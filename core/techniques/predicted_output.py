"""Predicted output: text that is known beforehand goes along, and what agrees comes faster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`what_if`: show it also for models that do not offer it."""

    what_if: bool = True


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Send a template or the last itinerary as prediction with the calls that rewrite it."""
    known = {name for r in context.scenario.requests for name in r.known}
    fitting = [s for s in plan.llm_steps if known & set(s.gives) and not s.predict]
    if not fitting:
        return NotApplicable(Note.of("reason.nothing_known"))
    missing = {m.name for s in fitting if not (m := context.setting.model(s.role)).predictions}
    if missing and not params.what_if:
        return NotApplicable(Note.of("reason.no_predictions", model=", ".join(sorted(missing))))
    return plan.with_steps(*(replace(s, predict=True) for s in fitting))
