"""Spread over requests: the whole distribution before and after, its percentiles, its failures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import streamlit as st

from core.charts import Figure, Limit, Side, Words, distribution, share_within
from core.metrics import Metric, Summary, metric
from core.text import Lang, text
from pages._ui.choosing import one_of
from pages._ui.lang import tr
from pages._ui.sections.figures import NONE, PER_REQUESTS, amount, metric_name, share, signed_share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.view import STREAM_N, View

METRICS = (
    "reader_wait_s",
    "first_visible_s",
    "first_useful_s",
    "total_s",
    "cost_usd",
    "tokens_out",
)
SEED = 0

LIMITS_S = (1.0, 10.0)
"""An unbroken thought; attention. Source: Nielsen 1993, Usability Engineering, chapter 5."""

BEFORE, YOURS = "#000001", "#000002"
"""Streamlit puts the first two colours of the theme's chart palette in the place of these two."""

AXES = {"s": "seconds", "usd": "dollars", "tokens": "tokens"}


def draw(view: View) -> None:
    """Draw the section."""
    label = tr("section.spread.metric")
    chosen = one_of("spread", METRICS, label, lambda m: metric_name(metric(m), view.lang))
    seen = _seen(view, chosen)
    chart, numbers = st.columns([5, 2], gap="medium", vertical_alignment="center")
    with chart:
        config = {"displayModeBar": False, "responsive": True}
        st.plotly_chart(seen.figure, key="spread_chart", config=config, alt=seen.alt)
    with numbers:
        draw_html(seen.table, "spread")
    st.caption(" ".join(seen.notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What the section shows of one metric."""

    figure: Figure
    alt: str
    table: str
    notes: tuple[str, ...]


@lru_cache(maxsize=32)
def _seen(view: View, metric_id: str) -> _Seen:
    m, lang = metric(metric_id), view.lang
    before, yours = _sides(view, m)
    limits = LIMITS_S if m.unit == "s" else ()
    named = [Limit(at, text(lang, "race.in_s", value=f"{at:g}")) for at in limits]
    unit = text(lang, "race.unit_s") if m.unit == "s" else ""
    words = Words(
        text(lang, f"section.spread.{AXES[m.unit]}"),
        text(lang, "section.spread.share"),
        text(lang, "section.spread.within", x=f"%{{x:.3~g}}{unit}", y="%{y:.0%}"),
        f" {unit}" if unit and lang == "en" else unit,
    )
    alt = text(
        lang,
        "section.spread.alt",
        metric=metric_name(m, lang),
        n=STREAM_N,
        before=_amount(before.summary.p50, m, lang),
        yours=_amount(yours.summary.p50, m, lang),
    )
    return _Seen(
        distribution(before, yours, words, named),
        alt,
        _table(view, m, before, yours),
        tuple(_notes(view, before, yours, limited=bool(limits))),
    )


def _sides(view: View, m: Metric) -> tuple[Side, Side]:
    """Return the values of both plans, money for a thousand requests."""
    factor = PER_REQUESTS if m.unit == "usd" else 1
    return (
        Side(
            text(view.lang, "section.spread.row_before"),
            BEFORE,
            m.compute(view.stream.before, view.reader) * factor,
        ),
        Side(
            text(view.lang, "section.spread.row_yours"),
            YOURS,
            m.compute(view.stream.after, view.reader) * factor,
        ),
    )


def _amount(value: float | None, m: Metric, lang: Lang) -> str:
    """Return a value of a side as text: money is already that of a thousand requests."""
    if value is not None and m.unit == "usd":
        value /= PER_REQUESTS
    return amount(value, m.unit, lang)


def _table(view: View, m: Metric, before: Side, yours: Side) -> str:
    """Percentiles, shares within the limits and failures: before, after, change."""
    lang = view.lang
    rows = list(_percentiles(m, before.summary, yours.summary, lang))
    for at in LIMITS_S if m.unit == "s" else ():
        limit = text(lang, "race.in_s", value=f"{at:g}")
        within = [share(share_within(side.values, at)) for side in (before, yours)]
        rows.append((text(lang, "section.spread.inside", limit=limit), *within, ""))
    failed = [float(np.mean(t.failed)) for t in (view.stream.before, view.stream.after)]
    rows.append((text(lang, "section.spread.failed"), *map(share, failed), ""))
    heads = (before.name, yours.name, text(lang, "section.spread.row_change"))
    head = "".join(f"<th scope='col'>{escaped(name)}</th>" for name in heads)
    body = "".join(_line(row) for row in rows)
    return f"<table class='spread'><tr><td></td>{head}</tr>{body}</table>"


def _line(cells: tuple[str, ...]) -> str:
    first, *rest = cells
    body = "".join(f"<td>{escaped(cell)}</td>" for cell in rest)
    return f"<tr><th scope='row'>{escaped(first)}</th>{body}</tr>"


def _percentiles(
    m: Metric, before: Summary, yours: Summary, lang: Lang
) -> Iterator[tuple[str, ...]]:
    """One row a percentile; a word where there are too few requests for it."""
    for name, key in (("median", "p50"), ("p95", "p95"), ("p99", "p99")):
        values = [getattr(side, key) for side in (before, yours)]
        few = [v is None and side.n > 0 for v, side in zip(values, (before, yours), strict=True)]
        cells = [
            text(lang, "section.spread.few") if f else _amount(v, m, lang)
            for v, f in zip(values, few, strict=True)
        ]
        a, b = values
        change = signed_share((b - a) / a) if a and b is not None else NONE
        yield (text(lang, f"section.spread.{name}"), *cells, change)


def _notes(view: View, before: Side, yours: Side, *, limited: bool) -> Iterator[str]:
    """How to read it, how it was made, and who is missing."""
    lang, stream = view.lang, view.stream
    n = stream.before.n
    yield text(lang, "section.spread.how")
    yield text(lang, "section.simulated", n=n, seed=SEED)
    failed = int(stream.before.failed.sum()), int(stream.after.failed.sum())
    facts = {"n": n, "before": failed[0], "yours": failed[1]}
    yield text(
        lang, "section.spread.failures" if any(failed) else "section.spread.no_failures", **facts
    )
    missing = before.summary.missing - failed[0], yours.summary.missing - failed[1]
    if any(missing):
        yield text(lang, "section.spread.no_value", before=missing[0], yours=missing[1])
    hits, wrong = int(stream.after.hit.sum()), int(stream.after.wrong.sum())
    if hits:
        yield text(lang, "section.spread.cached", hits=hits, wrong=wrong, n=n)
    if limited:
        yield text(lang, "section.spread.limits_from")
    if not view.choices:
        yield text(lang, "section.spread.same")
