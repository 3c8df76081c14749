"""Long work by id: handed in at once, watched from any run of a page, cancelled, forgotten.

    jobs = Jobs()                                          # one per process
    job_id = jobs.submit("advice", work, owner=session)    # at once; nobody can guess it
    jobs.look(job_id)                                      # queued, running at 0.4, done, ...
    jobs.cancel(job_id)

    def work(control: Control) -> Report:                  # on a thread of the registry
        for done, part in enumerate(parts):
            control.tell(done / len(parts))                # raises CancelledError once cancelled
            ...

Who knows the id may see and cancel the job: it stands in the address of the page, so a reload finds
the job again and nobody else does. Work that awaits belongs to `core.background`.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Literal

from core.errors import PlaygroundError, Unavailable
from core.text import Note

_LOG = logging.getLogger(__name__)

AT_ONCE = 2
"""Jobs running at the same time: as many as the smallest host has cores."""

MOST_WAITING, MOST_EACH = 32, 3
"""Jobs that may wait in all, and jobs of one owner that may wait or run."""

KEEP_S, MOST_KEPT = 1800.0, 64
"""How long what became of a job is remembered, and of how many jobs at the most."""

State = Literal["queued", "running", "done", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Seen:
    """A job at one moment: `progress` 0 to 1, what it says it is doing, how many go before it.

    `error` is one line where it failed, `result` what the work returned where it is done.
    """

    id: str
    kind: str
    state: State
    progress: float = 0.0
    message: Note | None = None
    ahead: int = 0
    cancelling: bool = False
    error: str = ""
    result: object = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED


class Control:
    """The work's side of a job: tell how far it is, and learn that it is to stop."""

    def __init__(self) -> None:
        self.progress = 0.0
        self.message: Note | None = None
        self._stop = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled the job."""
        return self._stop.is_set()

    def tell(self, progress: float, message: Note | None = None) -> None:
        """Say how far the work is, 0 to 1; a message stays until the next one.

        Raises:
            CancelledError: the job was cancelled; let it pass.
        """
        self.check()
        self.progress = min(max(progress, 0.0), 1.0)
        self.message = message or self.message

    def check(self) -> None:
        """Stop here if the job was cancelled. Raises CancelledError."""
        if self.cancelled:
            raise CancelledError

    def cancel(self) -> None:
        """Ask the work to stop."""
        self._stop.set()


Work = Callable[[Control], object]


@dataclass(slots=True, eq=False)
class _Job:
    """The registry's own record of a job."""

    id: str
    kind: str
    owner: str
    work: Work
    control: Control = field(default_factory=Control)
    state: State = "queued"
    error: str = ""
    result: object = None
    ended_s: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """The jobs of this process and the few threads they run on."""

    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        most_waiting: int = MOST_WAITING,
        most_each: int = MOST_EACH,
        most_kept: int = MOST_KEPT,
        keep_s: float = KEEP_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._at_once, self._most_waiting, self._most_each = at_once, most_waiting, most_each
        self._most_kept, self._keep_s, self._clock = most_kept, keep_s, clock
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._threads = self._idle = 0
        self._closed = False

    def submit(self, kind: str, work: Work, *, owner: str) -> str:
        """Put work in the queue and return the job's id at once.

        Raises:
            Unavailable: too many wait, the owner has too many, or the app is shutting down.
        """
        job = _Job(secrets.token_urlsafe(16), kind, owner, work)
        with self._changed:
            self._forget()
            self._refuse(owner)
            self._jobs[job.id] = job
            self._queue.append(job)
            if len(self._queue) > self._idle and self._threads < self._at_once:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"job {kind}", daemon=True).start()
            self._changed.notify()
        return job.id

    def look(self, job_id: str) -> Seen | None:
        """Return the job as it is now; None where none has this id, or it was forgotten."""
        with self._changed:
            self._forget()
            job = self._jobs.get(job_id)
            if job is None:
                return None
            ahead = self._queue.index(job) if job.state == "queued" else 0
            control = job.control
            return Seen(
                job.id,
                job.kind,
                job.state,
                control.progress,
                control.message,
                ahead,
                control.cancelled and job.state not in ENDED,
                job.error,
                job.result,
            )

    def cancel(self, job_id: str) -> None:
        """Stop a job: at once where it waits, at its next word where it runs. Safe to repeat."""
        with self._changed:
            job = self._jobs.get(job_id)
            if job is None:
                return
            job.control.cancel()
            if job.state == "queued":
                self._queue.remove(job)
                self._end(job, "cancelled")

    def wait(self, job_id: str, timeout_s: float | None = None) -> bool:
        """Wait until a job has ended; return whether it has (or is unknown)."""
        with self._changed:
            job = self._jobs.get(job_id)
        return job is None or job.ended.wait(timeout_s)

    def close(self) -> None:
        """Cancel everything and take no more. Safe to repeat."""
        with self._changed:
            self._closed = True
            unfinished = [job.id for job in self._jobs.values() if job.state not in ENDED]
            self._changed.notify_all()
        for job_id in unfinished:
            self.cancel(job_id)

    # --- under the lock --------------------------------------------------------------------------

    def _refuse(self, owner: str) -> None:
        """Raise where no more is taken."""
        if self._closed:
            raise Unavailable("the app is shutting down: no new job is taken")
        if len(self._queue) >= self._most_waiting:
            raise Unavailable(f"{len(self._queue)} jobs are waiting already: try again later")
        theirs = sum(j.owner == owner and j.state not in ENDED for j in self._jobs.values())
        if theirs >= self._most_each:
            raise Unavailable(f"{theirs} of your jobs are not finished: wait for one or cancel it")

    def _forget(self) -> None:
        """Drop jobs that ended long ago, and the oldest where too many have ended."""
        ended = sorted((j for j in self._jobs.values() if j.state in ENDED), key=_ended_s)
        now = self._clock()
        for place, job in enumerate(ended):
            if len(ended) - place > self._most_kept or now - job.ended_s > self._keep_s:
                del self._jobs[job.id]

    def _end(self, job: _Job, state: State, result: object = None, error: str = "") -> None:
        job.state, job.result, job.error = state, result, error
        job.work = _over  # what the work holds on to may be large
        job.ended_s = self._clock()
        job.ended.set()

    # --- on a thread of the registry -------------------------------------------------------------

    def _serve(self) -> None:
        """Run one job after the other for as long as the app runs."""
        while (job := self._take()) is not None:
            state, result, error = _done(job)
            with self._changed:
                self._end(job, state, result, error)

    def _take(self) -> _Job | None:
        """Wait for a job; None once the registry is closed."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._queue or self._closed)
            self._idle -= 1
            if not self._queue:
                self._threads -= 1
                return None
            job = self._queue.popleft()
            job.state = "running"
            return job


def _ended_s(job: _Job) -> float:
    return job.ended_s


def _over(_: Control) -> object:
    """Stand in the place of work that has ended."""
    return None


def _done(job: _Job) -> tuple[State, object, str]:
    """Do the work: how it ended, its result, one line where it failed."""
    try:
        return "done", job.work(job.control), ""
    except CancelledError:
        return "cancelled", None, ""
    except PlaygroundError as error:
        return "failed", None, " ".join(str(error).split())
    except Exception as error:  # noqa: BLE001  the boundary of a task; the log has the rest
        _LOG.exception("a job failed: %s", job.kind)
        return "failed", None, type(error).__name__
