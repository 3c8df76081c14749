"""A stream of requests through all cache layers: who answers, and what it costs the others.

Popular requests repeat as in a query log; each layer is that of the technique `caching`, so what is
seen here is what the Playground's toggle does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from core import hits
from core.compare import compare
from core.dists import Array
from core.metrics import Summary, summary
from core.plan import AnswerCache, Cache, LlmStep, Plan, WorkKind, WorkStep
from core.profiles import Setting
from core.scenarios import scenario
from core.techniques import choose
from core.timeline import Mask, State, Timeline
from core.workload import RATE_PER_S, REPEAT_SHARE, ZIPF_EXPONENT, Workload, stream

N = 2000
"""Requests of a stream: enough for a p99 of the misses at usual hit rates."""

SEED = 0

Layer = Literal["exact", "semantic", "embedding", "retrieval", "prompt"]
LAYERS: tuple[Layer, ...] = ("exact", "semantic", "embedding", "retrieval", "prompt")

Outcome = Literal["exact", "right", "wrong", "miss"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "right", "wrong", "miss")


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How requests repeat, and what the cache does.

    `repeat_share` of the requests use words used before, popularity falls with rank to the power
    `zipf`; `threshold` and `guards` are those of the semantic layer.
    """

    scenario: str = "support"
    layers: tuple[Layer, ...] = LAYERS
    threshold: float = 0.86
    guards: bool = True
    ttl_h: float = 24.0
    repeat_share: float = REPEAT_SHARE
    zipf: float = ZIPF_EXPONENT
    rate_per_s: float = RATE_PER_S


@dataclass(frozen=True, slots=True)
class Group:
    """The requests that ended in one way: their number and their time without and with caches."""

    outcome: Outcome
    n: int
    before: Summary
    after: Summary


@dataclass(frozen=True, slots=True)
class Inner:
    """A layer that saves a part of the work: how often it was asked, and found what it needed.

    For the provider's prompt cache both count tokens, else requests.
    """

    layer: Layer
    found: int
    asked: int


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """What came of a stream: groups by outcome, inner layers, and both distributions in seconds.

    `before_s`, `after_s`: (n,) time of each request. `miss_cost_s` is what a miss pays for having
    been looked up first, the median of the look-up's own time.
    """

    n: int
    groups: tuple[Group, ...]
    inner: tuple[Inner, ...]
    before_s: Array
    after_s: Array
    miss_cost_s: float

    def count(self, *outcomes: Outcome) -> int:
        """Return how many requests ended in one of these ways."""
        return sum(group.n for group in self.groups if group.outcome in outcomes)


@lru_cache(maxsize=32)
def streamed(given: StreamSettings, setting: Setting) -> Streamed:
    """Simulate the stream without caches and with them, on the same requests and luck."""
    found = scenario(given.scenario)
    workload = stream(
        found,
        N,
        seed=SEED,
        zipf=given.zipf,
        rate_per_s=given.rate_per_s,
        repeat_share=given.repeat_share,
    )
    params: dict[str, object] = {layer: layer in given.layers for layer in LAYERS}
    params |= {"threshold": given.threshold, "guards": given.guards, "ttl_h": given.ttl_h}
    chosen = choose(("caching",), {"caching": params})
    both = compare(found, chosen, setting, workload, seed=SEED)
    outcomes = _outcomes(both.after, workload)
    before_s, after_s = both.before.total_s, both.after.total_s
    return Streamed(
        workload.n,
        tuple(
            Group(name, int(rows.sum()), _summary(before_s[rows]), _summary(after_s[rows]))
            for name, rows in outcomes.items()
        ),
        tuple(_inner(both.after)),
        before_s,
        after_s,
        _lookup_s(both.after, outcomes["miss"]),
    )


def _summary(values: Array) -> Summary:
    """Return percentiles; none of nothing."""
    return summary(values) if len(values) else Summary(None, None, None, None, 0, 0)


def _outcomes(after: Timeline, workload: Workload) -> dict[Outcome, Mask]:
    """Return which requests ended in which way; every request in exactly one."""
    layers = _layers(after.plan)
    exact = hits.answers(workload, tuple(x for x in layers if x.layer == "exact")).hit
    exact = exact & after.hit
    semantic = after.hit & ~exact
    return {
        "exact": exact,
        "right": semantic & ~after.wrong,
        "wrong": after.wrong,
        "miss": ~after.hit,
    }


def _layers(plan: Plan) -> tuple[AnswerCache, ...]:
    return tuple(layer for step in plan.work_steps for layer in step.layers)


def _inner(after: Timeline) -> Iterator[Inner]:
    """Yield the layers inside a request that went on: embedding, retrieval, prompt."""
    kinds: tuple[tuple[Layer, WorkKind], ...] = (
        ("embedding", WorkKind.EMBED),
        ("retrieval", WorkKind.SEARCH),
    )
    for layer, kind in kinds:
        steps = [s for s in after.plan.work_steps if s.work is kind and _remembers(s)]
        states = [after.state[:, after.column(s.id)] for s in steps]
        if states:
            found = sum(int((state == State.CACHED).sum()) for state in states)
            asked = sum(int((state != State.SKIPPED).sum()) for state in states)
            yield Inner(layer, found, asked)
    if any(isinstance(s, LlmStep) and s.prompt_cache for s in after.plan.steps):
        cached, read = after.usage.tokens_cached, after.usage.tokens_in
        yield Inner("prompt", int(np.nansum(cached)), int(np.nansum(read)))


def _remembers(step: WorkStep) -> bool:
    return any(isinstance(policy, Cache) for policy in step.policies)


def _lookup_s(after: Timeline, missed: Mask) -> float:
    """Return the median time of the look-up of those that missed; 0 without look-up or misses."""
    columns = [after.column(s.id) for s in after.plan.work_steps if s.layers]
    if not columns or not missed.any():
        return 0.0
    took = after.end_s[:, columns[0]] - after.start_s[:, columns[0]]
    return float(np.median(took[missed]))
