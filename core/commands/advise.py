"""`advise`: the best set of techniques under limits, the front, and who earns the gain."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

import numpy as np

from core.advice.search import Advice, Limits, advise
from core.advice.shapley import EXACT_UP_TO, Attribution, exact, sampled
from core.advice.value import ADVICE_N, Bench, Outcome
from core.commands.choice import found_scenario
from core.commands.output import as_json, table
from core.errors import InputError
from core.profiles import DEFAULT_LARGE, DEFAULT_ROUTE, DEFAULT_SMALL, setting
from core.techniques import HEADLINE_ORDER

GOALS = ("reader_wait_s", "first_useful_s", "total_s")
ORDERS = 24
"""Random orders behind the shares of a large set."""


def arguments(parser: ArgumentParser) -> None:
    """What to reach and what to keep."""
    parser.add_argument("scenario", help="a scenario's id, or a folder that holds one")
    parser.add_argument("--goal", choices=GOALS, default=GOALS[0], help="what is to become shorter")
    parser.add_argument("--slo", type=float, help="p95 of the goal in seconds to keep")
    parser.add_argument("--budget", type=float, help="mean cost of a request in USD to keep")
    parser.add_argument("--max-changes", type=int, help="at most this many techniques")
    parser.add_argument(
        "--no-quality-risk", action="store_true", help="nothing that may hurt answers"
    )
    parser.add_argument("--no-infrastructure", action="store_true", help="nothing new to run")
    parser.add_argument(
        "--headline", action="store_true", help="only the eight headline techniques"
    )
    parser.add_argument("--large", default=DEFAULT_LARGE, help="model in the large role")
    parser.add_argument("--small", default=DEFAULT_SMALL, help="model in the small role")
    parser.add_argument("--route", default=DEFAULT_ROUTE, help="network path, 'FROM > TO'")
    parser.add_argument("--n", type=int, default=ADVICE_N, help="requests per set")


def run(given: Namespace) -> None:
    """Search and print."""
    for name in ("slo", "budget", "max_changes"):
        value = getattr(given, name)
        if value is not None and value <= 0:
            raise InputError(f"--{name.replace('_', '-')} is {value}; it must be above 0")
    bench = Bench(
        found_scenario(given.scenario),
        setting(given.large, given.small, given.route),
        goal=given.goal,
        slo_s=given.slo or 2.0,
        n=given.n,
    )
    limits = Limits(
        given.slo, given.budget, given.max_changes, given.no_quality_risk, given.no_infrastructure
    )
    found = advise(bench, limits, HEADLINE_ORDER if given.headline else None, _progress)
    print(file=sys.stderr)
    shares = attribution(bench, found.best)
    if given.json:
        as_json(plain(bench, found, shares))
    else:
        _print(bench, found, shares)


def _progress(done: float) -> None:
    print(f"\rsearching {done:.0%}", end="", file=sys.stderr, flush=True)


def attribution(bench: Bench, best: Outcome) -> Attribution:
    """Shares of the best set's gain: exact for a small set, sampled with error for a large one."""
    players = sorted(best.techniques)

    def value(chosen: frozenset[str]) -> float:
        return -bench.outcome(chosen).p50_s

    if len(players) <= EXACT_UP_TO:
        return exact(players, value)
    return sampled(players, value, orders=ORDERS, rng=np.random.default_rng(0))


def plain(bench: Bench, found: Advice, shares: Attribution) -> dict[str, object]:
    """`advise --json` by its contract."""
    return {
        "schema": 1,
        "scenario": bench.scenario.id,
        "goal": bench.goal,
        "n": bench.n,
        "naive": _outcome(bench, found.naive),
        "best": {**_outcome(bench, found.best), "met": found.met},
        "pareto": [_outcome(bench, o) for o in found.pareto],
        "roadmap": [_outcome(bench, o) for o in found.roadmap],
        "attribution": [
            {"technique": s.technique, "gain_s": s.value, "error_s": s.error} for s in shares.shares
        ],
        "total_gain_s": shares.total,
        "exact": shares.exact,
        "considered": found.considered,
        "simulated": found.simulated,
        "exhaustive": found.exhaustive,
    }


def _outcome(bench: Bench, o: Outcome) -> dict[str, object]:
    return {
        "techniques": sorted(o.techniques),
        "metrics": {bench.goal: {"p50": o.p50_s, "p95": o.p95_s}, "within_slo": o.within_slo},
        "cost": o.cost_usd,
        "effort": o.effort,
        "risk": o.risk,
        "failed": o.failed,
    }


def _print(bench: Bench, found: Advice, shares: Attribution) -> None:
    best, kept = found.best, "" if found.met else " (no set keeps the limits)"
    print(
        f"{bench.scenario.id}: {bench.goal} p50 {found.naive.p50_s:.2f} s -> {best.p50_s:.2f} s"
        f"{kept}; {found.considered} sets, {found.simulated} plans simulated"
    )
    by_id = {s.technique: s for s in shares.shares}
    rows, before = [], found.naive
    for step in found.roadmap:
        (new,) = step.techniques - before.techniques
        share = by_id[new]
        rows.append((new, step.p50_s, step.p95_s, step.cost_usd, share.value, share.error))
        before = step
    table(("switch on", "then p50 s", "p95 s", "USD", "share of gain s", "+-"), rows)
