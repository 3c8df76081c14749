"""The pace of an emulated model, as absolute times: late chunks never push the later ones back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from core.errors import InputError, UnknownName
from core.providers.scripted import Script

Z95 = 1.6448536269514722
"""95 % quantile of the standard normal: turns a ratio p95/p50 into a lognormal's sigma."""

LONGEST_TTFT_S = 600.0
"""Bound on `ttft_s`. Reason: the server takes its pace over HTTP; a typo shall not hang it."""


@dataclass(frozen=True, slots=True)
class EmulatedModel:
    """How fast a model answers. Seconds; the spreads are ratios p95/p50, 1.0 for none.

    `ttft_s`: median time to the first token of a prompt without uncached tokens. `per_1k_s`: what
    1,000 uncached prompt tokens add. `tpot_s`: time per output token. `tokens_per_chunk`: how many
    are sent together, when the first of them is there. `reasoning_tokens`: thought before the
    answer at the same speed, the first at TTFT. `cache_minimum_tok` and `cache_step_tok`: what the
    prompt cache can reuse. `headers_early`: send the answer's headers before the first token, as
    most servers do.
    """

    ttft_s: float
    tpot_s: float
    per_1k_s: float = 0.0
    ttft_spread: float = 1.0
    tpot_spread: float = 1.0
    tokens_per_chunk: int = 1
    reasoning_tokens: int = 0
    cache_minimum_tok: int = 1024
    cache_step_tok: int = 128
    headers_early: bool = True
    name: str = "emulated"

    def __post_init__(self) -> None:
        checks = {
            f"ttft_s from 0 to {LONGEST_TTFT_S:g}": 0 <= self.ttft_s <= LONGEST_TTFT_S,
            "tpot_s from 0 to 60": 0 <= self.tpot_s <= 60,
            "per_1k_s from 0 to 60": 0 <= self.per_1k_s <= 60,
            "ttft_spread from 1 to 100": 1 <= self.ttft_spread <= 100,
            "tpot_spread from 1 to 100": 1 <= self.tpot_spread <= 100,
            "tokens_per_chunk of 1 or more": self.tokens_per_chunk >= 1,
            "reasoning_tokens of 0 or more": self.reasoning_tokens >= 0,
            "cache_minimum_tok of 1 or more": self.cache_minimum_tok >= 1,
            "cache_step_tok of 1 or more": self.cache_step_tok >= 1,
        }
        wrong = [valid for valid, holds in checks.items() if not holds]
        if wrong:
            raise InputError(f"an emulated model needs {', '.join(wrong)}")

    @classmethod
    def from_profile(
        cls,
        *,
        ttft_p50_s: float,
        tokens_per_s: float,
        ttft_p95_s: float | None = None,
        per_1k_s: float = 0.0,
        prompt_tok: int = 1000,
        name: str = "emulated",
    ) -> EmulatedModel:
        """Return the model of a published profile, whose TTFT was measured at `prompt_tok`."""
        return cls(
            ttft_s=max(ttft_p50_s - per_1k_s * prompt_tok / 1000, 0.0),
            tpot_s=1.0 / tokens_per_s,
            per_1k_s=per_1k_s,
            ttft_spread=1.0 if ttft_p95_s is None else max(ttft_p95_s / ttft_p50_s, 1.0),
            name=name,
        )

    def retuned(self, changes: Mapping[str, object]) -> EmulatedModel:
        """Return the model with some values replaced.

        Raises:
            UnknownName: no such value.
            InputError: a value of the wrong kind or out of its range.
        """
        kinds = {f.name: type(getattr(self, f.name)) for f in fields(self)}
        for key, value in changes.items():
            if key not in kinds:
                raise UnknownName("value of an emulated model", key, kinds)
            number = kinds[key] is float and isinstance(value, int) and value is not True
            if not number and type(value) is not kinds[key]:
                raise InputError(f"{key} is {value!r}: a {kinds[key].__name__} is needed")
        return replace(self, **changes)  # type: ignore[arg-type]  # checked above


@dataclass(frozen=True, slots=True)
class Draw:
    """One call's times: to the first token, and per token after it."""

    first_s: float
    tpot_s: float

    def answer(self, script: Script, model: EmulatedModel) -> tuple[tuple[float, str], ...]:
        """Return (seconds after the request, text) of the answer's chunks."""
        start_s = self.first_s + model.reasoning_tokens * self.tpot_s
        chunks = script.chunks(model.tokens_per_chunk)
        return tuple((start_s + at * self.tpot_s, text) for at, text in chunks)

    def reasoning(self, model: EmulatedModel) -> tuple[float, ...]:
        """Return when each chunk of the thinking is there."""
        steps = range(0, model.reasoning_tokens, model.tokens_per_chunk)
        return tuple(self.first_s + k * self.tpot_s for k in steps)


def draw(model: EmulatedModel, uncached_tok: int, *, rng: np.random.Generator) -> Draw:
    """Draw one call's times. Without spread nothing is drawn and the times are exact."""
    first_s = model.ttft_s + model.per_1k_s * uncached_tok / 1000
    return Draw(
        first_s=first_s * _factor(model.ttft_spread, rng),
        tpot_s=model.tpot_s * _factor(model.tpot_spread, rng),
    )


def _factor(spread: float, rng: np.random.Generator) -> float:
    """Draw from a lognormal with median 1 whose p95 is `spread`."""
    return math.exp(math.log(spread) / Z95 * float(rng.standard_normal())) if spread > 1 else 1.0
