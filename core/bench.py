"""Benches of the engine: functions that return figures by name; run by `python -m core bench`.

Figures are ratios where they can be, so they mean the same on another machine. Those of retrieval,
caching and routing count on labelled data: the shipped requests, and a folder of public questions
where one is given.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from timeit import repeat

import numpy as np

from core import bench_retrieval
from core.bench_load import load
from core.compare import rewritten
from core.errors import Unavailable
from core.metrics import HEADLINE, Reader, summaries
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.simulate import simulate
from core.techniques import HEADLINE_ORDER, choose
from core.workload import stream

Figures = dict[str, float]
Nested = Mapping[str, object]

QUESTIONS = "banking77_train.csv"
"""The file by which a folder of public questions is known."""

SIMPY_PLANS: Mapping[str, tuple[str, ...]] = {
    "naive": (),
    "stream": ("parallel", "small_model", "streaming", "chunking"),
}


REPEATS = 5
"""Arithmetic takes a tenth of a second: the shortest of so many is what it takes undisturbed. The
events take seconds, and are taken once."""


def simpy() -> Figures:
    """`simulate` against a SimPy model of the same plans: agreement and requests per second."""
    try:
        from core.bench_simpy import totals  # noqa: PLC0415
    except ImportError:
        raise Unavailable("this bench needs SimPy: pip install simpy") from None
    found: Figures = {}
    where = setting()
    for name in SCENARIOS:
        for label, ids in SIMPY_PLANS.items():
            plan, _ = rewritten(scenario(name), choose(ids), where)
            few, many = stream(scenario(name), 12_000, seed=1), stream(scenario(name), 60_000)
            simulate(plan, where, few, seed=3)  # counts are made once, whoever asks first
            began = time.perf_counter()
            events = totals(plan, where, few, seed=2)
            per_event_s = (time.perf_counter() - began) / few.n
            run = partial(simulate, plan, where, many)
            arithmetic = run().total_s
            per_row_s = min(repeat(run, number=1, repeat=REPEATS)) / many.n
            same = simulate(plan, where, few, seed=3).total_s
            for q in (50, 95):
                a, b = np.nanpercentile(same, q), np.nanpercentile(events, q)
                found[f"{name}.{label}.p{q}_ratio"] = float(a / b)
            found[f"{name}.{label}.speed_ratio"] = per_event_s / per_row_s
            found[f"{name}.{label}.requests_per_s"] = 1 / per_row_s
            found[f"{name}.{label}.p50_s"] = float(np.nanpercentile(arithmetic, 50))
    return found


def subsets() -> Figures:
    """All subsets of the eight headline techniques, 500 requests each, a process per pipeline."""
    began = time.perf_counter()
    with ProcessPoolExecutor(len(SCENARIOS)) as workers:
        done = list(workers.map(_all_subsets, SCENARIOS))
    return {
        "plans": sum(plans for plans, _ in done),
        "seconds": time.perf_counter() - began,
        "cpu_seconds": sum(cpu for _, cpu in done),
    }


def _all_subsets(name: str) -> tuple[int, float]:
    """How many plans of one pipeline were simulated, and the processor seconds that took."""
    where, reader, runs = setting(), Reader(), 0
    cpu = time.process_time()
    workload = stream(scenario(name), 500)
    for size in range(len(HEADLINE_ORDER) + 1):
        for ids in itertools.combinations(HEADLINE_ORDER, size):
            plan, _ = rewritten(scenario(name), choose(ids), where)
            summaries(simulate(plan, where, workload), reader, HEADLINE)
            runs += 1
    return runs, time.process_time() - cpu


def headline() -> Figures:
    """The story of the first screen: naive, streaming alone and all eight at default profiles."""
    found: Figures = {}
    where, reader = setting(), Reader()
    for name in SCENARIOS:
        workload = stream(scenario(name), 2000)
        naive = simulate(scenario(name).plan, where, workload)
        for label, ids in (("streaming", ("streaming",)), ("all", HEADLINE_ORDER)):
            plan, _ = rewritten(scenario(name), choose(ids), where)
            after = simulate(plan, where, workload)
            for m in ("total_s", "first_visible_s", "reader_wait_s"):
                a, b = (summaries(t, reader, (m,))[m].p50 for t in (naive, after))
                found[f"{name}.naive.{m}"] = a or float("nan")
                found[f"{name}.{label}.{m}"] = b or float("nan")
        streamed, _ = rewritten(scenario(name), choose(("streaming",)), where)
        alone = simulate(streamed, where, workload)
        gap = np.nanmax(np.abs(alone.total_s - naive.total_s))
        found[f"{name}.streaming.total_change_max_s"] = float(gap)
    return found


BENCHES: Mapping[str, Callable[[], Figures]] = {
    "headline": headline,
    "subsets": subsets,
    "simpy": simpy,
    "load": load,
}
"""Quick ones, which run unasked."""


def _cache(data: Path | None) -> Nested:
    return bench_retrieval.cache(_folder(data))


def _retrieval(_: Path | None) -> Nested:
    return bench_retrieval.retrieval()


def _router(data: Path | None) -> Nested:
    return bench_retrieval.router(_folder(data))


def _folder(data: Path | None) -> Path | None:
    """Return the folder that holds the public questions; the given one where none does."""
    if data is None:
        return None
    places = (data, data / "cache")
    return next((place for place in places if (place / QUESTIONS).is_file()), data)


DATA_BENCHES: Mapping[str, Callable[[Path | None], Nested]] = {
    "cache": _cache,
    "retrieval": _retrieval,
    "router": _router,
}
"""Minutes each; run where they are named. Raises: InputError where a data folder lacks a file."""

READS_DATA = ("cache", "router")
"""Those that measure on a folder of public questions too; the others need none."""
