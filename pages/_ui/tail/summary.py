"""The row of figures on top, and what is a loss, in red with its reason."""

from __future__ import annotations

import math

import streamlit as st

from core.charts import share_within
from core.load import Load
from core.metrics import metric, summary
from pages._ui.lang import tr
from pages._ui.sections.figures import NONE, amount, metric_name, seconds, share
from pages._ui.sections.look import draw_html, escaped
from pages._ui.tail.view import TailView

CROWDED = 0.9
"""From this share of the pool in use on, waits grow fast."""


def draw(view: TailView) -> None:
    """Share within the limit, p95, failures, load; then warnings and losses."""
    found, before, after = view.loaded
    name = metric_name(metric(view.metric_id), view.lang)
    inside = [share_within(v, view.slo_s) for v in view.values]
    p95 = [summary(v).p95 for v in view.values]
    failed = [float(t.failed.mean()) for t in (found.before, found.after)]
    with st.container(horizontal=True, gap="small", key="tail_figures"):
        _card(
            "within",
            _points(*inside),
            share(inside[1]),
            share(inside[0]),
            limit=seconds(view.slo_s, view.lang),
            metric=name,
        )
        _card(
            "p95",
            _relative(p95[0], p95[1]),
            amount(p95[1], "s", view.lang),
            amount(p95[0], "s", view.lang),
            metric=name,
        )
        _card("failed", _points(*failed), share(failed[1]), share(failed[0]), lower=True)
        _card(
            "used",
            _points(before.used, after.used),
            _share(after.used),
            _share(before.used),
            lower=True,
        )
        _card(
            "bearable",
            _relative(before.bearable_per_s, after.bearable_per_s),
            _rate(after),
            _rate(before),
            lower=False,
        )
    _remarks(view, before, after, p95)


def _share(value: float | None) -> str:
    return NONE if value is None else share(value)


def _rate(load: Load) -> str:
    return tr("tail.per_s", value=f"{load.bearable_per_s:.2f}")


def _points(before: float | None, after: float | None) -> str:
    """A change of a share in percentage points, with the sign that steers the arrow."""
    if before is None or after is None or abs(after - before) < 0.0005:
        return ""
    return tr("tail.points", value=f"{(after - before) * 100:+.1f}")


def _relative(before: float | None, after: float | None) -> str:
    if not before or after is None or math.isclose(before, after, rel_tol=0.005):
        return ""
    return f"{(after - before) / before:+.0%}"


def _card(
    key: str, change: str, now: str, was: str, *, lower: bool | None = None, **facts: str
) -> None:
    better_lower = key == "p95" if lower is None else lower
    st.metric(
        tr(f"tail.card.{key}", **facts),
        now,
        delta=f"{change} ({was})" if change else tr("playground.no_change"),
        delta_color="off" if not change else ("inverse" if better_lower else "normal"),
        delta_arrow="auto" if change else "off",
        help=tr(f"tail.card.{key}_help"),
        width=158,
    )


def _remarks(view: TailView, before: Load, after: Load, p95: list[float | None]) -> None:
    """What a person should know, losses first."""
    lines = [("loss", _harm(view, k)) for k in range(len(view.harms))]
    a, b = p95
    bearable = view.rate_per_s <= min(before.bearable_per_s, after.bearable_per_s)
    if bearable and a is not None and b is not None and b > a * 1.01 and not lines:
        lines.append(
            ("loss", tr("tail.worse", before=seconds(a, view.lang), after=seconds(b, view.lang)))
        )
    for side, load in (("before", before), ("yours", after)):
        if view.rate_per_s > load.bearable_per_s:
            key, kind = "saturated", "loss" if side == "yours" else "note"
        elif (load.used or 0.0) > CROWDED:
            key, kind = "crowded", "note"
        else:
            continue
        facts = {
            "side": tr(f"tail.side.{side}"),
            "bearable": f"{load.bearable_per_s:.2f}",
            "used": _share(load.used),
            "queue": load.longest_queue,
            "rate": f"{view.rate_per_s:.2f}",
        }
        lines.append((kind, tr(f"tail.{key}", **facts)))
        if load.gap_s > 1e-9:
            lines.append(("note", tr("tail.unsettled", side=tr(f"tail.side.{side}"))))
    if lines:
        body = "".join(f"<p class='{kind}'>{escaped(words)}</p>" for kind, words in lines)
        draw_html(f"<div class='remarks'>{body}</div>", "tail")


def _harm(view: TailView, number: int) -> str:
    harm = view.harms[number]
    return tr(
        "tail.harm",
        name=tr(f"technique.{harm.technique}.title"),
        calls=f"{harm.more_calls:.0%}",
        used=_share(harm.used),
        without=seconds(harm.without_s, view.lang),
        with_it=seconds(harm.with_s, view.lang),
    )
