"""Load and limit of `simulate`: what calls share, how many keep an SLO, which step is slow."""

from __future__ import annotations

import dataclasses
import math
from argparse import ArgumentParser, Namespace

from core.charts import share_within
from core.commands.output import table
from core.compare import Comparison
from core.errors import InputError
from core.load import Capacity, Load
from core.metrics import METRICS, Metric, Reader, metric, summary
from core.tails import Owner, owners, parts
from core.timeline import Timeline

TIMES = tuple(m.id for m in METRICS if m.unit == "s")


def arguments(parser: ArgumentParser) -> None:
    """What calls share, and a limit."""
    parser.add_argument("--pool", type=int, help="connections to the model endpoint, shared by all")
    parser.add_argument("--requests-per-s", type=float, help="a provider's limit on calls")
    parser.add_argument("--tokens-per-min", type=float, help="a provider's limit on tokens")
    parser.add_argument(
        "--slowdown",
        type=float,
        default=0.0,
        help="each of k calls at a time takes 1 + SLOWDOWN (k - 1) times as long; 0 is none",
    )
    parser.add_argument("--slo", type=float, help="limit in seconds")
    parser.add_argument(
        "--slo-metric", default="total_s", choices=TIMES, help="what the limit is on"
    )


def capacity(given: Namespace) -> Capacity | None:
    """What calls share; None where they share nothing. Raises InputError."""
    found = Capacity(given.pool, given.requests_per_s, given.tokens_per_min, given.slowdown)
    return None if found == Capacity() else found


def limit_s(given: Namespace) -> float | None:
    """The limit in seconds, if there is one. Raises InputError."""
    if given.slo is not None and not 0 < given.slo < math.inf:
        raise InputError(f"--slo is {given.slo}; it must be above 0 seconds")
    return None if given.slo is None else float(given.slo)


def load_json(shared: Capacity | None, loads: tuple[Load, Load] | None) -> object:
    """`load`: what is shared and what it saw; null where nothing is."""
    if shared is None or loads is None:
        return None
    before, after = (_plain(load) for load in loads)
    return {"capacity": dataclasses.asdict(shared), "baseline": before, "variant": after}


def _plain(load: Load) -> dict[str, object]:
    """Null where nothing is limited."""
    found = dataclasses.asdict(load)
    return {k: None if v == math.inf else v for k, v in found.items()}


def slo_json(found: Comparison, limit: float | None, metric_id: str, reader: Reader) -> object:
    """`slo`: the share of all requests within the limit, and who owns the slow end."""
    if limit is None:
        return None
    m = metric(metric_id)
    return {
        "metric": m.id,
        "limit_s": limit,
        "baseline": _side(found.before, m, limit, reader),
        "variant": _side(found.after, m, limit, reader),
    }


def _side(timeline: Timeline, m: Metric, limit: float, reader: Reader) -> dict[str, object]:
    values = m.compute(timeline, reader)
    return {
        "within": share_within(values, limit),
        "failed": int(timeline.failed.sum()),
        "p95_s": summary(values).p95,
        "owners": [dataclasses.asdict(o) for o in _owners(timeline)],
    }


def _owners(timeline: Timeline) -> tuple[Owner, ...]:
    return owners(parts(timeline), timeline.step_ids, timeline.failed)


def print_load(shared: Capacity | None, loads: tuple[Load, Load] | None, *, asked: bool) -> None:
    """The load on both sides; where a rate was asked for and nothing is shared, that."""
    if shared is None or loads is None:
        if asked:
            print("note: calls share nothing, so none waits for another; give --pool or a limit")
        return
    before, after = loads
    print(f"shared: {_said(shared)}; {before.arrivals_per_s:.3g} requests/s arrive")
    rows = [
        ("calls", before.calls, after.calls),
        ("calls under way", before.busy, after.busy),
        ("share of the pool in use", before.used, after.used),
        ("bearable requests/s", before.bearable_per_s, after.bearable_per_s),
        ("new connections", before.new_connections, after.new_connections),
        ("longest queue", before.longest_queue, after.longest_queue),
    ]
    table(("load", "before", "after"), rows)
    for side, load in (("before", before), ("after", after)):
        if load.arrivals_per_s > load.bearable_per_s:
            print(f"{side}: more arrives than can be borne, so waits grow for as long as it lasts")


def _said(shared: Capacity) -> str:
    found = {
        "a pool of {}": shared.pool,
        "{:g} calls/s": shared.requests_per_s,
        "{:g} tokens/min": shared.tokens_per_min,
        "slowdown {:g}": shared.slowdown or None,
    }
    return ", ".join(words.format(value) for words, value in found.items() if value is not None)


def print_slo(found: Comparison, limit: float | None, metric_id: str, reader: Reader) -> None:
    """Share within the limit on both sides, and the three steps that own most of the slow end."""
    if limit is None:
        return
    m, sides = metric(metric_id), (found.before, found.after)
    within = [share_within(m.compute(t, reader), limit) for t in sides]
    print(
        f"{m.id} within {limit:g} s: before {within[0]:.1%}, after {within[1]:.1%} "
        f"(failed requests are not within: {sides[0].failed.sum()}, {sides[1].failed.sum()})"
    )
    for side, timeline in zip(("before", "after"), sides, strict=True):
        top = [f"{o.step} {o.share:.0%}" for o in _owners(timeline)[:3]]
        print(f"{side}, the slowest 5 % spend their extra time in: {', '.join(top) or '-'}")
