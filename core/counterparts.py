"""Model calls of two plans matched to each other, and what a prompt is made of.

Calls belong together where they produce the same fields: a merged call has two counterparts, each
part of a split call has the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core import tokens
from core.plan import LlmStep, Plan, Timeout, WorkKind, WorkStep
from core.prompt import PER_MESSAGE_TOK, Prompt, input_text, render
from core.request import Request
from core.timeline import State, Timeline

Fate = Literal["kept", "merged", "split", "regrouped", "gone", "new"]
ABSENT = frozenset({State.SKIPPED, State.CANCELLED, State.FAILED})

LEAD, REST = "lead", "rest"
"""Names of the fixed parts of a prompt: before all data, and after or between."""


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Calls that do the same work in the plan before and in the plan after."""

    before: tuple[LlmStep, ...]
    after: tuple[LlmStep, ...]

    @property
    def fate(self) -> Fate:
        """What became of the calls."""
        a, b = len(self.before), len(self.after)
        if not a or not b:
            return "new" if b else "gone"
        if a == 1 and b == 1:
            return "kept"
        return "merged" if b == 1 else "split" if a == 1 else "regrouped"


def counterparts(before: Plan, after: Plan) -> tuple[Counterpart, ...]:
    """Return all model calls of both plans, those with a field in common together."""
    sides = [(0, s) for s in before.llm_steps] + [(1, s) for s in after.llm_steps]
    groups: list[list[tuple[int, LlmStep]]] = []
    for side, step in sides:
        touching = [g for g in groups if any(set(step.gives) & set(s.gives) for _, s in g)]
        joined = [x for g in touching for x in g] + [(side, step)]
        at = groups.index(touching[0]) if touching else len(groups)
        groups = [g for g in groups if g not in touching]
        groups.insert(at, joined)
    return tuple(
        Counterpart(tuple(s for side, s in g if side == 0), tuple(s for side, s in g if side == 1))
        for g in groups
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a prompt and its tokens: `lead`, `rest`, or the name of an input."""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as it is made for one request. `ran` is False where the plan leaves it out."""

    step: LlmStep
    prompt: Prompt
    parts: tuple[Part, ...]
    state: State

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.prompt.tokens()

    @property
    def ran(self) -> bool:
        """Whether the call is made for this request."""
        return self.state not in (State.SKIPPED, State.CANCELLED)


def asked(timeline: Timeline, step: LlmStep, request: Request, row: int = -1) -> Asked:
    """Return the call as it is made in one row of a timeline, without inputs that never came."""
    column = {s: c for c, s in enumerate(timeline.step_ids)}
    states = {
        i: State.SKIPPED if _gave_up(timeline, row, c) else State(int(timeline.state[row, c]))
        for i, c in column.items()
    }
    without = frozenset(v for v in step.reads if _absent(timeline.plan, states, v))
    prompt = render(step.signature, request, without=without)
    return Asked(step, prompt, parts(step, prompt, request, without), states[step.id])


def _gave_up(timeline: Timeline, row: int, column: int) -> bool:
    """Return whether a step reached its time limit, so that the plan went on without its values."""
    step = timeline.plan.steps[column]
    took_s = float(timeline.end_s[row, column] - timeline.start_s[row, column])
    limits = [p.after_s for p in step.policies if isinstance(p, Timeout)]
    return isinstance(step, WorkStep) and any(took_s >= limit - 1e-9 for limit in limits)


def _absent(plan: Plan, states: Mapping[str, State], value: str) -> bool:
    """Return whether a value never came; a rerank that was left out passes on what it read."""
    if value not in plan.producer:
        return False
    maker = plan.step(plan.producer[value])
    if isinstance(maker, WorkStep) and maker.work is WorkKind.RERANK:
        return any(_absent(plan, states, v) for v in maker.reads)
    return states[maker.id] in ABSENT


def parts(
    step: LlmStep, prompt: Prompt, request: Request, without: frozenset[str] = frozenset()
) -> tuple[Part, ...]:
    """Return what a prompt is made of: its fixed beginning, its inputs, other fixed text.

    Fixed text that is no more than the frames of the messages is left out.
    """
    lead = prompt.static_tokens()
    inputs = tuple(_inputs(step, request, without))
    rest = prompt.tokens() - lead - sum(p.tokens for p in inputs)
    frames = PER_MESSAGE_TOK * len(prompt.messages)
    return (Part(LEAD, lead), *inputs, *((Part(REST, rest),) if rest > frames else ()))


def _inputs(step: LlmStep, request: Request, without: frozenset[str]) -> Iterator[Part]:
    for spec in step.signature.inputs:
        text = "" if spec.value in without else input_text(spec, request)
        if text:
            yield Part(spec.value, tokens.count(f"## {spec.value}\n{text}\n\n"))
