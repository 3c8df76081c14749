"""What short keys, merged and split calls do to answers: measured ahead on a live engine."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.quality_table import PLAIN, CaseRow, FieldRow, Quality, Table, kept
from core.retrieval.quality import pooled
from core.text import Lang, text
from pages._ui.address import keep_choice
from pages._ui.labs.cache_controls import pick_pipeline
from pages._ui.labs.numbers import counted, tight
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE, seconds, share, signed_share
from pages._ui.sections.look import draw_html, escaped

WEAK = 0.5
"""Where fewer fields of the plain calls agree with the reference, the model is called too weak."""


def draw() -> None:
    """Draw the part. Raises InvalidData where the kept result is broken."""
    pipeline = pick_pipeline()
    found = kept()
    rows = [] if found is None else [r for r in found.found.cases if r.scenario == pipeline]
    if found is None or not rows:
        st.info(tr("tokenlab.answers.none"))
        return
    lang = language()
    draw_html(_told(found.found, rows, lang) + _cases(found.found, rows, lang), "lab")
    st.caption(tr("tokenlab.answers.columns"))
    case = _pick(rows)
    mine = [row for row in rows if row.case == case]
    draw_html(_fields([found.found.fields_of(row) for row in mine], mine, lang), "lab")
    st.caption(tr("tokenlab.answers.same"))
    _basis(found)


def _told(found: Quality, rows: Sequence[CaseRow], lang: Lang) -> str:
    """The outcome in a sentence or two: the form held by schema and by prompt, and the content."""
    by_schema, by_prompt = (
        pooled(row.valid for row in rows if row.by_schema is held) for held in (True, False)
    )
    right = pooled(found.agreement(row)[1] for row in rows if row.case == PLAIN and row.by_schema)
    facts = {
        "schema": counted(by_schema, lang),
        "prompt": counted(by_prompt, lang),
        "right": counted(right, lang),
    }
    is_weak = bool(right.n) and right.value < WEAK
    heading = text(lang, "tokenlab.answers.weak" if is_weak else "tokenlab.answers.fair")
    body = text(lang, "tokenlab.answers.told", **facts)
    return (
        f"<div class='verdict {'no' if is_weak else 'yes'}' role='status'>"
        f"<b>{escaped(heading)}</b><p>{escaped(body)}</p></div>"
    )


def _cases(found: Quality, rows: Sequence[CaseRow], lang: Lang) -> str:
    keys = ("case", "valid", "complete", "as_plain", "as_reference", "tokens", "time", "change")
    head = [text(lang, f"tokenlab.answers.{key}") for key in keys]
    plain = {row.by_schema: row.calls_s for row in rows if row.case == PLAIN}
    body = [
        (
            f"{_name(row.case, lang)} · {_held(row, lang)}",
            *(tight(s) for s in (row.valid, row.complete, *found.agreement(row))),
            f"{row.tokens_out:,.0f}",
            seconds(row.calls_s, lang),
            NONE if row.case == PLAIN else signed_share(row.calls_s / plain[row.by_schema] - 1),
        )
        for row in rows
    ]
    return table(head, body, kind="wide")


def _pick(rows: Sequence[CaseRow]) -> str:
    cases = tuple(dict.fromkeys(row.case for row in rows))
    keep_choice("answers_case", cases, default=cases[min(1, len(cases) - 1)])
    lang = language()
    chosen = st.segmented_control(
        tr("tokenlab.answers.look_at"),
        cases,
        key="answers_case",
        format_func=lambda case: _name(case, lang),
        required=True,
    )
    return str(chosen)


def _fields(columns: Sequence[Sequence[FieldRow]], rows: Sequence[CaseRow], lang: Lang) -> str:
    """One case field by field, a pair of columns for each way its form was held."""
    keys = ("as_reference",) if rows[0].case == PLAIN else ("as_plain", "as_reference")
    names = [
        f"{text(lang, f'tokenlab.answers.{key}')} · {_held(row, lang)}"
        for row in rows
        for key in keys
    ]
    head = [text(lang, "tokenlab.answers.field"), *names]
    body = [
        (pair[0].field, *(tight(getattr(f, key)) for f in pair for key in keys))
        for pair in zip(*columns, strict=True)
        if any(f.as_reference.n for f in pair)
    ]
    return table(head, body, kind="wide")


def _name(case: str, lang: Lang) -> str:
    return text(lang, "tokenlab.answers.plain" if case == PLAIN else f"technique.{case}.title")


def _held(row: CaseRow, lang: Lang) -> str:
    return text(lang, f"tokenlab.answers.{'by_schema' if row.by_schema else 'by_prompt'}")


def _basis(found: Table) -> None:
    facts = {
        "engine": tr(f"provider.title.{found.engine.replace('-', '_')}"),
        "large": found.large,
        "small": found.small,
        "date": found.date[:16].replace("T", " "),
        "machine": found.machine,
        "noise": NONE if found.noise is None else share(found.noise),
    }
    st.caption(tr("tokenlab.answers.basis", **facts))
