"""One call's turn: first a place in the line, then an engine of its own.

A seat is one engine and what the pool remembers about it. The pool (`core.local.pool`) moves
leases along the line and gives them seats; the call that holds a lease only waits and works.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from core.errors import TimedOut, Unavailable
from core.local.models import Role

KEYS_PER_ENGINE = 64
"""Prefixes an engine is assumed to still hold; older ones are asked for afresh."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an engine is started as: which weights, and whether it drafts from the prompt."""

    role: Role
    drafts: bool = False


class PooledEngine(Protocol):
    """What the pool does with an engine (`core.local.engine.Engine`; a fake in tests)."""

    @property
    def alive(self) -> bool:
        """Whether it serves."""
        ...

    async def start(self) -> None:
        """Return when it serves."""
        ...

    async def stop(self) -> None:
        """End it, whatever it is doing."""
        ...

    async def settle(self) -> None:
        """Return when it works on nothing any more, as after a cancelled call."""
        ...


EngineT = TypeVar("EngineT", bound=PooledEngine)


class Seat(Generic[EngineT]):
    """One engine, whether it is in use, and the prefixes it still holds (oldest first)."""

    def __init__(self, kind: Kind, engine: EngineT) -> None:
        """`idle_stop` is the pool's alarm for an engine that nobody uses."""
        self.kind, self.engine = kind, engine
        self.busy = False
        self.keys: OrderedDict[str, None] = OrderedDict()
        self.idle_stop: asyncio.TimerHandle | None = None

    def remember(self, key: str) -> None:
        """Note that the engine has just read the prefix of this key."""
        self.keys[key] = None
        self.keys.move_to_end(key)
        while len(self.keys) > KEYS_PER_ENGINE:
            self.keys.popitem(last=False)


class Lease(Generic[EngineT]):
    """One call's turn: first a place in the line, then an engine of its own."""

    def __init__(self, kind: Kind, cache_key: str | None) -> None:
        """`cache_key` names the prefix the call may reuse, None where it may not."""
        self.kind, self.cache_key = kind, cache_key
        self.place = 0
        self.cold = False
        self.finished = False
        self.seat: Seat[EngineT] | None = None
        self._refused = False
        self._moved = asyncio.Event()

    async def places(self, *, deadline_s: float) -> AsyncIterator[int]:
        """Yield the place in the line (1 is next) at first and whenever it changes; end with it.

        Yields nothing where an engine is free at once.

        Raises:
            TimedOut: the deadline, a time of the running loop, passed first.
            Unavailable: the pool was closed.
        """
        told = 0
        while self.seat is None:
            if self._refused:
                raise Unavailable("the local engines were shut down")
            if self.place != told:
                told = self.place
                yield told
                continue  # the line may have moved while the caller looked at it
            self._moved.clear()
            try:
                async with asyncio.timeout_at(deadline_s):
                    await self._moved.wait()
            except TimeoutError as error:
                raise TimedOut(
                    f"no local engine was free before the deadline (place {told} in the line)"
                ) from error

    async def engine(self, *, deadline_s: float) -> EngineT:
        """Return the engine, started; `cold` then tells whether this call had to start it.

        Raises:
            TimedOut: the deadline, a time of the running loop, passed first.
            Unavailable: it could not be started.
        """
        if self.seat is None:
            raise Unavailable("it is not this call's turn yet")
        if not self.seat.engine.alive:
            self.cold = True
            self.seat.keys.clear()
            try:
                async with asyncio.timeout_at(deadline_s):
                    await self.seat.engine.start()
            except TimeoutError as error:
                raise TimedOut("the local engine did not start before the deadline") from error
        return self.seat.engine

    @property
    def holds_prefix(self) -> bool:
        """Whether this engine has answered a call with the same cache key before."""
        return self.seat is not None and self.cache_key in self.seat.keys

    def finish(self) -> None:
        """Say that the call ended by itself; else the engine is taken to be still working on it."""
        self.finished = True
        self.hold_prefix()

    def hold_prefix(self) -> None:
        """Say that the engine has read the prompt, so that it holds the prefix from now on."""
        if self.seat is not None and self.cache_key is not None:
            self.seat.remember(self.cache_key)

    def move(self, place: int, seat: Seat[EngineT] | None = None) -> None:
        """Give the call a new place, or its turn."""
        self.place, self.seat = place, seat
        self._moved.set()

    def refuse(self) -> None:
        """End the waiting without a turn."""
        self._refused = True
        self._moved.set()
