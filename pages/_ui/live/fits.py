"""Fitted profiles on a page: what a probing found, and those that were kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from core import fitted_io
from core.errors import InputError, InvalidData, UnknownName
from core.fitted import FittedProfile
from core.local.machine import BUSY_SHARE
from core.plan import ModelRole
from core.profiles import FITTED
from pages._ui.advice.parts import PLAYGROUND
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.live import fit_chart
from pages._ui.live.hosted import hosted
from pages._ui.live.probing import Calibration, Fit
from pages._ui.sections.figures import seconds, share
from pages._ui.sections.look import draw_html

USUAL_TOK = 1000.0
"""The prompt for which the pace is given: it depends a little on what was read before."""

ROLES: tuple[ModelRole, ...] = ("large", "small")
_CONFIG = {"displayModeBar": False, "responsive": True}
_TROUBLE, _USED = "calibrate_trouble", "calibrate_used"


def draw(found: Calibration) -> None:
    """Draw what a probing found, one model after the other."""
    for fit in found.fits:
        st.subheader(tr("calibrate.fit_of", model=fit.profile.model), anchor=False)
        _charts(fit)
        _facts(fit.profile)
    st.caption(tr("calibrate.kept" if found.kept else "calibrate.not_kept"))


def _charts(fit: Fit) -> None:
    law = fit.profile.law
    single = [s for s in fit.samples if s.concurrency == 1]
    columns = st.columns(2, gap="medium")
    drawn = {
        "ttft": fit_chart.first_token(law, single),
        "residuals": fit_chart.residuals(law, single),
    }
    for column, (name, figure) in zip(columns, drawn.items(), strict=True):
        with column:
            st.markdown(f"**{tr(f'calibrate.chart.{name}_title')}**")
            st.plotly_chart(
                figure,
                key=f"fit_{fit.role}_{name}",
                config=_CONFIG,
                alt=tr(f"calibrate.chart.{name}_alt", n=len(single)),
            )


def _facts(profile: FittedProfile) -> None:
    """What one has to know to trust a fit."""
    law, lang = profile.law, language()
    rows = [
        (tr("calibrate.fact.base"), seconds(law.base_s, lang)),
        (tr("calibrate.fact.per_1k"), seconds(law.ttft_s(USUAL_TOK, 0.0) - law.base_s, lang)),
        (tr("calibrate.fact.per_output"), seconds(law.decode_s(USUAL_TOK, 0.0, 2.0), lang)),
        (tr("calibrate.fact.spread"), f"±{profile.spread:.0%}"),
        (tr("calibrate.fact.samples"), f"{profile.samples} ({profile.failed})"),
        (tr("calibrate.fact.context"), f"{profile.largest_context_tok:,}"),
        (tr("calibrate.fact.noise"), "–" if profile.foreign is None else share(profile.foreign)),
        (tr("calibrate.fact.machine"), profile.machine),
    ]
    rows += [
        (
            tr("calibrate.fact.ratio", lang=tr(f"lab.lang_{r.lang}")),
            f"× {r.input:.2f}, × {r.output:.2f}",
        )
        for r in profile.ratios
    ]
    rows += [
        (
            tr("calibrate.fact.slowdown", n=s.concurrency),
            f"× {s.ttft:.2f}, × {s.decode:.2f}, {seconds(s.queue_s, lang)}",
        )
        for s in profile.slowdowns
    ]
    draw_html(
        table((tr("calibrate.fact.what"), tr("calibrate.fact.value")), rows, kind="facts"), "lab"
    )
    if profile.busy:
        st.warning(tr("calibrate.busy", share=share(BUSY_SHARE)))


def draw_saved() -> None:
    """Draw the kept profiles, and what can be done with one of them."""
    st.subheader(tr("calibrate.saved"), anchor=False)
    if (trouble := st.session_state.pop(_TROUBLE, None)) is not None:
        st.error(str(trouble), icon=":material/error:")
    profiles = tuple(_readable())
    if not profiles:
        st.caption(tr("calibrate.none_saved"))
        return
    heads = [tr(f"calibrate.column.{c}") for c in ("name", "date", "spread", "noise", "machine")]
    draw_html(table(heads, [_row(p) for p in profiles]), "lab")
    if hosted():
        st.caption(tr("calibrate.hosted"))
    else:
        _actions(profiles)


def _actions(profiles: Sequence[FittedProfile]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="saved_actions"):
        name = st.selectbox(
            tr("calibrate.column.name"), [p.name for p in profiles], key="saved_profile"
        )
        for role in ROLES:
            st.button(
                tr(f"calibrate.use_{role}"),
                key=f"saved_use_{role}",
                icon=":material/play_arrow:",
                on_click=_use,
                args=(role, str(name)),
            )
        st.button(
            tr("calibrate.delete"),
            key="saved_delete",
            icon=":material/delete:",
            on_click=_delete,
            args=(str(name),),
        )

    if (role := st.session_state.pop(_USED, None)) is not None:
        label = tr(f"calibrate.used_{role}", model=st.session_state[role])
        st.page_link(PLAYGROUND, label=label, icon=":material/play_arrow:")


def _readable() -> Iterator[FittedProfile]:
    """Yield the kept profiles; a broken file is named instead."""
    for name in fitted_io.saved():
        try:
            yield fitted_io.load(name)
        except (InvalidData, InputError, UnknownName) as error:
            st.warning(str(error))


def _row(profile: FittedProfile) -> tuple[str, ...]:
    noise = "–" if profile.foreign is None else share(profile.foreign)
    date = profile.date[:16].replace("T", " ")
    return profile.name, date, f"±{profile.spread:.0%}", noise, profile.machine


def _use(role: ModelRole, name: str) -> None:
    """Make the profile the model of this role on all pages: this one has the choice, too."""
    st.session_state[role] = FITTED + name
    st.session_state[_USED] = role


def _delete(name: str) -> None:
    try:
        fitted_io.delete(name)
    except InputError as error:
        st.session_state[_TROUBLE] = str(error)
