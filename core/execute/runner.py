"""One request's way through a plan on real parts: a task for each step, and who waits for whom."""

from __future__ import annotations

import asyncio
import math
from dataclasses import InitVar, dataclass, field
from typing import TypeVar, assert_never

from core.errors import EngineError, TimedOut
from core.execute import reference
from core.execute.answering import Answering
from core.execute.clock import Clock
from core.execute.facts import Facts
from core.execute.layers import Outcome, stop, within
from core.execute.making import Making
from core.execute.news import Report, StepBegan, StepEnded
from core.execute.outlets import Voice
from core.execute.screen import NOTHING_SEEN, Screen, Seen
from core.execute.services import PIECE, Services
from core.execute.track import Track
from core.execute.waiting import Waiting
from core.plan import LlmStep, Plan, ShowStep, Step, WorkKind, WorkStep, guards
from core.policies import Deadline
from core.timeline import State

ErrorT = TypeVar("ErrorT", bound=BaseException)


@dataclass(slots=True)
class Runner:
    """Runs all steps; afterwards `tracks`, `screen` and `answering.records` tell what happened."""

    plan: Plan
    facts: Facts
    screen: Screen
    answering: Answering
    services: InitVar[Services]
    tracks: dict[str, Track] = field(init=False)
    making: Making = field(init=False)
    waiting: Waiting = field(init=False)
    seen: Seen = NOTHING_SEEN
    error: EngineError | None = None

    def __post_init__(self, services: Services) -> None:
        self.tracks = {s.id: Track(s) for s in self.plan.steps}
        self.making = Making(
            self.plan, services, self.facts, self.screen, self.answering, self.tracks
        )
        self.waiting = Waiting(self.plan, self.tracks, self.screen.sources)

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        return self.answering.clock

    @property
    def report(self) -> Report:
        """Where the news go."""
        return self.answering.report

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
        except BaseExceptionGroup as failed:
            engine, rest = failed.split(EngineError)
            if rest is not None:
                raise _first(rest) from None
            self.error = None if engine is None else _first(engine)

    async def _step(self, step: Step) -> None:
        """Run one step; whatever happens, its span is closed."""
        track = self.tracks[step.id]
        try:
            match step:
                case LlmStep():
                    await self._work(step, track)
                case WorkStep() if step.per_piece:
                    await self._per_piece(step, track)
                case WorkStep():
                    await self._work(step, track)
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
            track.let_go_on()
            self.report(StepEnded(step.id, track.state, track.end_s))

    def _due_s(self, step: Step) -> float:
        """When it must have ended, by deadlines that drop it."""
        due = [
            p.slo_s - p.left_s
            for p in step.policies
            if isinstance(p, Deadline) and p.then == "drop"
        ]
        return min(due, default=math.inf)

    # --- work of a whole -------------------------------------------------------------------------

    async def _work(self, step: LlmStep | WorkStep, track: Track) -> None:
        """Do the step's work, unless it is left out."""
        ready_s = await self.waiting.until_ready(step)
        await self.waiting.until_settled(step)
        refused = self.waiting.heard(step) and self.facts.skips(step, guards(step))
        if self.facts.skips(step) or refused or self._due_s(step) <= ready_s:
            self._leave_out(step, track, ready_s)
            return
        track.begin(ready_s, self.clock.now())
        self.report(StepBegan(step.id, track.start_s))
        streams = isinstance(step, LlmStep) and step.stream
        voice = Voice(track, self.screen, streams)
        if self.waiting.heard(step):
            self._finish(step, track, voice, await self._attempt(step, voice), 0.0)
        else:
            await self._guess(step, track, voice)

    def _leave_out(self, step: Step, track: Track, ready_s: float) -> None:
        if isinstance(step, WorkStep) and step.layers:
            self.facts.look_up(step)
        track.skip(ready_s, absent=self._absent(step, otherwise=True))

    async def _attempt(self, step: LlmStep | WorkStep, voice: Voice) -> Outcome:
        """Try it with all its policies; what came of it is known from then on."""
        attempt, due_s = self.making.attempt(step), self._due_s(step)
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

    async def _guess(self, step: LlmStep | WorkStep, track: Track, voice: Voice) -> None:
        """Begin beside the guards; see `core.policies.Speculate`."""
        voice.held = True
        work = asyncio.create_task(self._attempt(step, voice))
        work.add_done_callback(lambda done: self._own_end(track, done))
        try:
            for guard in guards(step):
                await self.tracks[guard].ended.wait()
            said_s = max(track.ready_s, *(self.tracks[g].end_s for g in guards(step)))
            if self.facts.skips(step, guards(step)):
                spent = await stop(work)
                track.used += spent
                voice.void()
                track.end(said_s, State.CANCELLED, absent=True)
                return
            if misled := self._misled(step):
                spent = await stop(work)
                track.used += spent
                voice.void()
                for other in misled:
                    await self.tracks[other].ended.wait()
                work = asyncio.create_task(self._attempt(step, voice))
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
        voice.finish(end_s, in_vain=outcome.absent)
        track.used += outcome.used
        track.simulated = outcome.simulated
        track.end(end_s, state, absent=self._absent(step, otherwise=outcome.absent))

    def _absent(self, step: Step, *, otherwise: bool) -> bool:
        """Whether the plan goes on without its values; a rerank left out passes on what it read."""
        if not isinstance(step, WorkStep) or step.work is not WorkKind.RERANK:
            return otherwise
        read = (self.plan.producer[v] for v in step.reads if v in self.plan.producer)
        return any(self.tracks[r].absent for r in read)

    # --- work on a stream, and the end -----------------------------------------------------------

    async def _per_piece(self, step: WorkStep, track: Track) -> None:
        """Check passage by passage, as they come."""
        ready_s = await self.waiting.until_streaming(step)
        if self.facts.skips(step):
            self._leave_out(step, track, ready_s)
            return
        track.begin(ready_s, self.clock.now())
        self.report(StepBegan(step.id, track.start_s))
        end_s, number = ready_s, 0
        while (handed := await self.screen.queues[step.id].get()) is not None:
            text = handed.passage.text
            done = await self.making.serve(step, step.service, f"{PIECE}{number}", text)
            end_s, number = self.clock.now(), number + 1
            if number == 1:
                track.output(end_s, held=False)
            track.simulated = done.simulated
            self.screen.passed(step.id, handed, end_s)
        read = self.plan.starts_after(step.id)
        end_s = max(end_s, *(self.tracks[other].end_s for other in read))
        track.end(end_s, State.RAN, absent=False)

    async def _show(self, step: ShowStep, track: Track) -> None:
        """End with the last thing done; begun it has with the first thing shown."""
        end_s = await self.waiting.until_ready(step)
        if self.facts.hit:
            self.screen.serve(reference.served(self.plan, self.facts.answered_by), end_s)
        self.seen = self.screen.close(end_s)
        first_s = min((*self.seen.at_s, end_s))
        track.begin(first_s, first_s)
        track.come_out(first_s)
        track.end(end_s, State.RAN, absent=False)


def _first(failed: BaseExceptionGroup[ErrorT]) -> ErrorT:
    """Return the first error of a group, whatever groups it is in."""
    inner = failed.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
