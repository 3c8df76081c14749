"""English against Korean: the same content in both languages, in both token tables."""

from __future__ import annotations

import streamlit as st

from core.labs.languages import Pair, pairs, ratios
from core.text import LANGS, Lang, text
from pages._ui.labs.table import table
from pages._ui.labs.token_boxes import token_boxes
from pages._ui.labs.token_shapes import pick_encoding
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped


def draw() -> None:
    """Draw the part."""
    found = pairs()
    lang = language()
    draw_html(_all(found, lang), "lab")
    st.caption(tr("tokenlab.languages.basis", n=len(found)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = _pick(found, lang)
        encoding = pick_encoding("table")
    columns = st.columns(2, gap="medium")
    for name, content, column in zip(LANGS, pair.texts, columns, strict=True):
        with column:
            title = escaped(text(lang, f"lab.lang_{name}"))
            chars = escaped(text(lang, "tokenlab.languages.chars", n=f"{len(content):,}"))
            boxes = token_boxes(content, encoding, lang)
            draw_html(f"<h5>{title} <small>{chars}</small></h5>{boxes}", "lab")


def _pick(found: tuple[Pair, ...], lang: Lang) -> Pair:
    ids = [pair.id for pair in found]
    by_id = {pair.id: pair for pair in found}
    titles = {pair.id: pair.english.title if lang == "en" else pair.korean.title for pair in found}
    chosen = st.selectbox(
        tr("tokenlab.languages.pair"),
        ids,
        key="content",
        format_func=titles.__getitem__,
        persist_state="session",
        width=340,
    )
    return by_id[str(chosen)]


def _all(found: tuple[Pair, ...], lang: Lang) -> str:
    keys = ("table", "english", "korean", "ratio", "spread")
    head = [text(lang, f"tokenlab.languages.{key}") for key in keys]
    rows = [
        (
            row.encoding,
            f"{row.english_tok:,}",
            f"{row.korean_tok:,}",
            f"{row.median:.2f}×",
            f"{row.low:.2f}–{row.high:.2f}×",
        )
        for row in ratios(found)
    ]
    return table(head, rows)
