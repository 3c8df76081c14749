"""How much it can bear: p95 against arrivals, up to where the queue grows without end."""

from __future__ import annotations

import streamlit as st

from core.charts import Figure
from core.metrics import metric
from core.tail_charts import Curve, CurveWords, load_curves
from pages._ui.lang import tr
from pages._ui.sections.figures import metric_name, seconds
from pages._ui.sections.look import draw_html
from pages._ui.sections.spread import BEFORE, YOURS
from pages._ui.tail.view import SEED, TAIL_N, TailView
from pages._ui.tail.within import CONFIG, table


def draw(view: TailView) -> None:
    """Draw the view."""
    chart, numbers = st.columns([5, 3], gap="medium")
    with chart:
        with st.spinner(tr("tail.working")):
            figure = _figure(view)
        st.plotly_chart(figure, key="tail_load", config=CONFIG, alt=tr("tail.load_alt"))
    with numbers:
        draw_html(_table(view), "tail")
    st.caption(tr("tail.load_how", n=TAIL_N, seed=SEED))


def _figure(view: TailView) -> Figure:
    _, *loads = view.loaded
    unit = tr("race.unit_s")
    words = CurveWords(
        tr("tail.load_x"),
        tr("tail.load_y", metric=metric_name(metric(view.metric_id), view.lang)),
        f" {unit}" if view.lang == "en" else unit,
        tr("tail.load_hover", x="%{x:.2f}", y=f"%{{y:.2f}}{unit}"),
        tr("tail.load_now"),
        tr("tail.limit_line", limit=seconds(view.slo_s, view.lang)),
    )
    names = ((tr("tail.side.before"), BEFORE), (tr("tail.side.yours"), YOURS))
    curves = [
        Curve(
            name,
            color,
            tuple(p.rate_per_s for p in points),
            tuple(p.p95_s for p in points),
            load.bearable_per_s,
        )
        for (name, color), points, load in zip(names, view.curves, loads, strict=True)
    ]
    return load_curves(curves, words, now=view.rate_per_s, slo_s=view.slo_s)


def _table(view: TailView) -> str:
    """What the shared resources saw at the chosen rate."""
    _, before, after = view.loaded
    n = view.loaded[0].before.n
    both = (before, after)
    rows: list[tuple[str, ...]] = [
        (tr("tail.load_calls"), *(f"{load.calls / n:.2f}" for load in both)),
        (tr("tail.load_busy"), *(f"{load.busy:.1f}" for load in both)),
        (tr("tail.load_bearable"), *(f"{load.bearable_per_s:.2f}" for load in both)),
        (tr("tail.load_queue"), *(f"{load.longest_queue:,}" for load in both)),
        (tr("tail.load_new"), *(f"{load.new_connections:,}" for load in both)),
    ]
    return table(("", tr("tail.side.before"), tr("tail.side.yours")), rows)
