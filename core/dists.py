"""Latency distributions: a lognormal body and, now and then, an additive exponential stall.

Published figures are a median and a 95th percentile; `Latency.fitted` finds the body that gives
both back. Common random numbers: `normals` and `uniforms` are drawn once per (seed, step, purpose),
so two plans on one seed meet the same luck step by step, in whatever order they are simulated.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STALL_PROBABILITY = 0.02
"""Share of calls that stall. Assumption: published tails look additive; no share is published."""

Z95 = 1.6448536269514722


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds: `median_s * exp(sigma * z)`, now and then plus an exponential stall."""

    median_s: float
    sigma: float = 0.0
    stall_probability: float = 0.0
    stall_mean_s: float = 0.0

    @staticmethod
    def constant(seconds: float) -> Latency:
        """No spread at all."""
        return Latency(seconds)

    @staticmethod
    def fitted(p50_s: float, p95_s: float) -> Latency:
        """The distribution with this median and 95th percentile.

        Stalls have mean p95 - p50 (the same figures are all there is to scale them by).
        """
        if p50_s <= 0 or p95_s <= p50_s:
            return Latency.constant(max(p50_s, 0.0))
        median, sigma = _fit(p95_s / p50_s)
        return Latency(median * p50_s, sigma, STALL_PROBABILITY, p95_s - p50_s)

    def scaled(self, factor: float) -> Latency:
        """The same shape, `factor` times as long."""
        return Latency(
            self.median_s * factor,
            self.sigma,
            self.stall_probability,
            self.stall_mean_s * factor,
        )

    def certain(self) -> Latency:
        """The same median without any spread."""
        return Latency.constant(self.median_s)

    def draw(self, seed: int, step: str, purpose: str, n: int) -> Array:
        """n seconds, shape (n,); the same numbers for the same arguments."""
        if self.sigma == 0.0 and self.stall_probability == 0.0:
            return np.full(n, self.median_s)
        out: Array = self.median_s * np.exp(self.sigma * normals(seed, step, purpose, n))
        if self.stall_probability > 0.0:
            luck = uniforms(seed, step, purpose + ".stall", n)
            # one uniform decides both whether it stalls and, rescaled, for how long
            hit = luck < self.stall_probability
            scaled = np.where(hit, luck / self.stall_probability, 1.0)
            out = out - self.stall_mean_s * np.log(np.maximum(scaled, 1e-300)) * hit
        return out


@lru_cache(maxsize=512)
def _fit(ratio: float) -> tuple[float, float]:
    """(median, sigma) of the body so that the whole has median 1 and 95th percentile `ratio`."""
    stall = ratio - 1.0
    median, sigma = 1.0, math.log(ratio) / Z95
    for _ in range(40):
        sigma *= math.log(ratio) / math.log(_quantile(0.95, median, sigma, stall))
        median /= _quantile(0.50, median, sigma, stall)
    return median, sigma


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def _quantile(p: float, median: float, sigma: float, stall: float) -> float:
    """Quantile of body plus occasional stall, by bisection on its distribution function."""
    body = median * np.exp(sigma * _NODES)
    low, high = 1e-3, 1e3
    for _ in range(60):
        mid = math.sqrt(low * high)
        plain = 0.5 * math.erfc(-math.log(mid / median) / sigma / math.sqrt(2))
        gap = mid - body
        stalled = float(_WEIGHTS @ np.where(gap > 0, -np.expm1(-np.maximum(gap, 0) / stall), 0.0))
        below = (1 - STALL_PROBABILITY) * plain + STALL_PROBABILITY * stalled
        low, high = (mid, high) if below < p else (low, mid)
    return math.sqrt(low * high)


def _generator(seed: int, step: str, purpose: str) -> np.random.Generator:
    key = (seed & 0xFFFFFFFF, zlib.crc32(step.encode()), zlib.crc32(purpose.encode()))
    return np.random.default_rng(key)


@lru_cache(maxsize=256)
def normals(seed: int, step: str, purpose: str, n: int) -> Array:
    """n standard normal numbers of this seed, step and purpose; shared, not to be written to."""
    out = _generator(seed, step, purpose).standard_normal(n)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=256)
def uniforms(seed: int, step: str, purpose: str, n: int) -> Array:
    """n numbers in [0, 1) of this seed, step and purpose; shared, not to be written to."""
    out = _generator(seed, step, purpose).random(n)
    out.flags.writeable = False
    return out
