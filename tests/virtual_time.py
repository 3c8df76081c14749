"""An event loop whose clock jumps to the next timer: exact times, no waiting.

    run(my_coroutine())            # asyncio.run on virtual time, starting at 0.0

Timers run at exactly the time they were set for. A loop that has nothing to wait for but a socket
or a thread would stand still for ever, so that is an error.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class StandstillError(RuntimeError):
    """Every task waits for something that can never happen."""


class _Selector(selectors.DefaultSelector):
    """Never waits: tells the loop to jump instead."""

    loop: VirtualTimeLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and (timeout is None or timeout > 0):
            self.loop.jump()
        return found


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time passes only when every task waits for a timer."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self._now_s = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self._now_s

    def jump(self) -> None:
        """Move the clock to the next timer."""
        if not self._scheduled:
            raise StandstillError("all tasks wait, and no timer is set")
        self._now_s = max(self._now_s, self._scheduled[0].when())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to its end on a fresh virtual clock that starts at 0."""
    loop = VirtualTimeLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(_cancel_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
