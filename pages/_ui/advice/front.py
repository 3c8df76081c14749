"""The front: sets that no other beats in wait, cost and risk at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from core.advice.answer import Answer
from core.advice.chart import Mark, Words, front
from core.advice.value import WEIGHT, Outcome
from core.rewrite import Level
from pages._ui.advice import parts
from pages._ui.advice.parts import level, names, table
from pages._ui.lang import language, tr
from pages._ui.sections.figures import PER_REQUESTS, amount, seconds
from pages._ui.sections.look import escaped

COLORS: dict[Level, str] = {
    "none": "#000002",
    "low": "#000005",
    "medium": "#000004",
    "high": "#000007",
}
"""Streamlit puts the theme's chart colours in the place of these: yours, search, embed, show."""

SAME_S, SAME_COST = 0.02, 0.02
"""Sets whose waits and costs differ by less are told once, by the one with the least effort."""

SYMBOLS: dict[Level, str] = {"none": "circle", "low": "square", "medium": "diamond", "high": "x"}


def draw(answer: Answer) -> None:
    """Draw the front as a chart and as a table."""
    st.markdown(tr("advice.front_how"))
    figure = front(tuple(_marks(answer)), answer.advice.tried, _words(answer), PER_REQUESTS)
    config = {"displayModeBar": False, "responsive": True}
    st.plotly_chart(figure, key="front_chart", config=config, alt=tr("advice.front_alt"))
    parts.draw(_table(answer))


def _told(front: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The front without sets that differ from another one by less than anybody would see."""
    kept: list[Outcome] = []
    for one in sorted(front, key=lambda o: o.effort):
        if not any(_alike(one, k) for k in kept):
            kept.append(one)
    return tuple(sorted(kept, key=lambda o: o.p50_s))


def _alike(one: Outcome, other: Outcome) -> bool:
    near = abs(one.p50_s - other.p50_s) < SAME_S
    return near and one.risk >= other.risk and one.cost_usd > (1.0 - SAME_COST) * other.cost_usd


def _marks(answer: Answer) -> Iterator[Mark]:
    """The sets of each class of risk."""
    for name, weight in WEIGHT.items():
        sets = [o for o in _told(answer.advice.pareto) if o.risk == weight]
        if sets:
            title = tr("advice.front_risk", level=level(weight))
            hover = [f"{names(o.techniques)}" for o in sets]
            yield Mark(title, COLORS[name], SYMBOLS[name], tuple(sets), tuple(hover))


def _words(answer: Answer) -> Words:
    best, naive = answer.advice.best, answer.advice.naive
    return Words(
        tr("advice.front_x", goal=tr(f"metric.{answer.question.goal}")),
        tr("section.cost_of_1000"),
        tr("advice.front_others"),
        (
            (naive, tr("advice.naive")),
            *(((best, tr("advice.best")),) if best.changes else ()),
        ),
    )


def _table(answer: Answer) -> str:
    heads = (
        tr("advice.set"),
        tr("advice.median"),
        tr("advice.p95"),
        tr("section.cost_of_1000"),
        tr("advice.effort_sum"),
        tr("advice.risk"),
    )
    return table(
        heads, (_row(o, answer.advice.best) for o in _told(answer.advice.pareto)), "stacked"
    )


def _row(outcome: Outcome, best: Outcome) -> tuple[str, ...]:
    lang = language()
    mark = f" <em>{escaped(tr('advice.best'))}</em>" if outcome == best else ""
    return (
        f"{escaped(names(outcome.techniques))}{mark}",
        seconds(outcome.p50_s, lang),
        amount(outcome.p95_s, "s", lang),
        amount(outcome.cost_usd, "usd", lang),
        str(outcome.effort),
        escaped(level(outcome.risk)),
    )
