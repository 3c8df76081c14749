"""A stream of requests with repeats through every cache layer, and the latency it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import streamlit as st

from core.charts import Figure, Side, Trace, Words, distribution
from core.labs.cache_stream import (
    LAYERS,
    SEED,
    Layer,
    N,
    Streamed,
    StreamSettings,
    streamed,
)
from core.labs.desk import desk
from core.metrics import Summary, summary
from core.profiles import setting
from core.text import Lang, text
from core.workload import REPEAT_SHARE, ZIPF_EXPONENT
from pages._ui.address import keep_choices
from pages._ui.labs.cache_controls import pick_pipeline, pick_threshold
from pages._ui.labs.numbers import brief
from pages._ui.labs.table import table
from pages._ui.labs.waiting import awaited
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE, seconds, share
from pages._ui.sections.look import draw_html, escaped

BEFORE, YOURS = "#000001", "#000002"
"""Streamlit puts the first two colours of the theme's chart palette in the place of these two."""


def draw() -> None:
    """Draw the part."""
    pipeline = pick_pipeline()
    side, stage = st.columns([1, 2], gap="medium")
    with side:
        chosen = _settings(pipeline)
    with stage:
        where = setting()
        key = ("stream", chosen, where.large.name)
        job = desk().ask_thread(key, lambda: streamed(chosen, where))
        found = awaited(job, key, tr("cachelab.stream.working", n=N))
        if found is None:
            return
        lang = language()
        draw_html(_outcomes(found, lang), "lab")
        _chart(found)
        draw_html(_groups(found, lang) + _inner(found, chosen, lang), "lab")
        for note in _notes(found, chosen, lang):
            st.caption(note)


def _settings(pipeline: str) -> StreamSettings:
    keep_choices("layers", LAYERS, default=LAYERS)
    layers = st.pills(
        tr("cachelab.stream.layers"),
        LAYERS,
        key="layers",
        selection_mode="multi",
        format_func=lambda layer: tr(f"cachelab.layer.{layer}"),
        wrap=True,
    )
    threshold = pick_threshold()
    guards = st.toggle(
        tr("cachelab.stream.guards"), value=True, key="all_guards", bind="query-params"
    )
    repeats = st.slider(
        tr("cachelab.stream.repeats"), 0.0, 1.0, REPEAT_SHARE, 0.05,
        key="repeats", bind="query-params", help=tr("cachelab.stream.repeats_help"),
    )  # fmt: skip
    zipf = st.slider(
        tr("cachelab.stream.zipf"), 0.0, 1.5, ZIPF_EXPONENT, 0.1,
        key="zipf", bind="query-params", help=tr("cachelab.stream.zipf_help"),
    )  # fmt: skip
    ttl_h = st.slider(
        tr("cachelab.stream.ttl"), 0.5, 48.0, 24.0, 0.5,
        key="ttl", bind="query-params", help=tr("cachelab.stream.ttl_help"),
    )  # fmt: skip
    kept = tuple(layer for layer in LAYERS if layer in layers)
    return StreamSettings(pipeline, kept, threshold, guards, ttl_h, repeats, zipf)


def _outcomes(found: Streamed, lang: Lang) -> str:
    """One bar of all requests by how they ended, and the same in words."""
    parts = [g for g in found.groups if g.n]
    label = "; ".join(_share(g.outcome, g.n, found.n, lang) for g in parts)
    blocks = "".join(
        f"<i class='{g.outcome}' style='width:{g.n / found.n:.2%}'></i>" for g in parts
    )
    keys = "".join(
        f"<li><i class='{g.outcome}'></i>{escaped(_share(g.outcome, g.n, found.n, lang))}</li>"
        for g in parts
    )
    return (
        f"<div class='outcomes' role='img' aria-label='{escaped(label)}'>{blocks}</div>"
        f"<ul class='outcome-keys'>{keys}</ul>"
    )


def _share(outcome: str, n: int, whole: int, lang: Lang) -> str:
    name = text(lang, f"cachelab.outcome.{outcome}")
    return text(lang, "cachelab.stream.share", name=name, share=share(n / whole), n=f"{n:,}")


def _chart(found: Streamed) -> None:
    lang = language()
    unit = text(lang, "race.unit_s")
    words = Words(
        tr("section.spread.seconds"),
        tr("section.spread.share"),
        tr("section.spread.within", x=f"%{{x:.3~g}}{unit}", y="%{y:.0%}"),
        f" {unit}" if lang == "en" else unit,
    )
    before = Side(tr("cachelab.stream.without"), BEFORE, found.before_s)
    after = Side(tr("cachelab.stream.with"), YOURS, found.after_s)
    medians = [seconds(side.summary.p50 or 0.0, lang) for side in (before, after)]
    st.plotly_chart(
        _named_in_a_legend(distribution(before, after, words)),
        key="stream_chart",
        config={"displayModeBar": False, "responsive": True},
        alt=tr("cachelab.stream.alt", n=found.n, before=medians[0], after=medians[1]),
    )


def _named_in_a_legend(figure: Figure) -> Figure:
    """Name the curves in a legend: two medians close together leave no room beside their dots."""
    traces = cast("list[Trace]", figure["data"])
    layout = cast("dict[str, object]", figure["layout"])
    quiet = [
        trace | {"mode": str(trace["mode"]).removesuffix("+text"), "showlegend": False}
        if trace["mode"] != "lines"
        else trace
        for trace in traces
    ]
    legend = {"orientation": "h", "x": 1, "y": 1.0, "xanchor": "right", "yanchor": "bottom"}
    return {"data": quiet, "layout": layout | {"showlegend": True, "legend": legend}}


def _groups(found: Streamed, lang: Lang) -> str:
    """Times of each group without and with caches; all requests first."""
    head = ["", *(text(lang, f"cachelab.stream.{k}") for k in ("requests", "median", "p95"))]
    rows = [_group_row("all", found.n, summary(found.before_s), summary(found.after_s), lang)]
    rows += [_group_row(g.outcome, g.n, g.before, g.after, lang) for g in found.groups if g.n]
    return table(head, rows, marked=0)


def _group_row(
    name: str, n: int, before: Summary, after: Summary, lang: Lang
) -> tuple[str, str, str, str]:
    def change(one: float | None, other: float | None) -> str:
        return " → ".join(NONE if v is None else seconds(v, lang) for v in (one, other))

    title = text(lang, f"cachelab.outcome.{name}")
    return title, f"{n:,}", change(before.p50, after.p50), change(before.p95, after.p95)


def _inner(found: Streamed, chosen: StreamSettings, lang: Lang) -> str:
    """The layers inside a request that went on, and what they found."""
    if not found.inner:
        return ""
    head = [text(lang, f"cachelab.stream.{k}") for k in ("inner", "found", "of")]
    rows = [
        (
            text(lang, f"cachelab.layer.{layer.layer}"),
            f"{layer.found:,} ({share(layer.found / layer.asked) if layer.asked else NONE})",
            text(lang, f"cachelab.stream.of_{_unit(layer.layer)}", n=f"{layer.asked:,}"),
        )
        for layer in found.inner
        if layer.layer in chosen.layers
    ]
    return table(head, rows) if rows else ""


def _unit(layer: Layer) -> str:
    return "tokens" if layer == "prompt" else "requests"


def _notes(found: Streamed, chosen: StreamSettings, lang: Lang) -> Iterator[str]:
    """What a miss pays, what is wrong, why inner layers may find nothing, how it was made."""
    wrong, served = found.count("wrong"), found.count("exact", "right", "wrong")
    if found.miss_cost_s:
        yield text(lang, "cachelab.stream.miss_cost", cost=brief(found.miss_cost_s, lang))
    if wrong:
        yield text(lang, "cachelab.stream.wrong", wrong=wrong, served=served)
    idle = [i.layer for i in found.inner if not i.found and i.layer in chosen.layers]
    if "embedding" in idle and "exact" in chosen.layers:
        yield text(lang, "cachelab.stream.inner_idle")
    if "prompt" in idle:
        yield text(lang, "cachelab.stream.prompt_idle")
    yield text(lang, "cachelab.stream.basis", n=found.n, seed=SEED)
