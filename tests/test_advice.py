"""Advice against brute force, Shapley values against their axioms and closed forms."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import CancelledError
from dataclasses import replace

import numpy as np
import pytest

from core.advice.answer import Question, answer, following, headline_answer, headline_runs
from core.advice.climb import SMALLEST_GAIN_S, Climber
from core.advice.search import Limits, advise, merit, next_steps, pareto, roadmap
from core.advice.shapley import exact, sampled
from core.advice.value import Bench, Outcome
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, technique
from tests.sampling import slow_but


@pytest.fixture(scope="module", params=slow_but("travel", SCENARIOS))
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
    sets = [c for k in range(9) for c in itertools.combinations(HEADLINE_ORDER, k)]
    afresh = Bench(bench.scenario, bench.setting, n=100)
    assert found.exhaustive
    assert len(sets) == 256
    assert merit(found.best) == min(merit(afresh.outcome(s)) for s in sets)


def test_limits_are_kept(bench: Bench) -> None:
    found = advise(bench, Limits(max_changes=2, no_quality_risk=True, no_infrastructure=True))
    assert found.best.changes <= 2
    assert all(technique(t).risk == "none" for t in found.best.techniques)
    assert not found.best.infrastructure


def test_a_service_level_nobody_can_keep_is_said_to_be_missed(bench: Bench) -> None:
    limits = Limits(slo_s=0.001)
    found = advise(bench, limits, HEADLINE_ORDER)
    assert not found.met
    assert found.best.p50_s < found.naive.p50_s
    assert found.best.p95_s == min(o.p95_s for o in found.tried)  # the nearest to it


def test_who_gets_no_answer_does_not_keep_the_service_level() -> None:
    travel, told = scenario("travel"), setting()
    search = replace(told.service("web_search"), fail_rate=0.2)
    faulty = replace(told, services={**told.services, search.name: search})
    bench = Bench(travel, faulty, n=400)
    naive, safe = bench.outcome(()), bench.outcome(("timeout_fallback",))
    assert naive.failed > 0.05
    assert math.isinf(naive.p95_s)
    limits = Limits(slo_s=60.0)
    assert not limits.met(naive)
    assert limits.met(safe)
    again = bench.outcome(("retry",))
    assert limits.excess(again) < limits.excess(naive)  # fewer are lost


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


@pytest.mark.slow
def test_next_steps_are_single_steps(bench: Bench) -> None:
    steps = next_steps(bench, ("streaming",), Limits())
    assert all(o.changes == 2 and "streaming" in o.techniques for o in steps)
    assert [merit(o) for o in steps] == sorted(merit(o) for o in steps)


def test_risk_and_effort_can_be_judged_otherwise() -> None:
    strict = Bench(scenario("support"), setting(), n=50, risks={"streaming": "high"})
    assert strict.outcome(("streaming",)).risk == 3
    assert not Limits(no_quality_risk=True).allows(strict, "streaming")


# --- more techniques than can be tried in all combinations ---------------------------------------

MANY = (*HEADLINE_ORDER, "keep_alive", "local_router", "service_tier", "fail_fast")


def test_climbing_finds_what_trying_all_sets_finds(bench: Bench) -> None:
    usable = bench.useful(HEADLINE_ORDER)
    climber = Climber(bench, usable, len(usable), lambda: None)
    top = climber.exchanged(climber.up((), p50_s), p50_s, merit)
    sets = [c for k in range(len(usable) + 1) for c in itertools.combinations(usable, k)]
    assert top.p50_s <= min(bench.outcome(s).p50_s for s in sets) + SMALLEST_GAIN_S
    assert len(climber.found) < len(sets)


def p50_s(outcome: Outcome) -> float:
    return outcome.p50_s


def test_a_climb_keeps_to_the_number_of_changes_and_leaves_out_what_it_must(bench: Bench) -> None:
    climber = Climber(bench, bench.useful(HEADLINE_ORDER), 2, lambda: None)
    top = climber.up((), p50_s, without=("streaming",))
    assert top.changes == 2
    assert "streaming" not in top.techniques


def test_a_large_search_says_how_far_it_is_and_keeps_its_limits(bench: Bench) -> None:
    told: list[float] = []
    found = advise(bench, Limits(max_changes=3, no_infrastructure=True), MANY, told.append)
    assert not found.exhaustive
    assert found.best.changes <= 3
    assert not found.best.infrastructure
    assert found.best in found.tried
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_large_search_prefers_what_keeps_the_service_level(bench: Bench) -> None:
    free = advise(bench, Limits(max_changes=3), MANY)
    slo_s = free.best.p95_s * 1.05
    assert advise(bench, Limits(slo_s=slo_s, max_changes=3), MANY).met


def test_a_search_ends_when_whoever_listens_has_heard_enough(bench: Bench) -> None:
    told: list[float] = []

    def enough(done: float) -> None:
        told.append(done)
        if len(told) == 5:
            raise CancelledError

    with pytest.raises(CancelledError):
        advise(bench, Limits(), MANY, enough)
    assert len(told) == 5


# --- questions and answers -----------------------------------------------------------------------


def test_an_answer_shares_out_the_gain_of_its_best_set() -> None:
    told: list[float] = []
    found = answer(Question(scenario("support"), setting()), told.append)
    gain = found.advice.naive.p50_s - found.advice.best.p50_s
    assert found.shares.exact
    assert sum(s.value for s in found.shares.shares) == pytest.approx(gain, abs=1e-9)
    assert {s.technique for s in found.shares.shares} == found.advice.best.techniques
    assert told == sorted(told)


def test_an_answer_about_the_eight_is_made_once_and_says_how_far_it_is() -> None:
    asked = Question(scenario("travel"), setting(), limits=Limits(max_changes=2))
    told: list[float] = []
    first = headline_answer(asked, told.append)
    assert told[-1] == 1.0
    count = len(told)
    assert headline_answer(replace(asked), told.append) is first
    assert len(told) == count


def test_questions_that_differ_only_in_limits_share_their_runs() -> None:
    one = Question(scenario("support"), setting())
    other = Question(scenario("support"), setting(), goal="total_s", limits=Limits(slo_s=3.0))
    headline_answer(one)
    runs = headline_runs(one.scenario, one.setting, one.reader)
    before = runs.simulated
    headline_answer(other)
    assert runs.simulated == before


def test_nothing_is_advised_that_the_models_do_not_offer() -> None:
    asked = Question(scenario("travel"), setting())
    assert "predicted_output" not in asked.bench().useful(HEADLINE_ORDER)
    offered = Question(scenario("travel"), setting("gpt-4.1"))
    assert "predicted_output" in offered.bench().useful(HEADLINE_ORDER)


def test_effort_and_risk_are_those_judged_here() -> None:
    judged = Question(scenario("support"), setting(), levels=(("streaming", "high", "none"),))
    assert judged.classes("streaming") == ("high", "none")
    assert judged.classes("caching") == ("high", "medium")
    assert judged.bench().outcome(("streaming",)).effort == 3
    careful = replace(judged, limits=Limits(no_quality_risk=True))
    assert headline_answer(careful).advice.best.risk == 0


def test_the_next_step_starts_from_what_is_on() -> None:
    asked = Question(scenario("support"), setting())
    here, steps = following(asked, frozenset(("streaming", "small_model")))
    assert here.techniques == {"streaming", "small_model"}
    assert all(here.techniques < step.techniques for step in steps)
