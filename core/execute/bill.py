"""What a call used and cost: by the server's count, or by ours where it does not say."""

from __future__ import annotations

from core import tokens
from core.durations import cost_usd
from core.execute.engine import Model
from core.execute.track import NAN, Used
from core.output import decoding
from core.profiles import Profile
from core.providers.base import CallRequest, Usage
from core.providers.normalise import CACHE_WRITE_TOK


def billed(model: Model, usage: Usage, request: CallRequest, price_x: float = 1.0) -> Used:
    """Return what one finished call used, at so many times the model's price.

    What was not reported is NaN, not 0.
    """
    rejected = usage.tokens_rejected
    if rejected is None and request.prediction is None:
        rejected = 0
    return Used(
        1.0,
        _or_nan(usage.tokens_in),
        _or_nan(usage.tokens_cached),
        _or_nan(usage.tokens_out),
        _or_nan(usage.tokens_reasoning),
        _or_nan(rejected),
        _cost(model.profile, usage) * price_x,
    )


def estimate(prompt_tok: int, reference: str, received: str, prediction: str | None) -> Usage:
    """Return what a call that was cut short is taken to have used: all it would have.

    Servers may write on for a while after the client has gone, and report nothing; so this is the
    most it can have been. Where the answer is not known, what was received has to do.
    """
    whole = reference if reference.startswith(received) else received
    rejected = decoding(whole, prediction).rejected
    return Usage(
        tokens_in=prompt_tok,
        tokens_cached=0,
        tokens_out=tokens.count(whole) + rejected,
        tokens_rejected=rejected,
        source="estimated",
    )


def _or_nan(count: int | None) -> float:
    return NAN if count is None else float(count)


def _cost(profile: Profile | None, usage: Usage) -> float:
    """USD; NaN without prices or counts. Tokens not reported as cached are paid in full."""
    if profile is None or usage.tokens_in is None or usage.tokens_out is None:
        return NAN
    return cost_usd(
        profile,
        float(usage.tokens_in),
        float(usage.tokens_cached or 0),
        float(usage.extra.get(CACHE_WRITE_TOK, 0.0)),
        float(usage.tokens_out),
    )
