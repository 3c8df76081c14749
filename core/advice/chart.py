"""The front of good sets as a chart, in the shape Plotly reads; nothing here needs Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.advice.value import Outcome

Figure = dict[str, object]

HEIGHT_PX = 420
ROOM = 1.15
"""The axes go on so far past the furthest mark."""

QUIET = "#888888"
SIZE_PX, DOT_PX = 13, 5


@dataclass(frozen=True, slots=True)
class Mark:
    """Sets drawn alike: the legend's name, colour, Plotly symbol, and the name of each set."""

    name: str
    color: str
    symbol: str
    sets: tuple[Outcome, ...]
    hover: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """What stands on the chart: both axes, and sets named beside their place."""

    x: str
    y: str
    others: str
    named: tuple[tuple[Outcome, str], ...]


def front(marks: Sequence[Mark], others: Sequence[Outcome], words: Words, requests: int) -> Figure:
    """Wait against the cost of so many requests, one mark a set; down and left is better.

    `others` are sets that are beaten: small dots, as far as they are not much worse than the rest.
    """
    shown = [o for mark in marks for o in mark.sets] + [o for o, _ in words.named]
    right = max(o.p50_s for o in shown) * ROOM
    top = max(o.cost_usd for o in shown) * requests * ROOM
    near = [o for o in others if o.p50_s < right and o.cost_usd * requests < top]
    return {
        "data": [_dots(near, words, requests), *(_trace(mark, requests) for mark in marks)],
        "layout": {
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "dragmode": False,
            "hovermode": "closest",
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "xaxis": {"title": {"text": words.x}, "range": [0, right], "fixedrange": True},
            "yaxis": {
                "title": {"text": words.y},
                "range": [0, top],
                "tickprefix": "$",
                "fixedrange": True,
            },
            "annotations": [_label(o, name, requests) for o, name in words.named],
        },
    }


def _trace(mark: Mark, requests: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": mark.name,
        "x": [round(o.p50_s, 4) for o in mark.sets],
        "y": [round(o.cost_usd * requests, 4) for o in mark.sets],
        "text": list(mark.hover),
        "hovertemplate": "%{text}<br>%{x:.2f} s · $%{y:.2f}<extra></extra>",
        "marker": {"color": mark.color, "symbol": mark.symbol, "size": SIZE_PX},
        "cliponaxis": False,
    }


def _dots(sets: Sequence[Outcome], words: Words, requests: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": words.others,
        "x": [round(o.p50_s, 4) for o in sets],
        "y": [round(o.cost_usd * requests, 4) for o in sets],
        "hoverinfo": "skip",
        "marker": {"color": QUIET, "size": DOT_PX, "opacity": 0.45},
    }


def _label(outcome: Outcome, name: str, requests: int) -> dict[str, object]:
    return {
        "x": outcome.p50_s,
        "y": outcome.cost_usd * requests,
        "text": name,
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "ax": 0,
        "ay": -28,
    }
