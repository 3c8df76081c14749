"""One step of one run: its times, what it used, and who waits for it."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field, fields

from core.plan import Step
from core.timeline import State

NAN = math.nan


@dataclass(frozen=True, slots=True)
class Used:
    """What calls used; NaN where an engine did not report it. Sums add up, NaN included."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_cached: float = 0.0
    tokens_out: float = 0.0
    tokens_reasoning: float = 0.0
    tokens_rejected: float = 0.0
    cost_usd: float = 0.0

    def __add__(self, other: Used) -> Used:
        return Used(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(slots=True)
class Track:
    """A step's way through a run; times are seconds since the request was asked.

    `begun_s`: the first output was made, `first_s`: it came out (a guard may hold it back),
    `own_end_s`: its own work ended, `end_s`: it let others go on. `absent`: the plan goes on
    without its values. `used` also holds what cancelled and failed attempts used.
    """

    step: Step
    ready_s: float = NAN
    start_s: float = NAN
    begun_s: float = NAN
    first_s: float = NAN
    own_end_s: float = NAN
    end_s: float = NAN
    state: State = State.SKIPPED
    absent: bool = False
    simulated: bool = False
    used: Used = field(default_factory=Used)
    first_out: asyncio.Event = field(default_factory=asyncio.Event)
    own_ended: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, ready_s: float, now_s: float) -> None:
        """Start the work."""
        self.ready_s, self.start_s = ready_s, now_s
        self.state = State.RAN

    def output(self, at_s: float, *, held: bool) -> None:
        """Note the first output of an attempt; `held` keeps it in for now."""
        self.begun_s = at_s
        if not held:
            self.come_out(at_s)

    def come_out(self, at_s: float) -> None:
        """Let the first output be seen."""
        self.first_s = at_s
        self.first_out.set()

    def end(self, at_s: float, state: State, *, absent: bool) -> None:
        """Note the end; those who wait for it go on when they are let."""
        self.end_s, self.state, self.absent = at_s, state, absent
        if math.isnan(self.first_s) or self.first_s > at_s:
            self.first_s = at_s
        self.end_own(at_s)

    def let_go_on(self) -> None:
        """Let those go on who wait for the end: all who had to know of it have been told."""
        self.ended.set()

    def end_own(self, at_s: float) -> None:
        """Note the end of its own work, whatever its guard says."""
        if math.isnan(self.own_end_s):
            self.own_end_s = at_s
        self.own_ended.set()

    def skip(self, ready_s: float, *, absent: bool = True) -> None:
        """End without having begun."""
        self.ready_s = self.start_s = ready_s
        self.end(ready_s, State.SKIPPED, absent=absent)

    def stop(self, now_s: float) -> None:
        """End because the whole run does: cancelled if it was at work, else left out."""
        if not math.isnan(self.end_s):
            return
        if math.isnan(self.start_s):
            self.skip(now_s)
        else:
            self.end(now_s, State.CANCELLED, absent=True)
