"""Waiting for work beside the script: briefly, visibly, and so that a click is never held up."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TypeVar

import streamlit as st

from core.background import Job
from core.errors import PlaygroundError
from core.labs.desk import desk
from core.text import reason
from pages._ui.lang import language, tr

T = TypeVar("T")

AT_ONCE_S = 0.1
"""Waited without a word: most results are there by then."""

SLICE_S = 0.2
"""Pause between two signs of life. Each lets Streamlit stop this run where a newer one waits."""

PATIENCE_S = 120.0
"""After so long the page says that the work goes on, and leaves it to the person to look again."""


def awaited(
    job: Job[T], key: Hashable, telling: str, *, patience_s: float = PATIENCE_S
) -> T | None:
    """Return the job's result; None where there is none, which has then been said.

    `key` is what the desk knows the job by, `telling` what is being done.
    """
    if not job.wait(AT_ONCE_S):
        _watch(job, telling, patience_s)
    if not job.done:
        st.info(tr("lab.slow"), icon=":material/hourglass_top:")
        st.button(tr("lab.look_again"), key=f"look_{hash(key)}")
        return None
    try:
        return job.result(0)
    except PlaygroundError as error:
        st.warning(tr("lab.unavailable", reason=reason(error, language())), icon=":material/info:")
        st.button(
            tr("lab.try_again"), key=f"again_{hash(key)}", on_click=desk().forget, args=(key,)
        )
        return None


def _watch(job: Job[T], telling: str, patience_s: float) -> None:
    until_s = time.monotonic() + patience_s
    sign = st.empty()
    with st.spinner(telling, show_time=True):
        while not job.wait(SLICE_S) and time.monotonic() < until_s:
            sign.empty()
