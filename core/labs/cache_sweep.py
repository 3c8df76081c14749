"""A semantic cache over all thresholds: what it hits, what of that is wrong, what guards change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from core.charts import Figure, Trace
from core.labs.pairs import Asked, Neighbour, asked
from core.request import Lang, Request
from core.retrieval.guards import GuardId
from core.retrieval.quality import SweepRow, sweep

THRESHOLDS = tuple(round(0.50 + 0.01 * i, 2) for i in range(51))
"""Cosines the sweep looks at."""

HEIGHT_PX = 340


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One request that was served: by which neighbour, how near."""

    request: Request
    neighbour: Neighbour


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Curves with the chosen guards and without any, and what happens at one threshold.

    `wrong` are requests served another question's answer, `lost` right hits that guards refuse.
    """

    guarded: tuple[SweepRow, ...]
    bare: tuple[SweepRow, ...]
    here: SweepRow
    here_bare: SweepRow
    wrong: tuple[Example, ...]
    lost: tuple[Example, ...]


@lru_cache(maxsize=64)
def swept(
    scenario_id: str, lang: Lang, threshold: float, guards: frozenset[GuardId]
) -> Sweep | None:
    """Return the sweep of a scenario's requests in one language; None where none were measured."""
    rows = asked(scenario_id, lang)
    if not any(row.near for row in rows):
        return None
    near = [row.candidates() for row in rows]
    return Sweep(
        sweep(near, THRESHOLDS, guards),
        sweep(near, THRESHOLDS, ()),
        sweep(near, (threshold,), guards)[0],
        sweep(near, (threshold,), ())[0],
        tuple(_wrong(rows, threshold, guards)),
        tuple(_lost(rows, threshold, guards)),
    )


def _wrong(rows: Collection[Asked], threshold: float, guards: Collection[GuardId]) -> list[Example]:
    served = ((row, row.served(threshold, guards)) for row in rows)
    found = [Example(row.request, n) for row, n in served if n is not None and not row.is_right(n)]
    return sorted(found, key=lambda e: -e.neighbour.cosine)


def _lost(rows: Collection[Asked], threshold: float, guards: Collection[GuardId]) -> list[Example]:
    found: list[Example] = []
    for row in rows:
        bare = row.served(threshold, ())
        if bare is not None and row.is_right(bare) and row.served(threshold, guards) is None:
            found.append(Example(row.request, bare))
    return sorted(found, key=lambda e: -e.neighbour.cosine)


@dataclass(frozen=True, slots=True)
class Line:
    """How one curve is drawn and named."""

    name: str
    color: str
    dash: str = "solid"


@dataclass(frozen=True, slots=True)
class SweepWords:
    """What stands on the chart; `hover` holds Plotly's %{x} and %{y}."""

    x: str
    y: str
    here: str
    hover: str


def figure(
    found: Sweep,
    threshold: float,
    words: SweepWords,
    lines: tuple[Line, Line, Line, Line],
) -> Figure:
    """Return hits and wrong hits of all requests asked, with guards and without, by threshold.

    `lines`: hits, wrong hits, hits without guards, wrong hits without guards.
    """
    curves = (found.guarded, found.guarded, found.bare, found.bare)
    drawn = [
        _curve(rows, line, words, wrong=k % 2 == 1)
        for k, (rows, line) in enumerate(zip(curves, lines, strict=True))
    ]
    return {
        "data": drawn[::-1],  # hits last, so that they lie on top where both are 0
        "layout": {
            "height": HEIGHT_PX,
            "margin": {"l": 8, "r": 16, "t": 30, "b": 8},
            "legend": {"orientation": "h", "y": -0.22, "x": 0, "traceorder": "reversed"},
            "hovermode": "x unified",
            "dragmode": False,
            "xaxis": {
                "title": {"text": words.x},
                "range": [THRESHOLDS[0], THRESHOLDS[-1]],
                "fixedrange": True,
                "zeroline": False,
            },
            "yaxis": {
                "tickformat": ".0%",
                "rangemode": "tozero",
                "fixedrange": True,
                "zeroline": False,
            },
            "shapes": [_mark(threshold)],
            "annotations": [_caption(words.y, x=0, xref="paper"), _caption(words.here, threshold)],
        },
    }


def _curve(rows: tuple[SweepRow, ...], line: Line, words: SweepWords, *, wrong: bool) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.name,
        "x": [row.threshold for row in rows],
        "y": [_of_asked(row, wrong=wrong) for row in rows],
        "line": {"color": line.color, "width": 2 if line.dash != "solid" else 3, "dash": line.dash},
        "hovertemplate": words.hover,
    }


def _of_asked(row: SweepRow, *, wrong: bool) -> float:
    """Return the share of all requests asked that were served, or served wrongly."""
    count = row.right.n - row.right.k if wrong else row.hits.k
    return round(count / row.hits.n, 4) if row.hits.n else 0.0


def _mark(threshold: float) -> dict[str, object]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": threshold,
        "x1": threshold,
        "y0": 0,
        "y1": 1,
        "line": {"color": "#888888", "width": 1, "dash": "dot"},
    }


def _caption(text: str, x: float, xref: str = "x") -> dict[str, object]:
    is_mark = xref == "x"
    return {
        "text": text,
        "xref": xref,
        "yref": "paper",
        "x": x,
        "y": 0.98 if is_mark else 1.02,
        "xanchor": "right" if is_mark and x > 0.9 else "left",
        "yanchor": "top" if is_mark else "bottom",
        "showarrow": False,
    }
