"""A matrix of predictions and measurements on a page: how good they are, then case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from core.accuracy import METRICS
from core.bench_accuracy import BARS, P90_BAR
from core.scenarios import scenario
from core.techniques import PRESETS
from core.verdicts import CLOSE, Judged, judged
from pages._ui.choosing import one_of
from pages._ui.lang import language, tr
from pages._ui.live.engine import title
from pages._ui.live.look import draw_html
from pages._ui.live.matrix import Table
from pages._ui.sections.figures import between, seconds, share, signed_share
from pages._ui.sections.look import escaped

HEADS = ("pipeline", "case", "predicted", "measured", "miss", "range", "verdict")


def draw(table: Table, *, key: str) -> None:
    """Draw a table; `key` tells apart those of one page."""
    noise = "–" if table.noise is None else share(table.noise)
    facts = {"engine": title(table.engine), "date": table.date[:16].replace("T", " ")}
    st.caption(tr("accuracy.of", machine=table.machine, noise=noise, **facts))
    if not table.whole:
        st.caption(tr("accuracy.part"))
    for metric_id in METRICS:
        st.markdown(_sentence(table, metric_id))
    if table.found.failed:
        st.warning(tr("accuracy.failed", n=table.found.failed))
    shown = one_of(key, METRICS, tr("accuracy.metric"), lambda m: tr(f"metric.{m}"))
    rows = tuple(judged(table.found, shown))
    draw_html(_html(rows), "lab", "live")
    st.caption(tr("accuracy.how", close=share(CLOSE)))


def _sentence(table: Table, metric_id: str) -> str:
    """How far predictions were off, against what is good enough."""
    middle, p90 = table.found.errors(metric_id)
    good = middle <= BARS[metric_id] and p90 <= P90_BAR
    directed = [one for one in judged(table.found, metric_id) if one.directed]
    return tr(
        "accuracy.good" if good else "accuracy.bad",
        metric=tr(f"metric.{metric_id}"),
        median=share(middle),
        p90=share(p90),
        bar=share(BARS[metric_id]),
        p90_bar=share(P90_BAR),
        right=sum(one.same_direction for one in directed),
        clear=len(directed),
    )


def _html(rows: tuple[Judged, ...]) -> str:
    names = [escaped(tr(f"accuracy.column.{h}")) for h in HEADS]
    heads = "".join(f"<th scope='col'>{name}</th>" for name in names)
    body = "".join(_row(names, one) for one in rows)
    return (
        f"<div class='scroll' tabindex='0'><table class='lab stacked'><thead><tr>{heads}</tr>"
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _row(names: Sequence[str], one: Judged) -> str:
    first, *rest = (escaped(cell) for cell in _cells(one))
    cells = "".join(
        f"<td data-name='{name}'>{cell}</td>" for name, cell in zip(names[1:-1], rest, strict=True)
    )
    verdict = escaped(tr(f"accuracy.verdict.{one.verdict}"))
    return (
        f"<tr><th scope='row'>{first}</th>{cells}"
        f"<td class='verdict-{one.verdict}' data-name='{names[-1]}'>{verdict}</td></tr>"
    )


def _cells(one: Judged) -> Iterator[str]:
    row, lang = one.row, language()
    yield scenario(row.scenario).title[lang]
    yield _case(row.technique)
    yield f"{signed_share(one.predicted_change)} ({seconds(row.predicted_s, lang)})"
    yield f"{signed_share(one.measured_change)} ({seconds(row.measured_s, lang)})"
    yield signed_share(one.miss)
    yield between(row.low_s, row.high_s, "s", lang)


def _case(name: str) -> str:
    preset = name in PRESETS
    return tr(f"preset.{name.replace('-', '_')}.title" if preset else f"technique.{name}.title")
