"""`advise`: the best set of techniques under limits, the front, and who earns the gain."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace

from core.advice.answer import DEFAULT_SLO_S, attribution
from core.advice.search import Advice, Limits, advise
from core.advice.shapley import Attribution
from core.advice.value import ADVICE_N, GOALS, Bench, Outcome
from core.commands.choice import found_scenario
from core.commands.output import as_json, progress, table
from core.errors import InputError
from core.profiles import DEFAULT_LARGE, DEFAULT_ROUTE, DEFAULT_SMALL, setting
from core.techniques import HEADLINE_ORDER


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
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"--{name.replace('_', '-')} is {value}; it must be above 0")
    bench = Bench(
        found_scenario(given.scenario),
        setting(given.large, given.small, given.route),
        goal=given.goal,
        slo_s=given.slo or DEFAULT_SLO_S,
        n=given.n,
    )
    limits = Limits(
        given.slo, given.budget, given.max_changes, given.no_quality_risk, given.no_infrastructure
    )
    asked = HEADLINE_ORDER if given.headline else None
    with progress() as show:
        found = advise(bench, limits, asked, lambda done: show(f"searching {done:.0%}"))
        players = found.best.techniques
        shares = attribution(bench, players, lambda done: show(f"who earned it {done:.0%}"))
    if given.json:
        as_json(plain(bench, found, shares))
    else:
        _print(bench, found, shares)


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
        "interactions": [
            {"one": one, "other": other, "gain_s": index}
            for (one, other), index in shares.pairs.items()
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
        "metrics": {
            bench.goal: {"p50": _finite(o.p50_s), "p95": _finite(o.p95_s)},
            "within_slo": o.within_slo,
        },
        "cost": o.cost_usd,
        "effort": o.effort,
        "risk": o.risk,
        "failed": o.failed,
    }


def _finite(seconds: float) -> float | None:
    """Null for a time that never comes: too many requests have no answer."""
    return seconds if math.isfinite(seconds) else None


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
