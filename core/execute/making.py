"""From a step and what is known now to an attempt at it, with its policies laid round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.execute import reference
from core.execute.answering import Answering, Effort
from core.execute.clock import Clock
from core.execute.facts import Facts
from core.execute.layers import Attempt, Outcome, wrapped
from core.execute.outlets import Outlet
from core.execute.screen import Screen
from core.execute.services import WORK, Done, Job, Services
from core.execute.track import Track
from core.plan import LlmStep, Plan, Step, WorkStep
from core.policies import Cache, Deadline


@dataclass(frozen=True, slots=True)
class Making:
    """Makes the attempts of one run; `tracks` tell what is absent."""

    plan: Plan
    services: Services
    facts: Facts
    screen: Screen
    answering: Answering
    tracks: Mapping[str, Track]

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        return self.answering.clock

    def attempt(self, step: LlmStep | WorkStep) -> Attempt:
        """Return the attempt as it is to be made now."""
        return self._answering(step) if isinstance(step, LlmStep) else self._serving(step)

    def _answering(self, step: LlmStep) -> Attempt:
        """Return a model call."""
        track = self.tracks[step.id]
        effort = self._effort(step, track.ready_s)
        producers = {i.value: self.plan.producer.get(i.value) for i in step.signature.inputs}
        without = frozenset(v for v, p in producers.items() if p and self.tracks[p].absent)
        small = Effort("small", effort.limit_tok)
        around = _Around(self, step, self.answering.attempt(track, step, small, without))
        own = self.answering.attempt(track, step, effort, without)
        return wrapped(step.policies, own, around)

    def _effort(self, step: LlmStep, ready_s: float) -> Effort:
        """Return how it is done: what its rule and its deadlines say when it is ready."""
        role = "small" if self.facts.is_simple(step) else step.role
        limit = math.inf if step.max_output_tok is None else step.max_output_tok
        for policy in step.policies:
            if isinstance(policy, Deadline) and policy.slo_s - ready_s < policy.left_s:
                role = "small" if policy.then == "small" else role
                if policy.then == "short":
                    lead = reference.lead_tok(step, self.facts.reference)
                    limit = min(limit, lead + policy.short_tok)
        return Effort(role, None if math.isinf(limit) else int(limit))

    def _serving(self, step: WorkStep) -> Attempt:
        """Return a service's work."""

        async def attempt(label: str, out: Outlet) -> Outcome:
            text = self.screen.text(step.reads)
            done = await self.serve(step, step.service, WORK + label, text)
            now_s = self.clock.now()
            out.begin(now_s)
            return Outcome(
                now_s, now_s, simulated=done.simulated, values=done.values, passages=done.passages
            )

        return wrapped(step.policies, attempt, _Around(self, step, attempt))

    async def serve(self, step: Step, service: str, purpose: str, text: str = "") -> Done:
        """Ask a service. Raises EngineError."""
        job = Job(step, service, purpose, self.facts.request(), text, len("".join(text.split())))
        done = await self.services.do(job)
        if done.simulated:
            self.facts.note("simulated", service=service)
        return done


@dataclass(frozen=True, slots=True)
class _Around:
    """What the policies of one step ask of the run; see `core.execute.layers.Surroundings`."""

    making: Making
    step: Step
    small_attempt: Attempt

    @property
    def clock(self) -> Clock:
        return self.making.clock

    async def consult(self, service: str, purpose: str) -> Done:
        return await self.making.serve(self.step, service, purpose)

    def remembered(self, policy: Cache) -> bool:
        return self.making.facts.remembers(self.step, policy)

    def chance(self, rate: float, purpose: str) -> bool:
        return self.making.facts.chance(rate, self.step.id, purpose)

    async def small(self, label: str, out: Outlet) -> Outcome:
        return await self.small_attempt(label, out)
