"""What retrieval settings find, and what each diet keeps: tables measured on labelled requests."""

from __future__ import annotations

import streamlit as st

from core.labs.recall_table import DEEPEST, Measured, RecallRow, measured
from core.retrieval.diets import PLENTY, Diet
from core.retrieval.quality import Share
from core.text import LANGS, Lang, text
from pages._ui.labs.cache_controls import pick_pipeline
from pages._ui.labs.numbers import counted
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE, share
from pages._ui.sections.look import draw_html, escaped

DEPTHS = tuple(range(1, DEEPEST + 1))
TARGET_K = 3
"""The k the pipelines use; its share is shown with an interval."""


def draw() -> None:
    """Draw the part."""
    pipeline = pick_pipeline()
    found = measured()
    if found is None:
        st.info(tr("raglab.tables.none"))
        return
    lang = language()
    for spoken in LANGS:
        rows = [r for r in found.recalls if (r.scenario, r.lang) == (pipeline, spoken)]
        if rows:
            draw_html(_recalls(rows, spoken, lang), "lab")
    draw_html(_diets(found, pipeline, lang), "lab")
    st.caption(tr("raglab.tables.diet_note"))
    draw_html(_stops(found, pipeline, lang), "lab")
    st.caption(tr("raglab.tables.stop_note"))
    st.caption(tr("raglab.tables.basis", date=found.date, machine=found.machine))


def _recalls(rows: list[RecallRow], spoken: Lang, lang: Lang) -> str:
    """Recall by method, rerank and k."""
    depths = (f"@{k}" for k in DEPTHS)
    head = (text(lang, "raglab.tables.setting"), *depths, f"@{TARGET_K}, 95%")
    best = max(range(len(rows)), key=lambda i: (rows[i].share(TARGET_K).k, i))
    body = [
        (
            _named(row, lang),
            *(share(row.share(k).value) for k in DEPTHS),
            _interval(row.share(TARGET_K)),
        )
        for row in rows
    ]
    title = text(lang, "raglab.tables.recall_title", lang=text(lang, f"lab.lang_{spoken}"))
    return f"<h5>{escaped(title)}</h5>{table(head, body, marked=best, kind='wide')}"


def _named(row: RecallRow, lang: Lang) -> str:
    method = text(lang, f"raglab.method_{row.method}")
    rerank = text(lang, f"raglab.tables.rerank_{row.rerank}")
    return f"{method}, {rerank}"


def _interval(found: Share) -> str:
    if not found.n:
        return NONE
    low, high = found.interval
    return f"{low:.0%}–{high:.0%} ({found.k}/{found.n})"


def _diets(found: Measured, pipeline: str, lang: Lang) -> str:
    """Tokens spent and saved, answer kept, facts kept."""
    head = [
        text(lang, f"raglab.tables.{k}") for k in ("diet", "tokens", "saved", "answer", "facts")
    ]
    body = [
        (
            _diet_name(row.diet, lang),
            f"{row.tokens_mean:,.0f}",
            NONE if row.diet == PLENTY else share(row.saved),
            counted(row.answer, lang),
            counted(row.facts, lang),
        )
        for row in (d.kept for d in found.diets if d.scenario == pipeline)
    ]
    title = escaped(text(lang, "raglab.tables.diet_title"))
    return f"<h5>{title}</h5>{table(head, body)}"


def _diet_name(diet: Diet, lang: Lang) -> str:
    return text(lang, f"raglab.tables.name_{diet.kind}", k=diet.top_k, n=diet.limit or 0)


def _stops(found: Measured, pipeline: str, lang: Lang) -> str:
    """What fail-fast stops, by language and kind of question."""
    head = [text(lang, f"raglab.tables.{k}") for k in ("asked", "stopped")]
    body = [
        (
            f"{text(lang, f'lab.lang_{row.lang}')}: {text(lang, f'raglab.tables.kind_{row.kind}')}",
            counted(row.stopped, lang),
        )
        for row in found.stops
        if row.scenario == pipeline
    ]
    title = escaped(text(lang, "raglab.tables.stop_title"))
    return f"<h5>{title}</h5>{table(head, body)}"
