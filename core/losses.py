"""What a rewrite may lose of the answer, counted on the scenario's own labels.

Faster but poorer is no gain, so these figures stand beside it. None of them says whether a model
writes well: only whether the right documents are still in its prompt, whether the answer comes to
its end, and how much is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.counts import call
from core.plan import LlmStep, Plan
from core.prompt import passages
from core.request import Document, Request
from core.rewrite import retrieved, shown_steps
from core.scenarios import Scenario

Measure = Callable[[Plan, Scenario], float | None]


@dataclass(frozen=True, slots=True)
class Loss:
    """One figure, 0 to 1, before and after a rewrite; its text is `loss.<key>`."""

    key: str
    before: float
    after: float


def losses(before: Plan, after: Plan, scenario: Scenario) -> tuple[Loss, ...]:
    """Return the figures that a rewrite changed."""
    changed: list[Loss] = []
    for key, measure in MEASURES:
        old, new = measure(before, scenario), measure(after, scenario)
        if old is not None and new is not None and old != new:
            changed.append(Loss(key, old, new))
    return tuple(changed)


def found(plan: Plan, scenario: Scenario) -> float | None:
    """Share of the right documents that stand in the answer's prompt; None without a search."""
    shares = [
        sum(any(d.id == wanted for d, _ in taken) for wanted in request.doc_ids)
        / len(request.doc_ids)
        for request, taken in _prompts(plan, scenario)
    ]
    return float(np.mean(shares)) if shares else None


def evidence(plan: Plan, scenario: Scenario) -> float | None:
    """Share of the right documents' text that stands there; None without a search."""
    length = {d.id: len(d.text) for d in scenario.documents}
    shares = [
        sum(len(body) for d, body in taken if d.id in request.doc_ids)
        / sum(length[wanted] for wanted in request.doc_ids)
        for request, taken in _prompts(plan, scenario)
    ]
    return float(np.mean(shares)) if shares else None


def whole(plan: Plan, scenario: Scenario) -> float | None:
    """Share of the requests whose whole answer comes to its end."""
    ends = np.ones(len(scenario.requests), dtype=bool)
    for step in shown_steps(plan):
        free = replace(step, max_output_tok=None)
        ends &= call(scenario, step).tokens_out == call(scenario, free).tokens_out
    return float(ends.mean())


def text(plan: Plan, scenario: Scenario) -> float | None:
    """Share of the readable characters that is left of an answer of full length."""
    steps = shown_steps(plan)
    full = [
        replace(s, max_output_tok=None, signature=replace(s.signature, concise=1.0)) for s in steps
    ]
    written = sum(_chars(scenario, s) for s in full)
    return sum(_chars(scenario, s) for s in steps) / written if written else None


MEASURES: tuple[tuple[str, Measure], ...] = (
    ("found", found),
    ("evidence", evidence),
    ("whole", whole),
    ("text", text),
)


def _chars(scenario: Scenario, step: LlmStep) -> int:
    shown = {f.name for f in step.signature.fields if f.shown != "no"}
    rows = call(scenario, step).units
    return sum(u.chars for row in rows for u in row if u.field in shown)


def _prompts(
    plan: Plan, scenario: Scenario
) -> Iterator[tuple[Request, tuple[tuple[Document, str], ...]]]:
    """Each request that has right documents and gets an answer from a search, with what it got."""
    values = retrieved(plan)
    for step in shown_steps(plan):
        given = next((i for i in step.signature.inputs if i.value in values), None)
        if given is None:
            continue
        for request in scenario.requests:
            if request.doc_ids and _answers(step, request):
                yield request, passages(given, request)


def _answers(step: LlmStep, request: Request) -> bool:
    """Whether this step answers this request, as far as the reference values say."""
    return any(f.name in request.values for f in step.signature.fields) and all(
        w.value not in request.values or request.flag(w.value) == w.is_true for w in step.when
    )
