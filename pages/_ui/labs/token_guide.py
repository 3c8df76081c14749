"""The guide's "19 tokens", counted again: long keys, short ones, and short ones with comments."""

from __future__ import annotations

import streamlit as st

from core.labs.guide_keys import CLAIMED, InPractice, in_practice, key_counts
from core.text import Lang, text
from pages._ui.labs.table import table
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped


def draw() -> None:
    """Draw the part."""
    lang = language()
    with st.container(width=860):
        st.markdown(tr("tokenlab.guide.claim", claimed=CLAIMED))
        draw_html(_keys(lang), "lab")
        st.markdown(tr("tokenlab.guide.reading"))
        draw_html(_practice(lang), "lab")
        st.markdown(tr("tokenlab.guide.practice", **_facts()))
        st.caption(tr("tokenlab.guide.basis"))


def _keys(lang: Lang) -> str:
    """Keys alone: long, short, short with comments."""
    heads = ("keys", "table", "long", "short", "saved", "commented", "saved_commented")
    head = [text(lang, f"tokenlab.guide.{key}") for key in heads]
    rows = [
        (
            text(lang, "tokenlab.guide.of_keys", n=row.keys),
            row.encoding,
            f"{row.long_tok}",
            f"{row.short_tok}",
            _signed(-row.saved),
            f"{row.commented_tok}",
            _signed(-row.saved_with_comments),
        )
        for row in key_counts()
    ]
    title = escaped(text(lang, "tokenlab.guide.keys_title"))
    return f"<h5>{title}</h5>{table(head, rows)}"


def _practice(lang: Lang) -> str:
    """A whole answer, and the part of the prompt that tells how to write it."""
    heads = ("what", *(row.encoding for row in in_practice()))
    head = [text(lang, "tokenlab.guide.what"), *heads[1:]]
    names = (
        "answer_long_tok",
        "answer_short_tok",
        "answer_minified_tok",
        "prompt_long_tok",
        "prompt_short_tok",
    )
    rows = [
        (text(lang, f"tokenlab.guide.{name}"), *(f"{getattr(row, name)}" for row in in_practice()))
        for name in names
    ]
    title = escaped(text(lang, "tokenlab.guide.practice_title"))
    return f"<h5>{title}</h5>{table(head, rows)}"


def _facts() -> dict[str, int]:
    first: InPractice = in_practice()[0]
    return {
        "output": first.answer_long_tok - first.answer_short_tok,
        "input": first.prompt_short_tok - first.prompt_long_tok,
    }


def _signed(change: int) -> str:
    return f"{change:+d}".replace("-", "−") if change else "0"
