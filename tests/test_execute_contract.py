"""The two readers of a plan agree: with nothing left to chance, to the microsecond."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings

from core.compare import rewritten
from core.plan import Plan, ShowStep
from core.profiles import Setting, models, routes, services, setting
from core.request import Request
from core.scenarios import SCENARIOS, Scenario, scenario
from core.techniques import HEADLINE_ORDER, PRESETS, TECHNIQUES, choose
from core.workload import asked_before, only
from tests.agreement import disagreements
from tests.random_plans import Case, cases

NEEDS = {
    "chunking": ("streaming",),
    "items_jsonl": ("streaming",),
    "static_prefix": ("caching",),
    "no_buffering": ("streaming",),
}
"""What has to be switched on for a technique to have something to do or to show."""

ALONE = tuple((*NEEDS.get(t.id, ()), t.id) for t in TECHNIQUES)
SUBSETS = tuple(chosen for k in range(9) for chosen in itertools.combinations(HEADLINE_ORDER, k))
SAMPLE = (*((name, ids) for name in SCENARIOS for ids in PRESETS.values()),)


@lru_cache(maxsize=1)
def usual() -> Setting:
    return setting()


@lru_cache(maxsize=1)
def slow_and_far() -> Setting:
    """A setting in which hedges are sent, searches time out and deadlines bite."""
    known = [m for m in models().values() if not m.missing]
    slowest = max(known, key=lambda m: m.ttft_p50_s or 0.0)
    slower = {
        name: replace(s, p50_s=8 * s.p50_s, p95_s=8 * s.p95_s) for name, s in services().items()
    }
    farthest = max(routes().values(), key=lambda route: route.rtt_s)
    return replace(setting(), large=slowest, route=farthest, services=slower)


SETTINGS = {"usual": usual, "slow": slow_and_far}


def representatives(of: Scenario, most: int) -> list[Request]:
    """One request of each sort, as different from each other as the data allow."""
    found: dict[tuple[object, ...], Request] = {}
    for r in of.requests:
        found.setdefault((r.task, bool(r.history), bool(r.known), r.lang, r.answerable), r)
    step = max(1, len(found) // most)
    return list(found.values())[::step]


def plan_of(of: Scenario, ids: tuple[str, ...], where: Setting) -> Plan:
    return rewritten(of, choose(ids), where)[0]


def agree(name: str, ids: tuple[str, ...], where: Setting, most: int) -> None:
    of = scenario(name)
    plan = plan_of(of, ids, where)
    for request in representatives(of, most):
        found = disagreements(plan, where.at_median(), only(of, request))
        assert not found, (request.id, found)


@pytest.mark.parametrize(("name", "ids"), SAMPLE, ids=str)
def test_presets(name: str, ids: tuple[str, ...]) -> None:
    agree(name, ids, usual(), most=3)


@pytest.mark.parametrize("ids", ALONE, ids=lambda ids: ids[-1])
def test_each_technique_on_one_pipeline(ids: tuple[str, ...]) -> None:
    agree("travel", ids, usual(), most=1)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_request_asked_before(name: str) -> None:
    of = scenario(name)
    plan = plan_of(of, ("caching", "streaming"), usual())
    for request in representatives(of, 4):
        assert not disagreements(plan, usual().at_median(), asked_before(of, request))


@pytest.mark.slow
@pytest.mark.parametrize("where", SETTINGS)
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("ids", ALONE, ids=lambda ids: ids[-1])
def test_all_techniques(name: str, ids: tuple[str, ...], where: str) -> None:
    agree(name, ids, SETTINGS[where](), most=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("length", range(9))
def test_all_subsets_of_the_eight(name: str, length: int) -> None:
    of = scenario(name)
    plans = {plan_of(of, ids, usual()): ids for ids in SUBSETS if len(ids) == length}
    for plan, ids in plans.items():
        for request in representatives(of, 6):
            found = disagreements(plan, usual().at_median(), only(of, request))
            assert not found, (ids, request.id, found)


def check_random(case: Case) -> None:
    found = disagreements(case.plan, case.setting, only(case.scenario, case.request))
    assert not found, found


@settings(max_examples=15, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_small_plans_at_random(case: Case) -> None:
    check_random(case)


@pytest.mark.slow
@settings(max_examples=1500, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_many_small_plans_at_random(case: Case) -> None:
    check_random(case)


@pytest.mark.slow
def test_the_random_plans_are_not_all_alike() -> None:
    seen: set[str] = set()

    @settings(max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(cases())
    def look(case: Case) -> None:
        for step in case.plan.steps:
            seen.update(type(p).__name__ for p in step.policies)
            if not isinstance(step, ShowStep) and step.when:
                seen.add("when")
            seen.update(
                name for name in ("stream", "per_piece", "predict") if getattr(step, name, 0)
            )

    look()
    assert {"Hedge", "Speculate", "Timeout", "when", "stream", "per_piece", "predict"} <= seen
