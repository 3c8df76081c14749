"""Work of the background loop as a job with an id: a thread waits for it and passes on its news."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from core.background import Tell
from core.jobs import Control
from pages._ui.live.shared import desk

T = TypeVar("T")

LOOK_S = 0.2
END_S = 10.0
"""How long a cancelled call may take to end: engines notice within a second or two."""


def awaited(
    control: Control,
    work: Callable[[Tell], Coroutine[Any, Any, T]],
    pass_on: Callable[[object], None],
) -> T:
    """Do the work on the loop of real calls; for a job's thread.

    Raises:
        CancelledError: the job was cancelled; the work has ended.
        Exception: whatever the work raised.
    """
    job = desk().background.submit(work)
    try:
        while not job.wait(LOOK_S):
            control.check()
            for news in job.news():
                pass_on(news)
    except CancelledError:
        job.cancel()
        job.wait(END_S)
        raise
    return job.result(0)
