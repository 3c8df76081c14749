"""The key builder: parts of the cache key as switches, and who then gets whose answer."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.labs.cached_pair import MAX_CHARS
from core.labs.key_leaks import PARTS, Asking, askings
from core.text import Lang, text
from pages._ui.address import keep_choices
from pages._ui.lang import language, tr
from pages._ui.sections.look import draw_html, escaped

KEPT = "key_parts"
DIGEST_SHOWN = 12
"""Letters of each digest that are shown: enough to see whether two are the same."""


def draw() -> None:
    """Draw the part."""
    keep_choices(KEPT, PARTS, default=PARTS)
    kept = st.pills(
        tr("cachelab.key.parts"),
        PARTS,
        key=KEPT,
        selection_mode="multi",
        format_func=lambda part: tr(f"cachelab.key.part.{part}"),
        help=tr("cachelab.key.parts_help"),
    )
    question = st.text_input(
        tr("cachelab.key.question"),
        value="",
        key="key_question",
        max_chars=MAX_CHARS,
        placeholder=tr("cachelab.key.question_default"),
        bind="query-params",
    )
    asked = question.strip() or tr("cachelab.key.question_default")
    rows = askings(asked, tuple(kept))
    leaks = [row for row in rows if row.leaks]
    if leaks:
        names = ", ".join(tr(f"cachelab.key.part.{row.part}") for row in leaks)
        st.error(tr("cachelab.key.leaks", parts=names), icon=":material/lock_open:")
    else:
        st.success(tr("cachelab.key.safe"), icon=":material/lock:")
    draw_html(_cards(asked, rows, language()), "lab")


def _cards(asked: str, rows: Sequence[Asking], lang: Lang) -> str:
    return f"<ul class='askings'>{''.join(_card(asked, row, lang) for row in rows)}</ul>"


def _card(asked: str, row: Asking, lang: Lang) -> str:
    """Two who ask the same words, and what the second one reads."""
    first, second = (text(lang, f"cachelab.key.answer.{row.part}.{n}") for n in ("first", "second"))
    state = "leak" if row.leaks else "own"
    outcome = text(lang, f"cachelab.key.{state}")
    harm = text(lang, f"cachelab.key.harm.{row.part}") if row.leaks else ""
    part = text(lang, f"cachelab.key.part.{row.part}")
    return (
        f"<li class='{state}'><h5>{escaped(part)}</h5><div class='two'>"
        f"{_asker(asked, row.first, first, row.first_key, '')}"
        f"{_asker(asked, row.second, first if row.leaks else second, row.second_key, outcome)}"
        f"</div>{f'<p class=harm>{escaped(harm)}</p>' if harm else ''}</li>"
    )


def _asker(asked: str, who: str, answer: str, key: str, outcome: str) -> str:
    layer, scope, question = key.split(":")
    shown = f"{layer}:{scope[:DIGEST_SHOWN]}…:{question[:DIGEST_SHOWN]}…"
    told = f"<b class='outcome'>{escaped(outcome)}</b>" if outcome else ""
    return (
        f"<div><p><code>{escaped(who)}</code> {told}</p><p class='asks'>{escaped(asked)}</p>"
        f"<p class='answers'>{escaped(answer)}</p>"
        f"<p class='key'><code>{escaped(shown)}</code></p></div>"
    )
