"""A variant of the small model tuned for a call: what two techniques that use one agree on."""

from __future__ import annotations

from dataclasses import replace

from core.plan import LlmStep

TUNED_PRICE = 2.0
"""How many times its base model's price a tuned model costs. Source: OpenAI's price list, 2026-04:
gpt-4.1-mini 0.40 and 1.60, tuned 0.80 and 3.20 USD per million tokens; gpt-4o-mini likewise.

Its pace is that of the base model. Assumption: the same weights in number, served the same way.
"""


def tuned(step: LlmStep, price: float) -> LlmStep:
    """The call on a tuned small model, at so many times the small model's price."""
    return replace(step, role="small", price_x=price)
