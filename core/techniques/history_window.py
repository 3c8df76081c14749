"""History window: the last turns word for word, what came before them as a memo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Input, LlmStep, Plan
from core.rewrite import Context, NotApplicable, update_llm, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`turns`: messages kept word for word."""

    turns: int = within(2, 0, 20, 1)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Shorten the history in every prompt that holds more of it."""
    longest = max(len(r.history) for r in context.scenario.requests)
    if longest <= params.turns:
        return NotApplicable(Note.of("reason.short_history", turns=longest))

    def shortened(step: LlmStep) -> LlmStep:
        inputs = tuple(_window(i, params.turns) for i in step.signature.inputs)
        return replace(step, signature=replace(step.signature, inputs=inputs))

    changed = update_llm(plan, shortened)
    return NotApplicable(Note.of("reason.short_window")) if changed == plan else changed


def _window(given: Input, turns: int) -> Input:
    if given.value != "history" or (given.last_turns is not None and given.last_turns <= turns):
        return given
    return replace(given, last_turns=turns)
