"""The threshold swept over labelled requests: hits and wrong hits, with guards and without."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.labs.cache_sweep import Example, Line, Sweep, SweepWords, figure, swept
from core.labs.pairs import encoder_of
from core.retrieval.quality import Share, SweepRow
from core.scenarios import scenario
from core.text import Lang, text
from pages._ui.labs.cache_controls import (
    pick_guards,
    pick_language,
    pick_pipeline,
    pick_threshold,
)
from pages._ui.labs.numbers import counted
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped

SHOWN = 6
"""Wrong and lost hits shown at most, the nearest first."""

HITS, WRONG, BARE = "#000002", "#000007", "#000001"
"""Streamlit puts the theme's chart colours in the place of these: yours, fetch (a red), before."""


def draw() -> None:
    """Draw the part."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pipeline = pick_pipeline()
        spoken = pick_language("requests_in")
    side, stage = st.columns([1, 2], gap="medium")
    with side:
        threshold = pick_threshold()
        guards = pick_guards()
    found = swept(pipeline, spoken, threshold, guards)
    with stage:
        if found is None:
            st.info(tr("cachelab.sweep.none"))
            return
        _chart(found, threshold)
    lang = language()
    draw_html(_numbers(found, lang), "lab")
    lists = (("wrong", found.wrong), ("lost", found.lost))
    for column, (name, rows) in zip(st.columns(2, gap="medium"), lists, strict=True):
        with column:
            draw_html(_listed(name, rows, lang), "lab")
    facts = {"encoder": encoder_of(scenario(pipeline), spoken), "n": found.here.hits.n}
    st.caption(tr("cachelab.sweep.basis", **facts))


def _chart(found: Sweep, threshold: float) -> None:
    lines = (
        Line(tr("cachelab.sweep.hits"), HITS),
        Line(tr("cachelab.sweep.wrong_hits"), WRONG),
        Line(tr("cachelab.sweep.hits_bare"), BARE, "dash"),
        Line(tr("cachelab.sweep.wrong_bare"), WRONG, "dot"),
    )
    words = SweepWords(
        tr("cachelab.threshold"),
        tr("cachelab.sweep.of_asked"),
        f"{threshold:.2f}",
        "%{y:.0%}",
    )
    st.plotly_chart(
        figure(found, threshold, words, lines),
        key="sweep_chart",
        config={"displayModeBar": False, "responsive": True},
        alt=tr("cachelab.sweep.alt", **_facts(found.here)),
    )


def _facts(row: SweepRow) -> dict[str, object]:
    return {
        "threshold": f"{row.threshold:.2f}",
        "n": row.hits.n,
        "hits": row.hits.k,
        "wrong": row.right.n - row.right.k,
    }


def _numbers(found: Sweep, lang: Lang) -> str:
    """Hits and wrong hits at the threshold, with guards and without."""
    head = ("", *(text(lang, f"cachelab.sweep.{name}") for name in ("hit_rate", "wrong_share")))
    rows = [
        (text(lang, f"cachelab.sweep.{name}"), counted(row.hits, lang), counted(_wrong(row), lang))
        for name, row in (("with_guards", found.here), ("without_guards", found.here_bare))
    ]
    return table(head, rows, marked=0)


def _wrong(row: SweepRow) -> Share:
    return Share(row.right.n - row.right.k, row.right.n)


def _listed(name: str, examples: Sequence[Example], lang: Lang) -> str:
    """The nearest examples of one kind, asked question above the cached one."""
    title = text(lang, f"cachelab.sweep.{name}_title", n=len(examples))
    if not examples:
        none = escaped(text(lang, f"cachelab.sweep.{name}_none"))
        return f"<h5>{escaped(title)}</h5><p class='hint'>{none}</p>"
    items = "".join(_item(example, lang) for example in examples[:SHOWN])
    return f"<h5>{escaped(title)}</h5><ul class='pairs'>{items}</ul>"


def _item(example: Example, lang: Lang) -> str:
    near = example.neighbour
    guards = ", ".join(text(lang, f"cachelab.guard.{g}") for g in sorted(near.refused_by))
    note = f"{near.cosine:.2f}" + (f" · {guards}" if guards else "")
    return (
        f"<li><p>{escaped(example.request.message)}</p>"
        f"<p class='cached'>{escaped(near.request.message)}</p>"
        f"<small>{escaped(text(lang, 'cachelab.sweep.note', note=note))}</small></li>"
    )
