"""Hedge: where nothing has come after a while, send the request again; the first answer wins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Hedge, LlmStep, Plan, Step
from core.rewrite import Context, NotApplicable, external_searches, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`delay_s` before the second request; of `models`, of external `searches`, or of both."""

    delay_s: float = within(1.5, 0.1, 10.0, 0.1)
    models: bool = True
    searches: bool = True


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Hedge each chosen step."""
    chosen: list[Step] = [*plan.llm_steps] if params.models else []
    if params.searches:
        chosen += external_searches(plan)
    bare = [s for s in chosen if not any(isinstance(p, Hedge) for p in s.policies)]
    if not bare:
        return NotApplicable(Note.of("reason.nothing_to_hedge"))
    policy = Hedge(params.delay_s)
    return plan.with_steps(
        *(
            replace(s, policies=(policy, *s.policies))
            if isinstance(s, LlmStep)
            else replace(s, policies=(*s.policies, policy))
            for s in bare
        )
    )
