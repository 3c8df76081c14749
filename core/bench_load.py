"""Shared capacity against two other readings of it: a closed form, and a SimPy model."""

from __future__ import annotations

import math
import time

import numpy as np

from core.compare import rewritten
from core.dists import Array
from core.errors import Unavailable
from core.load import Capacity, erlang_wait_s, queue_waits, under_load
from core.plan import Plan
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import choose
from core.workload import stream

Figures = dict[str, float]

POOL = 8
SHARE = 0.8
"""Of what the pool can bear arrives."""

PLANS = {"naive": (), "stream": ("parallel", "small_model", "streaming", "chunking")}
RUNS, CALLS, WARM_UP = 24, 4000, 500


def load() -> Figures:
    """Agreement with M/M/c and with SimPy at 80 % of capacity; what hedging does there."""
    try:
        from core.bench_simpy import totals_in_a_pool  # noqa: PLC0415
    except ImportError:
        raise Unavailable("this bench needs SimPy: pip install simpy") from None
    found = dict(_closed_form())
    where = setting()
    for name in SCENARIOS:
        base = scenario(name)
        for label, ids in PLANS.items():
            plan, _ = rewritten(base, choose(ids), where)
            rate = SHARE * bearable_per_s(plan)
            workload = stream(base, 12_000, seed=1, rate_per_s=rate)
            began = time.perf_counter()
            ours = under_load(plan, where, workload, Capacity(POOL), seed=3)
            spent = time.perf_counter() - began
            theirs = totals_in_a_pool(plan, where, workload, POOL, seed=2)
            key = f"{name}.{label}"
            for q in (50, 95):
                a, b = (np.nanpercentile(t, q) for t in (ours.timeline.total_s, theirs))
                found[f"{key}.p{q}_ratio"] = float(a / b)
            found[f"{key}.used"] = ours.load.used or 0.0
            found[f"{key}.requests_per_s"] = workload.n / spent
        found |= {f"{name}.{k}": v for k, v in _hedging(name).items()}
    return found


def bearable_per_s(plan: Plan, pool: int = POOL) -> float:
    """Requests per second that a pool can bear under a plan."""
    light = stream(scenario(plan.scenario), 2000, rate_per_s=0.05)
    return under_load(plan, setting(), light, Capacity(pool)).load.bearable_per_s


def mean_wait(rate_per_s: float, servers: int, *, runs: int, calls: int, warm_up: int) -> Array:
    """Mean waits (runs,) of an M/M/c queue with a mean service of 1 s, each without its start."""
    means = []
    for seed in range(runs):
        rng = np.random.default_rng((seed, servers))
        arrival = np.cumsum(rng.exponential(1 / rate_per_s, calls))
        waits = queue_waits(arrival, rng.exponential(1.0, calls), Capacity(servers))
        means.append(waits[warm_up:].mean())
    return np.array(means)


def _closed_form() -> Figures:
    found: Figures = {}
    for servers in (1, 8):
        waits = mean_wait(SHARE * servers, servers, runs=RUNS, calls=CALLS, warm_up=WARM_UP)
        exact = erlang_wait_s(SHARE * servers, 1.0, servers)
        error = waits.std(ddof=1) / math.sqrt(RUNS)
        found[f"mm{servers}.wait_ratio"] = float(waits.mean() / exact)
        found[f"mm{servers}.standard_errors"] = float(abs(waits.mean() - exact) / error)
    return found


def _hedging(name: str) -> Figures:
    """The change of p95 by hedging, at a tenth of what the pool can bear and near all of it."""
    base, where, found = scenario(name), setting(), {}
    hedged, _ = rewritten(base, choose(["hedge"]), where)
    for label, share in (("light", 0.1), ("heavy", 0.9)):
        workload = stream(base, 4000, seed=5, rate_per_s=share * bearable_per_s(base.plan))
        p95 = [
            float(
                np.nanpercentile(
                    under_load(p, where, workload, Capacity(POOL)).timeline.total_s, 95
                )
            )
            for p in (base.plan, hedged)
        ]
        found[f"hedge.{label}.p95_change"] = p95[1] / p95[0] - 1
    return found
