"""Requests, settings and short ways to ask what a technique did, for tests of techniques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.metrics import Reader, metric
from core.plan import Plan
from core.profiles import Setting, setting
from core.request import Request
from core.rewrite import Context, apply
from core.scenarios import Scenario, scenario
from core.simulate import simulate
from core.techniques import choose
from core.timeline import Timeline
from core.workload import only, stream

SUPPORT, TRAVEL = scenario("support"), scenario("travel")
DRAWN = setting()
CERTAIN = replace(DRAWN, certain=True)
READER = Reader()
QUESTION = next(r for r in SUPPORT.requests if r.flag("needs_retrieval") and not r.known)
THANKS = next(r for r in SUPPORT.requests if not r.flag("needs_retrieval"))
WISH = next(r for r in TRAVEL.requests if r.flag("wants_search") and r.flag("wants_cards"))


def rewritten(
    where: Scenario, *ids: str, told: Setting = DRAWN, start: Plan | None = None, **params: object
) -> Plan:
    """The plan under these techniques, parameters going to the last one."""
    plan, log = apply(start or where.plan, choose(ids, {ids[-1]: params}), Context(where, told))
    assert all(e.applied for e in log), [e.reason for e in log if not e.applied]
    return plan


def once(where: Scenario, plan: Plan, request: Request, told: Setting = CERTAIN) -> Timeline:
    return simulate(plan, told, only(where, request))


def end(timeline: Timeline, step_id: str) -> float:
    return float(timeline.end_s[0, timeline.column(step_id)])


def span(timeline: Timeline, step_id: str) -> float:
    column = timeline.column(step_id)
    return float(timeline.end_s[0, column] - timeline.ready_s[0, column])


def p50(where: Scenario, plan: Plan, metric_id: str, told: Setting = DRAWN) -> float:
    timeline = simulate(plan, told, stream(where, 2000))
    return float(np.nanmedian(metric(metric_id).compute(timeline, READER)))
