"""A text in all its shapes: tokens of each in both tables, what that saves, and a look inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core import tokens
from core.labs.json_text import Parsed
from core.labs.shapes import ENCODINGS, Shape, shapes
from core.labs.short_keys import legend
from core.labs.token_time import token_time
from core.profiles import DEFAULT_LARGE, models
from core.text import Lang, say, text
from pages._ui.address import keep_choice
from pages._ui.labs.numbers import brief
from pages._ui.labs.token_boxes import token_boxes
from pages._ui.labs.token_input import pick_aliases, pick_text, read
from pages._ui.lang import language, tr
from pages._ui.sections.figures import signed_share
from pages._ui.sections.look import draw_html, escaped


def draw() -> None:
    """Draw the part."""
    side, stage = st.columns([2, 3], gap="large")
    with side:
        written = pick_text()
        found = read(written) if written.strip() else None
        aliases = pick_aliases(found) if found is not None else {}
    with stage:
        if not written.strip():
            st.info(tr("tokenlab.empty"))
            return
        rows = _shapes(written, found, aliases)
        draw_html(_bars(rows, language()), "lab")
        if found is not None:
            _worth(rows, aliases)
        else:
            st.caption(tr("tokenlab.not_json"))
        _inside(rows)


def _shapes(written: str, found: Parsed | None, aliases: Mapping[str, str]) -> tuple[Shape, ...]:
    """Return every shape of JSON; of anything else the text as it is."""
    if found is not None:
        return shapes(written, found, aliases)
    counts = tuple(tokens.count(written, name) for name in ENCODINGS)
    return (Shape("given", written, counts),)


def _bars(rows: Sequence[Shape], lang: Lang) -> str:
    """Two bars a shape, one for each table, longest at full width."""
    longest = max(max(row.tokens, default=0) for row in rows) or 1
    names = " / ".join(ENCODINGS)
    head = escaped(text(lang, "tokenlab.bars", encodings=names))
    body = "".join(_bar(row, rows[0], longest, lang) for row in rows)
    return f"<p class='hint'>{head}</p><div class='shapes'>{body}</div>"


def _bar(row: Shape, given: Shape, longest: int, lang: Lang) -> str:
    name = f"<span class='name'>{escaped(text(lang, f'tokenlab.shape.{row.id}'))}</span>"
    if row.reason is not None:
        return f"{name}<span class='unfit'>{escaped(say(row.reason, lang))}</span>"
    bars = "".join(f"<i style='width:{n / longest:.2%}'></i>" for n in row.tokens)
    counts = " / ".join(f"{n:,}" for n in row.tokens)
    changes = " / ".join(
        signed_share((n - was) / was if was else None)
        for n, was in zip(row.tokens, given.tokens, strict=True)
    )
    small = "" if row is given else f"<small>{escaped(changes)}</small>"
    return (
        f"{name}<span class='track' aria-hidden='true'>{bars}</span>"
        f"<span class='value'>{escaped(counts)}{small}</span>"
    )


def _worth(rows: Sequence[Shape], aliases: Mapping[str, str]) -> None:
    """What short keys save as output, and what explaining them costs as input."""
    by_id = {row.id: row for row in rows}
    saved = by_id["given"].tokens[0] - by_id["short_minified"].tokens[0]
    explained = tokens.count(legend(aliases))
    model = models()[DEFAULT_LARGE]
    found = token_time(model, saved_out_tok=saved, added_in_tok=explained)
    lang = language()
    st.caption(
        tr(
            "tokenlab.worth",
            saved=saved,
            explained=explained,
            model=model.name,
            output=brief(abs(found.output_s), lang),
            input=brief(found.input_s, lang),
            date=model.source_date,
        )
    )


def _inside(rows: Sequence[Shape]) -> None:
    """One shape as boxes, in the table of choice."""
    there = tuple(row.id for row in rows if row.reason is None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shape = _choice("shape", there, "tokenlab.shape")
        encoding = pick_encoding("table")
    chosen = next((row for row in rows if row.id == shape), rows[0])
    draw_html(token_boxes(chosen.text, encoding, language()), "lab")


def _choice(key: str, options: Sequence[str], names: str) -> str:
    keep_choice(key, options, default=options[0])
    labels = {option: tr(f"{names}.{option}") for option in options}
    chosen = st.selectbox(
        tr("tokenlab.look_at"),
        options,
        key=key,
        format_func=labels.__getitem__,
        width=260,
    )
    return str(chosen)


def pick_encoding(key: str) -> str:
    """Return the token table to count with."""
    chosen = st.segmented_control(
        tr("tokenlab.table"),
        ENCODINGS,
        key=key,
        default=ENCODINGS[0],
        required=True,
        bind="query-params",
    )
    return str(chosen)
