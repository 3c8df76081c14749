"""One event loop on a thread of its own, for work that outlives a page's script run.

    background = Background()                             # once per process
    job = background.submit(lambda tell: run_it(tell))    # from any thread; `tell` sends news
    ...
    for news in job.news():                               # from any thread, whenever one looks
        ...
    job.cancel()                                          # stops the work at its next await
    background.close()                                    # at shutdown: cancels what still runs

Model clients belong to the loop that made them, so all real calls of the app go through one of
these. A job that nobody has looked at for `patience_s` is cancelled: the page that started it is
gone (a closed tab), and nobody shall pay for what nobody sees.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Generic, TypeVar

from core.text import unavailable

T = TypeVar("T")

Tell = Callable[[object], None]
"""Sends a piece of news from the work to whoever follows the job."""

MOST_NEWS = 20_000
"""News kept for a follower who does not fetch them; the oldest are dropped first."""

CLOSE_LIMIT_S = 5.0
"""How long work may take to end once it was cancelled at shutdown."""


class Job(Generic[T]):
    """A piece of work on the background loop, seen from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, patience_s: float | None) -> None:
        self._loop = loop
        self._future: Future[T] = Future()
        self._news: deque[object] = deque(maxlen=MOST_NEWS)
        self._patience_s = patience_s
        self._looked_s = loop.time()
        self._task: asyncio.Task[T] | None = None
        self._stopped = threading.Event()

    def news(self) -> tuple[object, ...]:
        """Return what the work has told since the last look, oldest first."""
        self._looked_s = self._loop.time()
        found = []
        with contextlib.suppress(IndexError):
            while True:
                found.append(self._news.popleft())
        return tuple(found)

    @property
    def done(self) -> bool:
        """Whether the work has ended, in whatever way."""
        self._looked_s = self._loop.time()
        return self._stopped.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled before it could end by itself."""
        return self._stopped.is_set() and self._future.cancelled()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the work has ended, clean-up included; return whether it has."""
        self._looked_s = self._loop.time()
        return self._stopped.wait(timeout_s)

    def result(self, timeout_s: float | None = None) -> T:
        """Wait for the work and return its result.

        Raises:
            TimeoutError: it has not ended in time; it goes on.
            Unavailable: it was cancelled.
            Exception: whatever the work raised.
        """
        self._looked_s = self._loop.time()
        try:
            return self._future.result(timeout_s)
        except CancelledError:
            raise unavailable("stopped") from None
        except NotYet:
            if self._future.done():
                raise  # the work's own
            raise TimeoutError("the work goes on") from None

    def cancel(self) -> None:
        """Stop the work at its next await; `wait` tells when it has stopped. Safe to repeat."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing runs any more
            self._loop.call_soon_threadsafe(self._cancel)

    # --- on the loop's thread --------------------------------------------------------------------

    def start(self, work: Callable[[Tell], Coroutine[Any, Any, T]]) -> None:
        """Begin; called on the loop's thread."""
        self._task = self._loop.create_task(work(self._news.append))
        self._task.add_done_callback(self._end)
        self._watch()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _watch(self) -> None:
        """Cancel work that nobody has followed for too long."""
        if self._patience_s is None or self._task is None or self._task.done():
            return
        left_s = self._looked_s + self._patience_s - self._loop.time()
        if left_s <= 0:
            self._task.cancel()
        else:
            self._loop.call_later(left_s, self._watch)

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self._future.cancel()
        elif (error := task.exception()) is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(task.result())
        self._stopped.set()


class Background:
    """The loop and its thread; `close` ends both, at exit at the latest."""

    def __init__(self, name: str = "background") -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def submit(
        self, work: Callable[[Tell], Coroutine[Any, Any, T]], *, patience_s: float | None = None
    ) -> Job[T]:
        """Start work; it gets a function to send news with.

        `patience_s`: cancel it when nobody has looked at the job for so long; None for never.

        Raises:
            Unavailable: the loop was closed.
        """
        job: Job[T] = Job(self._loop, patience_s)
        with self._lock:
            if self._closed:
                raise unavailable("closing")
            self._loop.call_soon_threadsafe(job.start, work)
        return job

    def close(self) -> None:
        """Cancel all work, wait for its clean-up, end the thread. Safe to repeat."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_LIMIT_S + 1.0)
        atexit.unregister(self.close)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._wind_down())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _wind_down(self) -> None:
        """Cancel every task and give each the time to clean up."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_LIMIT_S)
        await self._loop.shutdown_asyncgens()
