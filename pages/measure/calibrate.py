"""Calibrate: probe an engine with few calls, fit its pace, keep the profile."""

from __future__ import annotations

import streamlit as st

from core.plan import ModelRole
from pages._ui import controls, job
from pages._ui.address import keep_choice
from pages._ui.lang import tr
from pages._ui.live import engine, fits, probing
from pages._ui.live.hosted import hosted

ROLES: dict[str, tuple[ModelRole, ...]] = {
    "both": ("large", "small"),
    "large": ("large",),
    "small": ("small",),
}

st.caption(tr("calibrate.intro"))
side, stage = st.columns([1, 3], gap="medium")
with side:
    picked = engine.pick(writes=False)
    keep_choice("roles", tuple(ROLES), default="both")
    roles = st.segmented_control(
        tr("calibrate.roles"),
        tuple(ROLES),
        key="roles",
        format_func=lambda r: tr(f"calibrate.role.{r}"),
        required=True,
    )
    with st.expander(tr("playground.setting")):
        setting, _ = controls.pick_setting()
with stage:
    seen = job.followed()
    mine = seen if seen is not None and seen.kind == probing.KIND else None
    target, chosen = picked.target, ROLES[str(roles)]
    if target is not None and not job.unfinished(seen):
        keep = not hosted()
        st.button(
            tr("calibrate.start"),
            key="calibrate_start",
            type="primary",
            icon=":material/speed:",
            disabled=not picked.ready,
            on_click=job.start,
            args=(
                probing.KIND,
                lambda control: probing.work(control, target, setting, chosen, keep=keep),
            ),
        )
    if picked.lacks is not None:
        st.info(picked.lacks, icon=":material/info:")
    job.draw(mine)
    if mine is not None and isinstance(mine.result, probing.Calibration):
        fits.draw(mine.result)
    fits.draw_saved()
    if picked.engine == "local":
        st.caption(tr("live.cpu"))
