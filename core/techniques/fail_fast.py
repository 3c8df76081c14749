"""Fail fast: where the search found nothing good, a fixed reply says so, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import AnswerCache, Plan, Step, When, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable, retrieved, shown_steps
from core.text import Note

CHECK, FOUND = "score_check", "found_enough"


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Look at the scores after the search; write and check an answer only where they are good."""
    if CHECK in {s.id for s in plan.steps}:
        return NotApplicable(Note.of("reason.already_checks_scores"))
    found = retrieved(plan)
    used = tuple(dict.fromkeys(v for s in shown_steps(plan) for v in s.reads if v in found))
    if not used:
        return NotApplicable(Note.of("reason.no_search"))
    if all(r.answerable for r in context.scenario.requests):
        return NotApplicable(Note.of("reason.always_found"))
    check = WorkStep(
        CHECK,
        WorkKind.COMPUTE,
        "score_check",
        reads=used,
        gives=(FOUND,),
        when=plan.step(plan.producer[used[0]]).when,
        layers=(AnswerCache("not_found", 0.0),),
    )
    shown = set(plan.show.reads)
    answering: list[Step] = [s for s in shown_steps(plan) if set(s.reads) & found]
    answering += [s for s in plan.work_steps if set(s.reads) & shown]
    return plan.with_steps(check, *(replace(s, when=(*s.when, When(FOUND))) for s in answering))
