"""Split reasoning: what can be read off the message goes to the small model, beside the search."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.plan import REQUEST_VALUES, Field, Input, LlmStep, Plan, Signature
from core.rewrite import Context, NotApplicable
from core.text import Note

REASONING = "reasoning"


@dataclass(frozen=True, slots=True)
class Params:
    """`from_request`: read the chat itself instead of waiting for a call that rewords it."""

    from_request: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Split every call that mixes fields read off the request with an open answer."""
    split = plan
    for step in plan.llm_steps:
        if step.decides or REASONING in {s.id.partition(".")[0] for s in split.steps}:
            continue
        apart = [f for f in step.signature.fields if _read_off(f, step.signature)]
        if apart and any(f.difficulty == "open" for f in step.signature.fields):
            split = _split(split, step, apart, params)
    return NotApplicable(Note.of("reason.no_mixed_call")) if split == plan else split


def _read_off(field: Field, signature: Signature) -> bool:
    """Whether a field is routine, needs only some of the inputs, and is not shown."""
    inputs = {i.value for i in signature.inputs}
    own = set(inputs if field.reads is None else field.reads)
    return field.difficulty == "routine" and field.shown == "no" and own < inputs


def _split(plan: Plan, step: LlmStep, apart: list[Field], params: Params) -> Plan:
    names = [f.name for f in apart]
    reads = [v for f in apart for v in f.reads or ()]
    own = tuple(i for i in step.signature.inputs if i.value in reads)
    inputs = _first_hand(plan, own) if params.from_request else own
    reasoning = replace(
        step,
        id=REASONING,
        role="small",
        signature=replace(
            step.signature,
            inputs=inputs,
            fields=tuple(_reading(f, inputs) for f in apart),
            instructions=_about(step.signature, names, own=True),
            examples=_cut(step.signature.examples, names),
        ),
        stream=False,
        policies=(),
        max_output_tok=None,
        predict=False,
    )
    rest = tuple(f for f in step.signature.fields if f.name not in names)
    facts = tuple(Input(f.name) for f in apart if f.read)
    answer = replace(
        step,
        signature=replace(
            step.signature,
            inputs=step.signature.inputs + facts,
            fields=rest,
            instructions=_about(step.signature, names, own=False),
            examples=_cut(step.signature.examples, [f.name for f in rest]),
        ),
        after=(*step.after, REASONING),
    )
    return plan.with_steps(reasoning, answer)


def _first_hand(plan: Plan, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
    """Replace what a routine call made of the request by the request's own values."""
    found: dict[str, Input] = {i.value: i for i in inputs if i.value in REQUEST_VALUES}
    for given in inputs:
        maker = plan.producer.get(given.value)
        source = plan.step(maker) if maker is not None else None
        if given.value in REQUEST_VALUES:
            continue
        if (
            isinstance(source, LlmStep)
            and source.signature.routine
            and set(source.reads) <= set(REQUEST_VALUES)
        ):
            for i in source.signature.inputs:
                found.setdefault(i.value, i)
        else:
            found[given.value] = given
    return tuple(found.values())


def _reading(field: Field, inputs: tuple[Input, ...]) -> Field:
    """Let a field read what it read, or everything where an input of its own is gone."""
    names = {i.value for i in inputs}
    kept = field.reads if field.reads is not None and set(field.reads) <= names else None
    return replace(field, reads=kept)


def _about(signature: Signature, names: Collection[str], *, own: bool) -> tuple[str, ...]:
    """Instructions for one side: those that name its fields, and those that name no field."""
    fields = [f.name for f in signature.fields]

    def fits(line: str) -> bool:
        named = [n for n in fields if n in line]
        return not named or any((n in names) == own for n in named)

    return tuple(line for line in signature.instructions if fits(line))


def _cut(examples: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """Examples with only these keys left in their JSON answers; others are of no use here."""
    found: list[str] = []
    for example in examples:
        lead, brace, answer = example.partition("{")
        try:
            keys = json.loads(brace + answer)
        except json.JSONDecodeError:
            continue
        kept = {k: v for k, v in keys.items() if k in names}
        if kept:
            found.append(lead + json.dumps(kept, ensure_ascii=False))
    return tuple(found)
