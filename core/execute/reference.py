"""What a step is expected to write for a request, by the scenario's reference values."""

from __future__ import annotations

from core.counts import asked
from core.output import Unit, units, write
from core.plan import LlmStep, Plan
from core.request import Request


def answer(step: LlmStep, request: Request) -> str:
    """Return the reference answer; empty where this request does not make the call."""
    return write(step.signature, request.values).text if asked(step.when, request) else ""


def lead_tok(step: LlmStep, request: Request) -> int:
    """Return how many tokens the reference answer has before the first one that can be read."""
    found = units(write(step.signature, request.values)) if asked(step.when, request) else ()
    return found[0].token if found else 0


def prediction(step: LlmStep, request: Request) -> str | None:
    """Return the text known before the call, where the step predicts and there is one."""
    if not step.predict or not request.known:
        return None
    return write(step.signature, request.known).text or None


def served(plan: Plan, request: Request) -> tuple[tuple[str, Unit], ...]:
    """Return what a finished answer shows when it is at hand, with the steps it once came from."""
    reads = plan.show.reads
    return tuple(
        (step.id, unit)
        for step in plan.llm_steps
        if not set(step.gives).isdisjoint(reads) and asked(step.when, request)
        for unit in units(write(step.signature, request.values))
        if unit.field in reads
    )
