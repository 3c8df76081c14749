"""Local router: sorting a message into topics is done by embeddings in process, not by a call."""

from __future__ import annotations

from dataclasses import dataclass

from core.plan import LlmStep, Plan, WorkKind, WorkStep
from core.prompt import as_text
from core.rewrite import Context, NotApplicable
from core.text import Note

MAX_TOPICS = 12
"""A field with more different answers than this is writing, not sorting. Assumption."""


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Replace each call that only sorts, and on which other steps depend, by the router."""
    conditions = {w.value for s in plan.steps for w in s.when}
    sorting = [s for s in plan.llm_steps if conditions & set(s.gives) and _only_sorts(s, context)]
    if not sorting:
        return NotApplicable(Note.of("reason.no_sorting_call"))
    routers = [
        WorkStep(
            s.id,
            WorkKind.COMPUTE,
            "local_router",
            reads=tuple(dict.fromkeys(s.reads)),
            gives=s.gives,
            after=s.after,
            when=s.when,
            announce=s.announce,
        )
        for s in sorting
    ]
    return plan.with_steps(*routers)


def _only_sorts(step: LlmStep, context: Context) -> bool:
    """Whether each of its fields takes one of a few values over all requests."""
    return step.signature.routine and all(
        len({as_text(r.values[f.name]) for r in context.scenario.requests if f.name in r.values})
        <= MAX_TOPICS
        for f in step.signature.fields
    )
