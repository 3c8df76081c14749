"""Predicted or true? For each technique, the predicted change beside the measured one."""

from __future__ import annotations

import streamlit as st

from core.errors import InvalidData
from core.scenarios import SCENARIOS, scenario
from core.techniques import TECHNIQUES
from core.verdicts import FEWEST_REPEATS
from pages._ui import controls, job
from pages._ui.address import keep_choices
from pages._ui.lang import language, tr
from pages._ui.live import engine, matrix, matrix_table
from pages._ui.live.predicted import foresee

IDS = tuple(t.id for t in TECHNIQUES)
FIRST = ("streaming", "parallel", "small_model", "short_keys")
MOST_REPEATS = 10

st.caption(tr("accuracy.intro"))
side, stage = st.columns([1, 3], gap="medium")
with side:
    picked = engine.pick(writes=False)
    keep_choices("pipelines", SCENARIOS, default=SCENARIOS[:1])
    pipelines = st.pills(
        tr("accuracy.pipelines"),
        SCENARIOS,
        key="pipelines",
        selection_mode="multi",
        format_func=lambda s: scenario(s).title[language()],
    )
    keep_choices("cases", IDS, default=FIRST)
    cases = st.multiselect(
        tr("accuracy.cases"),
        IDS,
        key="cases",
        format_func=lambda t: tr(f"technique.{t}.title"),
        placeholder=tr("playground.search"),
    )
    label = tr("live.repeats")
    times = st.number_input(label, FEWEST_REPEATS, MOST_REPEATS, key="times", bind="query-params")
    with st.expander(tr("playground.setting")):
        setting, _ = controls.pick_setting()
with stage:
    seen = job.followed()
    mine = seen if seen is not None and seen.kind == matrix.KIND else None
    target = picked.target
    known = None if target is None else foresee(target, setting)
    if target is not None and known is not None and not job.unfinished(seen):
        asked = matrix.Asked(
            tuple(scenario(s) for s in pipelines), tuple(cases), int(times), target, known.setting
        )
        st.button(
            tr("accuracy.start", n=len(pipelines) * (len(cases) + 1) * int(times)),
            key="accuracy_start",
            type="primary",
            icon=":material/fact_check:",
            disabled=not (picked.ready and pipelines and cases),
            on_click=job.start,
            args=(matrix.KIND, lambda control: matrix.work(control, asked)),
        )
    if picked.lacks is not None or known is None:
        st.info(picked.lacks or tr("accuracy.uncalibrated"), icon=":material/info:")
    job.draw(mine)
    if mine is not None and isinstance(mine.result, matrix.Table):
        st.subheader(tr("accuracy.yours"), anchor=False)
        matrix_table.draw(mine.result, key="metric_yours")
    st.subheader(tr("accuracy.kept"), anchor=False)
    try:
        last = matrix.kept()
    except InvalidData as broken:
        st.error(str(broken), icon=":material/error:")
    else:
        if last is None:
            st.caption(tr("accuracy.none_kept"))
        else:
            matrix_table.draw(last, key="metric_kept")
    if picked.engine == "local":
        st.caption(tr("live.cpu"))
