"""One request's way through a plan on real parts: a task for each step, and who waits for whom."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from core.errors import EngineError, TimedOut
from core.execute.answering import Answering, Effort
from core.execute.clock import Clock
from core.execute.facts import Facts
from core.execute.layers import Attempt, Outcome, stop, within, wrapped
from core.execute.news import Report, StepBegan, StepEnded
from core.execute.outlets import Outlet, Voice
from core.execute.screen import Screen
from core.execute.services import PIECE, WORK, Done, Job, Services
from core.execute.track import Track
from core.plan import LlmStep, Plan, ShowStep, Step, WorkKind, WorkStep, guards
from core.policies import Cache, Deadline
from core.timeline import State

Making = Callable[[], Attempt]
"""Makes a step's attempt from what is known when it is called."""


@dataclass(slots=True)
class Runner:
    """Runs all steps; afterwards `tracks`, `screen` and `answering.records` tell what happened."""

    plan: Plan
    services: Services
    facts: Facts
    screen: Screen
    answering: Answering
    clock: Clock
    report: Report
    tracks: dict[str, Track] = field(init=False)
    error: EngineError | None = None

    def __post_init__(self) -> None:
        self.tracks = {s.id: Track(s) for s in self.plan.steps}

    async def run(self) -> None:
        """Run to the end, to the first failure (kept in `error`) or to the run's limit."""
        limit_s = self.answering.limit_s
        try:
            async with asyncio.timeout_at(self.clock.loop_time(limit_s)) as limit:
                await self._all()
        except TimeoutError:
            if not limit.expired():
                raise
            self.error = TimedOut(f"the request had not been answered after {limit_s:g} s")

    async def _all(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for step in self.plan.steps:
                    group.create_task(self._step(step), name=step.id)
        except* EngineError as failed:
            self.error = _first(failed)

    async def _step(self, step: Step) -> None:
        """Run one step; whatever happens, its span is closed."""
        track = self.tracks[step.id]
        try:
            match step:
                case LlmStep():
                    await self._work(step, track, lambda: self._answering(step, track))
                case WorkStep() if step.per_piece:
                    await self._per_piece(step, track)
                case WorkStep():
                    await self._work(step, track, lambda: self._serving(step))
                case ShowStep():
                    await self._show(step, track)
                case _:
                    assert_never(step)
        except EngineError:
            track.end(self.clock.now(), State.FAILED, absent=True)
            raise
        finally:
            track.stop(self.clock.now())
            self.screen.ended(step, track.end_s, skipped=track.state is State.SKIPPED)
            self.screen.finish(step.id)
            self.report(StepEnded(step.id, track.state, track.end_s))

    # --- when a step may start -------------------------------------------------------------------

    async def _ready(self, step: Step) -> float:
        """Wait until it may start; return the end of what it waited for last."""
        ready_s = 0.0
        for other in self.plan.starts_after(step.id):
            track = self.tracks[other]
            if self.plan.follows_at_once(step.id, other):
                await track.own_ended.wait()
                ready_s = max(ready_s, track.own_end_s)
            else:
                await track.ended.wait()
                ready_s = max(ready_s, track.end_s)
        return ready_s

    def _heard(self, step: Step) -> bool:
        """Whether all its guards have spoken."""
        return all(self.tracks[g].ended.is_set() for g in guards(step))

    def _due_s(self, step: Step) -> float:
        """When it must have ended, by deadlines that drop it."""
        due = [
            p.slo_s - p.left_s
            for p in step.policies
            if isinstance(p, Deadline) and p.then == "drop"
        ]
        return min(due, default=math.inf)

    # --- work of a whole -------------------------------------------------------------------------

    async def _work(self, step: LlmStep | WorkStep, track: Track, making: Making) -> None:
        """Do the step's work, unless it is left out."""
        ready_s = await self._ready(step)
        refused = self._heard(step) and self.facts.skips(step, guards(step))
        if self.facts.skips(step) or refused or self._due_s(step) <= ready_s:
            self._leave_out(step, track, ready_s)
            return
        track.begin(ready_s, self.clock.now())
        self.report(StepBegan(step.id, track.start_s))
        streams = isinstance(step, LlmStep) and step.stream
        voice = Voice(track, self.screen, streams)
        if self._heard(step):
            self._finish(step, track, voice, await self._attempt(step, voice, making), 0.0)
        else:
            await self._guess(step, track, voice, making)

    def _leave_out(self, step: Step, track: Track, ready_s: float) -> None:
        if isinstance(step, WorkStep) and step.layers:
            self.facts.look_up(step)
        track.skip(ready_s, absent=self._absent(step, otherwise=True))

    async def _attempt(self, step: Step, voice: Voice, making: Making) -> Outcome:
        """Try it with all its policies; what came of it is known from then on."""
        attempt, due_s = making(), self._due_s(step)
        if math.isinf(due_s):
            outcome = await attempt("", voice)
        else:
            outcome = await within(attempt, "", voice, due_s, self.clock)
        self._learn(step, outcome)
        return outcome

    def _learn(self, step: Step, outcome: Outcome) -> None:
        if outcome.gave_up:
            self.facts.note("gave_up", step=step.id, reason=outcome.gave_up)
        if isinstance(step, LlmStep) and outcome.text is not None:
            self.answering.learn(step, outcome.text)
        self.facts.learn(outcome.values)
        self.facts.find(outcome.passages)

    async def _guess(
        self, step: Step, track: Track, voice: Voice, making: Making
    ) -> None:
        """Begin beside the guards; see `core.policies.Speculate`."""
        voice.held = True
        work = asyncio.create_task(self._attempt(step, voice, making))
        work.add_done_callback(lambda done: self._own_end(track, done))
        try:
            for guard in guards(step):
                await self.tracks[guard].ended.wait()
            said_s = max(track.ready_s, *(self.tracks[g].end_s for g in guards(step)))
            if self.facts.skips(step, guards(step)):
                await stop(work)
                voice.void()
                track.end(said_s, State.CANCELLED, absent=True)
                return
            if misled := self._misled(step):
                await stop(work)
                voice.void()
                for other in misled:
                    await self.tracks[other].ended.wait()
                work = asyncio.create_task(self._attempt(step, voice, making))
            voice.release(said_s)
            self._finish(step, track, voice, await work, said_s)
        finally:
            await stop(work)

    def _own_end(self, track: Track, work: asyncio.Task[Outcome]) -> None:
        """Let those go on that guess on with what was guessed."""
        if not work.cancelled() and work.exception() is None:
            outcome = work.result()
            track.absent = outcome.absent
            track.end_own(outcome.end_s)

    def _misled(self, step: Step) -> tuple[str, ...]:
        """Ids of the steps that it has read from and that are being cancelled."""
        return tuple(
            other
            for other in self.plan.needs[step.id]
            if self.plan.follows_at_once(step.id, other)
            and self.tracks[other].state is not State.SKIPPED
            and self.facts.skips(self.plan.step(other), guards(self.plan.step(other)))
        )

    def _finish(
        self, step: Step, track: Track, voice: Voice, outcome: Outcome, said_s: float
    ) -> None:
        """End the step's span with what came of its work; nothing ends before its guards spoke."""
        end_s = max(outcome.end_s, said_s)
        state = State.CACHED if outcome.cached else State.RAN
        if isinstance(step, WorkStep) and step.layers and self.facts.look_up(step):
            state = State.CACHED
        if not outcome.absent:
            voice.finish(end_s)
        track.used += outcome.used
        track.simulated = outcome.simulated
        track.end(end_s, state, absent=self._absent(step, otherwise=outcome.absent))

    def _absent(self, step: Step, *, otherwise: bool) -> bool:
        """Whether the plan goes on without its values; a rerank left out passes on what it read."""
        if not isinstance(step, WorkStep) or step.work is not WorkKind.RERANK:
            return otherwise
        read = (self.plan.producer[v] for v in step.reads if v in self.plan.producer)
        return any(self.tracks[r].absent for r in read)

    # --- attempts --------------------------------------------------------------------------------

    def _answering(self, step: LlmStep, track: Track) -> Attempt:
        """Return a model call as it is to be made now, with its policies."""
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
                limit = min(limit, policy.short_tok) if policy.then == "short" else limit
        return Effort(role, None if math.isinf(limit) else int(limit))

    def _serving(self, step: WorkStep) -> Attempt:
        """Return a service's work with its policies."""

        async def attempt(label: str, out: Outlet) -> Outcome:
            text = "" if set(step.reads).isdisjoint(self.plan.show.reads) else self.screen.text()
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

    # --- work on a stream, and the end -----------------------------------------------------------

    async def _per_piece(self, step: WorkStep, track: Track) -> None:
        """Check passage by passage, as they come."""
        ready_s = await self._stream_ready(step)
        if self.facts.skips(step):
            self._leave_out(step, track, ready_s)
            return
        track.begin(ready_s, self.clock.now())
        self.report(StepBegan(step.id, track.start_s))
        end_s, number = ready_s, 0
        while (handed := await self.screen.queues[step.id].get()) is not None:
            text = handed.passage.text
            done = await self.serve(step, step.service, f"{PIECE}{number}", text)
            end_s, number = self.clock.now(), number + 1
            if number == 1:
                track.output(end_s, held=False)
            track.simulated = done.simulated
            self.screen.passed(step.id, handed, end_s)
        read = (*self.plan.starts_after(step.id), *self.screen.sources)
        end_s = max(end_s, *(self.tracks[r].end_s for r in read))
        track.end(end_s, State.RAN, absent=False)

    async def _stream_ready(self, step: WorkStep) -> float:
        """Wait until all else has ended and a stream it reads has begun, or all have ended."""
        given = {self.plan.producer.get(w.value) for w in step.when}
        streams = {
            s.id
            for s in self.plan.llm_steps
            if s.stream and s.id in self.screen.sources and s.id not in given
        }
        ready_s = 0.0
        waits = self.plan.starts_after(step.id)
        for other in waits:
            if other not in streams:
                await self.tracks[other].ended.wait()
                ready_s = max(ready_s, self.tracks[other].end_s)
        reading = [self.tracks[other] for other in waits if other in streams]
        await _any_begun(reading)
        begun = [t.first_s for t in reading if t.first_out.is_set()]
        ended = [t.end_s for t in reading]
        return max(ready_s, min(begun) if begun else max(ended, default=0.0))

    async def _show(self, step: ShowStep, track: Track) -> None:
        """End with the last thing done; begun it has with the first thing shown."""
        end_s = await self._ready(step)
        seen = self.screen.seen(end_s)
        first_s = min((*seen.at_s, end_s))
        track.begin(first_s, first_s)
        track.come_out(first_s)
        track.end(end_s, State.RAN, absent=False)


@dataclass(frozen=True, slots=True)
class _Around:
    """What the policies of one step ask of the run; see `core.execute.layers.Surroundings`."""

    runner: Runner
    step: Step
    small_attempt: Attempt

    @property
    def clock(self) -> Clock:
        return self.runner.clock

    async def consult(self, service: str, purpose: str) -> Done:
        return await self.runner.serve(self.step, service, purpose)

    def remembered(self, policy: Cache) -> bool:
        return self.runner.facts.remembers(self.step, policy)

    def chance(self, rate: float, purpose: str) -> bool:
        return self.runner.facts.chance(rate, self.step.id, purpose)

    async def small(self, label: str, out: Outlet) -> Outcome:
        return await self.small_attempt(label, out)


async def _any_begun(tracks: list[Track]) -> None:
    """Wait until one has put something out or all have ended."""
    if not tracks:
        return

    async def all_ended() -> None:
        for track in tracks:
            await track.ended.wait()

    async def begun(track: Track) -> None:
        await track.first_out.wait()

    waiting = [asyncio.create_task(w) for w in (all_ended(), *(begun(t) for t in tracks))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiting:
            waiter.cancel()


def _first(failed: BaseExceptionGroup[EngineError]) -> EngineError:
    """Return the first error of a group, whatever groups it is in."""
    inner = failed.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
