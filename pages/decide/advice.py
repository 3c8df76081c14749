"""Advice: what to do first, under which limits, who earns the gain, and the next step from here."""

from __future__ import annotations

import streamlit as st

from core.advice.answer import Question
from core.advice.value import ADVICE_N, ADVICE_SEED
from pages._ui import controls
from pages._ui.advice import asking, best, eight, parts, whole
from pages._ui.advice.views import VIEWS
from pages._ui.choosing import draw_one_of
from pages._ui.lang import tr

parts.leave()
with st.container(horizontal=True, vertical_alignment="bottom", key="question"):
    scenario = controls.pick_scenario()
    goal = asking.pick_goal()
    everything = asking.pick_scope()
side, stage = st.columns([1, 3], gap="medium")
with side:
    limits = asking.pick_limits()
    levels = asking.pick_levels()
    with st.expander(tr("playground.setting")):
        setting, reader = controls.pick_setting()
question = Question(scenario, setting, reader, goal, limits, levels, everything)
with stage:
    answer = whole.asked(question) if everything else eight.asked(question)
    if answer is not None:
        best.draw(answer)
if answer is not None:
    draw_one_of("show", VIEWS, answer, tr("advice.show"), lambda v: tr(f"advice.view.{v}"))
    st.caption(
        tr(
            "advice.basis",
            n=ADVICE_N,
            seed=ADVICE_SEED,
            large=setting.large.name,
            small=setting.small.name,
        )
    )
