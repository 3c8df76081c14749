"""Charts of tails and loads as plain data, in the shape Plotly reads; nothing here needs Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.charts import Figure, Trace

HEIGHT_PX = 420
QUIET = "#888888"

KIND_COLORS = {
    "llm": "#000003",
    "embed": "#000004",
    "search": "#000005",
    "rerank": "#000006",
    "fetch": "#000007",
    "compute": "#000008",
    "show": "#000009",
    "rest": QUIET,
}
"""Streamlit puts the colours of the theme's palette in the place of these; see its `ROLES`."""

SHADES = (1.0, 0.7, 0.48, 0.32, 0.22)
"""Steps of one kind follow each other in paler shades of its colour."""

WAITING_SHADE = 0.6


@dataclass(frozen=True, slots=True)
class Layer:
    """One step's part of each bar, in seconds; `waiting` is drawn hatched."""

    name: str
    kind: str
    values: tuple[float, ...]
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class StackWords:
    """What stands on a picture of stacked bars; `hover` holds Plotly's %{x} and %{y}."""

    bands: tuple[str, ...]
    unit: str
    hover: str


def stacks(sides: Sequence[tuple[str, Sequence[Layer]]], words: StackWords) -> Figure:
    """Two pictures of stacked bars side by side on one scale, a layer a step."""
    tops = [
        sum(layer.values[k] for layer in layers)
        for _, layers in sides
        for k in range(len(words.bands))
    ]
    traces: list[Trace] = []
    shades: dict[str, float] = {}
    seen: dict[str, int] = {}
    for number, (_, layers) in enumerate(sides, start=1):
        for layer in layers:
            first = layer.name not in shades
            if first:
                place = seen.get(layer.kind, 0)
                shades[layer.name] = SHADES[min(place, len(SHADES) - 1)]
                seen[layer.kind] = place + (not layer.waiting)
            traces.append(_bars(layer, words, number, shades[layer.name], first=first))
    return {"data": traces, "layout": _stack_layout(sides, words, max(tops, default=1.0) * 1.08)}


def _bars(layer: Layer, words: StackWords, number: int, shade: float, *, first: bool) -> Trace:
    color = QUIET if layer.waiting else KIND_COLORS[layer.kind]
    marker: dict[str, object] = {"color": color, "line": {"width": 0}}
    if layer.waiting:
        marker["pattern"] = {"shape": "/", "fillmode": "overlay", "size": 6}
    return {
        "type": "bar",
        "name": layer.name,
        "legendgroup": layer.name,
        "showlegend": first,
        "x": list(words.bands),
        "y": [round(v, 4) for v in layer.values],
        "xaxis": f"x{number}",
        "yaxis": "y",
        "marker": marker,
        "opacity": WAITING_SHADE if layer.waiting else shade,
        "hovertemplate": f"{layer.name}: {words.hover}<extra></extra>",
    }


def _stack_layout(
    sides: Sequence[tuple[str, Sequence[Layer]]], words: StackWords, top: float
) -> dict[str, object]:
    gap = 0.03
    width = (1 - gap * (len(sides) - 1)) / len(sides)
    layout: dict[str, object] = {
        "height": HEIGHT_PX,
        "barmode": "stack",
        "bargap": 0.25,
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "dragmode": False,
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": -0.28, "x": 0, "traceorder": "normal"},
        "yaxis": {
            "range": [0, top],
            "fixedrange": True,
            "ticksuffix": words.unit,
            "zeroline": False,
        },
        "annotations": [
            {
                "text": f"<b>{name}</b>",
                "xref": "paper",
                "yref": "paper",
                "x": k * (width + gap),
                "y": 1.02,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
            }
            for k, (name, _) in enumerate(sides)
        ],
    }
    for k in range(len(sides)):
        left = k * (width + gap)
        layout[f"xaxis{k + 1}"] = {
            "domain": [left, left + width],
            "anchor": "y",
            "fixedrange": True,
            "tickangle": -40,
        }
    return layout


@dataclass(frozen=True, slots=True)
class Curve:
    """p95 over arrivals of one plan, and what it can bear."""

    name: str
    color: str
    rates: tuple[float, ...]
    values: tuple[float | None, ...]
    bearable: float


@dataclass(frozen=True, slots=True)
class CurveWords:
    """What stands on a picture of load; `hover` holds Plotly's %{x} and %{y}."""

    x: str
    y: str
    unit: str
    hover: str
    now: str
    slo: str


def load_curves(curves: Sequence[Curve], words: CurveWords, *, now: float, slo_s: float) -> Figure:
    """p95 against arrivals; a dotted line where a plan cannot bear more, one for now, one for SLO.

    The upright axis ends where the light-load values are still told apart: beyond saturation a p95
    only says how long the load lasted.
    """
    light = [c.values[0] or 0.0 for c in curves if c.values]
    top = max([slo_s * 1.4, *(v * 3.5 for v in light)])
    right = max([now * 1.15, *(c.bearable * 1.25 for c in curves)])
    lines = [_upright(c.bearable, c.color, "dot") for c in curves]
    lines.append(_upright(now, QUIET, "solid"))
    lines.append(
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": "y",
            "y0": slo_s,
            "y1": slo_s,
            "line": {"color": QUIET, "width": 1, "dash": "dash"},
        }
    )
    return {
        "data": [_line(c, words) for c in curves],
        "layout": {
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 16, "t": 34, "b": 8},
            "showlegend": True,
            "legend": {"orientation": "h", "y": -0.22, "x": 0},
            "dragmode": False,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": words.x},
                "range": [0, right],
                "fixedrange": True,
                "zeroline": False,
            },
            "yaxis": {
                "range": [0, top],
                "fixedrange": True,
                "ticksuffix": words.unit,
                "zeroline": False,
            },
            "shapes": lines,
            "annotations": [
                _note(words.y, x=0, y=1.02, xref="paper", yref="paper", anchor="left"),
                _note(words.slo, x=1, y=slo_s, xref="paper", yref="y", anchor="right"),
                _note(words.now, x=now, y=1.0, xref="x", yref="paper", anchor="left"),
            ],
        },
    }


def _upright(at: float, color: str, dash: str) -> dict[str, object]:
    return {
        "type": "line",
        "xref": "x",
        "x0": at,
        "x1": at,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": color, "width": 1.5, "dash": dash},
    }


def _line(curve: Curve, words: CurveWords) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": curve.name,
        "x": [round(r, 4) for r in curve.rates],
        "y": [None if v is None else round(v, 3) for v in curve.values],
        "line": {"color": curve.color, "width": 3},
        "marker": {"size": 8},
        "hovertemplate": f"{curve.name}: {words.hover}<extra></extra>",
    }


def _note(text: str, *, x: float, y: float, xref: str, yref: str, anchor: str) -> dict[str, object]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": xref,
        "yref": yref,
        "xanchor": anchor,
        "yanchor": "bottom",
        "showarrow": False,
    }
