"""The stream of requests a plan is simulated on: which ones, when, and in what words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core import tokens
from core.dists import Array
from core.errors import InputError
from core.plan import SmallIf
from core.request import Request
from core.scenarios import Scenario

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.str_]

ZIPF_EXPONENT = 0.9
"""How unevenly requests repeat. Assumption: query logs are Zipf with exponents of 0.7 to 1.1."""

RATE_PER_S = 0.2
"""Requests per second of the whole service, where nothing else is said. Assumption."""

REPEAT_SHARE = 0.3
"""Share of requests asked in words used before. Assumption: about a third of chat questions repeat;
set it to your own log's share."""

MAX_REQUESTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """n requests of a scenario, arrays (n,).

    `index` says which one, `arrival_s` when it arrives, `fresh` whether it is asked in words never
    used before, `luck` is a number in [0, 1) that decides what becomes of a fresh wording.
    """

    scenario: Scenario
    index: Ints
    arrival_s: Array
    fresh: Mask
    luck: Array

    @property
    def n(self) -> int:
        """How many requests."""
        return len(self.index)

    @property
    def lang(self) -> Words:
        """The language of each request, shape (n,)."""
        return _langs(self.scenario)[self.index]

    def flags(self, value: str) -> Mask:
        """Reference truth of a value, shape (n,)."""
        return _flags(self.scenario, value)[self.index]


def stream(
    scenario: Scenario,
    n: int,
    *,
    seed: int = 0,
    zipf: float = ZIPF_EXPONENT,
    rate_per_s: float = RATE_PER_S,
    repeat_share: float = REPEAT_SHARE,
) -> Workload:
    """n requests arriving at random, popular ones more often (earlier lines of the data).

    `repeat_share` of them use the words of the data, the others say the same in fresh words.

    Raises InputError for an n that is not 1 to MAX_REQUESTS.
    """
    check_n(n)
    m = len(scenario.requests)
    weight = np.arange(1, m + 1) ** -zipf
    rng = np.random.default_rng((seed, 0x5EED))
    index = rng.choice(m, size=n, p=weight / weight.sum())
    gaps: Array = rng.exponential(1.0 / rate_per_s, size=n)
    fresh = rng.random(n) >= repeat_share
    arrival: Array = np.cumsum(gaps)
    return Workload(scenario, index.astype(np.int64), arrival, fresh, rng.random(n))


def only(scenario: Scenario, request: Request, n: int = 1) -> Workload:
    """n independent asks of one request, so far apart that no cache remembers the last one."""
    row = scenario.requests.index(request)
    index = np.full(n, row, dtype=np.int64)
    far_apart = np.arange(n, dtype=np.float64) * 1e9
    return Workload(scenario, index, far_apart, np.ones(n, dtype=bool), np.ones(n))


def asked_before(scenario: Scenario, request: Request, gap_s: float = 60.0) -> Workload:
    """The same request twice in the same words, `gap_s` apart: row 1 is the one to look at."""
    row = scenario.requests.index(request)
    again = np.zeros(2, dtype=bool)
    return Workload(
        scenario, np.full(2, row, dtype=np.int64), np.array([0.0, gap_s]), again, np.zeros(2)
    )


def check_n(n: int) -> None:
    """Refuse a number of requests that makes no sense. Raises InputError."""
    if not 1 <= n <= MAX_REQUESTS:
        raise InputError(f"n is {n}; it must be from 1 to {MAX_REQUESTS:,} requests")


@lru_cache(maxsize=8)
def _langs(scenario: Scenario) -> Words:
    return np.array([r.lang for r in scenario.requests], dtype=np.str_)


@lru_cache(maxsize=128)
def _flags(scenario: Scenario, value: str) -> Mask:
    return np.array([r.flag(value) for r in scenario.requests])


@lru_cache(maxsize=64)
def simple(scenario: Scenario, rule: SmallIf) -> Mask:
    """Which requests (m,) a rule calls simple: by task, and by tokens of message and history."""
    return np.array(
        [
            r.task in rule.tasks
            and sum(tokens.count(t) for t in (r.message, *(t.text for t in r.history)))
            <= rule.max_tok
            for r in scenario.requests
        ]
    )
