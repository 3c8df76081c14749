"""Background job: the request is taken on at once; progress and the finished result come later."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import LlmStep, Plan, ShowStep, Step, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable
from core.text import Note

JOB, JOB_ID = "job", "job_id"


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, __: Context) -> Plan | NotApplicable:
    """Queue the work, announce each call as progress, and deliver the answer in one piece."""
    if JOB in {s.id for s in plan.steps}:
        return NotApplicable(Note.of("reason.already_job"))
    job = WorkStep(JOB, WorkKind.COMPUTE, "job_queue", reads=("message",), gives=(JOB_ID,))
    steps = tuple(_queued(s, first=not plan.starts_after(s.id)) for s in plan.steps)
    return replace(plan, steps=(job, *steps))


def _queued(step: Step, *, first: bool) -> Step:
    """Make it a step of the job: the first ones begin when it is on the queue; nothing streams."""
    after = (*step.after, JOB) if first else step.after
    if isinstance(step, ShowStep):
        return replace(step, early=False, after=after)
    if isinstance(step, LlmStep):
        return replace(step, stream=False, announce=True, after=after)
    return replace(step, announce=first or step.announce, after=after)
