"""One line for what cannot be shared: two races on the same cores would measure each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Tell = Callable[[int], None]
"""Takes how many go before; 0 when it is one's turn."""


@dataclass(slots=True, eq=False)
class _Place:
    tell: Tell
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    told: int = -1


class Line:
    """First come, first served; whoever waits is told each new place. Runs on one event loop."""

    def __init__(self) -> None:
        self._places: list[_Place] = []

    @asynccontextmanager
    async def turn(self, tell: Tell) -> AsyncIterator[None]:
        """Wait for one's turn, and have it for the length of the block."""
        mine = _Place(tell)
        self._places.append(mine)
        self._advance()
        try:
            await mine.turn.wait()
            yield
        finally:
            self._places.remove(mine)
            self._advance()

    def _advance(self) -> None:
        for ahead, place in enumerate(self._places):
            if place.told != ahead:
                place.told = ahead
                place.tell(ahead)
            if ahead == 0:
                place.turn.set()
