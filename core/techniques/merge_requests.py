"""Merge requests: small calls that follow each other become one call with united fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.counts import call
from core.errors import InvalidPlan
from core.plan import Field, Input, LlmStep, Plan, Signature
from core.rewrite import Context, NotApplicable, fuse, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`max_output_tok`: calls that write more than this on average are left alone."""

    max_output_tok: int = within(80, 10, 400, 10)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Fuse pairs of small calls as long as there are any."""
    merged = plan
    while (following := next(_fused(merged, params, context), None)) is not None:
        merged = following
    return NotApplicable(Note.of("reason.nothing_to_merge")) if merged == plan else merged


def _fused(plan: Plan, params: Params, context: Context) -> Iterator[Plan]:
    """Plans with one pair of small calls fused, first pair first."""
    small = [s for s in plan.llm_steps if _is_small(s, params, context)]
    for i, first in enumerate(small):
        for second in small[i + 1 :]:
            if (first.role, first.when) != (second.role, second.when):
                continue
            if _between(plan, first, second):
                continue
            try:
                yield fuse(plan, (first.id, second.id), united(first, second))
            except InvalidPlan:
                continue  # the pair would have to wait for itself


def _is_small(step: LlmStep, params: Params, context: Context) -> bool:
    """Whether a call is short, and made only of routine fields."""
    written = call(context.scenario, step).tokens_out
    mean = float(written[written > 0].mean()) if (written > 0).any() else 0.0
    return step.signature.routine and mean <= params.max_output_tok


def _between(plan: Plan, first: LlmStep, second: LlmStep) -> bool:
    """Whether other work needs the first and is needed by the second."""
    reached: set[str] = set()
    stack = list(plan.needs[second.id])
    while stack:
        top = stack.pop()
        if top not in reached:
            reached.add(top)
            stack.extend(plan.needs[top])
    return any(first.id in plan.needs[x] for x in reached if x != first.id)


def united(first: LlmStep, second: LlmStep) -> LlmStep:
    """One call that does the work of two: instructions joined, fields united."""
    a, b = first.signature, second.signature
    inner = set(first.gives)
    inputs = _joined(a.inputs, tuple(i for i in b.inputs if i.value not in inner))
    names = tuple(i.value for i in inputs)

    def kept(field: Field, own: Signature) -> Field:
        reads = field.reads if field.reads is not None else tuple(i.value for i in own.inputs)
        wide = any(r in inner for r in reads)
        now = names if wide else tuple(r for r in reads if r in names)
        return replace(field, reads=None if set(now) == set(names) else now, stops=False)

    signature = replace(
        a,
        task=f"{a.task} {b.task}",
        instructions=tuple(dict.fromkeys(a.instructions + b.instructions)),
        examples=a.examples + b.examples,
        inputs=inputs,
        fields=tuple(kept(f, a) for f in a.fields) + tuple(kept(f, b) for f in b.fields),
    )
    return replace(
        first,
        id=f"{first.id}+{second.id}",
        signature=signature,
        decides=first.decides + second.decides,
        after=tuple(dict.fromkeys(first.after + second.after)),
        stream=first.stream or second.stream,
        announce=first.announce or second.announce,
        policies=first.policies + second.policies,
    )


def _joined(a: tuple[Input, ...], b: tuple[Input, ...]) -> tuple[Input, ...]:
    """Join the inputs of both; where both have one, the wider of the two stays."""
    by_value = {i.value: i for i in a}
    for other in b:
        mine = by_value.get(other.value)
        by_value[other.value] = other if mine is None else _wider(mine, other)
    return tuple(by_value.values())


def _wider(a: Input, b: Input) -> Input:
    def most(x: int | None, y: int | None) -> int | None:
        return None if x is None or y is None else max(x, y)

    return Input(
        a.value,
        most(a.last_turns, b.last_turns),
        most(a.top_k, b.top_k),
        most(a.budget_tok, b.budget_tok),
        most(a.sentences, b.sentences),
        a.same_category and b.same_category,
    )
