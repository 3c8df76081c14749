"""Work of the labs beside the pages' scripts: each piece is done once, and its result is kept.

Encoders load and run on worker threads, never on a script's: a page asks, waits a moment, and asks
again where that was not enough. Two people who ask the same get the same job.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

from core.background import Background, Job
from core.retrieval.pool import EncoderPool

T = TypeVar("T")

KEPT = 256
"""Results kept, the ones unused for longest dropped first: a few kilobytes each."""


class Desk:
    """A background loop, the encoders' workers, and the jobs that were asked for."""

    def __init__(self) -> None:
        self.pool = EncoderPool()
        self._background = Background("labs")
        self._jobs: OrderedDict[Hashable, Job[object]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> Job[T]:
        """Return the job known by this key, begun now where there is none.

        `work` runs on the background loop and must not block it. A job that failed is kept like any
        other, until somebody has it forgotten. Raises: Unavailable at shutdown.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = cast("Job[object]", self._background.submit(lambda _: work()))
                self._jobs[key] = job
            self._jobs.move_to_end(key)
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)
        return cast("Job[T]", job)

    def ask_thread(self, key: Hashable, work: Callable[[], T]) -> Job[T]:
        """Do the same for work that blocks: it gets a thread of its own."""
        return self.ask(key, lambda: asyncio.to_thread(work))

    def forget(self, key: Hashable) -> None:
        """Drop a job, so that the next one to ask has the work done again."""
        with self._lock:
            self._jobs.pop(key, None)

    def close(self) -> None:
        """Stop all work. Safe to repeat."""
        self._background.close()
        self.pool.close()


@lru_cache(maxsize=1)
def desk() -> Desk:
    """Return the process's desk; its threads start with the first who asks."""
    return Desk()
