"""The headline row: what was really done and what the person saw, before, after, change."""

from __future__ import annotations

import math

import streamlit as st

from core.metrics import HEADLINE, Metric, metric
from pages._ui.lang import tr
from pages._ui.view import View


def draw(view: View) -> None:
    """One card a metric, for the request of the race."""
    with st.container(horizontal=True, gap="small", key="headline"):
        for name in HEADLINE:
            _card(view, metric(name))


def _card(view: View, m: Metric) -> None:
    before = float(m.compute(view.race.before, view.reader)[-1])
    after = float(m.compute(view.race.after, view.reader)[-1])
    unchanged = math.isnan(before) or math.isnan(after) or math.isclose(before, after)
    st.metric(
        tr(f"metric.{m.id}"),
        shown(after, m.unit),
        delta=tr("playground.no_change") if unchanged else _change(before, after, m.unit),
        delta_color="off" if unchanged else ("inverse" if m.better == "lower" else "normal"),
        delta_arrow="off" if unchanged else "auto",
        help=tr(f"metric.help.{m.id}"),
        width=132,
    )


def _change(before: float, after: float, unit: str) -> str:
    """The change as a share of before, and what before was; a leading sign steers the arrow."""
    share = f"{(after - before) / before:+.0%}" if before else f"{after - before:+.3g}"
    return f"{share} ({shown(before, unit)})"


def shown(value: float, unit: str) -> str:
    """A value with its unit, as precise as a person can use it."""
    if math.isnan(value):
        return "–"
    if unit == "s":
        return f"{value:.2f} s" if value >= 0.1 or value == 0 else f"{value * 1000:.1f} ms"
    if unit == "usd":
        return f"${value:.4f}"
    if unit == "ratio":
        return f"{value:.2f}"
    return f"{value:,.0f}"
