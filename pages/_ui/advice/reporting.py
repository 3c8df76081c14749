"""The long report as a job: its id at once, its progress, and the report when it is there."""

from __future__ import annotations

from functools import lru_cache, partial

import streamlit as st

from core.advice.answer import Answer, Question
from core.jobs import Control
from core.report import Report, report
from core.text import Lang
from pages._ui import job
from pages._ui.advice import written
from pages._ui.lang import language, tr

KIND = "report"
IN_PAGE = 3
"""The level of the report's title among the headings of the page."""

SHOWN_ID = 6
"""So many characters of a job's id are shown; the whole one is in the address."""


def draw(answer: Answer) -> None:
    """Draw how to get the report, how far it is, or the report."""
    seen = job.followed()
    mine = seen if seen is not None and seen.kind == KIND else None
    done = mine.result if mine is not None and isinstance(mine.result, Report) else None
    st.markdown(tr("report.intro"))
    with st.container(horizontal=True, key="report_actions"):
        if not job.unfinished(seen):
            st.button(
                tr("report.start" if done is None else "report.again"),
                key="report_start",
                type="primary" if done is None else "secondary",
                on_click=job.start,
                args=(KIND, partial(work, answer.question)),
            )
        if done is not None:
            _download(done)
    job.draw(mine)
    if mine is not None:
        st.caption(tr("report.id", id=mine.id[:SHOWN_ID]))
    if done is not None:
        with st.container(border=True, key="report"):
            st.markdown(_markdown(done, language(), IN_PAGE))


def work(question: Question, control: Control) -> Report:
    """Write it as a job: tells what it does, and stops when it is cancelled."""
    return report(question, control.tell, control.check)


def _download(done: Report) -> None:
    name = f"latency-{done.question.scenario.id}-{language()}.md"
    st.download_button(
        tr("report.download"),
        _markdown(done, language()),
        name,
        "text/markdown",
        key="report_download",
        type="primary",
        icon=":material/download:",
        on_click="ignore",
    )


@lru_cache(maxsize=8)
def _markdown(done: Report, lang: Lang, level: int = 1) -> str:
    return written.markdown(done, lang, level)
