"""Policies round an attempt: the executor's reading of `core.policies`, innermost first.

An attempt is an async function of a label (which tells attempts of a step apart) and an outlet. A
policy makes an attempt of an attempt. Work that lost or came too late is cancelled at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, assert_never

from core.errors import EngineError, RateLimited
from core.execute.clock import Clock
from core.execute.outlets import Kept, Outlet, Racing
from core.execute.services import CHECK, GATE, LOOKUP, Done
from core.execute.track import Used
from core.plan import Policy
from core.policies import Cache, Cascade, Deadline, Gate, Hedge, Retry, Speculate, Timeout
from core.request import Document, Value


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to; times are seconds of the run's clock.

    `absent`: it gave up, the plan goes on without its values; `gave_up` says why. `text` is a
    model's answer. `values` and `passages` are what a service found, empty and None where the
    reference stands for it.
    """

    first_s: float
    end_s: float
    used: Used = field(default_factory=Used)
    absent: bool = False
    cached: bool = False
    simulated: bool = False
    gave_up: str = ""
    text: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    passages: tuple[Document, ...] | None = None


Attempt = Callable[[str, Outlet], Awaitable[Outcome]]


class Surroundings(Protocol):
    """What policies ask of the run for one step."""

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        ...

    async def consult(self, service: str, purpose: str) -> Done:
        """Ask a service. Raises EngineError."""
        ...

    def remembered(self, policy: Cache) -> bool:
        """Return whether the cache knows the step's result."""
        ...

    def chance(self, rate: float, purpose: str) -> bool:
        """Return whether something of this probability happens."""
        ...

    async def small(self, label: str, out: Outlet) -> Outcome:
        """Make one attempt with the small model."""
        ...


def wrapped(policies: tuple[Policy, ...], attempt: Attempt, around: Surroundings) -> Attempt:
    """Return the attempt with each policy laid round it, first ones innermost."""
    for policy in policies:
        match policy:
            case Timeout(after_s):
                attempt = _timed_out(attempt, after_s, around)
            case Retry():
                attempt = _retried(attempt, policy)
            case Hedge(delay_s):
                attempt = _hedged(attempt, delay_s)
            case Cache():
                attempt = _looked_up(attempt, policy, around)
            case Gate():
                attempt = _gated(attempt, policy, around)
            case Cascade():
                attempt = _cascaded(attempt, policy, around)
            case Speculate() | Deadline():
                pass  # they depend on when the step is ready: see core.execute.runner
            case _:
                assert_never(policy)
    return attempt


def _timed_out(inner: Attempt, after_s: float, around: Surroundings) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        due_s = around.clock.now() + after_s
        return await within(inner, label, out, due_s, around.clock)

    return attempt


async def within(inner: Attempt, label: str, out: Outlet, due_s: float, clock: Clock) -> Outcome:
    """Return what an attempt comes to by this time; one that fails or is late is given up."""
    try:
        async with asyncio.timeout_at(clock.loop_time(due_s)) as limit:
            return await inner(label, out)
    except EngineError as error:
        gave_up = str(error)
    except TimeoutError:
        if not limit.expired():
            raise
        gave_up = "too late"
    now_s = clock.now()
    return Outcome(now_s, now_s, absent=True, gave_up=gave_up)


def _retried(inner: Attempt, policy: Retry) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        for number in range(1, policy.attempts):
            try:
                return await inner(_numbered(label, number), out)
            except EngineError as error:
                asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
                await asyncio.sleep(max(policy.pause_s(number + 1), asked_s or 0.0))
        return await inner(_numbered(label, policy.attempts), out)

    return attempt


def _numbered(label: str, number: int) -> str:
    return label if number == 1 else f"{label}.try{number}"


def _hedged(inner: Attempt, delay_s: float) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        async with _Race(inner, out) as race:
            first = race.enter(label)
            await race.wait(delay_s)
            if race.winner is None and not first.done():
                race.enter(f"{label}.hedge")
            return await race.finish()

    return attempt


class _Race:
    """Attempts side by side: the first that puts something out goes on alone."""

    def __init__(self, inner: Attempt, out: Outlet) -> None:
        self._inner, self._out = inner, out
        self._tasks: list[asyncio.Task[Outcome]] = []
        self._decided = asyncio.Event()
        self.winner: asyncio.Task[Outcome] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            await stop(task)

    def enter(self, label: str) -> asyncio.Task[Outcome]:
        """Start one more attempt."""
        number = len(self._tasks)
        out = Racing(self._out, lambda: self._decide(self._tasks[number]))
        task = asyncio.ensure_future(self._inner(label, out))
        assert isinstance(task, asyncio.Task)  # noqa: S101  (attempts are coroutines)
        self._tasks.append(task)
        task.add_done_callback(self._ended)
        return task

    def _decide(self, winner: asyncio.Task[Outcome]) -> None:
        """Let the first to begin win; the others stop at once."""
        if self.winner is None:
            self.winner = winner
            self._decided.set()
            for task in self._tasks:
                if task is not winner:
                    task.cancel()

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        """Take an attempt that gave up without putting anything out for an answer, too."""
        if not task.cancelled() and task.exception() is None:
            self._decide(task)
        elif all(t.done() for t in self._tasks):
            self._decided.set()

    async def wait(self, limit_s: float) -> None:
        """Wait until one has begun or all have failed, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._decided.wait()

    async def finish(self) -> Outcome:
        """Return the winner's outcome. Raises the last one's error where all failed."""
        await self._decided.wait()
        return await (self.winner or self._tasks[-1])


def _looked_up(inner: Attempt, policy: Cache, around: Surroundings) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        await around.consult(policy.lookup, LOOKUP + label)
        if not around.remembered(policy):
            return await inner(label, out)
        now_s = around.clock.now()
        out.begin(now_s)
        return Outcome(now_s, now_s, cached=True)

    return attempt


def _gated(inner: Attempt, policy: Gate, around: Surroundings) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        done = await around.consult(policy.check, CHECK + label)
        needed = around.chance(policy.share, "needed" + label)
        if needed if done.passed is None else not done.passed:
            return await inner(label, out)
        now_s = around.clock.now()
        out.begin(now_s)
        return Outcome(now_s, now_s, simulated=done.simulated)

    return attempt


def _cascaded(inner: Attempt, policy: Cascade, around: Surroundings) -> Attempt:
    async def attempt(label: str, out: Outlet) -> Outcome:
        kept = Kept()
        small = await around.small(f"{label}.small", kept)
        done = await around.consult(policy.gate, GATE + label)
        escalate = around.chance(policy.escalation_rate, "escalate" + label)
        if escalate if done.passed is None else not done.passed:
            large = await inner(label, out)
            return replace(large, used=small.used + large.used)
        now_s = around.clock.now()
        kept.pass_on(out, now_s)
        return replace(small, first_s=now_s, end_s=now_s)

    return attempt


async def stop(task: asyncio.Task[Outcome]) -> Used:
    """Cancel a task and wait until it has stopped; return what it used if it had come to an end.

    What it used until it was cancelled, or failed, is noted where that happened.
    """
    task.cancel()
    await asyncio.wait({task})
    return Used() if task.cancelled() or task.exception() else task.result().used
