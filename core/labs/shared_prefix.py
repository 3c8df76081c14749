"""What two prompts have in common at their start, and what a provider's cache makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from core import tokens
from core.plan import LlmStep
from core.profiles import PER_1K_TOK_S, Profile
from core.prompt import Prompt, render
from core.retrieval.prefix import PrefixRule, shared_tokens
from core.scenarios import Scenario

SHOWN_CHARS = 90
"""Characters shown on either side of the place where the prompts part."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How much of two prompts is the same from the first token on.

    `one_tok`, `other_tok`: their lengths; `shared_tok` leading tokens are common. `before` is the
    end of the common text, `one_after` and `other_after` how each goes on, all shortened.
    """

    one_tok: int
    other_tok: int
    shared_tok: int
    before: str
    one_after: str
    other_after: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """What a provider reads from its cache at the second prompt, and what that saves.

    `saved_usd` is None where the model has no price for cached tokens.
    """

    rule: PrefixRule
    reusable_tok: int
    saved_s: float
    saved_usd: float | None


def sharing(one: str, other: str, encoding: str = tokens.DEFAULT_ENCODING) -> Sharing:
    """Compare two prompts by tokens: what providers keep are tokens, not characters."""
    first, second = tokens.encode(one, encoding), tokens.encode(other, encoding)
    shared = shared_tokens(first, second)
    at = tokens.offsets(one, encoding)[shared - 1] if shared else 0
    return Sharing(
        len(first),
        len(second),
        shared,
        one[max(0, at - SHOWN_CHARS) : at],
        one[at : at + SHOWN_CHARS],
        other[at : at + SHOWN_CHARS],
    )


def reuse(found: Sharing, model: Profile) -> Reuse:
    """Return what the model's provider reuses of the shared part.

    Source of the time: `PER_1K_TOK_S`, the growth of the first token's time with the prompt.
    """
    rule = PrefixRule(model.caching.minimum_tok, model.caching.step_tok)
    reusable = rule.reusable(found.shared_tok)
    saved_usd = None
    if model.input_price is not None and model.cached_price is not None:
        saved_usd = reusable * (model.input_price - model.cached_price) / 1e6
    return Reuse(rule, reusable, reusable / 1000 * PER_1K_TOK_S, saved_usd)


@lru_cache(maxsize=32)
def example_prompts(
    scenario: Scenario, step_id: str, lang: str, *, static_first: bool
) -> tuple[str, str]:
    """Return one call's prompts for the two most asked requests of a language.

    `static_first` puts what never changes in front. Raises: UnknownName for a step that is none.
    """
    step = scenario.plan.step(step_id)
    if not isinstance(step, LlmStep):
        raise TypeError(f"{step_id} is not a model call")
    signature = replace(step.signature, static_first=static_first)
    asked = (r for r in scenario.requests if r.lang == lang and r.passages)
    one, other, *_ = (render(signature, r) for r in asked)
    return _whole(one), _whole(other)


def _whole(prompt: Prompt) -> str:
    return "\n\n".join(message.text for message in prompt.messages)
