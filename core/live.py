"""Both plans of a comparison on a real engine: the same request, in turns, several times.

    engine = await opened(Target("local", "large", "small"), setting)
    found = await race(
        scenario, request, choices, engine, setting, repeats=5, rng=rng, tell=tell
    )
    found.before, found.after    # timelines, a row a repeat, with the metrics of any timeline
    found.badges                 # what to know before one believes them

Everything here runs on one event loop and stays with it: model clients belong to the loop that made
them. Cancelling the task stops all work at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from core.badges import badges
from core.compare import rewritten
from core.engines import Target, close_shared, opened, using, warm_up
from core.errors import InputError
from core.execute import LIMIT_S, Engine, Run, execute, merged
from core.execute.news import News
from core.local.machine import foreign_share, read_cpu
from core.plan import Plan
from core.profiles import Setting
from core.request import Request
from core.rewrite import Choice, LogEntry
from core.scenarios import Scenario
from core.text import Note
from core.timeline import Timeline
from core.workload import Workload, asked_before, only

__all__ = [
    "LiveRace",
    "PlanPair",
    "Progress",
    "Target",
    "close_shared",
    "opened",
    "plan_pair",
    "race",
    "using",
]

Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")

MOST_REPEATS = 50
"""Bound on the repeats of one race. Reason: more would keep a shared engine for an hour."""


@dataclass(frozen=True, slots=True)
class PlanPair:
    """The naive plan, the one with the choices, and the log of what made the difference."""

    before: Plan
    after: Plan
    log: tuple[LogEntry, ...]

    def side(self, side: Side) -> Plan:
        """Return one of the two."""
        return self.before if side == "before" else self.after


def plan_pair(scenario: Scenario, choices: tuple[Choice, ...], setting: Setting) -> PlanPair:
    """Return the plans that `core.compare.compare` simulates, for whoever runs them."""
    plan, log = rewritten(scenario, choices, setting)
    return PlanPair(scenario.plan, plan, log)


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Where a race is: `done` of `total` runs have ended, and what is new in the one under way.

    `repeat` counts from 1; 0 is the warm-up, which is not counted. `news` is None where a run
    begins or ends.
    """

    side: Side
    repeat: int
    done: int
    total: int
    news: News | None


TellProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, eq=False)
class LiveRace:
    """What was measured: timelines with a row a repeat, in the order of the runs.

    `foreign` is the share of the machine that others used meanwhile, None where it is not known.
    """

    before: Timeline
    after: Timeline
    runs_before: tuple[Run, ...]
    runs_after: tuple[Run, ...]
    badges: tuple[Note, ...]
    log: tuple[LogEntry, ...]
    foreign: float | None

    @property
    def errors(self) -> tuple[int, int]:
        """How many runs of each side got no answer."""
        sides = (self.runs_before, self.runs_after)
        before, after = (sum(run.failed for run in runs) for runs in sides)
        return before, after


async def race(
    scenario: Scenario,
    request: Request,
    choices: tuple[Choice, ...],
    engine: Engine,
    setting: Setting,
    *,
    repeats: int,
    rng: np.random.Generator,
    tell: TellProgress,
    repeated: bool = False,
    limit_s: float = LIMIT_S,
) -> LiveRace:
    """Run both plans on one request so many times, in random order, after a warm-up.

    Both runs of a repeat meet the same chance in what is not real. `repeated`: the request has been
    asked a minute before, so caches may know it. `limit_s` bounds each run.

    Raises:
        InputError: no or too many repeats.
        EngineError: the warm-up failed. Errors after it are counted, not raised.
    """
    check_repeats(repeats)
    pair = plan_pair(scenario, choices, setting)
    asked = asked_before(scenario, request) if repeated else only(scenario, request)
    track = _Track(pair, engine, setting, asked, tell, 2 * repeats, limit_s)
    await track.warm_up()
    start = read_cpu()
    for repeat in range(1, repeats + 1):
        seed = int(rng.integers(1 << 31))
        for position in rng.permutation(len(SIDES)):
            await track.run(SIDES[position], repeat, seed)
    return track.result(foreign_share(start, read_cpu()))


def check_repeats(repeats: int) -> None:
    """Refuse a number of repeats that makes no sense. Raises InputError."""
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"{repeats} repeats; from 1 to {MOST_REPEATS} are valid")


class _Track:
    """A race under way."""

    def __init__(
        self,
        pair: PlanPair,
        engine: Engine,
        setting: Setting,
        asked: Workload,
        tell: TellProgress,
        total: int,
        limit_s: float,
    ) -> None:
        self._pair, self._engine, self._setting, self._asked = pair, engine, setting, asked
        self._tell, self._total, self._limit_s = tell, total, limit_s
        self._runs: dict[Side, list[Run]] = {"before": [], "after": []}

    async def warm_up(self) -> None:
        """Open connections, start engines, fill the caches that a plan counts on; uncounted."""
        self._say("before", 0, None)
        await warm_up(self._engine)
        for side in SIDES:
            if _counts_on_earlier_calls(self._pair.side(side)):
                run = await self._execute(side, 0, seed=0)
                if run.error is not None:
                    raise run.error

    async def run(self, side: Side, repeat: int, seed: int) -> None:
        """Run one side once more."""
        self._say(side, repeat, None)
        self._runs[side].append(await self._execute(side, repeat, seed))
        self._say(side, repeat, None)

    async def _execute(self, side: Side, repeat: int, seed: int) -> Run:
        return await execute(
            self._pair.side(side),
            self._engine,
            self._setting,
            self._asked,
            seed=seed,
            limit_s=self._limit_s,
            report=partial(self._say, side, repeat),
        )

    def _say(self, side: Side, repeat: int, news: News | None) -> None:
        done = sum(len(runs) for runs in self._runs.values())
        self._tell(Progress(side, repeat, done, self._total, news))

    def result(self, foreign: float | None) -> LiveRace:
        """Return what was measured."""
        before, after = (tuple(self._runs[side]) for side in SIDES)
        return LiveRace(
            merged([r.timeline for r in before]),
            merged([r.timeline for r in after]),
            before,
            after,
            badges(before, after, foreign),
            self._pair.log,
            foreign,
        )


def _counts_on_earlier_calls(plan: Plan) -> bool:
    """Whether a first run would meet what later ones do not: an empty cache, a cold drafter."""
    return any(step.prompt_cache or step.predict for step in plan.llm_steps)
