"""The Playground: one question, two plans, one clock.

What a toggle changes stands in fragments: only they run and are sent again when one is flipped.
"""

from __future__ import annotations

import streamlit as st

from core.metrics import Reader
from core.nearest import Match
from core.profiles import Setting
from core.request import Request
from core.scenarios import Scenario
from core.text import say
from pages._ui import controls, headline
from pages._ui.choosing import draw_one_of
from pages._ui.lanes import payload
from pages._ui.lang import language, tr
from pages._ui.race import race
from pages._ui.sections import SECTIONS
from pages._ui.view import View

Shown = tuple[Scenario, Request, Setting, Reader, bool]


def toggled() -> None:
    """A toggle was flipped: settings, race and section follow, the rest stands as it is."""
    st.rerun(("stage", "settings", "section"))


def set_otherwise() -> None:
    """A setting was changed: race and section follow."""
    st.rerun(("stage", "section"))


def seen(shown: Shown) -> View:
    """The view that the toggles make of what is shown."""
    scenario, request, setting, reader, repeated = shown
    choices = controls.chosen_techniques()
    return View(scenario, request, choices, setting, reader, repeated, language())


@st.fragment(key="settings")
def settings() -> None:
    """Settings of what is switched on."""
    controls.draw_parameters(set_otherwise)


@st.fragment(key="stage")
def stage(shown: Shown, match: Match | None) -> None:
    """The race, its figures, and what should be known about them."""
    view = seen(shown)
    race(payload(view), key="race")
    headline.draw(view)
    notes(view, match)
    large, small = view.setting.large, view.setting.small
    date = max(large.source_date, small.source_date)
    st.caption(tr("playground.basis", large=large.name, small=small.name, date=date))


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
            name, reason = tr(f"technique.{entry.technique}.title"), say(entry.reason, view.lang)
            st.caption(tr("playground.not_possible", name=name, reason=reason))
    for role in sorted({s.role for s in view.race.after.plan.llm_steps if s.predict}):
        if not view.setting.model(role).predictions:
            st.caption(tr("playground.prediction_what_if", model=view.setting.model(role).name))


@st.fragment(key="section")
def look_closer(shown: Shown) -> None:
    """One of the sections under the race."""
    label = tr("playground.view")
    draw_one_of("view", SECTIONS, seen(shown), label, lambda s: tr(f"playground.section.{s}"))


with st.container(horizontal=True, vertical_alignment="bottom", key="question"):
    base = controls.pick_scenario()
    scenario, request, match = controls.pick_request(base)
side, main = st.columns([1, 3], gap="medium")
with side:
    controls.draw_toggles(toggled)
    settings()
    repeated = st.checkbox(
        tr("playground.repeated"),
        key="repeated",
        bind="query-params",
        help=tr("playground.repeated_help"),
    )
    with st.expander(tr("playground.setting")):
        setting, reader = controls.pick_setting()
shown: Shown = (scenario, request, setting, reader, bool(repeated))
with main:
    stage(shown, match)
look_closer(shown)
