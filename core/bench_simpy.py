"""The same plan as a discrete-event model in SimPy: an independent second reading of it.

It shares the plan, the counted tokens and the distributions with `core.simulate`, and nothing of
how time is worked out: every step is a process that waits for events and sleeps. Its random numbers
are its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.counts import call
from core.display import display
from core.dists import Array, Latency
from core.durations import connect_s, new_connection_s, rtt_s
from core.plan import LlmStep, Plan, ShowStep, Step, WorkStep
from core.profiles import PER_1K_TOK_S, Setting
from core.scenarios import Scenario
from core.workload import Workload

IDLE_LIFE_S = 5.0
"""How long an unused connection stays open. Source: the SDKs' default for idle connections."""


@dataclass(slots=True)
class _Pool:
    """Connections to the model endpoint that all share; `idle`: since when each is unused."""

    places: Any
    idle: list[float]

    def connects(self, now: float) -> bool:
        """Whether a call needs a new connection now; takes the one used last where it does not."""
        self.idle = [since for since in self.idle if now - since <= IDLE_LIFE_S]
        if not self.idle:
            return True
        self.idle.remove(max(self.idle))
        return False


@dataclass(slots=True)
class _Model:
    """One request in a SimPy environment; `done` and `text` events by step id."""

    env: Any
    plan: Plan
    setting: Setting
    scenario: Scenario
    row: int
    rng: np.random.Generator
    done: dict[str, Any]
    skipped: set[str]
    pieces: Any = None
    failed: bool = False
    pool: _Pool | None = None

    def sample(self, latency: Latency) -> float:
        value = latency.median_s * float(np.exp(latency.sigma * self.rng.standard_normal()))
        if self.rng.random() < latency.stall_probability:
            value += float(self.rng.exponential(latency.stall_mean_s))
        return value

    def process(self, step: Step) -> Generator[Any, Any, None]:
        piecewise = isinstance(step, WorkStep) and step.per_piece
        streams = {s.id for s in self.plan.llm_steps if s.stream} if piecewise else set()
        yield self.env.all_of([self.done[w] for w in self.plan.waits(step.id) if w not in streams])
        request = self.scenario.requests[self.row]
        if any(request.flag(w.value) != w.is_true for w in step.when):
            self.skipped.add(step.id)
        elif isinstance(step, LlmStep):
            yield from self.call(step) if self.pool is None else self.pooled(step, self.pool)
        elif isinstance(step, WorkStep) and piecewise:
            yield from self.check(step)
        elif isinstance(step, WorkStep):
            service = self.setting.service(step.service)
            yield self.env.timeout(self.sample(service.latency()))
            self.failed |= bool(self.rng.random() < service.fail_rate)
        self.done[step.id].succeed()

    def pooled(self, step: LlmStep, pool: _Pool) -> Generator[Any, Any, None]:
        with pool.places.request() as place:
            yield place
            if pool.connects(self.env.now) and not self.plan.transport.keep_alive:
                yield self.env.timeout(new_connection_s(self.plan, self.setting))
            yield from self.connected(step)
        pool.idle.append(self.env.now)

    def call(self, step: LlmStep) -> Generator[Any, Any, None]:
        yield self.env.timeout(connect_s(self.plan, self.setting, step.id))
        yield from self.connected(step)

    def connected(self, step: LlmStep) -> Generator[Any, Any, None]:
        counts, model = call(self.scenario, step), self.setting.model(step.role)
        absent = sum(
            counts.input_tok[v][self.row]
            for v in counts.input_tok
            if self.plan.producer.get(v) in self.skipped
        )
        fresh = max(float(counts.tokens_in[self.row] - absent), 0.0)
        yield self.env.timeout(rtt_s(self.plan, self.setting))
        yield self.env.timeout(self.sample(model.ttft()) + PER_1K_TOK_S * fresh / 1000)
        tpot, at = self.sample(model.tpot()), counts.at[self.row]
        begun = self.env.now
        ends = self.piece_ends(step)
        for k, weight in enumerate(at):
            pause = begun + tpot * weight - self.env.now
            if pause > 0:
                yield self.env.timeout(pause)
            for _ in range(ends[k] if step.stream else 0):
                yield self.pieces.put(k)

    def piece_ends(self, step: LlmStep) -> Counter[int]:
        """How many sentences or cards each token completes."""
        last = {u.piece: u.known for u in call(self.scenario, step).units[self.row]}
        return Counter(last.values())

    def check(self, step: WorkStep) -> Generator[Any, Any, None]:
        shown = display(self.scenario, self.plan)
        service = self.setting.service(step.service)
        for _ in range(int((shown.piece_source[self.row] >= 0).sum())):
            yield self.pieces.get()
            yield self.env.timeout(self.sample(service.latency()))


def totals(plan: Plan, setting: Setting, workload: Workload, *, seed: int) -> Array:
    """`total_s` of each request, (n,), NaN where one failed. Needs SimPy."""
    import simpy  # noqa: PLC0415 - only this bench needs it

    rng = np.random.default_rng((seed, 0x51))
    found = np.empty(workload.n)
    for i, row in enumerate(workload.index):
        env = simpy.Environment()
        done = {s.id: env.event() for s in plan.steps}
        model = _Model(
            env, plan, setting, workload.scenario, int(row), rng, done, set(), simpy.Store(env)
        )
        for step in plan.steps:
            env.process(model.process(step))
        show = next(s for s in plan.steps if isinstance(s, ShowStep))
        env.run(until=done[show.id])
        found[i] = np.nan if model.failed else env.now
    return found


def totals_in_a_pool(
    plan: Plan, setting: Setting, workload: Workload, places: int, *, seed: int
) -> Array:
    """The same of requests that share so many connections to the model endpoint."""
    import simpy  # noqa: PLC0415 - only this bench needs it

    rng = np.random.default_rng((seed, 0x52))
    env = simpy.Environment()
    pool = _Pool(simpy.Resource(env, places), [])
    found = np.full(workload.n, np.nan)

    def request(i: int) -> Generator[Any, Any, None]:
        yield env.timeout(workload.arrival_s[i])
        done = {s.id: env.event() for s in plan.steps}
        model = _Model(
            env,
            plan,
            setting,
            workload.scenario,
            int(workload.index[i]),
            rng,
            done,
            set(),
            simpy.Store(env),
            pool=pool,
        )
        for step in plan.steps:
            env.process(model.process(step))
        yield done[plan.show.id]
        if not model.failed:
            found[i] = env.now - workload.arrival_s[i]

    for i in range(workload.n):
        env.process(request(i))
    env.run()
    return found
