"""The headline row: what was really done and what the person saw, before, after, change.

Cards of our own rather than `st.metric`: those bring 110 kB of date and chart code to the first
visit, and seven of them do not fit into one row.
"""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from core.metrics import HEADLINE, Metric, metric
from core.text import Lang, text
from pages._ui.view import View

STYLE = """<style>
.headline { margin: 0 !important; padding: 0 !important; display: grid; gap: .5rem;
  grid-template-columns: repeat(auto-fit, minmax(7.2rem, 1fr)) }
.headline > div { border: 1px solid color-mix(in srgb, currentColor 16%, transparent);
  border-radius: .5rem; padding: .45rem .6rem .5rem; min-width: 0 }
.headline dt { font-size: .8rem; opacity: .78; display: flex; align-items: center; gap: .3rem }
.headline dt i { width: .45rem; height: .45rem; border-radius: 50%;
  border: 1.5px solid currentColor }
.headline .perceived dt i { background: currentColor }
.headline dd { margin: 0 }
.headline .now { font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums }
.headline .was { font-size: .8rem; font-variant-numeric: tabular-nums }
.headline .good { color: light-dark(#0a6b58, #5fe0c0) }
.headline .bad { color: light-dark(#b01530, #ff8f8c); font-weight: 600 }
.headline .same { opacity: .7 }
</style>"""


def draw(view: View) -> None:
    """One card a metric, for the request of the race."""
    cards = "".join(card(view, metric(name)) for name in HEADLINE)
    st.html(f"{STYLE}<dl class='headline'>{cards}</dl>")


def card(view: View, m: Metric) -> str:
    """Name, value after, change and value before; the definition is a hover away."""
    before = float(m.compute(view.race.before, view.reader)[-1])
    after = float(m.compute(view.race.after, view.reader)[-1])
    words, mood = change(before, after, m, view.lang)
    name, meaning = (escape(text(view.lang, f"metric.{k}")) for k in (m.id, f"help.{m.id}"))
    return (
        f"<div class='{m.kind}' title='{meaning}' data-metric='{m.id}'><dt><i></i>{name}</dt>"
        f"<dd class='now'>{shown(after, m.unit, view.lang)}</dd>"
        f"<dd class='was {mood}'>{escape(words)}</dd></div>"
    )


def change(before: float, after: float, m: Metric, lang: Lang) -> tuple[str, str]:
    """The change in words with what was before, and whether it is good, bad or none."""
    if math.isnan(before) or math.isnan(after) or math.isclose(before, after, abs_tol=1e-12):
        return text(lang, "playground.no_change"), "same"
    lower = after < before
    share = (
        f"{abs(after - before) / before:.0%}"
        if before
        else shown(abs(after - before), m.unit, lang)
    )
    good = lower == (m.better == "lower")
    return (
        f"{'▼' if lower else '▲'} {share} ({shown(before, m.unit, lang)})",
        "good" if good else "bad",
    )


def shown(value: float, unit: str, lang: Lang) -> str:
    """A value with its unit, as precise as a person can use it."""
    if math.isnan(value):
        return "–"
    if unit == "s":
        if value >= 0.1 or value == 0:
            return text(lang, "race.in_s", value=f"{value:.2f}")
        return text(lang, "race.in_ms", value=f"{value * 1000:.1f}")
    if unit == "usd":
        return f"${value:.4f}"
    if unit == "ratio":
        return f"{value:.2f}"
    return f"{value:,.0f}"
