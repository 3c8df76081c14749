"""Seconds since a request was asked, on the running event loop's clock."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """A run's clock; `zero_s` is the moment of the question in loop time."""

    zero_s: float

    @staticmethod
    def start() -> Clock:
        """Return a clock that starts now."""
        return Clock(asyncio.get_running_loop().time())

    def now(self) -> float:
        """Return the seconds since the question."""
        return asyncio.get_running_loop().time() - self.zero_s

    def loop_time(self, at_s: float) -> float:
        """Return the loop's time at so many seconds after the question."""
        return self.zero_s + at_s
