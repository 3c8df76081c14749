"""The headline eight: a second or two of work, its progress shown while it lasts."""

from __future__ import annotations

import streamlit as st

from core.advice.answer import Answer, Question, headline_answer
from pages._ui.lang import tr

STEP = 0.05
"""The bar moves by no less: each move is a message to the browser."""


def asked(question: Question) -> Answer:
    """Return the answer; a bar shows how far it is, unless it is known already."""
    place = st.empty()
    shown = -STEP

    def tell(done: float) -> None:
        nonlocal shown
        if done - shown >= STEP:
            shown = done
            place.progress(done, tr("advice.working"))

    answer = headline_answer(question, tell)
    place.empty()
    return answer
