"""The headline figures of a measured race: every repeat as a point, the median, the prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from core.dists import Array
from core.metrics import HEADLINE, Metric, Reader, metric
from core.text import Lang, text
from pages._ui.headline import change, shown
from pages._ui.live.asked import Measured, median
from pages._ui.live.look import draw_html

HEAD_ROOM = 1.05
"""How far past the largest value the axis goes, so that a point at its end is whole."""


def draw(found: Measured, reader: Reader, lang: Lang) -> None:
    """One card a metric; what nothing was reported of is left out."""
    cards = "".join(
        card(found, m, reader, lang) for m in map(metric, HEADLINE) if _reported(found, m, reader)
    )
    draw_html(f"<dl class='repeats'>{cards}</dl>", "live")


def _reported(found: Measured, m: Metric, reader: Reader) -> bool:
    return any(not math.isnan(median(side)) for side in found.values(m, reader))


def card(found: Measured, m: Metric, reader: Reader, lang: Lang) -> str:
    """Name, median after, change, points of both sides on one scale, prediction beside it."""
    values = found.values(m, reader)
    before, after = (median(side) for side in values)
    predicted = found.predicted(m, reader) if m.unit == "s" else None
    words, mood = change(before, after, m, lang)
    name, meaning = (escape(text(lang, f"metric.{k}")) for k in (m.id, f"help.{m.id}"))
    rows = "".join(_rows(values, (before, after), predicted, m, lang))
    told = ""
    if predicted is not None:
        a, b = (shown(v, m.unit, lang) for v in predicted)
        words_told = escape(text(lang, "live.predicted", before=a, after=b))
        told = f"<dd class='told'>{words_told}</dd>"
    return (
        f"<div class='{m.kind}' title='{meaning}' data-metric='{m.id}'><dt><i></i>{name}</dt>"
        f"<dd class='now'>{shown(after, m.unit, lang)}</dd>"
        f"<dd class='was {mood}'>{escape(words)}</dd>{rows}{told}</div>"
    )


def _rows(
    values: tuple[Array, Array],
    medians: tuple[float, float],
    predicted: tuple[float, float] | None,
    m: Metric,
    lang: Lang,
) -> Iterator[str]:
    """A line of points for each side; the points are also read out."""
    real = [float(v) for side in values for v in side if not math.isnan(v)]
    top = max([*real, *(predicted or ()), 0.0]) * HEAD_ROOM or 1.0
    for k, side in enumerate(("before", "yours")):
        points = [float(v) for v in values[k] if not math.isnan(v)]
        marks = "".join(_mark("point", v / top) for v in points)
        if not math.isnan(medians[k]):
            marks += _mark("median", medians[k] / top)
        if predicted is not None and not math.isnan(predicted[k]):
            marks += _mark("guess", predicted[k] / top)
        listed = ", ".join(shown(v, m.unit, lang) for v in points) or "–"
        label = escape(text(lang, f"live.points_{side}", values=listed))
        named = f"role='img' aria-label='{label}' title='{label}'"
        yield f"<dd class='line {side}' {named}>{marks}</dd>"


def _mark(kind: str, at: float) -> str:
    return f"<i class='{kind}' style='left:{at:.2%}'></i>"
