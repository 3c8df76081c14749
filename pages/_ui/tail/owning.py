"""Who owns the slow end: the picture of slower and slower requests by step, and the shares."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from core.charts import Figure
from core.tail_charts import Layer, StackWords, stacks
from core.tails import BANDS, Owner, Parts, bands, owners, step_times
from core.text import text
from core.timeline import Timeline
from pages._ui.lang import tr
from pages._ui.sections.figures import amount, seconds, share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.tail.view import SEED, TAIL_N, TailView
from pages._ui.tail.within import CONFIG, table

SMALL = 0.01
"""Steps with less than this share of the longest bar are drawn as one."""

SIDES = ("before", "yours")


def draw(view: TailView) -> None:
    """Draw the view."""
    st.plotly_chart(_figure(view), key="tail_parts", config=CONFIG, alt=tr("tail.parts_alt"))
    st.caption(tr("tail.parts_how", n=TAIL_N, seed=SEED))
    found = view.loaded[0]
    for side, column, timeline, parts in zip(
        SIDES, st.columns(2, gap="medium"), (found.before, found.after), view.parts, strict=True
    ):
        with column:
            owning = owners(parts, timeline.step_ids, timeline.failed)
            draw_html(_owners(view, side, owning), "tail")
            with st.expander(tr("tail.steps")):
                draw_html(_steps(view, timeline), "tail")
    st.caption(tr("tail.owners_first" if view.to_first else "tail.owners_how"))


@lru_cache(maxsize=16)
def _figure(view: TailView) -> Figure:
    lang, found = view.lang, view.loaded[0]
    unit = text(lang, "race.unit_s")
    names = tuple(_band(low, high) for low, high in BANDS)
    words = StackWords(names, f" {unit}" if lang == "en" else unit, f"%{{y:.2f}}{unit}")
    sides = [
        (text(lang, f"tail.side.{side}"), _layers(view, timeline, parts))
        for side, timeline, parts in zip(
            SIDES, (found.before, found.after), view.parts, strict=True
        )
    ]
    return stacks(sides, words)


def _band(low: float, high: float) -> str:
    return f"{low * 100:g}–{high * 100:g}%"


def _layers(view: TailView, timeline: Timeline, parts: Parts) -> list[Layer]:
    """A layer a step, those that hardly count as one, and on top what is waiting."""
    found = bands(parts, timeline.failed)
    path = np.nan_to_num(np.concatenate([b.path_s for b in found]))
    wait = np.nan_to_num(np.concatenate([b.wait_s for b in found]))
    work = path - wait
    small = work.max(axis=0) < SMALL * path.sum(axis=1).max(initial=1e-9)
    layers = [
        Layer(view.scenario.label(step.id, view.lang), step.kind, tuple(work[:, k].tolist()))
        for k, step in enumerate(timeline.plan.steps)
        if not small[k]
    ]
    rest = work[:, small].sum(axis=1)
    if (rest > 0).any():
        layers.append(Layer(text(view.lang, "tail.other"), "rest", tuple(rest.tolist())))
    if wait.max(initial=0.0) > 0:
        name = text(view.lang, "tail.waiting")
        layers.append(Layer(name, "rest", tuple(wait.sum(axis=1).tolist()), waiting=True))
    return layers


def _owners(view: TailView, side: str, owning: tuple[Owner, ...]) -> str:
    """The steps by what slow requests spend more in them, the rest left out."""
    shown = [o for o in owning if o.share >= 0.005]
    title = escaped(tr("tail.owners", side=tr(f"tail.side.{side}")))
    if not shown:
        return f"<h4>{title}</h4><p class='how'>{escaped(tr('tail.no_owner'))}</p>"
    rows = "".join(_owner(view, o, shown[0].share) for o in shown)
    return f"<h4>{title}</h4><ul class='owners'>{rows}</ul>"


def _owner(view: TailView, owner: Owner, largest: float) -> str:
    name = escaped(view.scenario.label(owner.step, view.lang))
    waited = max(min(owner.wait_s, owner.excess_s), 0.0) / owner.excess_s
    width = owner.share / largest * 100
    words = tr("tail.more", value=seconds(owner.excess_s, view.lang))
    if waited >= 0.05:
        words = tr(
            "tail.more_waiting", value=seconds(owner.excess_s, view.lang), waiting=share(waited)
        )
    bar = (
        f"<span class='bar' style='width:{width:.1f}%' aria-hidden='true'>"
        f"<span style='width:{waited * 100:.1f}%'></span></span>"
    )
    return (
        f"<li><span class='name'>{name}</span><b>{share(owner.share)}</b>"
        f"<span class='track'>{bar}</span><span class='what'>{escaped(words)}</span></li>"
    )


def _steps(view: TailView, timeline: Timeline) -> str:
    rows = [
        (
            view.scenario.label(s.step, view.lang),
            f"{s.took.n}",
            *(amount(v, "s", view.lang) for v in (s.took.p50, s.took.p95, s.took.p99)),
            *(amount(v, "s", view.lang) for v in (s.waited.p50, s.waited.p95)),
        )
        for s in step_times(timeline)
        if s.took.n
    ]
    heads = tuple(tr(f"tail.steps_{k}") for k in ("step", "n", "p50", "p95", "p99", "w50", "w95"))
    return table(heads, rows)
