"""The distribution with the limit, before and after, and common service levels of streams."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from core import slo
from core.charts import Figure, Limit, Side, Words, distribution, share_within
from core.metrics import metric
from core.text import text
from pages._ui.lang import tr
from pages._ui.sections.figures import NONE, amount, metric_name, seconds, share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.sections.spread import BEFORE, YOURS
from pages._ui.tail.view import SEED, TAIL_N, TailView

CONFIG = {"displayModeBar": False, "responsive": True}
PERCENTILES = ("p50", "p95", "p99")


def draw(view: TailView) -> None:
    """Draw the view."""
    chart, numbers = st.columns([5, 3], gap="medium")
    with chart:
        st.plotly_chart(_figure(view), key="tail_within", config=CONFIG, alt=_alt(view))
    with numbers:
        draw_html(_table(view) + _levels(view), "tail")
    st.caption(tr("tail.within_how", n=TAIL_N, seed=SEED))


def _sides(view: TailView) -> tuple[Side, Side]:
    before, after = view.values
    return (
        Side(text(view.lang, "section.spread.row_before"), BEFORE, before),
        Side(text(view.lang, "section.spread.row_yours"), YOURS, after),
    )


@lru_cache(maxsize=16)
def _figure(view: TailView) -> Figure:
    lang = view.lang
    unit = text(lang, "race.unit_s")
    words = Words(
        text(lang, "section.spread.seconds"),
        text(lang, "section.spread.share"),
        text(lang, "section.spread.within", x=f"%{{x:.3~g}}{unit}", y="%{y:.0%}"),
        f" {unit}" if lang == "en" else unit,
    )
    limit = text(lang, "tail.limit_line", limit=seconds(view.slo_s, lang))
    return distribution(*_sides(view), words, [Limit(view.slo_s, limit)], with_values=False)


def _alt(view: TailView) -> str:
    inside = [share(share_within(v, view.slo_s)) for v in view.values]
    name = metric_name(metric(view.metric_id), view.lang)
    limit = seconds(view.slo_s, view.lang)
    return tr("tail.within_alt", metric=name, limit=limit, before=inside[0], yours=inside[1])


def _table(view: TailView) -> str:
    """Percentiles, the share within the limit, failures."""
    before, yours = _sides(view)
    rows = [
        (name, *(amount(getattr(s.summary, name), "s", view.lang) for s in (before, yours)))
        for name in PERCENTILES
    ]
    limit = seconds(view.slo_s, view.lang)
    inside = [share(share_within(s.values, view.slo_s)) for s in (before, yours)]
    rows.append((tr("section.spread.inside", limit=limit), *inside))
    found = view.loaded[0]
    failed = [share(float(t.failed.mean())) for t in (found.before, found.after)]
    rows.append((tr("section.spread.failed"), *failed))
    return table(("", before.name, yours.name), rows)


def _levels(view: TailView) -> str:
    """Who keeps common levels of streamed answers."""
    found = view.loaded[0]
    sides = [(t, slo.streamed(t)) for t in (found.before, found.after)]
    rows = []
    for level in slo.LEVELS:
        name = tr(
            f"tail.level.{level.id}",
            ttft=f"{level.ttft_s * 1000:.0f}",
            tpot=f"{level.tpot_s * 1000:.0f}",
        )
        kept = [NONE if s is None else share(slo.kept(level, s, t)) for t, s in sides]
        rows.append((name, *kept))
    streams = sides[1][1]
    note = tr("tail.no_stream")
    if streams is not None:
        p99 = [amount(s.p99, "s", view.lang) for s in (streams.ttft, streams.tpot)]
        note = tr("tail.levels_note", ttft=p99[0], tpot=p99[1])
    heads = (tr("tail.levels"), tr("section.spread.row_before"), tr("section.spread.row_yours"))
    return f"{table(heads, rows)}<p class='how'>{escaped(note)}</p>"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A small table; the first cell of each row is its name. All text is escaped here."""
    head = "".join(f"<th scope='col'>{escaped(h)}</th>" for h in heads)
    body = "".join(
        f"<tr><th scope='row'>{escaped(first)}</th>"
        + "".join(f"<td>{escaped(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<div class='scroll'><table class='facts'><tr>{head}</tr>{body}</table></div>"
