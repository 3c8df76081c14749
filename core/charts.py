"""Charts as plain data, in the shape Plotly reads; nothing here needs Plotly.

Colours and words come from the caller. One chart so far: how many requests had something by when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.dists import Array
from core.metrics import Summary, summary

Trace = dict[str, object]
Figure = dict[str, object]

HEIGHT_PX = 400
STRIP_DOMAIN, CURVE_DOMAIN = (0.0, 0.15), (0.24, 1.0)
CAPTIONS_AT = 0.195
"""Where the limits are named: in the gap between the curves and the ticks."""

LABEL_ROOM = 1.25
"""The axis goes on so far past both p95 that their values fit beside them on a phone."""

LEFT_FROM = 0.36
"""From this share of the axis on, a value fits left of its dot on a phone."""

MARKED = ("p50", "p95", "p99")
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compared distributions: its values (n,), NaN where a request has none."""

    name: str
    color: str
    values: Array

    @property
    def summary(self) -> Summary:
        """Its percentiles, as far as there are enough values."""
        return summary(self.values)


@dataclass(frozen=True, slots=True)
class Words:
    """What stands on a chart. `hover` holds Plotly's %{x} and %{y}; `unit` follows a number."""

    x: str
    y: str
    hover: str
    unit: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A value to keep, drawn as a line."""

    at: float
    name: str


def share_within(values: Array, limit: float) -> float:
    """Share of all requests with a value of at most `limit`; one without a value is not within.

    0.0 without any request.
    """
    return float(np.count_nonzero(values <= limit)) / len(values) if len(values) else 0.0


def distribution(
    before: Side,
    after: Side,
    words: Words,
    limits: Sequence[Limit] = (),
    *,
    quiet: str = "#888888",
    with_values: bool = True,
) -> Figure:
    """Both cumulative shares with their percentiles, above one tick for each request.

    Requests without a value keep a curve from reaching 100 %. Limits far beyond both distributions
    are left out. `quiet` is the colour of lines that only help to read. `with_values` writes
    the percentiles beside their dots, for which there is no room where the curves are close.
    """
    sides = (before, after)
    furthest = max(_largest(s) for s in sides) or 1.0
    seen = [limit for limit in limits if limit.at <= furthest * 1.25]
    labelled = max(s.summary.p95 or 0.0 for s in sides) * LABEL_ROOM
    right = max([furthest, labelled, *(limit.at for limit in seen)]) * 1.03
    traces = [
        *(_curve(s, words, right, filled=k == 1) for k, s in enumerate(sides)),
        *(_percentiles(s, words, right, with_values, left=k == 1) for k, s in enumerate(sides)),
        *(_strip(s, words, 1 - k) for k, s in enumerate(sides)),
    ]
    layout = {
        "height": HEIGHT_PX,
        "margin": {"l": 8, "r": 16, "t": 30, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        **_axes(before, after, words, right),
        "shapes": [_line(limit, quiet) for limit in seen],
        "annotations": [_title(words.y), *(_caption(limit) for limit in seen)],
    }
    return {"data": traces, "layout": layout}


def _largest(side: Side) -> float:
    real = side.values[~np.isnan(side.values)]
    return float(real.max()) if len(real) else 0.0


def _cumulative(values: Array) -> tuple[Array, Array]:
    """Sorted values and the share of all requests at or below each; the first point is at 0."""
    real = np.sort(values[~np.isnan(values)])
    share = np.arange(1, len(real) + 1) / max(len(values), 1)
    return np.concatenate([real[:1], real]), np.concatenate([[0.0], share])


def _curve(side: Side, words: Words, right: float, *, filled: bool) -> Trace:
    """Return a step curve, on to the right edge; the second one is filled towards the first."""
    x, y = _cumulative(side.values)
    if len(x):
        x, y = np.concatenate([[0.0], x, [right]]), np.concatenate([[0.0], y, [y[-1]]])
    trace: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": side.name,
        "x": _rounded(x),
        "y": _rounded(y),
        "line": {"color": side.color, "width": 3 if filled else 2, "shape": "hv"},
        "hovertemplate": f"{side.name}: {words.hover}<extra></extra>",
    }
    if filled:
        trace |= {"fill": "tonextx", "fillcolor": f"{side.color}1f"}
    return trace


def _percentiles(side: Side, words: Words, right: float, with_values: bool, *, left: bool) -> Trace:
    """Dots at the percentiles there are enough requests for, the first two with their values.

    `left` puts the values on the curve's left, as far as there is room.
    """
    found = side.summary
    values = {p: getattr(found, p) for p in MARKED}
    shown = [p for p in MARKED if values[p] is not None]
    whole = len(side.values) or 1
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": side.name,
        "x": [values[p] for p in shown],
        "y": [round(SHARES[p] * found.n / whole, 5) for p in shown],
        "text": [_label(side, p, values[p], words) if with_values else "" for p in shown],
        "textposition": [
            "top left" if left and values[p] > right * LEFT_FROM else "bottom right" for p in shown
        ],
        "textfont": {"color": side.color, "size": 13},
        "cliponaxis": False,
        "marker": {"color": side.color, "size": 9, "line": {"width": 0}},
        "hovertemplate": [_hint(f"{side.name}, {p}", words) for p in shown],
    }


def _label(side: Side, name: str, value: float, words: Words) -> str:
    """Return what stands at a dot: the median says whose it is, p99 has no room beside p95."""
    written = f"{name} {value:.3g}{words.unit}"
    return {"p50": f"<b>{side.name}</b> {written}", "p99": ""}.get(name, written)


def _strip(side: Side, words: Words, row: int) -> Trace:
    """One short tick a request."""
    real = side.values[~np.isnan(side.values)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": side.name,
        "x": _rounded(np.sort(real)),
        "y": [row] * len(real),
        "yaxis": "y2",
        "marker": {
            "symbol": "line-ns",
            "size": 11,
            "line": {"width": 1, "color": side.color},
            "opacity": 0.4,
        },
        "hovertemplate": _hint(side.name, words),
    }


def _hint(name: str, words: Words) -> str:
    return f"{name}: %{{x:.3~g}}{words.unit}<extra></extra>"


def _rounded(values: Array) -> list[float]:
    return [round(float(v), 5) for v in values]


def _axes(before: Side, after: Side, words: Words, right: float) -> dict[str, object]:
    return {
        "xaxis": {
            "title": {"text": words.x},
            "range": [0, right],
            "ticksuffix": words.unit,
            "fixedrange": True,
            "anchor": "y2",
            "zeroline": False,
        },
        "yaxis": {
            "range": [0, 1.02],
            "domain": list(CURVE_DOMAIN),
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "tickformat": ".0%",
            "fixedrange": True,
        },
        "yaxis2": {
            "range": [-0.7, 1.7],
            "domain": list(STRIP_DOMAIN),
            "tickvals": [1, 0],
            "ticktext": [before.name, after.name],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }


def _line(limit: Limit, color: str) -> dict[str, object]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": limit.at,
        "x1": limit.at,
        "y0": 0,
        "y1": 1,
        "line": {"color": color, "width": 1, "dash": "dot"},
    }


def _caption(limit: Limit) -> dict[str, object]:
    return {
        "text": limit.name,
        "xref": "x",
        "yref": "paper",
        "x": limit.at,
        "y": CAPTIONS_AT,
        "xanchor": "left",
        "yanchor": "middle",
        "showarrow": False,
    }


def _title(text: str) -> dict[str, object]:
    """Return the name of the upright axis, lying above it: so it takes no width."""
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1.02,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }
