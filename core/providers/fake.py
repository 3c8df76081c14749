"""A provider that says what it is told, exactly when it is told to.

It has no network and no chance: on a virtual-time loop the times are exact, which is what ties
`execute` to `simulate` in the tests, and it lets anybody run a pipeline without a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from core import tokens
from core.errors import InputError, ProviderError, TimedOut
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage
from core.providers.capabilities import Fact
from core.providers.scripted import script, wait_until


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one call is answered, in seconds, and how it fails if it does.

    `tokens_cached` is reported and not timed: `ttft_s` is what the first token takes, all in all.
    With `error`, the call ends with it once `error_after` tokens were sent; 0 means that nothing
    comes, and the error does at `ttft_s`.
    """

    ttft_s: float
    tpot_s: float
    tokens_cached: int | None = None
    error: ProviderError | None = None
    error_after: int = 0

    def __post_init__(self) -> None:
        if self.ttft_s < 0 or self.tpot_s < 0 or self.error_after < 0:
            raise InputError("a pace has no negative times: ttft_s, tpot_s, error_after")


DEFAULT_PACE = Pace(ttft_s=0.6, tpot_s=0.01)
"""Pace of the catalogue's fake. Assumption: about what small hosted models showed in July 2026."""


class FakeProvider:
    """Answers with a request's own reference text; `pace` may depend on the request."""

    def __init__(self, pace: Pace | Callable[[CallRequest], Pace], *, name: str = "fake") -> None:
        self._pace = pace
        self._name = name

    @property
    def name(self) -> str:
        """Short id shown beside results."""
        return self._name

    async def stream(self, request: CallRequest) -> AsyncGenerator[Chunk]:
        """Chunks of one call: one per token that completes text, at start + ttft + k tpot."""
        loop = asyncio.get_running_loop()
        pace = self._pace(request) if callable(self._pace) else self._pace
        answer = script(
            request.scripted_text,
            max_tokens=request.max_tokens,
            stop=request.stop,
            prediction=request.prediction,
        )
        started_s = loop.time()
        deadline_s = started_s + request.deadline_s
        yield Chunk(ChunkKind.SENT, started_s)
        silence = ((0.0, ""),)  # saying nothing takes the time to decide it
        for number, (at, text) in enumerate(answer.chunks() or silence):
            due_s = started_s + pace.ttft_s + at * pace.tpot_s
            await wait_until(min(due_s, deadline_s))
            if due_s > deadline_s:
                raise TimedOut(f"{self._name}: no end within {request.deadline_s:g} s")
            if pace.error is not None and number == pace.error_after:
                raise pace.error
            if text:
                yield Chunk(ChunkKind.TEXT, loop.time(), text)
        ended_s = loop.time()
        usage = Usage(
            tokens_in=sum(tokens.count(message.text) for message in request.messages),
            tokens_cached=pace.tokens_cached,
            tokens_out=len(answer.pieces) + answer.rejected,
            tokens_accepted=answer.accepted if request.prediction is not None else None,
            tokens_rejected=answer.rejected if request.prediction is not None else None,
        )
        yield Chunk(ChunkKind.USAGE, ended_s, usage=usage)
        if answer.truncated:
            yield Chunk(ChunkKind.NOTE, ended_s, Fact.TRUNCATED)

    async def aclose(self) -> None:
        """Nothing to release."""
