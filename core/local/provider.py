"""The local engine as a provider: real models in child processes, without a key or a network.

Models are named by their role, `small` and `large`. An engine is made to write the reference answer
where there is one (`CallRequest.scripted_text`): every token is really computed, so the timing is
measured, and the text makes sense although the models are tiny. Without it they write freely, or
under the JSON schema.

Prompt caching: without a cache key nothing is reused. With one, the first call on an engine reads
the whole prompt and later ones reuse what `static_messages` covers, and no more: the first message
after it begins with a random mark, because a repeated measurement would otherwise reuse the user's
message too.

Predicted output: the call goes to an engine that drafts from its prompt, so a prediction that is
not in the prompt yet is added to the last message, and paid for.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from core.errors import Unavailable
from core.local import client
from core.local.engine import Engine
from core.local.lease import Kind
from core.local.machine import usable_cores
from core.local.models import ROLES, locate
from core.local.pool import Limits, Pool
from core.local.question import lacks_prediction, question
from core.local.script import Script
from core.local.settings import EngineSettings
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage
from core.text import Note

MOST_LANES: Final = 2
"""Engines that work at once. An assumption for larger machines: measured on two cores only."""


class LocalFact(StrEnum):
    """What a NOTE chunk of this provider says; the sentence is the text `local.note.<id>`."""

    COLD_ENGINE = "cold_engine"
    PREDICTION_ADDED = "prediction_added"
    TRUNCATED = "truncated"

    @property
    def note(self) -> Note:
        """The fact as a sentence in both languages."""
        return Note.of(f"local.note.{self.value}")


SMALL, LARGE = Kind("small"), Kind("large")


class LocalProvider:
    """llama.cpp engines behind one line; loads nothing until the first call or `warm`."""

    def __init__(self, *, models_folder: Path | None = None, lanes: int | None = None) -> None:
        """`lanes` bounds how many engines work at once: by default one per core, at most two."""
        self._models_folder = models_folder
        lanes = lanes or min(usable_cores(), MOST_LANES)
        limits = {
            SMALL: Limits(engines=lanes, idle_stop_s=None),
            LARGE: Limits(engines=1, idle_stop_s=300.0),
            replace(SMALL, drafts=True): Limits(engines=1, idle_stop_s=60.0),
            replace(LARGE, drafts=True): Limits(engines=1, idle_stop_s=60.0),
        }
        self._pool = Pool(self._launch, limits, lanes=lanes)

    @property
    def name(self) -> str:
        """Short id shown beside results."""
        return "local"

    @property
    def pool(self) -> Pool[Engine]:
        """The line of calls and the engines."""
        return self._pool

    async def warm(self, *models: str, deadline_s: float = 120.0) -> None:
        """Start all engines of these models, so that no call has to; `deadline_s` is a duration.

        Raises:
            Unavailable: the engine or its weights are not here.
            TimedOut: it took too long.
        """
        limit_s = asyncio.get_running_loop().time() + deadline_s
        for model in models:
            kind = _kind(model)
            engines = self._pool.lanes if kind == SMALL else 1
            await self._pool.warm(kind, engines, deadline_s=limit_s)

    async def stream(self, request: CallRequest) -> AsyncGenerator[Chunk]:
        """Chunks of one call; see `core.providers.base.Provider`.

        While the call waits, a `QUEUED` chunk tells each new place in the line. `SENT` comes when
        an engine has the request, so time in the line never counts as the engine's.
        """
        now = asyncio.get_running_loop().time
        deadline_s = now() + request.deadline_s
        kind = _kind(request.model, drafts=request.prediction is not None)
        with self._pool.lease(kind, request.cache_key) as lease:
            async for place in lease.places(deadline_s=deadline_s):
                yield Chunk(ChunkKind.QUEUED, now(), str(place))
            engine = await lease.engine(deadline_s=deadline_s)
            if lease.cold:
                yield Chunk(ChunkKind.NOTE, now(), LocalFact.COLD_ENGINE)
            if lacks_prediction(request):
                yield Chunk(ChunkKind.NOTE, now(), LocalFact.PREDICTION_ADDED)
            script = Script(request.scripted_text, ends_early=bool(request.stop))
            body = question(request, reuse=lease.holds_prefix, nonce=secrets.token_hex(2))
            async with client.ask(engine.address, body, deadline_s=deadline_s) as answer:
                yield Chunk(ChunkKind.SENT, answer.sent_s)
                async with contextlib.aclosing(answer.events()) as events:
                    async for event in events:
                        script.follow(event.text)
                        if event.text:
                            lease.hold_prefix()
                        if event.finish:
                            script.end(event.finish)
                        for chunk in chunks_of(event, drafts=kind.drafts):
                            yield chunk
            lease.finish()

    async def aclose(self) -> None:
        """End all engines; calls that still run or wait end with an error."""
        await self._pool.aclose()

    def _launch(self, kind: Kind) -> Engine:
        def settings() -> EngineSettings:
            path = locate(kind.role, self._models_folder).path
            return EngineSettings(path=path, drafts=kind.drafts)

        return Engine(settings)


def _kind(model: str, *, drafts: bool = False) -> Kind:
    """Return what kind of engine serves a model.

    Raises:
        Unavailable: no such model.
    """
    for role in ROLES:
        if role == model:
            return Kind(role, drafts)
    raise Unavailable(f"no local model {model!r}: valid are {', '.join(ROLES)}")


def chunks_of(event: client.Event, *, drafts: bool) -> Iterator[Chunk]:
    """Yield what an event means to a caller; most mean one thing."""
    if event.progress is not None:
        yield Chunk(ChunkKind.PROGRESS, event.t_s, fraction=event.progress)
    if event.text:
        yield Chunk(ChunkKind.TEXT, event.t_s, event.text)
    if event.finish == "length":
        yield Chunk(ChunkKind.NOTE, event.t_s, LocalFact.TRUNCATED)
    if event.counts is not None:
        yield Chunk(ChunkKind.USAGE, event.t_s, usage=_usage(event.counts, drafts=drafts))


def _usage(counts: client.Counts, *, drafts: bool) -> Usage:
    accepted, drafted = counts.accepted or 0, counts.drafted or 0
    return Usage(
        tokens_in=counts.tokens_in,
        tokens_cached=counts.tokens_cached,
        tokens_out=counts.tokens_out,
        tokens_reasoning=0,
        tokens_accepted=accepted if drafts else None,
        tokens_rejected=drafted - accepted if drafts else None,
        extra={"engine_prompt_s": counts.prompt_s, "engine_decode_s": counts.decode_s},
    )
