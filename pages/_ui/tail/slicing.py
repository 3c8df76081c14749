"""For whom it is slow: the same figures for requests that have something in common."""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from core.dists import Array
from core.metrics import metric
from core.tails import Slice, slices
from core.text import catalogue
from core.timeline import Timeline
from pages._ui.lang import tr
from pages._ui.sections.figures import NONE, amount, metric_name, seconds, share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.tail.view import SEED, TAIL_N, TailView

BEHIND = 0.1
"""A slice whose share within the limit is lower by more than this is marked."""


def draw(view: TailView) -> None:
    """Draw the view."""
    found, (before, after) = view.loaded[0], view.values
    past = {(s.facet, s.value): s for s in _slices(view, found.before, before)}
    rows = list(_slices(view, found.after, after))
    whole = float((after <= view.slo_s).mean())
    draw_html(_table(view, rows, past, whole), "tail")
    st.caption(tr("tail.slices_how", n=TAIL_N, seed=SEED, whole=share(whole)))


def _slices(view: TailView, timeline: Timeline, values: Array) -> list[Slice]:
    return list(slices(timeline, view.scenario, values, view.slo_s))


def _table(
    view: TailView, rows: list[Slice], past: dict[tuple[str, str], Slice], whole: float
) -> str:
    facts = {
        "limit": seconds(view.slo_s, view.lang),
        "metric": metric_name(metric(view.metric_id), view.lang),
    }
    heads = [tr(f"tail.slice.{k}", **facts) for k in ("n", "p50", "p95", "within", "before")]
    head = "".join(f"<th scope='col'>{escaped(h)}</th>" for h in ("", *heads))
    body = ""
    for facet, group in groupby(rows, key=lambda s: s.facet):
        title = escaped(tr(f"tail.facet.{facet}"))
        body += f"<tr class='facet'><th scope='rowgroup' colspan='6'>{title}</th></tr>"
        body += "".join(_row(view, s, past.get((s.facet, s.value)), whole) for s in group)
    return f"<div class='scroll'><table class='facts'><tr>{head}</tr>{body}</table></div>"


def _row(view: TailView, s: Slice, before: Slice | None, whole: float) -> str:
    few = tr("section.spread.few")
    p95 = few if s.values.p95 is None and s.values.n else amount(s.values.p95, "s", view.lang)
    was = NONE if before is None else share(before.within)
    cells = [f"{s.values.n + s.values.missing}", amount(s.values.p50, "s", view.lang), p95]
    body = "".join(f"<td>{escaped(c)}</td>" for c in cells)
    mark = " class='behind'" if s.within < whole - BEHIND else ""
    return (
        f"<tr><th scope='row'>{escaped(_name(s))}</th>{body}"
        f"<td{mark}>{share(s.within)}</td><td>{was}</td></tr>"
    )


def _name(s: Slice) -> str:
    """A value in words; tasks are the scenario's own."""
    if s.low is not None and s.high is not None:
        return tr(f"tail.value.{s.value}", low=f"{s.low:,.0f}", high=f"{s.high:,.0f}")
    key = f"tail.value.{s.facet}_{s.value}"
    return tr(key) if key in catalogue()["en"] else s.value.replace("_", " ")
