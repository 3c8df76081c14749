"""The one seam between plans and models: a call goes in, timed chunks come out.

A provider is a module with one class that has `name`, `stream` and `aclose`. Everything that
differs between vendors (field names, error classes, which delta is a token) ends here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from core.prompt import Message, Role

__all__ = ["CallRequest", "Chunk", "ChunkKind", "Message", "Provider", "Role", "Usage"]


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One model call, in no vendor's words.

    `static_messages` counts the leading messages that are the same for every request (what a
    provider's prompt cache can reuse); `cache_key` groups calls that share them and is None when
    prompt caching is off (then engines must not reuse a prefix). `prediction` is text known
    beforehand. `scripted_text` is what a scripted engine answers: the reference text.
    `deadline_s` bounds the whole call, from `stream` to the last chunk.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    json_schema: Mapping[str, object] | None = None
    prediction: str | None = None
    static_messages: int = 0
    cache_key: str | None = None
    scripted_text: str | None = None
    deadline_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts, normalised: `tokens_in` includes cached, `tokens_out` includes the subsets.

    None means the endpoint did not report it; 0 means it reported none. `source` says whether the
    server counted or one tokenisation of the joined text did.
    """

    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tokens_accepted: int | None = None
    tokens_rejected: int | None = None
    source: Literal["server", "estimated"] = "server"
    extra: Mapping[str, float] = field(default_factory=dict)


class ChunkKind(StrEnum):
    """What a chunk carries."""

    SENT = "sent"  # the request's bytes left; `t_s` is `ts` of the metrics
    QUEUED = "queued"  # waiting for a shared engine; `fraction` unused, `text` holds the place
    PROGRESS = "progress"  # prefill progress, `fraction` 0..1
    REASONING = "reasoning"
    TEXT = "text"
    TOOL = "tool"
    USAGE = "usage"
    NOTE = "note"  # a machine-readable fact, e.g. "no_stream_options", "cold_connection"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One thing that arrived, stamped on the running event loop's clock before any parsing.

    `t_s` is in seconds of `loop.time()`. Empty deltas, role-only deltas and pings never become
    chunks.
    """

    kind: ChunkKind
    t_s: float
    text: str = ""
    usage: Usage | None = None
    fraction: float | None = None


class Provider(Protocol):
    """A model endpoint. `stream` raises only `core.errors.EngineError` subclasses."""

    @property
    def name(self) -> str:
        """Short id shown beside results, e.g. `openai`."""
        ...

    def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        """Chunks of one call; closing the iterator or cancelling the task stops the work."""
        ...

    async def aclose(self) -> None:
        """Release connections and child processes."""
        ...
