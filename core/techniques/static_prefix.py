"""Static prefix: what never changes comes first, so that the provider's prompt cache finds it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.counts import static_tok
from core.plan import LlmStep, Plan
from core.rewrite import Context, NotApplicable
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """Nothing to choose."""


def rewrite(plan: Plan, _: Params, context: Context) -> Plan | NotApplicable:
    """Turn every prompt round whose fixed part is long enough to be cached."""
    turned = [s for s in map(_turned, plan.llm_steps) if s != plan.step(s.id)]
    if not turned:
        return NotApplicable(Note.of("reason.prefix_leads"))
    fixed = {s.id: static_tok(s.signature) for s in turned}
    long = [s for s in turned if fixed[s.id] >= _minimum(s, context)]
    if not long:
        return NotApplicable(
            Note.of(
                "reason.prefix_too_short",
                longest=max(fixed.values()),
                minimum=min(_minimum(s, context) for s in turned),
            )
        )
    return plan.with_steps(*long)


def _turned(step: LlmStep) -> LlmStep:
    return replace(step, prompt_cache=True, signature=replace(step.signature, static_first=True))


def _minimum(step: LlmStep, context: Context) -> int:
    """Tokens from which the provider caches at all."""
    return context.setting.model(step.role).caching.minimum_tok
