"""What a step is expected to write for a request, by the scenario's reference values."""

from __future__ import annotations

from core.output import Unit, units, write
from core.plan import LlmStep
from core.request import Request
from core.workload import asked


def answer(step: LlmStep, request: Request) -> str:
    """Return the reference answer; empty where this request does not make the call."""
    return write(step.signature, request.values).text if asked(step.when, request) else ""


def prediction(step: LlmStep, request: Request) -> str | None:
    """Return the text known before the call, where the step predicts and there is one."""
    if not step.predict or not request.known:
        return None
    return write(step.signature, request.known).text or None


def shown_units(step: LlmStep, request: Request) -> tuple[Unit, ...]:
    """Return what a finished answer of this step shows at once when a cache serves it."""
    if not asked(step.when, request):
        return ()
    return units(write(step.signature, request.values))
