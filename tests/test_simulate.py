"""The simulator against closed forms, and the relations that must hold between plans."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.compare import compare, gains, rewritten, typical
from core.counts import call
from core.dists import Array, Latency
from core.durations import Luck
from core.errors import InputError
from core.metrics import HEADLINE, METRICS, Reader, metric, summaries, summary
from core.profiles import DNS_S, PER_1K_TOK_S, setting
from core.scenarios import SCENARIOS, scenario
from core.simulate import simulate
from core.techniques import HEADLINE_ORDER, choose
from core.timeline import State, Timeline, critical_path
from core.workload import asked_before, only, stream

ALL = pytest.mark.parametrize("name", SCENARIOS)
READER = Reader()


def values(timeline: Timeline, metric_id: str) -> Array:
    return metric(metric_id).compute(timeline, READER)


@ALL
def test_streaming_changes_no_total_by_a_nanosecond(name: str) -> None:
    found = compare(scenario(name), choose(["streaming"]), setting(), stream(scenario(name), 1000))
    assert np.nanmax(np.abs(found.after.total_s - found.before.total_s)) < 1e-9
    assert np.nanmedian(values(found.after, "first_visible_s")) < np.nanmedian(
        values(found.before, "first_visible_s")
    )


def test_naive_travel_takes_five_to_eight_seconds() -> None:
    for seed in range(3):
        workload = stream(scenario("travel"), 2000, seed=seed)
        total = simulate(scenario("travel").plan, setting(), workload, seed=seed).total_s
        assert 5.0 <= np.nanmedian(total) <= 8.0


@ALL
def test_all_eight_halve_the_readers_wait(name: str) -> None:
    found = compare(scenario(name), choose(HEADLINE_ORDER), setting(), stream(scenario(name), 2000))
    before, after = (np.nanmedian(values(t, "reader_wait_s")) for t in (found.before, found.after))
    assert after <= before / 2


@ALL
def test_naive_total_is_the_sum_of_its_steps(name: str) -> None:
    timeline = simulate(scenario(name).plan, setting(), stream(scenario(name), 300))
    ok = ~timeline.failed
    np.testing.assert_allclose(timeline.total_s[ok], values(timeline, "work_s")[ok], rtol=1e-12)


def test_one_call_follows_the_timing_algebra() -> None:
    base, where = scenario("support"), setting().at_median()
    timeline = simulate(base.plan, where, only(base, base.requests[0]))
    counts = call(base, base.plan.llm_steps[0])
    ttft = where.large.ttft().median_s
    connect = 2 * where.route.rtt_s + DNS_S
    first = connect + where.route.rtt_s + ttft + PER_1K_TOK_S * counts.tokens_in[0] / 1000
    end = first + (counts.tokens_out[0] - 1) / 71.0
    assert timeline.first_s[0, 0] == pytest.approx(first, abs=1e-12)
    assert timeline.end_s[0, 0] == pytest.approx(end, abs=1e-12)
    later = timeline.plan.step("retrieval_check").id
    column = timeline.column(later)
    assert timeline.first_s[0, column] - timeline.start_s[0, column] < first  # a warm connection


def test_parallel_takes_the_longer_of_two() -> None:
    base, where = scenario("support"), setting().at_median()
    workload = only(base, base.requests[0])
    serial = simulate(base.plan, where, workload)
    plan, _ = rewritten(base, choose(["parallel"]), where)
    side_by_side = simulate(plan, where, workload)
    a, b = (side_by_side.column(s) for s in ("contextualize", "retrieval_check"))
    assert side_by_side.start_s[0, a] == side_by_side.start_s[0, b] == 0.0
    embed = side_by_side.column("embed_query")
    longer = max(side_by_side.end_s[0, a], side_by_side.end_s[0, b])
    assert side_by_side.start_s[0, embed] == longer
    assert side_by_side.total_s[0] < serial.total_s[0]


def test_a_step_that_is_not_needed_takes_no_time_and_costs_nothing() -> None:
    base = scenario("support")
    request = next(r for r in base.requests if not r.flag("needs_retrieval"))
    timeline = simulate(base.plan, setting(), only(base, request))
    c = timeline.column("search_docs")
    assert timeline.state[0, c] == State.SKIPPED
    assert timeline.ready_s[0, c] == timeline.start_s[0, c] == timeline.end_s[0, c]


def test_same_seed_same_numbers_whatever_else_is_in_the_plan() -> None:
    base, where = scenario("support"), setting()
    workload = stream(base, 200)
    naive = simulate(base.plan, where, workload, seed=5)
    short, _ = rewritten(base, choose(["short_keys"]), where)
    changed = simulate(short, where, workload, seed=5)
    c = naive.column("moderate")
    np.testing.assert_array_equal(
        (naive.end_s - naive.start_s)[:, c].round(9),
        (changed.end_s - changed.start_s)[:, c].round(9),
    )


def test_a_repeated_question_is_answered_from_the_cache_at_once() -> None:
    base, where = scenario("support"), setting()
    request = next(r for r in base.requests if not r.history)
    first = typical(base, request, choose(["caching"]), where)
    again = typical(base, request, choose(["caching"]), where, repeated=True)
    assert not first.after.hit[-1]
    assert again.after.hit[-1]
    assert again.after.total_s[-1] < 0.05
    assert values(again.after, "calls")[-1] == 0
    assert first.after.total_s[-1] > first.before.total_s[-1]  # a miss pays the look-up


def test_an_answer_is_forgotten_after_its_time_to_live() -> None:
    base, where = scenario("support"), setting().at_median()
    request = next(r for r in base.requests if not r.history)
    plan, _ = rewritten(base, choose(["caching"], {"caching": {"ttl_h": 1.0}}), where)
    assert simulate(plan, where, asked_before(base, request, 3599.0)).hit[1]
    assert not simulate(plan, where, asked_before(base, request, 3601.0)).hit[1]


def test_chunking_shows_a_sentence_only_after_its_check() -> None:
    base, where = scenario("support"), setting().at_median()
    shown = typical(base, base.requests[0], choose(["streaming", "chunking"]), where).after
    check = where.service("moderation").latency().median_s
    writes = shown.column("assistant")
    first = values(shown, "first_visible_s")[0]
    assert first > shown.first_s[0, writes] + check
    assert shown.total_s[0] == pytest.approx(shown.end_s[0, shown.column("moderate")])


def test_chunking_without_streaming_says_why_it_does_nothing() -> None:
    _, log = rewritten(scenario("support"), choose(["chunking"]), setting())
    assert not log[0].applied
    assert log[0].reason is not None
    assert log[0].reason.key == "reason.needs_streaming"


def test_a_small_model_that_is_slower_is_said_to_be() -> None:
    where = setting("gpt-4o", "gpt-4o-mini")
    assert where.warnings == ("small_answers_later", "small_writes_slower")
    found = typical(
        scenario("support"), scenario("support").requests[0], choose(["small_model"]), where
    )
    assert found.after.total_s[0] > found.before.total_s[0]


@ALL
def test_failures_are_counted_and_show_nothing(name: str) -> None:
    timeline = simulate(scenario(name).plan, setting(), stream(scenario(name), 3000))
    found = summaries(timeline, READER, HEADLINE)
    assert found["total_s"].missing == timeline.failed.sum()
    assert found["total_s"].n + found["total_s"].missing == 3000
    if name == "travel":
        searched = [r.flag("wants_search") for r in timeline.requests]
        rate = setting().service("web_search").fail_rate
        tolerance = 4 * math.sqrt(rate * (1 - rate) * sum(searched))
        assert abs(timeline.failed.sum() - rate * sum(searched)) < tolerance


@ALL
def test_critical_path_covers_the_naive_plan(name: str) -> None:
    timeline = simulate(
        scenario(name).plan, setting(), only(scenario(name), scenario(name).requests[0])
    )
    ran = [s for i, s in enumerate(timeline.step_ids) if timeline.state[0, i] != State.SKIPPED]
    assert list(critical_path(timeline, 0)) == ran


def test_every_metric_has_a_value_where_there_is_an_answer() -> None:
    timeline = simulate(scenario("support").plan, setting(), stream(scenario("support"), 50))
    for m in METRICS:
        found = m.compute(timeline, READER)
        assert found.shape == (50,)
        assert not np.isnan(found).any()


def test_percentiles_only_from_enough_requests() -> None:
    few = summary(np.arange(19.0))
    assert few.p50 == 9.0
    assert few.p95 is None
    assert summary(np.arange(20.0)).p95 is not None
    assert summary(np.arange(99.0)).p99 is None
    assert summary(np.full(5, np.nan)).p50 is None
    assert summary(np.array([])).n == 0


def test_gains_of_a_set() -> None:
    base = scenario("support")
    chosen = choose(["streaming", "chunking", "small_model"])
    found = {
        g.technique: g
        for g in gains(base, chosen, setting(), stream(base, 200), "reader_wait_s", READER)
    }
    assert found["chunking"].alone is None  # it needs streaming
    assert found["small_model"].within is not None
    assert found["small_model"].within.difference < 0


@pytest.mark.parametrize("n", [0, -1, 10**9])
def test_senseless_n(n: int) -> None:
    with pytest.raises(InputError, match="it must be from 1 to 1,000,000"):
        stream(scenario("support"), n)


@pytest.mark.parametrize(("p50", "p95"), [(0.884, 2.03), (0.2, 0.21), (1.0, 6.0)])
def test_fitted_latency_gives_its_percentiles_back(p50: float, p95: float) -> None:
    n = 200_000
    drawn = Luck(1, n, certain=False).draw(Latency.fitted(p50, p95), "step", "x")
    assert np.percentile(drawn, 50) == pytest.approx(p50, rel=0.01)
    assert np.percentile(drawn, 95) == pytest.approx(p95, rel=0.02)


def test_no_spread_is_a_constant() -> None:
    assert set(Latency.constant(0.3).draw(0, "a", "b", 5)) == {0.3}
