"""The Playground: one question, two plans, one clock.

What a toggle changes stands in a fragment: only that runs and is sent again when one is flipped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

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

HEAD_START_S = 0.1
"""After a toggle the race is sent before the rest: a browser that is handed all of it at once works
on all of it before it shows anything. Without, the race is there 80 ms later, and shorter than this
the rest catches up with it where the browser is slow."""

Shown = tuple[Scenario, Request, Setting, Reader, bool]


@dataclass(frozen=True, slots=True)
class Places:
    """Where on the page stands what follows a toggle."""

    toggles: DeltaGenerator
    settings: DeltaGenerator
    stage: DeltaGenerator
    below: DeltaGenerator


@st.fragment(key="play")
def play(places: Places, shown: Shown, match: Match | None) -> None:
    """What follows a toggle; the toggles with it, so that a flip is one run and not two.

    The first time the toggles go first, for what the address says is known once they are drawn.
    """
    whole = st.session_state.pop("whole", False)
    if not whole:
        draw_stage(places.stage, shown, match)
        time.sleep(HEAD_START_S)
    with places.toggles:
        controls.draw_toggles()
    with places.settings:
        controls.draw_parameters()
    if whole:
        draw_stage(places.stage, shown, match)
    # The container is this run's own: a fragment that stands in the place itself would be added to
    # the one of the run before.
    with places.below, st.container():
        look_closer(shown)


def draw_stage(place: DeltaGenerator, shown: Shown, match: Match | None) -> None:
    """The race, its figures, and what should be known about them."""
    view = seen(shown)
    with place:
        race(payload(view), key="race")
        headline.draw(view)
        notes(view, match)


def seen(shown: Shown) -> View:
    """The view that the toggles make of what is shown."""
    scenario, request, setting, reader, repeated = shown
    choices = controls.chosen_techniques()
    return View(scenario, request, choices, setting, reader, repeated, language())


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
    # One element: each one sent costs a redraw of the page.
    st.caption("\n\n".join(remarks(view)))


def remarks(view: View) -> Iterator[str]:
    """Yield what is not possible, what is only assumed, and where the figures come from."""
    for entry in view.race.log:
        if entry.reason is not None:
            name, reason = tr(f"technique.{entry.technique}.title"), say(entry.reason, view.lang)
            yield tr("playground.not_possible", name=name, reason=reason)
    large, small = view.setting.large, view.setting.small
    for role in sorted({s.role for s in view.race.after.plan.llm_steps if s.predict}):
        if not view.setting.model(role).predictions:
            yield tr("playground.prediction_what_if", model=view.setting.model(role).name)
    date = max(large.source_date, small.source_date)
    yield tr("playground.basis", large=large.name, small=small.name, date=date)


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
    controls.draw_presets()
    toggles = st.container()
    controls.pick_others()
    settings = st.container()
    repeated = st.checkbox(
        tr("playground.repeated"),
        key="repeated",
        bind="query-params",
        help=tr("playground.repeated_help"),
    )
    with st.expander(tr("playground.setting")):
        setting, reader = controls.pick_setting()
places = Places(toggles, settings, main, st.container())
st.session_state["whole"] = True
play(places, (scenario, request, setting, reader, bool(repeated)), match)
