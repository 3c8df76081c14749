"""The question of a live run: an example, or anything at all where the models write freely."""

from __future__ import annotations

import streamlit as st

from core.nearest import Match, asking
from core.request import Request
from core.scenarios import Scenario
from pages._ui.lang import tr


def settle(
    base: Scenario, picked: tuple[Scenario, Request, Match | None], *, own_words: bool
) -> tuple[Scenario, Request]:
    """Return what runs, and say so where it is not what was typed."""
    scenario, request, match = picked
    if match is None or match.answers:
        return scenario, request
    if not own_words:
        st.warning(tr("live.no_match", example=match.example.message))
        return scenario, request
    st.caption(tr("live.own_question", example=match.example.message))
    own = asking(base, match.request.message)
    return own, own.requests[0]
