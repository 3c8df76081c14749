"""Who may use which engine, in which order.

An engine answers one call at a time, and no more engines work at once than there are lanes (cores,
at most two): on two cores a third busy engine would slow the others down instead of adding speed.
So calls wait in one line. First come, first served, with one exception that costs nobody a turn: a
call whose engine is busy lets those behind it pass to engines that are free. Every waiting call
knows its place.

Engines start on demand and, where they are rarely needed, stop when unused for a while. All of this
runs on one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic

from core.errors import EngineError
from core.local.lease import EngineT, Kind, Lease, Seat

DRAIN_LIMIT_S = 10.0
"""An engine still busy this long after its call was cancelled is stopped. Cancelling takes 0.03 s
while it writes and up to one batch, 0.7 s measured, while it reads a prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many engines of a kind there may be, and after how long unused they stop.

    None means never. An engine that drafts is only of use to predicted outputs, a large one holds
    half a gigabyte; the small ones serve most calls.
    """

    engines: int
    idle_stop_s: float | None


class Pool(Generic[EngineT]):
    """The line, and the engines it is for."""

    def __init__(
        self, launch: Callable[[Kind], EngineT], limits: Mapping[Kind, Limits], *, lanes: int
    ) -> None:
        """`launch` makes an engine without starting it; `lanes` bounds how many work at once."""
        self._launch, self._limits, self._lanes = launch, limits, lanes
        self._seats: list[Seat[EngineT]] = []
        self._line: list[Lease[EngineT]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def lanes(self) -> int:
        """How many calls are worked on at once."""
        return self._lanes

    @property
    def engines(self) -> tuple[EngineT, ...]:
        """The engines there are."""
        return tuple(seat.engine for seat in self._seats)

    @contextmanager
    def lease(self, kind: Kind, cache_key: str | None = None) -> Iterator[Lease[EngineT]]:
        """Join the line; leaving the block gives the place or the engine back."""
        lease: Lease[EngineT] = Lease(kind, cache_key)
        if self._closed:
            lease.refuse()
        else:
            self._line.append(lease)
            self._advance()
        try:
            yield lease
        finally:
            self._release(lease)

    async def warm(self, kind: Kind, engines: int, *, deadline_s: float) -> None:
        """Start so many engines of a kind, so that no call has to; at most one per lane.

        Raises:
            TimedOut, Unavailable: see `Lease`.
        """
        with ExitStack() as stack:
            # All join the line before any waits, so two who warm up cannot wait for each other.
            count = min(engines, self._lanes, self._limits[kind].engines)
            leases = [stack.enter_context(self.lease(kind)) for _ in range(count)]
            for lease in leases:
                async for _ in lease.places(deadline_s=deadline_s):
                    pass
            starts = (lease.engine(deadline_s=deadline_s) for lease in leases)
            for lease, started in zip(
                leases, await asyncio.gather(*starts, return_exceptions=True), strict=True
            ):
                if isinstance(started, BaseException):
                    raise started
                lease.finish()

    async def aclose(self) -> None:
        """Refuse those who wait and stop all engines."""
        self._closed = True
        for lease in self._line:
            lease.refuse()
        self._line.clear()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for seat in self._seats:
            self._keep(seat)
        await asyncio.gather(*(seat.engine.stop() for seat in self._seats))
        self._seats.clear()

    def _advance(self) -> None:
        """Give free engines to the first who can use them, and tell the rest their places."""
        for lease in tuple(self._line):
            if sum(seat.busy for seat in self._seats) >= self._lanes:
                break
            seat = self._free_seat(lease)
            if seat is not None:
                self._line.remove(lease)
                self._keep(seat)
                seat.busy = True
                lease.move(0, seat)
        for place, lease in enumerate(self._line, start=1):
            if lease.place != place:
                lease.move(place)

    def _free_seat(self, lease: Lease[EngineT]) -> Seat[EngineT] | None:
        """Return the best free engine: one that holds the prefix, one that runs, or a new one."""
        of_kind = [seat for seat in self._seats if seat.kind == lease.kind]
        free = [seat for seat in of_kind if not seat.busy]
        if free:
            return max(free, key=lambda seat: (lease.cache_key in seat.keys, seat.engine.alive))
        if len(of_kind) >= self._limits[lease.kind].engines:
            return None
        seat = Seat(lease.kind, self._launch(lease.kind))
        self._seats.append(seat)
        return seat

    def _release(self, lease: Lease[EngineT]) -> None:
        if lease in self._line:
            self._line.remove(lease)
            self._advance()
        elif lease.seat is not None and not self._closed:
            if lease.finished or not lease.seat.engine.alive:
                self._free(lease.seat)
            else:
                self._spawn(self._drain(lease.seat))

    async def _drain(self, seat: Seat[EngineT]) -> None:
        """Hold an engine back until it has noticed that its call was cancelled."""
        try:
            async with asyncio.timeout(DRAIN_LIMIT_S):
                await seat.engine.settle()
        except (TimeoutError, EngineError):
            await seat.engine.stop()
        self._free(seat)

    def _free(self, seat: Seat[EngineT]) -> None:
        seat.busy = False
        idle_stop_s = self._limits[seat.kind].idle_stop_s
        if idle_stop_s is not None:
            loop = asyncio.get_running_loop()
            seat.idle_stop = loop.call_later(idle_stop_s, self._retire, seat)
        self._advance()

    def _retire(self, seat: Seat[EngineT]) -> None:
        """Stop an engine that nobody used for a while."""
        self._seats.remove(seat)
        self._spawn(seat.engine.stop())

    @staticmethod
    def _keep(seat: Seat[EngineT]) -> None:
        if seat.idle_stop is not None:
            seat.idle_stop.cancel()
            seat.idle_stop = None

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
