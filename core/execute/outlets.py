"""Where an attempt's output goes: to the screen, or nowhere until somebody has decided."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from core.execute.screen import Screen
from core.execute.track import Track
from core.passages import Heard


class Outlet(Protocol):
    """Takes what an attempt puts out; times are seconds of the run's clock."""

    def begin(self, at_s: float) -> None:
        """Take the first output, before any text of it."""
        ...

    def say(self, heard: Heard, at_s: float) -> None:
        """Take text, as far as it can be read."""
        ...

    def void(self) -> None:
        """Forget what was said: the attempt failed."""
        ...


@dataclass(slots=True)
class Voice:
    """A step's own outlet: its track, and the screen if it is shown.

    `held`: a guard has not spoken yet, nothing comes out. What does not stream comes out at the
    end.
    """

    track: Track
    screen: Screen
    streams: bool
    held: bool = False
    _lines: list[tuple[Heard, float]] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        """See `Outlet`."""
        self.track.output(at_s, held=self.held)

    def say(self, heard: Heard, at_s: float) -> None:
        """See `Outlet`."""
        self._lines.append((heard, at_s))
        self.screen.take_down(self.track.step.id, heard)
        if self.streams and not self.held:
            self.screen.write(self.track.step.id, heard, at_s)

    def void(self) -> None:
        """See `Outlet`."""
        self._lines.clear()
        self.track.begun_s = math.nan
        self.screen.erase(self.track.step.id)

    def release(self, said_s: float) -> None:
        """Let out what was held: the guard has spoken."""
        self.held = False
        if not math.isnan(self.track.begun_s):
            self.track.come_out(max(self.track.begun_s, said_s))
        if self.streams:
            for heard, at_s in self._lines:
                self.screen.write(self.track.step.id, heard, max(at_s, said_s))

    def finish(self, end_s: float, *, in_vain: bool) -> None:
        """Let out what does not stream; forget it where the step gave up."""
        if in_vain and not self.streams:
            self.void()
        elif not self.streams:
            for heard, _ in self._lines:
                self.screen.write(self.track.step.id, heard, end_s)


@dataclass(slots=True)
class Kept:
    """Keeps everything until the whole is passed on at once."""

    _lines: list[Heard] = field(default_factory=list)

    def begin(self, at_s: float) -> None:
        """See `Outlet`."""

    def say(self, heard: Heard, at_s: float) -> None:  # noqa: ARG002  (all comes out at once)
        """See `Outlet`."""
        self._lines.append(heard)

    def void(self) -> None:
        """See `Outlet`."""
        self._lines.clear()

    def pass_on(self, out: Outlet, at_s: float) -> None:
        """Give all of it to another outlet."""
        out.begin(at_s)
        for heard in self._lines:
            out.say(heard, at_s)


@dataclass(frozen=True, slots=True)
class Racing:
    """An outlet for one of several attempts: the first to begin ends the race."""

    out: Outlet
    on_begin: Callable[[], None]

    def begin(self, at_s: float) -> None:
        """See `Outlet`."""
        self.on_begin()
        self.out.begin(at_s)

    def say(self, heard: Heard, at_s: float) -> None:
        """See `Outlet`."""
        self.out.say(heard, at_s)

    def void(self) -> None:
        """See `Outlet`."""
        self.out.void()
