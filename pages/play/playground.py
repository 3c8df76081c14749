"""The Playground: one question, two plans, one clock."""

from __future__ import annotations

import streamlit as st

from core.nearest import Match
from pages._ui import controls, headline
from pages._ui.address import keep_choice
from pages._ui.lang import language, tr
from pages._ui.lanes import payload
from pages._ui.race import race
from pages._ui.sections import SECTIONS
from pages._ui.view import View


def notes(view: View, match: Match | None) -> None:
    """What a person should know about what they see."""
    if match is not None:
        key = "matched" if match.answers else "no_match"
        show = st.caption if match.answers else st.warning
        show(tr(f"playground.{key}", example=match.example.message))
    for warning in view.setting.warnings:
        st.warning(tr(f"warning.{warning}"))
    if not view.choices:
        st.info(tr("playground.all_off"))
    for entry in view.race.log:
        if entry.reason is not None:
            name = tr(f"technique.{entry.technique}.title")
            reason = tr(entry.reason.key, **dict(entry.reason.args))
            st.caption(tr("playground.not_possible", name=name, reason=reason))
    guessed = {s.role for s in view.race.after.plan.llm_steps if s.predict}
    for role in sorted(guessed):
        if not view.setting.model(role).predictions:
            st.caption(tr("playground.prediction_what_if", model=view.setting.model(role).name))


with st.container(horizontal=True, vertical_alignment="bottom", key="question"):
    base = controls.pick_scenario()
    scenario, request, match = controls.pick_request(base)
side, stage = st.columns([1, 3], gap="medium")
with side:
    choices = controls.pick_techniques()
    repeated = st.checkbox(
        tr("playground.repeated"),
        key="repeated",
        bind="query-params",
        help=tr("playground.repeated_help"),
    )
    with st.expander(tr("playground.setting")):
        setting, reader = controls.pick_setting()
with stage:
    view = View(scenario, request, choices, setting, reader, repeated, language())
    race(payload(view), key="race")
    headline.draw(view)
    notes(view, match)
    date = max(setting.large.source_date, setting.small.source_date)
    names = {"large": setting.large.name, "small": setting.small.name, "date": date}
    st.caption(tr("playground.basis", **names))
keep_choice("view", tuple(SECTIONS), default="toggles")
section = st.segmented_control(
    tr("playground.view"),
    tuple(SECTIONS),
    key="view",
    format_func=lambda s: tr(f"playground.section.{s}"),
    required=True,
)
SECTIONS[str(section)](view)
