"""Plan -> Timeline on real parts: the second reader of a plan beside `core.simulate`.

    engine = Engine("local", large=Model(provider, "large"), small=Model(provider, "small"))
    run = await execute(plan, engine, setting, only(scenario, request))
    run.timeline      # one row, the same type and the same metrics as a simulation's
    run.calls         # every call with every chunk's time
    run.error         # why it failed, or None

Steps run as tasks of one event loop and wait for each other as the plan says. Leaving early (a
cancelled task, a lost race, a deadline) closes every stream that is still open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from core.durations import Luck
from core.execute.answering import Answering
from core.execute.clock import Clock
from core.execute.engine import Engine, Model
from core.execute.facts import Facts
from core.execute.news import Report, nobody
from core.execute.result import Run, collected, merged
from core.execute.runner import Runner
from core.execute.screen import Screen
from core.execute.services import Done, Job, Service, Services
from core.plan import Plan
from core.profiles import Setting
from core.workload import Workload

__all__ = [
    "Done",
    "Engine",
    "Job",
    "Model",
    "Run",
    "Service",
    "execute",
    "merged",
    "repeated",
]

LIMIT_S = 300.0
"""Longest time one request may take; local models on a busy machine need minutes."""


async def execute(
    plan: Plan,
    engine: Engine,
    setting: Setting,
    asked: Workload,
    *,
    services: Mapping[str, Service] | None = None,
    seed: int = 0,
    limit_s: float = LIMIT_S,
    report: Report = nobody,
) -> Run:
    """Run the last request of `asked` once; earlier ones are what caches may remember.

    The setting gives the times of services that are not among the real `services`; `seed` is the
    chance in them. Whatever the engine does wrong ends up in the run's `error`; cancelling the task
    stops all work at once.
    """
    clock = Clock.start()
    luck = Luck(seed, 1, setting.certain)
    facts = Facts(plan, asked, luck)
    if not engine.scripted and _branches_on_words(plan):
        facts.note("reference_branches")
    screen = Screen(plan, report)
    answering = Answering(engine, facts, screen, clock, report, limit_s)
    runner = Runner(plan, facts, screen, answering, Services(setting, luck, services or {}))
    await runner.run()
    return collected(runner, engine.name)


def _branches_on_words(plan: Plan) -> bool:
    """Whether a condition follows from what a model writes."""
    calls = {s.id for s in plan.llm_steps}
    return any(plan.producer.get(w.value) in calls for s in plan.steps for w in s.when)


async def repeated(
    plan: Plan,
    engine: Engine,
    setting: Setting,
    asked: Workload,
    *,
    times: int,
    services: Mapping[str, Service] | None = None,
    seed: int = 0,
    limit_s: float = LIMIT_S,
    report: Report = nobody,
) -> AsyncIterator[Run]:
    """Run it several times, one after the other, each with a chance of its own."""
    for number in range(times):
        yield await execute(
            plan,
            engine,
            setting,
            asked,
            services=services,
            seed=seed + number,
            limit_s=limit_s,
            report=report,
        )
