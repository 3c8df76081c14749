"""Tail and SLO: how many keep a limit under load, which step owns the slow end, and for whom."""

from __future__ import annotations

import streamlit as st

from pages._ui import controls
from pages._ui.choosing import draw_one_of
from pages._ui.lang import language, tr
from pages._ui.tail import asking, bearing, owning, slicing, summary, within
from pages._ui.tail.view import SEED, TAIL_N, TailView

VIEWS = {
    "within": within.draw,
    "owners": owning.draw,
    "slices": slicing.draw,
    "load": bearing.draw,
}

st.caption(tr("tail.intro"))
with st.container(horizontal=True, vertical_alignment="bottom", key="question"):
    scenario = controls.pick_scenario()
    metric_id, slo_s = asking.pick_limit()
    rate_per_s, capacity = asking.pick_load()
side, stage = st.columns([1, 3], gap="medium")
with side:
    choices = controls.pick_techniques()
    with st.expander(tr("playground.setting")):
        setting, reader = controls.pick_setting()
    with st.expander(tr("tail.faults"), expanded=True):
        faults = asking.pick_faults(scenario.plan, setting)
with stage:
    view = TailView(
        scenario,
        choices,
        setting,
        reader,
        rate_per_s,
        capacity,
        faults,
        metric_id,
        slo_s,
        language(),
    )
    with st.spinner(tr("tail.working")):
        summary.draw(view)
    draw_one_of("tail_view", VIEWS, view, tr("tail.view"), lambda v: tr(f"tail.show.{v}"))
    date = max(setting.large.source_date, setting.small.source_date)
    st.caption(
        tr(
            "tail.basis",
            n=TAIL_N,
            seed=SEED,
            large=setting.large.name,
            small=setting.small.name,
            date=date,
        )
    )
