"""What a provider's prompt cache can reuse: the tokens that prompts have in common at the start.

Providers keep the prefix of a prompt and reuse it where a later prompt begins with the very same
tokens, from a minimum length on and in whole steps. So one changing part near the start spoils all
that stands after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class PrefixRule:
    """From how many tokens on, and in what steps, a provider reuses a prefix."""

    minimum_tok: int
    step_tok: int

    def reusable(self, shared_tok: int) -> int:
        """Return how many of `shared_tok` common leading tokens are read from the cache."""
        if shared_tok < self.minimum_tok:
            return 0
        return shared_tok - (shared_tok - self.minimum_tok) % self.step_tok


@dataclass(frozen=True, slots=True)
class Prefix:
    """How much of a set of prompts is static.

    `shared_tok` leading tokens are common to all, out of `mean_tok` a prompt; `text` is that
    common beginning, `first_differences` what follows it in each prompt, shortened.
    """

    shared_tok: int
    mean_tok: float
    text: str
    first_differences: tuple[str, ...]


def shared_tokens(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many leading tokens two prompts have in common."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def analyse(prompts: Sequence[str], encode: Encode, *, shown: int = 60) -> Prefix:
    """Return what the prompts share at the start; of one prompt that is all of it.

    Raises: ValueError without prompts.
    """
    if not prompts:
        raise ValueError("no prompts to compare")
    encoded = [encode(prompt) for prompt in prompts]
    shared = min(shared_tokens(encoded[0], other) for other in encoded)
    start = _common_start(prompts)
    after = tuple(prompt[len(start) : len(start) + shown] for prompt in prompts)
    return Prefix(shared, sum(map(len, encoded)) / len(encoded), start, after)


def _common_start(prompts: Sequence[str]) -> str:
    low, high = min(prompts), max(prompts)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), None)
    return low[: len(low) if same is None else same]
