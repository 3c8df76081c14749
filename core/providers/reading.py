"""What a stream is before and after it was understood: the SDK's events, and what they said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from core.providers.base import ChunkKind, Usage
from core.providers.capabilities import Fact

if TYPE_CHECKING:
    import httpx2

EventT_co = TypeVar("EventT_co", covariant=True)

Piece = tuple[ChunkKind, str]
"""A non-empty stretch of an answer and what it is."""


class EventStream(Protocol[EventT_co]):
    """What both SDKs return for a stream."""

    response: httpx2.Response

    async def __anext__(self) -> EventT_co:
        """Return the next event."""
        ...

    async def close(self) -> None:
        """End the request."""
        ...


@dataclass(slots=True)
class Reading:
    """What one stream has said so far besides its text."""

    usage: Usage | None = None
    finished: bool = False
    failure: str | None = None
    facts: list[Fact] = field(default_factory=list)

    def finish(self, fact: Fact | None = None) -> None:
        """Note that the answer is complete, and what is special about its end."""
        self.finished = True
        if fact is not None:
            self.facts.append(fact)
