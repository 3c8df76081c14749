"""Advice against brute force, Shapley values against their axioms and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.advice.search import Limits, advise, merit, next_steps, pareto, roadmap
from core.advice.shapley import exact, sampled
from core.advice.value import Bench
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, technique


@pytest.fixture(scope="module", params=SCENARIOS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(scenario(request.param), setting(), n=100)


def test_shares_add_up_to_the_whole_gain(bench: Bench) -> None:
    found = exact(HEADLINE_ORDER, lambda s: -bench.outcome(s).p50_s)
    gain = bench.outcome(()).p50_s - bench.outcome(HEADLINE_ORDER).p50_s
    assert found.exact
    assert found.total == pytest.approx(gain, abs=1e-12)
    assert sum(s.value for s in found.shares) == pytest.approx(gain, abs=1e-9)


def test_shapley_of_an_additive_game_is_the_game() -> None:
    worth = {"a": 1.0, "b": 2.5, "c": -0.5}
    found = exact(tuple(worth), lambda s: sum(worth[p] for p in s))
    assert {s.technique: s.value for s in found.shares} == pytest.approx(worth)
    assert all(v == pytest.approx(0) for v in found.pairs.values())


def test_shapley_of_the_glove_game() -> None:
    # Two left gloves and a right one: a pair is worth 1. Source: the textbook example.
    found = exact(("l1", "l2", "r"), lambda s: float("r" in s and bool(s & {"l1", "l2"})))
    assert {s.technique: s.value for s in found.shares} == pytest.approx(
        {"l1": 1 / 6, "l2": 1 / 6, "r": 2 / 3}
    )
    assert found.pairs["l1", "r"] > 0 > found.pairs["l1", "l2"]


def test_sampled_shares_agree_with_exact_ones_within_their_error(bench: Bench) -> None:
    def value(chosen: frozenset[str]) -> float:
        return -bench.outcome(chosen).p50_s

    truth = {s.technique: s.value for s in exact(HEADLINE_ORDER, value).shares}
    found = sampled(HEADLINE_ORDER, value, orders=200, rng=np.random.default_rng(1))
    assert sum(s.value for s in found.shares) == pytest.approx(found.total, abs=1e-9)
    for share in found.shares:
        assert abs(share.value - truth[share.technique]) <= 4 * share.error + 1e-9


def test_the_best_of_the_eight_is_the_best_of_all_256(bench: Bench) -> None:
    found = advise(bench, Limits(), HEADLINE_ORDER)
    usable = bench.useful(HEADLINE_ORDER)
    sets = [c for k in range(len(usable) + 1) for c in itertools.combinations(usable, k)]
    assert found.exhaustive
    assert merit(found.best) == min(merit(bench.outcome(s)) for s in sets)


def test_limits_are_kept(bench: Bench) -> None:
    found = advise(bench, Limits(max_changes=2, no_quality_risk=True, no_infrastructure=True))
    assert found.best.changes <= 2
    assert all(technique(t).risk == "none" for t in found.best.techniques)
    assert not found.best.infrastructure


def test_a_service_level_nobody_can_keep_is_said_to_be_missed(bench: Bench) -> None:
    found = advise(bench, Limits(slo_s=0.001), HEADLINE_ORDER)
    assert not found.met
    assert found.best.p50_s < found.naive.p50_s


def test_nothing_on_the_front_is_beaten(bench: Bench) -> None:
    sets = [c for k in range(4) for c in itertools.combinations(HEADLINE_ORDER, k)]
    outcomes = [bench.outcome(s) for s in sets]
    front = pareto(outcomes)
    for kept in front:
        assert not any(
            o.p50_s < kept.p50_s and o.cost_usd < kept.cost_usd and o.risk <= kept.risk
            for o in outcomes
        )


def test_the_roadmap_ends_at_the_set_and_begins_with_the_best_value(bench: Bench) -> None:
    best = advise(bench, Limits(max_changes=4), HEADLINE_ORDER).best
    steps = roadmap(bench, best.techniques)
    assert [o.changes for o in steps] == list(range(1, best.changes + 1))
    assert not steps or steps[-1].techniques == best.techniques


def test_next_steps_are_single_steps(bench: Bench) -> None:
    steps = next_steps(bench, ("streaming",), Limits())
    assert all(o.changes == 2 and "streaming" in o.techniques for o in steps)
    assert [merit(o) for o in steps] == sorted(merit(o) for o in steps)


def test_risk_and_effort_can_be_judged_otherwise() -> None:
    strict = Bench(scenario("support"), setting(), n=50, risks={"streaming": "high"})
    assert strict.outcome(("streaming",)).risk == 3
    assert not Limits(no_quality_risk=True).allows(strict, "streaming")
