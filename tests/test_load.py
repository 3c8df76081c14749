"""Shared capacity: against closed forms, worked examples, and the rules of a queue."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.bench_load import bearable_per_s, mean_wait
from core.compare import rewritten
from core.errors import InputError
from core.load import Capacity, compare_under_load, erlang_wait_s, queue_waits, under_load
from core.load.desk import Call, Desk
from core.load.harm import harms
from core.metrics import Reader
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.simulate import simulate
from core.techniques import HEADLINE_ORDER, choose
from core.timeline import State, Timeline
from core.workload import stream
from tests.sampling import every, slow_but

WHERE = setting()
ALL = pytest.mark.parametrize("name", SCENARIOS)

SETS = (
    (),
    HEADLINE_ORDER,
    ("hedge",),
    ("cascade", "hedge"),
    ("speculate_guard", "parallel", "streaming", "chunking"),
    ("deadline_budget", "timeout_fallback", "rule_router"),
    ("divide_conquer", "keep_alive", "hedge", "speculate_guard", "deadline_budget"),
)
CAPACITIES = (
    Capacity(3),
    Capacity(6, requests_per_s=4.0),
    Capacity(tokens_per_min=40_000),
    Capacity(4, slowdown=0.5),
)


def p95(timeline: Timeline) -> float:
    return float(np.nanpercentile(timeline.total_s, 95))


# --- a queue of calls -----------------------------------------------------------------------------


def test_the_closed_form_of_one_server() -> None:
    assert erlang_wait_s(0.5, 1.0, 1) == pytest.approx(0.5 / 0.5)  # rho s / (1 - rho)
    assert erlang_wait_s(1.0, 1.0, 2) == pytest.approx(1 / 3)  # C = 1/3, over c mu - lambda
    assert erlang_wait_s(2.0, 1.0, 2) == math.inf


@pytest.mark.parametrize("queue", slow_but((4, 0.8), [(1, 0.6), (4, 0.8), (16, 0.9)]), ids=str)
def test_waits_are_those_of_an_mmc_queue(queue: tuple[int, float]) -> None:
    servers, load = queue
    waits = mean_wait(load * servers, servers, runs=16, calls=2500, warm_up=500)
    error = waits.std(ddof=1) / math.sqrt(len(waits))
    assert abs(waits.mean() - erlang_wait_s(load * servers, 1.0, servers)) <= 4 * error


def test_one_place_is_taken_in_turn() -> None:
    waits = queue_waits(np.array([0.0, 1.0, 2.0, 9.0]), np.full(4, 2.0), Capacity(1))
    np.testing.assert_allclose(waits, [0.0, 1.0, 2.0, 0.0])


def test_a_limit_on_calls_lets_a_seconds_worth_go_and_then_one_after_the_other() -> None:
    waits = queue_waits(np.zeros(5), np.zeros(5), Capacity(requests_per_s=2.0))
    np.testing.assert_allclose(waits, [0.0, 0.0, 0.5, 1.0, 1.5], atol=1e-8)


def call(alone_s: float, first_s: float = 0.0, tokens: float = 0.0) -> Call:
    return Call(0.0, first_s, alone_s, tokens, lambda _: None, watched=True)


def test_a_limit_on_tokens_fills_up_steadily_and_more_than_a_minutes_worth_is_owed() -> None:
    desk = Desk(Capacity(tokens_per_min=600), 0.0)
    calls = [call(0.0, tokens=t) for t in (500, 200, 700, 10)]
    for c in calls:
        desk.ask(c)
    desk.at(0.0, 0, lambda: None)
    desk.run()
    # 600 there, 100 left; 200 at 10 s; full at 70 s, 100 owed; 110 more tokens take 11 s
    assert [c.start_s for c in calls] == pytest.approx([0.0, 10.0, 70.0, 81.0])


def test_calls_that_share_an_engine_slow_each_other_down() -> None:
    desk = Desk(Capacity(slowdown=1.0), 0.0)
    one, two = call(2.0), call(2.0)
    desk.at(0.0, 0, lambda: desk.ask(one))
    desk.at(1.0, 0, lambda: desk.ask(two))
    desk.run()
    # alone for 1 s, then half as fast: the first ends at 3, the second, alone again, at 4
    assert desk.now == pytest.approx(4.0)
    assert (one.decode_x, two.decode_x) == pytest.approx((1.5, 1.5))
    assert desk.ledger.work_s == pytest.approx(4.0)


def test_the_later_of_two_rivals_is_stopped_and_its_place_is_free_at_once() -> None:
    desk = Desk(Capacity(2), 0.0)
    slow, quick, third = call(9.0, first_s=5.0), call(3.0, first_s=1.0), call(1.0)
    slow.rival, quick.rival = quick, slow
    quick.sent_s = third.sent_s = 1.0
    desk.at(0.0, 0, lambda: desk.ask(slow))
    desk.at(1.0, 0, lambda: desk.ask(quick))
    desk.at(1.5, 0, lambda: desk.ask(third))
    desk.run()
    assert (slow.stopped, quick.stopped) == (True, False)
    assert third.start_s == pytest.approx(2.0)  # when the quick one put out its first token
    assert desk.now == pytest.approx(4.0)


def test_connections_are_used_again_within_five_seconds() -> None:
    desk = Desk(Capacity(4), 0.3)
    calls = [call(1.0) for _ in range(4)]
    for at, c in zip((0.0, 0.5, 6.0, 12.5), calls, strict=True):
        desk.at(at, 0, lambda c=c: desk.ask(c))  # type: ignore[misc]
    desk.run()
    # two at once are both new; at 6.0 the one given back at 1.8 is still open; at 12.5 none is
    assert [c.connect_s for c in calls] == [0.3, 0.3, 0.0, 0.3]
    assert desk.ledger.connections == 3


# --- plans under load -----------------------------------------------------------------------------


@pytest.mark.parametrize(("ids", "name"), every(SETS, SCENARIOS))
def test_where_nothing_is_shared_nothing_changes_to_the_bit(
    name: str, ids: tuple[str, ...]
) -> None:
    plan, _ = rewritten(scenario(name), choose(ids), WHERE)
    workload = stream(scenario(name), 60, rate_per_s=2.0)
    alone, shared = simulate(plan, WHERE, workload), under_load(plan, WHERE, workload, Capacity())
    for field in ("ready_s", "start_s", "first_s", "end_s", "state", "failed"):
        np.testing.assert_array_equal(getattr(shared.timeline, field), getattr(alone, field))
    np.testing.assert_array_equal(shared.timeline.usage.cost_usd, alone.usage.cost_usd)
    np.testing.assert_array_equal(shared.timeline.visible.t_s, alone.visible.t_s)


@pytest.mark.parametrize(("ids", "capacity", "name"), every(SETS, CAPACITIES, SCENARIOS), ids=str)
def test_calls_and_waits_fit_each_other(
    name: str, ids: tuple[str, ...], capacity: Capacity
) -> None:
    plan, _ = rewritten(scenario(name), choose(ids), WHERE)
    workload = stream(scenario(name), 150, rate_per_s=1.5)
    found = under_load(plan, WHERE, workload, capacity)
    timeline = found.timeline
    assert found.load.gap_s <= 1e-9
    assert found.load.calls == timeline.usage.calls.sum()
    assert (timeline.start_s >= timeline.ready_s).all()
    assert (timeline.end_s >= timeline.start_s).all()
    assert (timeline.start_s > timeline.ready_s + 0.01).any()
    assert (timeline.visible.t_s[timeline.visible.chars > 0] < np.inf).all()


@ALL
def test_alone_on_a_pool_a_request_takes_what_it_takes_without_one(name: str) -> None:
    workload = stream(scenario(name), 40)
    apart = replace(workload, arrival_s=np.arange(40) * 1000.0)
    alone = simulate(scenario(name).plan, WHERE, apart)
    pooled = under_load(scenario(name).plan, WHERE, apart, Capacity(4)).timeline
    gaps = np.diff(np.sort(np.concatenate([alone.start_s, alone.end_s], axis=1), axis=1), axis=1)
    near = ~alone.failed & (gaps.max(axis=1) < 5.0)  # no connection has closed in between
    assert near.sum() > 20
    np.testing.assert_allclose(pooled.total_s[near], alone.total_s[near], atol=1e-9)


@ALL
@pytest.mark.parametrize("ids", [(), ("parallel", "streaming", "small_model")])
def test_a_pool_is_never_overfull_never_idle_while_one_waits_and_fair(
    name: str, ids: tuple[str, ...]
) -> None:
    places = 4
    plan, _ = rewritten(scenario(name), choose(ids), WHERE)
    workload = stream(scenario(name), 200, rate_per_s=0.8)
    timeline = under_load(plan, WHERE, workload, Capacity(places)).timeline
    columns = [timeline.column(s.id) for s in plan.llm_steps]
    made = timeline.state[:, columns] != State.SKIPPED
    arrival = workload.arrival_s[:, None]
    asked, start, end = (
        (times[:, columns] + arrival)[made]
        for times in (timeline.ready_s, timeline.start_s, timeline.end_s)
    )
    order = np.lexsort((start, asked))
    assert (np.diff(start[order]) >= -1e-9).all()  # first come, first served
    moments = start + 1e-7
    running = ((start[None] <= moments[:, None]) & (end[None] > moments[:, None])).sum(axis=1)
    assert running.max() == places
    waited = start > asked + 1e-6
    assert waited.any()
    before = start[waited] - 1e-7
    busy = ((start[None] <= before[:, None]) & (end[None] > before[:, None])).sum(axis=1)
    assert (busy == places).all()


def test_two_requests_on_one_connection_take_turns() -> None:
    base, where = scenario("support"), WHERE.at_median()
    workload = replace(
        stream(base, 2), index=np.zeros(2, dtype=np.int64), arrival_s=np.array([0.0, 0.001])
    )
    timeline = under_load(base.plan, where, workload, Capacity(1)).timeline
    one, two = (timeline.column(s.id) for s in base.plan.llm_steps[:2])
    # the second request asked before the first one's second call did
    assert timeline.start_s[1, one] + 0.001 == pytest.approx(timeline.end_s[0, one])
    assert timeline.start_s[0, two] == pytest.approx(timeline.end_s[1, one] + 0.001)


def test_more_load_never_shortens_the_tail() -> None:
    base = scenario("support")
    tails = [
        p95(under_load(base.plan, WHERE, stream(base, 500, rate_per_s=r), Capacity(8)).timeline)
        for r in (0.2, 0.9, 1.3, 2.0)
    ]
    assert tails == sorted(tails)


@pytest.mark.slow
def test_the_bearable_rate_is_where_the_queue_begins_to_grow() -> None:
    base = scenario("travel")
    bearable = bearable_per_s(base.plan, 4)
    longest = []
    for share in (0.7, 1.5):
        for n in (200, 800):
            workload = stream(base, n, rate_per_s=share * bearable)
            longest.append(under_load(base.plan, WHERE, workload, Capacity(4)).load.longest_queue)
    calm, later_calm, over, later_over = longest
    assert later_over > 2.5 * over
    assert later_calm < 2.5 * calm + 20


@pytest.mark.slow
def test_a_hedge_helps_while_places_are_free_and_hurts_when_they_are_not() -> None:
    base = scenario("support")
    bearable = bearable_per_s(base.plan)
    hedged, _ = rewritten(base, choose(["hedge"]), WHERE)
    changes = []
    for share in (0.1, 0.9):
        workload = stream(base, 1500, seed=5, rate_per_s=share * bearable)
        plain, double = (
            p95(under_load(p, WHERE, workload, Capacity(8)).timeline) for p in (base.plan, hedged)
        )
        changes.append(double / plain - 1)
    assert changes[0] < -0.01
    assert changes[1] > 0.05


@pytest.mark.slow
def test_a_hedge_that_hurts_is_named_with_its_reason() -> None:
    base = scenario("support")
    choices = choose(["hedge", "parallel"])
    found = {}
    for rate in (0.1, 1.25):
        workload = stream(base, 800, rate_per_s=rate)
        found[rate] = harms(base, choices, WHERE, workload, Capacity(8), "total_s", Reader())
    assert found[0.1] == ()
    (harm,) = found[1.25]
    assert harm.technique == "hedge"
    assert harm.with_s > harm.without_s
    assert harm.more_calls > 0.02
    assert harm.used is not None
    assert harm.used > 0.8


def test_a_comparison_under_load_is_paired() -> None:
    base = scenario("support")
    workload = stream(base, 100, rate_per_s=1.0)
    found, before, after = compare_under_load(base, (), WHERE, workload, Capacity(8))
    assert found.before is found.after
    assert before == after


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pool": 0}, "the pool is 0; it must be 1 to 10,000 connections"),
        ({"requests_per_s": 0.0}, "limit on requests per second is 0.0; it must be above 0"),
        ({"tokens_per_min": math.inf}, "limit on tokens per minute is inf"),
        ({"slowdown": -0.1}, "the slowdown is -0.1; from 0 to 10 is valid"),
    ],
)
def test_capacity_that_lets_nothing_through_is_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Capacity(**wrong)  # type: ignore[arg-type]
