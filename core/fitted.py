"""A latency profile fitted to calls measured on this machine or account, and what it predicts.

For u uncached and h cached input tokens and o output tokens:

    time to first token = a + b u + c u (h + u/2)     every new token attends to all before it
    decode              = (o - 1) (d + e (u + h + o/2))    so does every output token

Five coefficients, none negative (work takes time), fitted by least squares on relative errors: a
short answer counts as much as a long one. On a small llama.cpp model this predicted the total of
unseen calls to 2 % in the median and 8 % at p95; without c and e it was 5 to 9 % and 17 to 43 %.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

Array = NDArray[np.float64]
Number = TypeVar("Number", float, Array)

FEWEST_SAMPLES = 5
"""As many as there are coefficients; eight are enough for 2 % in the median, more add little."""
BAND_SIGMA = 1.645
"""Half width of a 90 % band in standard deviations of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured call. `foreign` is the share of the machine others used; None if not known."""

    uncached_tok: int
    cached_tok: int
    out_tok: int
    ttft_s: float
    decode_s: float
    queue_s: float = 0.0
    concurrency: int = 1
    foreign: float | None = None

    @property
    def total_s(self) -> float:
        """Time from the request's last byte to the last text."""
        return self.ttft_s + self.decode_s


@dataclass(frozen=True, slots=True)
class Law:
    """The five coefficients, in seconds per call, token, token pair, output token, token pair."""

    base_s: float
    per_token_s: float
    per_pair_s: float
    per_output_s: float
    per_output_pair_s: float

    def ttft_s(self, uncached: Number, cached: Number) -> Number:
        """Time to first token; floats or arrays of one shape."""
        pairs = uncached * (cached + uncached / 2)
        return self.base_s + self.per_token_s * uncached + self.per_pair_s * pairs

    def decode_s(self, uncached: Number, cached: Number, out: Number) -> Number:
        """Time from the first to the last output token."""
        context = uncached + cached + out / 2
        return (out - 1) * (self.per_output_s + self.per_output_pair_s * context)


@dataclass(frozen=True, slots=True)
class TokenRatio:
    """How many of its own tokens a model makes of one of ours in a language, in and out.

    In Korean some models make several times as many as in English.
    """

    lang: str
    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Slowdown:
    """What happens to calls that run `concurrency` at a time: factors on both times, and the wait.

    The wait before a call is sent belongs to the one who queues; 0 for endpoints without a queue
    on our side.
    """

    concurrency: int
    ttft: float
    decode: float
    queue_s: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a call will take; the true total lies between low and high in nine of ten calls."""

    ttft_s: float
    decode_s: float
    low_s: float
    high_s: float

    @property
    def total_s(self) -> float:
        """Both parts together."""
        return self.ttft_s + self.decode_s


@dataclass(frozen=True, slots=True)
class FittedProfile:
    """A fitted law with what one has to know to trust it.

    `spread` is the standard deviation of the log ratio measured/predicted of totals, each sample
    predicted from the others. `busy` tells that others used the machine too much to find enough
    quiet samples, so that all were taken; `foreign` is the median share they had.
    `largest_context_tok` bounds what was measured: beyond it the law extrapolates. The law counts
    the model's own tokens, of which it makes `ratios` of one of ours (1 in a language not there).
    """

    name: str
    provider: str
    model: str
    machine: str
    date: str
    law: Law
    spread: float
    samples: int
    failed: int
    busy: bool
    foreign: float | None
    largest_context_tok: int
    slowdowns: tuple[Slowdown, ...] = ()
    ratios: tuple[TokenRatio, ...] = ()

    def predict(
        self, uncached: float, cached: float, out: float, *, concurrency: int = 1
    ) -> Prediction:
        """Return the times of one call of so many tokens, without a wait in a queue."""
        known = (Slowdown(1, 1.0, 1.0, 0.0), *self.slowdowns)
        steps = [slowdown.concurrency for slowdown in known]
        ttft_s = self.law.ttft_s(uncached, cached) * float(
            np.interp(concurrency, steps, [slowdown.ttft for slowdown in known])
        )
        decode_s = self.law.decode_s(uncached, cached, out) * float(
            np.interp(concurrency, steps, [slowdown.decode for slowdown in known])
        )
        width = float(np.exp(BAND_SIGMA * self.spread))
        total_s = ttft_s + decode_s
        return Prediction(ttft_s, decode_s, total_s / width, total_s * width)


def fit_law(samples: Sequence[Sample]) -> Law:
    """Return the law that fits calls made one at a time.

    Raises:
        InputError: too few samples, or none with more than one output token.
    """
    if len(samples) < FEWEST_SAMPLES:
        raise InputError(f"a fit needs {FEWEST_SAMPLES} samples or more, got {len(samples)}")
    long = [sample for sample in samples if sample.out_tok > 1 and sample.decode_s > 0]
    if len(long) < 2:
        raise InputError("a fit needs two samples whose output came in more than one piece")
    u, h, _, ttft, _ = _columns(samples)
    a, b, c = _fit((np.ones_like(u), u, u * (h + u / 2)), ttft)
    u, h, o, _, decode = _columns(long)
    d, e = _fit((o - 1, (o - 1) * (u + h + o / 2)), decode)
    return Law(a, b, c, d, e)


def spread_of(samples: Sequence[Sample]) -> float:
    """Return the standard deviation of log(measured/predicted) totals, leaving one out each time.

    Raises:
        InputError: see `fit_law`; one sample more is needed.
    """
    logs = []
    for index, sample in enumerate(samples):
        law = fit_law([*samples[:index], *samples[index + 1 :]])
        u, h, o = float(sample.uncached_tok), float(sample.cached_tok), float(sample.out_tok)
        predicted_s = law.ttft_s(u, h) + law.decode_s(u, h, o)
        logs.append(np.log(sample.total_s / predicted_s))
    return float(np.sqrt(np.mean(np.square(logs))))


def slowdown_of(law: Law, samples: Sequence[Sample]) -> tuple[Slowdown, ...]:
    """Return the median factors for each concurrency above 1, by concurrency."""
    found = []
    for concurrency in sorted({s.concurrency for s in samples if s.concurrency > 1}):
        u, h, o, ttft, decode = _columns([s for s in samples if s.concurrency == concurrency])
        waits = [s.queue_s for s in samples if s.concurrency == concurrency]
        found.append(
            Slowdown(
                concurrency,
                ttft=float(np.median(ttft / law.ttft_s(u, h))),
                decode=float(np.median(decode / law.decode_s(u, h, o))),
                queue_s=float(np.median(waits)),
            )
        )
    return tuple(found)


def _columns(samples: Sequence[Sample]) -> tuple[Array, Array, Array, Array, Array]:
    rows = [(s.uncached_tok, s.cached_tok, s.out_tok, s.ttft_s, s.decode_s) for s in samples]
    u, h, o, ttft, decode = np.array(rows, dtype=np.float64).T
    return u, h, o, ttft, decode


def _fit(columns: Sequence[Array], measured: Array) -> tuple[float, ...]:
    """Return non-negative coefficients of least squared relative error, by trying every subset."""
    scale = np.array([np.abs(column).max() or 1.0 for column in columns])
    table = np.column_stack(columns) / scale / measured[:, None]
    best, least = np.zeros(len(columns)), np.inf
    for size in range(1, len(columns) + 1):
        for chosen in map(list, itertools.combinations(range(len(columns)), size)):
            found = np.linalg.lstsq(table[:, chosen], np.ones_like(measured), rcond=None)[0]
            error = float(np.sum((table[:, chosen] @ found - 1.0) ** 2))
            if found.min() >= 0 and error < least:
                least = error
                best = np.zeros(len(columns))
                best[chosen] = found
    return tuple(float(value) for value in best / scale)
