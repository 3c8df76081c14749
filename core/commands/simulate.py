"""`simulate`: before and after, in percentiles over many requests and in one request's timeline."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from pathlib import Path

from core.commands import tail
from core.commands.choice import Picked, picked
from core.commands.choice import arguments as choice_arguments
from core.commands.output import as_json, table
from core.commands.steps import print_steps, steps_json
from core.compare import Comparison, compare, typical
from core.errors import InputError
from core.export import events_csv, summary_json
from core.load import Capacity, Load, compare_under_load
from core.metrics import HEADLINE, METRICS, Reader, summaries
from core.text import say, text
from core.workload import RATE_PER_S, Workload, stream

DEFAULT_N = 2000


def arguments(parser: ArgumentParser) -> None:
    """What to compare and on how many requests."""
    choice_arguments(parser)
    parser.add_argument("--n", type=int, default=DEFAULT_N, help="requests to simulate")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same numbers")
    parser.add_argument("--rate", type=float, default=RATE_PER_S, help="requests per second")
    parser.add_argument("--request", default="", help="the request of the timeline, by id")
    parser.add_argument("--pace", type=float, default=1.0, help="reading pace, 1 is average")
    parser.add_argument(
        "--steps", action="store_true", help="also what each technique adds, one after the other"
    )
    tail.arguments(parser)
    parser.add_argument("--csv", type=Path, help="also write the timeline's events to this file")


def run(given: Namespace) -> None:
    """Simulate and print."""
    choice = picked(given)
    if not 0.1 <= given.pace <= 10:
        raise InputError(f"--pace is {given.pace}; from 0.1 to 10 is valid")
    if not 0 < given.rate < math.inf:
        raise InputError(f"--rate is {given.rate}; it must be above 0 requests per second")
    if given.seed < 0:
        raise InputError(f"--seed is {given.seed}; it must be 0 or more")
    shared, limit = tail.capacity(given), tail.limit_s(given)
    workload = stream(choice.scenario, given.n, seed=given.seed, rate_per_s=given.rate)
    requests = choice.scenario.requests
    request = choice.scenario.request(given.request) if given.request else requests[0]
    reader = Reader(given.pace)
    found, loads = _compared(choice, workload, shared, given.seed)
    shown = typical(choice.scenario, request, choice.choices, choice.setting)
    if given.csv is not None:
        _write_csv(given.csv, choice, shown, reader)
    if given.json:
        data = summary_json(choice.scenario, choice.setting, found, shown, reader, given.seed)
        data["load"] = tail.load_json(shared, loads)
        data["slo"] = tail.slo_json(found, limit, given.slo_metric, reader)
        if given.steps:
            data["steps"] = steps_json(choice, workload, reader, given.seed)
        as_json(data)
        return
    _print(choice, found, reader)
    if given.steps:
        print_steps(choice, workload, reader, given.seed)
    tail.print_load(shared, loads, asked=given.rate != RATE_PER_S)
    tail.print_slo(found, limit, given.slo_metric, reader)


def _compared(
    choice: Picked, workload: Workload, shared: Capacity | None, seed: int
) -> tuple[Comparison, tuple[Load, Load] | None]:
    """Both plans on the same stream, with what they share, where they share anything."""
    scenario, choices, where = choice.scenario, choice.choices, choice.setting
    if shared is None:
        return compare(scenario, choices, where, workload, seed=seed), None
    found, *loads = compare_under_load(scenario, choices, where, workload, shared, seed=seed)
    return found, (loads[0], loads[1])


def _write_csv(path: Path, choice: Picked, shown: Comparison, reader: Reader) -> None:
    try:
        path.write_text(events_csv(choice.scenario, shown, reader), encoding="utf-8")
    except OSError as error:
        raise InputError(f"--csv {path}: {error.strerror}") from None


def _print(choice: Picked, found: Comparison, reader: Reader) -> None:
    before = summaries(found.before, reader, HEADLINE)
    after = summaries(found.after, reader, HEADLINE)
    large, small = choice.setting.large, choice.setting.small
    print(
        f"{choice.scenario.id}, simulated: n={found.before.n}, large {large.name} "
        f"({large.source_date}), small {small.name} ({small.source_date})"
    )
    rows = []
    for m in (m for m in METRICS if m.id in HEADLINE):
        a, b = before[m.id], after[m.id]
        rows.append((m.id, a.p50, b.p50, _share(a.p50, b.p50), a.p95, b.p95))
    table(("metric", "before p50", "after p50", "change", "before p95", "after p95"), rows)
    for key in choice.setting.warnings:
        print(f"note: {say_key(key)}")
    for entry in found.log:
        state = "on" if entry.applied else "does nothing"
        why = f": {say(entry.reason, 'en')}" if entry.reason else ""
        print(f"{entry.technique}: {state}{why}")


def say_key(key: str) -> str:
    """A warning about the chosen models in words."""
    return text("en", f"warning.{key}")


def _share(a: float | None, b: float | None) -> str:
    return "-" if not a or b is None else f"{(b - a) / a:+.0%}"
