"""Encoding beside an event loop, never on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from core.retrieval.vectors import Encoder, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Vectors with the time they took, so that waiting for a worker is never hidden in it.

    `queued_s` lies between the call and a worker's start, `worked_s` is the encoding itself.
    """

    vectors: Vectors
    queued_s: float
    worked_s: float


class EncoderPool:
    """Worker threads for encoders; one pool serves every session of the process.

    One worker is the default: the encoders work on one core each, and on a small server a second
    one would take the core that serves the streams.
    """

    def __init__(self, workers: int = 1) -> None:
        """`workers` is the number of texts encoded at the same time."""
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="encoder")

    async def encode(self, encoder: Encoder, texts: Sequence[str]) -> Encoded:
        """Return the vectors of `texts`; the event loop stays free meanwhile.

        Cancelling the caller drops a call that still waits; one that runs ends unseen.

        Raises: as the encoder's `encode`.
        """
        asked_s = time.perf_counter()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _timed, encoder, tuple(texts), asked_s)

    async def warm_up(self, *encoders: Encoder) -> None:
        """Load the encoders' models, so that the first timed call finds them ready."""
        for encoder in encoders:
            await self.encode(encoder, ("warm-up",))

    def close(self) -> None:
        """Drop what waits and end the workers when they are done."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _timed(encoder: Encoder, texts: tuple[str, ...], asked_s: float) -> Encoded:
    begun_s = time.perf_counter()
    vectors = encoder.encode(texts)
    return Encoded(vectors, begun_s - asked_s, time.perf_counter() - begun_s)
