"""Divide and conquer: one long generation becomes parts that are written side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Field, LlmStep, Plan, Speculate, Step, WorkKind, WorkStep
from core.rewrite import Context, NotApplicable, shown_steps
from core.text import Note

JOIN, JOINED = "join", "joined"


@dataclass(frozen=True, slots=True)
class Params:
    """`check_join`: look at the parts together at the end, and add a remark if need be."""

    check_join: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Divide each call that writes several things people see, one part each, from one brief."""
    guards = {p.guard for s in plan.steps for p in s.policies if isinstance(p, Speculate)}
    whole = [s for s in shown_steps(plan) if _divisible(s) and s.id not in guards]
    if not whole:
        return NotApplicable(Note.of("reason.one_part"))
    divided = plan
    for step in whole:
        divided = _divided(divided, step, check=params.check_join)
    return divided


def _divisible(step: LlmStep) -> bool:
    return not step.decides and sum(f.shown != "no" for f in step.signature.fields) > 1


def _divided(plan: Plan, step: LlmStep, *, check: bool) -> Plan:
    """Divide into one step for each shown field; fields nobody sees go with the last."""
    shown = [f for f in step.signature.fields if f.shown != "no"]
    rest = [f for f in step.signature.fields if f.shown == "no"]
    groups = [[f] for f in shown]
    groups[-1] += rest
    parts = [_part(step, group) for group in groups]
    steps: list[Step] = []
    for s in plan.steps:
        if s.id == step.id:
            steps += parts
            continue
        after = tuple(b for a in s.after for b in ([p.id for p in parts] if a == step.id else [a]))
        steps.append(replace(s, after=after))
    divided = replace(plan, steps=tuple(steps))
    if not check or JOIN in {s.id for s in steps}:
        return divided
    names = tuple(f.name for f in shown)
    join = WorkStep(JOIN, WorkKind.COMPUTE, "rule_check", names, (JOINED,), when=step.when)
    return divided.with_steps(join, replace(divided.show, notes=(*divided.show.notes, JOINED)))


def _part(step: LlmStep, fields: list[Field]) -> LlmStep:
    """Give the same brief, and the word to write this part only."""
    name = fields[0].name
    brief = f"Write only {name}. Others write the rest at the same time from the same brief."
    signature = replace(
        step.signature,
        instructions=(*step.signature.instructions, brief),
        fields=tuple(fields),
    )
    return replace(step, id=f"{step.id}.{name}", signature=signature)
