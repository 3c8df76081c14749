"""The whole catalogue: known at once if somebody has asked before, else a job with its progress."""

from __future__ import annotations

import streamlit as st

from core.advice.answer import Answer, Question, known_answer, whole_answer
from core.jobs import Control
from core.text import Note
from pages._ui import job
from pages._ui.lang import tr

KIND = "advice"


def asked(question: Question) -> Answer | None:
    """Return the answer, or show how to get it and how far that is."""
    seen = job.followed()
    mine = seen if seen is not None and seen.kind == KIND else None
    known = known_answer(question)
    if known is not None:
        return known
    if not job.unfinished(seen):
        st.info(tr("advice.whole_hint"))
        st.button(
            tr("advice.whole_start"),
            key="whole_start",
            type="primary",
            on_click=job.start,
            args=(KIND, lambda control: work(question, control)),
        )
    job.draw(mine)
    return None


def work(question: Question, control: Control) -> Answer:
    """Search as a job: tells how far it is, and stops when it is cancelled."""
    doing = Note.of("advice.searching")
    return whole_answer(question, lambda done: control.tell(done, doing), meanwhile=control.check)
