"""Charts of a fit as plain data: what was measured against the law, and what the law left over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.charts import Figure, Trace
from core.fitted import Law, Sample
from pages._ui.lang import tr
from pages._ui.sections.spread import BEFORE, YOURS

HEIGHT_PX = 300
CURVE_POINTS = 40


def first_token(law: Law, samples: Sequence[Sample]) -> Figure:
    """Time to first token by uncached input tokens: points measured, the law as a line."""
    fresh = [s for s in samples if not s.cached_tok]
    reused = [s for s in samples if s.cached_tok]
    most = max((s.uncached_tok for s in samples), default=1)
    x = np.linspace(0.0, most * 1.05, CURVE_POINTS)
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": tr("calibrate.chart.law"),
        "x": [round(float(v), 1) for v in x],
        "y": [round(float(v), 5) for v in law.ttft_s(x, np.zeros_like(x))],
        "line": {"color": YOURS, "width": 2},
        "hoverinfo": "skip",
    }
    points = [
        _points(tr("calibrate.chart.fresh"), fresh, YOURS, "circle"),
        _points(tr("calibrate.chart.reused"), reused, BEFORE, "diamond"),
    ]
    axes = (tr("calibrate.chart.uncached"), tr("calibrate.chart.ttft"))
    return {"data": [line, *points], "layout": _layout(*axes)}


def residuals(law: Law, samples: Sequence[Sample]) -> Figure:
    """Measured total against what the law says of it, in per cent, by measured total."""
    x = [round(s.total_s, 4) for s in samples]
    y = [round(s.total_s / total_s(law, s) - 1.0, 4) for s in samples]
    trace: Trace = {
        "type": "scatter",
        "mode": "markers",
        "name": tr("calibrate.chart.left_over"),
        "x": x,
        "y": y,
        "marker": {"color": YOURS, "size": 10},
        "hovertemplate": "%{x:.2f} s, %{y:+.1%}<extra></extra>",
        "showlegend": False,
    }
    layout = _layout(tr("calibrate.chart.total"), tr("calibrate.chart.error"))
    reach = max([0.1, *(abs(v) * 1.15 for v in y)])
    layout["yaxis"] = {"tickformat": "+.0%", "range": [-reach, reach], "fixedrange": True,
                       "zeroline": True, "zerolinewidth": 2}  # fmt: skip
    return {"data": [trace], "layout": layout}


def total_s(law: Law, sample: Sample) -> float:
    """What the law says that a call of this size takes."""
    u, h, o = (float(v) for v in (sample.uncached_tok, sample.cached_tok, sample.out_tok))
    return law.ttft_s(u, h) + law.decode_s(u, h, o)


def _points(name: str, samples: Sequence[Sample], color: str, symbol: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [s.uncached_tok for s in samples],
        "y": [round(s.ttft_s, 5) for s in samples],
        "marker": {"color": color, "size": 10, "symbol": symbol},
        "hovertemplate": "%{x} → %{y:.3f} s<extra></extra>",
    }


def _layout(x: str, y: str) -> dict[str, object]:
    """Fixed height, no tools, the upright axis named above it so that it takes no width."""
    return {
        "height": HEIGHT_PX,
        "margin": {"l": 8, "r": 16, "t": 34, "b": 8},
        "dragmode": False,
        "legend": {"orientation": "h", "y": -0.3, "x": 0},
        "xaxis": {"title": {"text": x}, "fixedrange": True, "rangemode": "tozero"},
        "yaxis": {"fixedrange": True, "rangemode": "tozero"},
        "annotations": [
            {"text": y, "xref": "paper", "yref": "paper", "x": 0, "y": 1.0, "xanchor": "left",
             "yanchor": "bottom", "showarrow": False}
        ],
    }  # fmt: skip
