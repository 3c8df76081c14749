"""What model calls share, and the closed form its queue is checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.errors import InputError

MAX_POOL = 10_000
IDLE_LIFE_S = 5.0
"""How long an unused connection stays open. Source: the SDKs' default for idle connections."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Named resources shared by all model calls of all requests; None where there is no limit.

    `pool`: connections to the model endpoint, so calls at a time. `requests_per_s` and
    `tokens_per_min`: a provider's limits, each a bucket that fills up steadily and holds one
    second's or one minute's worth; tokens are those of prompt and answer. `slowdown`: of k calls at
    a time each takes `1 + slowdown (k - 1)` times as long as alone; 0 for a hosted endpoint, 1 for
    an engine that works on all in turn. Waiting is first come, first served.

    Raises InputError for a limit that lets nothing through.
    """

    pool: int | None = None
    requests_per_s: float | None = None
    tokens_per_min: float | None = None
    slowdown: float = 0.0

    def __post_init__(self) -> None:
        if self.pool is not None and not 1 <= self.pool <= MAX_POOL:
            raise InputError(f"the pool is {self.pool}; it must be 1 to {MAX_POOL:,} connections")
        for name, value in (
            ("requests per second", self.requests_per_s),
            ("tokens per minute", self.tokens_per_min),
        ):
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"the limit on {name} is {value}; it must be above 0")
        if not 0 <= self.slowdown <= 10:
            raise InputError(f"the slowdown is {self.slowdown}; from 0 to 10 is valid")

    def bearable_per_s(self, calls: float, tokens: float, busy_s: float) -> float:
        """Requests per second it can bear: of so many calls, tokens and seconds of calls each.

        `busy_s` is what the calls of one request take alone; inf where nothing is limited.
        """
        found = [math.inf]
        if self.pool is not None and busy_s > 0:
            found.append(self.pool / (busy_s * (1 + self.slowdown * (self.pool - 1))))
        elif self.slowdown > 0 and busy_s > 0:
            found.append(1 / (busy_s * self.slowdown))
        if self.requests_per_s is not None and calls > 0:
            found.append(self.requests_per_s / calls)
        if self.tokens_per_min is not None and tokens > 0:
            found.append(self.tokens_per_min / 60 / tokens)
        return min(found)


def erlang_wait_s(rate_per_s: float, service_s: float, servers: int) -> float:
    """Mean wait of an M/M/c queue; inf where more arrives than is served.

    Source: Erlang 1917, the C formula; here by the recursion of the B formula, which does not
    overflow.
    """
    offered = rate_per_s * service_s
    if offered >= servers:
        return math.inf
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    waits = blocked / (1 - offered / servers * (1 - blocked))
    return waits * service_s / (servers - offered)
