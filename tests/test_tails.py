"""The tail: its parts add up, its owners are the critical path's, failures count."""

from __future__ import annotations

import numpy as np
import pytest

from core.charts import share_within
from core.compare import rewritten
from core.errors import InputError
from core.faults import Faults, external, with_faults
from core.load import Capacity, under_load
from core.metrics import Reader, metric
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.simulate import simulate
from core.slo import LEVELS, kept, streamed
from core.tails import BANDS, bands, owners, parts, slices, step_times
from core.techniques import HEADLINE_ORDER, choose
from core.timeline import Timeline, critical_path
from core.workload import stream

WHERE = setting()
ALL = pytest.mark.parametrize("name", SCENARIOS)
SETS = pytest.mark.parametrize(
    "ids", [(), HEADLINE_ORDER, ("speculate_guard", "parallel", "streaming", "rule_router")]
)


def loaded(name: str, ids: tuple[str, ...], n: int = 200) -> Timeline:
    plan, _ = rewritten(scenario(name), choose(ids), WHERE)
    workload = stream(scenario(name), n, rate_per_s=1.2)
    return under_load(plan, WHERE, workload, Capacity(8)).timeline


@ALL
@SETS
def test_parts_add_up_to_the_whole(name: str, ids: tuple[str, ...]) -> None:
    timeline = loaded(name, ids)
    ok = ~timeline.failed
    found = parts(timeline)
    np.testing.assert_allclose(found.path_s.sum(axis=1)[ok], timeline.total_s[ok], atol=1e-9)
    assert (found.path_s >= 0).all()
    assert (found.wait_s <= found.path_s + 1e-12).all()
    first = parts(timeline, to_first_visible=True).path_s.sum(axis=1)
    seen = metric("first_visible_s").compute(timeline, Reader())
    there = ~np.isnan(seen)
    np.testing.assert_allclose(first[there], seen[there], atol=1e-9)


@ALL
@SETS
@pytest.mark.parametrize("to_first", [False, True])
def test_time_lies_on_the_critical_path_only(
    name: str, ids: tuple[str, ...], to_first: bool
) -> None:
    timeline = loaded(name, ids)
    found = parts(timeline, to_first_visible=to_first).path_s
    for row in np.flatnonzero(~timeline.failed)[:40]:
        path = critical_path(timeline, int(row), to_first_visible=to_first)
        used = {timeline.step_ids[k] for k in np.flatnonzero(found[row] > 1e-12)}
        assert used <= set(path)


@ALL
def test_shares_of_the_owners_add_up_to_one(name: str) -> None:
    timeline = loaded(name, ())
    found = owners(parts(timeline), timeline.step_ids, timeline.failed)
    assert sum(o.share for o in found) == pytest.approx(1.0)
    assert found == tuple(sorted(found, key=lambda o: -o.excess_s))


def test_a_search_with_a_long_tail_owns_the_slow_end_until_it_gets_a_limit() -> None:
    base = scenario("travel")
    where = with_faults(WHERE, base.plan, Faults(tail=4.0))
    workload = stream(base, 600)
    tops = []
    for ids in (("parallel",), ("parallel", "timeout_fallback")):
        plan, _ = rewritten(base, choose(ids), where)
        timeline = simulate(plan, where, workload)
        tops.append(owners(parts(timeline), timeline.step_ids, timeline.failed)[0])
    assert tops[0].step == "web_search"
    assert tops[0].share > 0.5
    assert tops[1].step != "web_search"


def test_too_few_answers_have_no_slow_end() -> None:
    timeline = loaded("support", (), n=19)
    assert owners(parts(timeline), timeline.step_ids, timeline.failed) == ()


def test_bands_go_from_fast_to_slow_and_hold_everybody() -> None:
    timeline = loaded("support", ())
    means = [float(b.path_s.sum()) for b in bands(parts(timeline), timeline.failed)]
    assert means == sorted(means)
    weights = [high - low for low, high in BANDS]
    assert sum(weights) == pytest.approx(1.0)
    mean = float(np.dot(means, weights))
    assert mean == pytest.approx(float(np.nanmean(timeline.total_s)), rel=0.02)


def test_steps_have_percentiles_of_their_own_time_and_of_their_wait() -> None:
    timeline = loaded("support", ())
    found = {s.step: s for s in step_times(timeline)}
    assert timeline.plan.show.id not in found
    slow = found[timeline.plan.llm_steps[0].id]
    assert slow.took.n == 200
    assert slow.waited.p95 is not None
    assert slow.waited.p95 > 0.1
    searched = found["search_docs"]
    assert searched.took.n < 200  # not all need a search
    assert searched.waited.p95 == 0.0  # only model calls wait


def test_failures_stay_in_the_denominator() -> None:
    base = scenario("travel")
    where = with_faults(WHERE, base.plan, Faults(fail_rate=1.0))
    timeline = simulate(base.plan, where, stream(base, 100))
    searching = timeline.failed.mean()
    assert searching > 0.3
    assert share_within(timeline.total_s, 1e9) == pytest.approx(1 - searching)
    for s in slices(timeline, base, timeline.total_s, 1e9):
        assert s.within == pytest.approx(s.values.n / (s.values.n + s.values.missing))


@ALL
@SETS
def test_each_facet_holds_every_request_once(name: str, ids: tuple[str, ...]) -> None:
    timeline = loaded(name, ids)
    found = list(slices(timeline, scenario(name), timeline.total_s, 6.0))
    facets = {s.facet for s in found}
    assert {"task", "input", "output", "retrieval", "lang"} <= facets
    assert ("cache" in facets) == ("caching" in ids)
    assert ("model" in facets) == bool({"caching", "rule_router"} & set(ids))
    for facet in facets:
        rows = [s for s in found if s.facet == facet]
        assert sum(s.values.n + s.values.missing for s in rows) == timeline.n
        inside = sum(s.within * (s.values.n + s.values.missing) for s in rows)
        assert inside == pytest.approx(share_within(timeline.total_s, 6.0) * timeline.n)
    lengths = [s for s in found if s.facet == "output"]
    assert [s.value for s in lengths] == ["short", "medium", "long"]
    assert all(s.low is not None and s.high is not None and s.low <= s.high for s in lengths)


def test_small_slices_have_no_p95() -> None:
    timeline = loaded("support", ())
    found = list(slices(timeline, scenario("support"), timeline.total_s, 6.0))
    assert {s.values.p95 is None for s in found if s.values.n < 20} == {True}
    assert {s.values.p95 is None for s in found if s.values.n >= 20} == {False}


def test_levels_of_streams_need_a_stream_and_count_the_wait() -> None:
    assert streamed(loaded("support", ())) is None
    timeline = loaded("support", ("streaming",))
    found = streamed(timeline)
    assert found is not None
    shares = [kept(level, found, timeline) for level in LEVELS]
    assert shares == sorted(shares)  # each level is looser than the one before it here
    assert 0 < shares[-1] < 1
    k = timeline.column(timeline.plan.llm_steps[-1].id)
    waited = timeline.start_s[:, k] - timeline.ready_s[:, k]
    assert (found.ttft_s[waited > 0] > waited[waited > 0]).all()


def test_faults_are_those_of_searches_outside_the_house() -> None:
    travel, support = scenario("travel").plan, scenario("support").plan
    assert external(travel) == ("web_search",)
    assert external(support) == ()
    faults = Faults(0.25, 2.0)
    assert with_faults(WHERE, support, faults) is WHERE
    found = with_faults(WHERE, travel, faults)
    assert found is with_faults(WHERE, travel, faults)
    old, new = WHERE.service("web_search"), found.service("web_search")
    assert (new.fail_rate, new.p95_s, new.p50_s) == (0.25, 2 * old.p95_s, old.p50_s)
    timeline = simulate(travel, found, stream(scenario("travel"), 4000))
    k = timeline.column("web_search")
    took = (timeline.end_s - timeline.start_s)[:, k]
    ran = took > 0
    share = timeline.failed[ran].mean()
    assert abs(share - 0.25) <= 4 * np.sqrt(0.25 * 0.75 / ran.sum())
    assert np.quantile(took[ran], 0.95) == pytest.approx(new.p95_s, rel=0.12)


@pytest.mark.parametrize("wrong", [{"fail_rate": 1.5}, {"fail_rate": -0.1}, {"tail": 0.5}])
def test_impossible_faults_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="is valid"):
        Faults(**wrong)
