"""Live run: both plans on a real engine, measured, beside what was predicted."""

from __future__ import annotations

import streamlit as st

from pages._ui import controls
from pages._ui.lang import tr
from pages._ui.live import engine, result, run
from pages._ui.live.asked import Asked
from pages._ui.live.predicted import foresee, named
from pages._ui.live.question import settle

MOST_REPEATS, USUAL_REPEATS = 20, 3

with st.container(horizontal=True, vertical_alignment="bottom", key="question"):
    base = controls.pick_scenario()
    question = controls.pick_request(base)
side, stage = st.columns([1, 3], gap="medium")
with side:
    picked = engine.pick()
    repeats = st.number_input(
        tr("live.repeats"),
        1,
        MOST_REPEATS,
        USUAL_REPEATS,
        key="repeats",
        bind="query-params",
        help=tr("live.repeats_help"),
    )
    repeated = st.checkbox(
        tr("playground.repeated"),
        key="repeated",
        bind="query-params",
        help=tr("playground.repeated_help"),
    )
    with st.expander(tr("playground.techniques")):
        choices = controls.pick_techniques()
    with st.expander(tr("playground.setting")):
        st.caption(tr("live.setting_help"))
        setting, reader = controls.pick_setting()
with stage:
    now_running = run.running()
    target = picked.target
    if target is not None:
        free = not target.scripted
        scenario, request = settle(base, question, own_words=free)
        asked = Asked(
            scenario,
            request,
            choices,
            picked.engine,
            named(target, setting),
            int(repeats),
            bool(repeated),
            own_words=free,
        )
        if now_running is None:
            st.button(
                tr("live.start", n=2 * int(repeats)),
                key="live_start",
                type="primary",
                icon=":material/play_arrow:",
                on_click=run.start,
                args=(asked, target, foresee(target, setting)),
                disabled=not picked.ready,
            )
        if choices:
            names = ", ".join(tr(f"technique.{c.technique.id}.title") for c in choices)
            st.caption(tr("playground.techniques_on", names=names))
    if picked.lacks is not None:
        st.info(picked.lacks, icon=":material/info:")
    run.draw_trouble()
    found = run.finished()
    if now_running is not None:
        run.follow()
    elif found is not None and target is not None:
        result.draw(found, asked, reader)
    elif found is None:
        st.caption(tr("live.empty"))
