"""The look-up of answers at hand, in front of everything: shared by the techniques that fill it."""

from __future__ import annotations

from dataclasses import replace

from core.plan import AnswerCache, Plan, ShowStep, Step, When, WorkKind, WorkStep

LOOKUP, MISSED = "cache_lookup", "cache_missed"


def look_up_first(plan: Plan, layers: tuple[AnswerCache, ...]) -> Plan:
    """Put a look-up with these layers in front; all but showing runs only where it missed.

    A plan that has one already gets the layers it lacks, asked after its own.
    """
    old = next((s for s in plan.work_steps if s.id == LOOKUP), None)
    own = () if old is None else old.layers
    there = {layer.layer for layer in own}
    asked = (*own, *(layer for layer in layers if layer.layer not in there))
    if asked == own:
        return plan
    similar = any(layer.threshold < 1.0 for layer in asked)
    lookup = WorkStep(
        LOOKUP,
        WorkKind.COMPUTE,
        "semantic_lookup" if similar else "exact_lookup",
        reads=("message", "history"),
        gives=(MISSED,),
        layers=asked,
    )
    if old is not None:
        return plan.with_steps(lookup)
    guarded: list[Step] = [
        s if isinstance(s, ShowStep) else replace(s, when=(*s.when, When(MISSED)))
        for s in plan.steps
    ]
    return replace(plan, steps=(lookup, *guarded))
