"""What fewer output tokens are worth in time against more input tokens: they weigh differently."""

from __future__ import annotations

from dataclasses import dataclass

from core.profiles import PER_1K_TOK_S, Profile


@dataclass(frozen=True, slots=True)
class TokenTime:
    """Seconds saved by output that is not written, and spent on input that is read in addition."""

    output_s: float
    input_s: float


def token_time(model: Profile, *, saved_out_tok: int, added_in_tok: int) -> TokenTime:
    """Return both sides at the model's published speed; output 0 where none was published.

    Source of the input's side: `PER_1K_TOK_S`, the growth of the first token's time.
    """
    per_tok_s = 1.0 / model.tokens_per_s if model.tokens_per_s else 0.0
    return TokenTime(saved_out_tok * per_tok_s, added_in_tok / 1000 * PER_1K_TOK_S)
