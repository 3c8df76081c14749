"""Who earned the gain: Shapley values of techniques, exact or sampled, and their interactions.

The value of a set is how much lower the goal's median is than with nothing switched on. A
technique's share is its mean marginal gain over all orders of switching on; shares add up to the
whole gain. Source: Shapley 1953; interaction index of Grabisch and Roubens 1999.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Value = Callable[[frozenset[str]], float]

EXACT_UP_TO = 8
"""Up to here all sets are valued; above, orders are sampled."""


@dataclass(frozen=True, slots=True)
class Share:
    """One technique's part of the total gain; `error` is its standard error, 0 where exact."""

    technique: str
    value: float
    error: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """The total gain, the shares that add up to it, and the pairs that help or hinder each other.

    `pairs` holds the interaction index of two techniques: negative where one is worth less once the
    other is on. Empty where orders were sampled.
    """

    total: float
    shares: tuple[Share, ...]
    pairs: dict[tuple[str, str], float]

    @property
    def exact(self) -> bool:
        """Whether all sets were valued."""
        return all(s.error == 0.0 for s in self.shares)


def exact(players: Sequence[str], value: Value) -> Attribution:
    """Shapley values and pairwise interactions by full enumeration, 2^k values."""
    k = len(players)
    worth = np.array([value(_members(players, mask)) for mask in range(1 << k)])
    shares = tuple(
        Share(player, _mean_marginal(worth, i, k), 0.0) for i, player in enumerate(players)
    )
    pairs = {
        (players[i], players[j]): _interaction(worth, i, j, k)
        for i, j in itertools.combinations(range(k), 2)
    }
    return Attribution(float(worth[-1] - worth[0]), shares, pairs)


def sampled(
    players: Sequence[str], value: Value, *, orders: int, rng: np.random.Generator
) -> Attribution:
    """Shapley values from random orders, each used forwards and backwards (antithetic)."""
    k = len(players)
    gains = np.zeros((orders, k))
    for row in range(orders):
        order = rng.permutation(k)
        for way in (order, order[::-1]):
            chosen: frozenset[str] = frozenset()
            before = value(chosen)
            for i in way:
                chosen = chosen | {players[i]}
                after = value(chosen)
                gains[row, i] += (after - before) / 2
                before = after
    means = gains.mean(axis=0)
    errors = gains.std(axis=0, ddof=1) / math.sqrt(orders) if orders > 1 else np.full(k, np.inf)
    total = value(frozenset(players)) - value(frozenset())
    shares = tuple(
        Share(p, float(m), float(e)) for p, m, e in zip(players, means, errors, strict=True)
    )
    return Attribution(total, shares, {})


def _members(players: Sequence[str], mask: int) -> frozenset[str]:
    return frozenset(p for i, p in enumerate(players) if mask >> i & 1)


def _mean_marginal(worth: np.ndarray, i: int, k: int) -> float:
    """Mean gain of adding i, weighted by how many orders have just that set before it."""
    total = 0.0
    for mask in range(1 << k):
        if not mask >> i & 1:
            size = mask.bit_count()
            weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
            total += weight * float(worth[mask | 1 << i] - worth[mask])
    return total


def _interaction(worth: np.ndarray, i: int, j: int, k: int) -> float:
    """Mean difference that j's presence makes to the gain of adding i."""
    both = 1 << i | 1 << j
    total = 0.0
    for mask in range(1 << k):
        if not mask & both:
            size = mask.bit_count()
            weight = math.factorial(size) * math.factorial(k - size - 2) / math.factorial(k - 1)
            gain = worth[mask | both] - worth[mask | 1 << i] - worth[mask | 1 << j] + worth[mask]
            total += weight * float(gain)
    return total
