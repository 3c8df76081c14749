"""What each technique does by itself: on a pipeline as it is, or where it needs one that differs.

Some techniques do nothing on a naive program: chunking needs a stream, a rerank gate a reranker, a
near region an endpoint far away. For those a situation is prepared, and said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from core.compare import rewritten
from core.dists import Array
from core.examples import two_stage_retrieval
from core.losses import Loss, losses
from core.metrics import Change, Reader, change, metric
from core.plan import Plan
from core.profiles import Setting, routes
from core.scenarios import Scenario
from core.simulate import simulate
from core.techniques import choose
from core.text import Note
from core.workload import REPEAT_SHARE, Workload, stream
from core.worth import Reach, reach

Aim = Literal["median", "p95", "mean"]

AIMS: tuple[tuple[str, Aim], ...] = (
    ("reader_wait_s", "median"),
    ("reader_wait_s", "p95"),
    ("total_s", "median"),
    ("cost_usd", "mean"),
)
"""What is compared: of times the middle and the slow end, of money what all requests cost."""

N = 200
SEED = 0

FAR_ROUTE = "Seoul > us-west-2"
"""An endpoint across an ocean."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A pipeline as some techniques need it; its text is `catalogue.situation.<id>`.

    `repeat_share` of the requests are asked in words used before.
    """

    id: str
    prepare: Callable[[Scenario, Setting], tuple[Scenario, Setting]]
    repeat_share: float = REPEAT_SHARE


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """What one technique changed in a situation: by `AIMS`, None where it cannot be said.

    `scenario` and `setting` are those of the situation; `reach` is about the reader's wait,
    `failed` the shares of requests without an answer before and after. `what_if` names models that
    would have to offer something they do not.
    """

    situation: str
    scenario: Scenario
    setting: Setting
    changes: tuple[Change | None, ...]
    reach: Reach | None
    failed: tuple[float, float]
    losses: tuple[Loss, ...]
    what_if: tuple[str, ...]

    @property
    def matters(self) -> bool:
        """Whether the reader's wait changes at all, or who gets an answer."""
        waits = self.reach is not None and self.reach.better + self.reach.worse > 0.0
        return waits or self.failed[0] != self.failed[1]


def _as_it_is(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    return scenario, setting


def _checked(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    return _streams(scenario, setting, before_check=False), setting


def _streaming(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    return _streams(scenario, setting, before_check=True), setting


def _streams(scenario: Scenario, setting: Setting, *, before_check: bool) -> Scenario:
    choices = choose(["streaming"], {"streaming": {"before_check": before_check}})
    return _with_plan(scenario, rewritten(scenario, choices, setting)[0])


def _side_by_side(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    choices = choose(["small_model", "split_reasoning", "parallel", "short_keys"])
    return _with_plan(scenario, rewritten(scenario, choices, setting)[0]), setting


def _two_stage(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    return _with_plan(scenario, two_stage_retrieval(scenario.plan)), setting


def _far(scenario: Scenario, setting: Setting) -> tuple[Scenario, Setting]:
    return scenario, replace(setting, route=routes()[FAR_ROUTE])


@lru_cache(maxsize=32)
def _with_plan(scenario: Scenario, plan: Plan) -> Scenario:
    """The scenario with another plan to begin with: one object for all who ask."""
    return replace(scenario, plan=plan)


SITUATIONS: tuple[Situation, ...] = (
    Situation("plain", _as_it_is),
    Situation("checked", _checked),
    Situation("streaming", _streaming),
    Situation("two_stage", _two_stage),
    Situation("far", _far),
    Situation("side_by_side", _side_by_side),
    Situation("no_repeats", _as_it_is, 0.0),
)
"""As it is; streaming behind its check, and before it; with older retrieval; far from the model;
with its small calls divided and running side by side already; with nobody asking what was asked."""


@lru_cache(maxsize=1024)
def effect(
    technique_id: str, situation: Situation, scenario: Scenario, setting: Setting, reader: Reader
) -> Effect | Note:
    """What a technique does in a situation, or why nothing."""
    where, told = situation.prepare(scenario, setting)
    plan, log = rewritten(where, choose([technique_id]), told)
    if log[0].reason is not None:
        return log[0].reason
    workload = _workload(where, situation.repeat_share)
    before = simulate(where.plan, told, workload, seed=SEED)
    after = simulate(plan, told, workload, seed=SEED)
    pairs = [
        (metric(name).compute(before, reader), metric(name).compute(after, reader))
        for name, _ in AIMS
    ]
    return Effect(
        situation.id,
        where,
        told,
        tuple(_change(aim, *pair) for (_, aim), pair in zip(AIMS, pairs, strict=True)),
        reach(*pairs[0]),
        (float(before.failed.mean()), float(after.failed.mean())),
        losses(where.plan, plan, where),
        _what_if(plan, told),
    )


def _change(aim: Aim, before: Array, after: Array) -> Change | None:
    """The change of one aim with its interval; that of a p95 has none.

    A p95 is that of all who got an answer, on either side: who is saved from failure may be late.
    """
    if aim == "median":
        return change(before, after, rng=np.random.default_rng((SEED, 0xB007)))
    ok = ~(np.isnan(before) | np.isnan(after))
    if not ok.any():
        return None
    if aim == "p95":
        base, then = (float(np.nanpercentile(values, 95)) for values in (before, after))
        return Change(then - base, then - base, then - base, then / base - 1.0 if base else None)
    delta, base = after[ok] - before[ok], float(before[ok].mean())
    middle, reach_95 = float(delta.mean()), 1.96 * float(delta.std()) / math.sqrt(len(delta))
    share = middle / base if base else None
    return Change(middle, middle - reach_95, middle + reach_95, share)


def _what_if(plan: Plan, setting: Setting) -> tuple[str, ...]:
    """Models that are sent predictions and do not offer them."""
    asked = {setting.model(step.role) for step in plan.llm_steps if step.predict}
    return tuple(sorted(model.name for model in asked if not model.predictions))


def effects(
    technique_id: str, scenario: Scenario, setting: Setting, reader: Reader
) -> tuple[Effect, ...]:
    """What a technique does in each situation in which it applies."""
    found = (effect(technique_id, s, scenario, setting, reader) for s in SITUATIONS)
    return tuple(one for one in found if isinstance(one, Effect))


def first_effect(
    technique_id: str, scenario: Scenario, setting: Setting, reader: Reader
) -> Effect | Note:
    """What a technique does on the pipeline as it is, else where it first makes a difference.

    Where it applies nowhere, why not on the pipeline as it is.
    """
    plain = effect(technique_id, SITUATIONS[0], scenario, setting, reader)
    if isinstance(plain, Effect):
        return plain
    found = effects(technique_id, scenario, setting, reader)
    return next((one for one in found if one.matters), found[0] if found else plain)


@lru_cache(maxsize=32)
def _workload(scenario: Scenario, repeat_share: float) -> Workload:
    return stream(scenario, N, repeat_share=repeat_share)
