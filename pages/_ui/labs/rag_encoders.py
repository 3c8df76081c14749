"""Encoders side by side on this machine, each on a button: loading one can take a while."""

from __future__ import annotations

import streamlit as st

from core.labs.desk import desk
from core.labs.encoder_race import RACERS, TORCH, Lap, N, Racer, run
from core.text import Lang, text
from pages._ui.labs.numbers import brief
from pages._ui.labs.table import table
from pages._ui.labs.waiting import awaited
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE
from pages._ui.sections.look import draw_html, escaped

STARTED = "encoders_started"


def draw() -> None:
    """Draw the part."""
    started: set[str] = st.session_state.setdefault(STARTED, set())
    with st.container(horizontal=True, gap="small"):
        for racer in RACERS:
            st.button(
                tr("raglab.encoders.measure", name=_name(racer)),
                key=f"measure_{racer.id}",
                on_click=_start,
                args=(racer.id,),
            )
    st.caption(tr("raglab.encoders.torch_note"))
    laps = [lap for racer in RACERS if racer.id in started and (lap := _lap(racer)) is not None]
    if laps:
        lang = language()
        draw_html(_table(laps, lang), "lab")
        st.caption(tr("raglab.encoders.basis", n=N))
    elif not started:
        st.info(tr("raglab.encoders.start"))


def _start(racer_id: str) -> None:
    """Measure it, again where it was measured before."""
    desk().forget(("encoder", racer_id))
    st.session_state[STARTED] = st.session_state[STARTED] | {racer_id}


def _lap(racer: Racer) -> Lap | None:
    key = ("encoder", racer.id)
    job = desk().ask_thread(key, lambda: run(racer))
    return awaited(job, key, tr("raglab.encoders.working", name=_name(racer)))


def _name(racer: Racer) -> str:
    model = "all-MiniLM-L6-v2" if racer.id in ("minilm-en", TORCH) else racer.id
    return f"{model} · {racer.runtime}"


def _table(laps: list[Lap], lang: Lang) -> str:
    names = {racer.id: racer for racer in RACERS}
    keys = ("encoder", "spoken", "p50", "p95", "load", "dim", "agreement")
    head = [text(lang, f"raglab.encoders.{key}") for key in keys]
    body = [
        (
            _name(names[lap.id]),
            text(lang, f"lab.lang_{names[lap.id].lang}"),
            brief(lap.p50_s, lang),
            brief(lap.p95_s, lang),
            brief(lap.load_s, lang),
            str(lap.dim),
            NONE if lap.agreement is None else f"{lap.agreement:.4f}",
        )
        for lap in laps
    ]
    title = escaped(text(lang, "lab.measured_here"))
    return f"<h5>{title}</h5>{table(head, body)}"
