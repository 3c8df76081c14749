"""The list of all techniques by principle: what each is for and what it does by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.metrics import Reader
from core.profiles import Setting
from core.rewrite import Technique
from core.scenarios import SCENARIOS, scenario
from core.techniques import HEADLINE_ORDER, TECHNIQUES, technique
from core.text import LANGS, text
from pages._ui.address import keep_choice, keep_choices
from pages._ui.catalogue import words
from pages._ui.controls import OTHERS
from pages._ui.lang import PARAMETER, chosen_language, language, tr
from pages._ui.sections.look import draw_html, escaped

ALL = (*HEADLINE_ORDER, *OTHERS)
NONE = "all"
PRINCIPLES = tuple(str(p) for p in (*sorted({t.principle for t in TECHNIQUES} - {0}), 0))
NO_FIGURES = "…"


def pick() -> str | None:
    """The technique the address names; None for the list."""
    keep_choice("technique", (NONE, *ALL), default=NONE)
    chosen = st.selectbox(
        tr("catalogue.open"),
        (NONE, *ALL),
        key="technique",
        format_func=lambda t: tr("catalogue.all", n=len(ALL)) if t == NONE else _title(t),
    )
    return None if chosen == NONE else str(chosen)


def back() -> None:
    """Return to the list. For `on_click`."""
    st.session_state["technique"] = NONE


def _title(technique_id: str) -> str:
    return tr(f"technique.{technique_id}.title")


def filtered() -> list[Technique]:
    """What the search box and the principles leave."""
    wanted = st.text_input(
        tr("catalogue.search"),
        key="find",
        bind="query-params",
        placeholder=tr("playground.search_hint"),
        max_chars=80,
    )
    keep_choices("principle", PRINCIPLES)
    chosen = st.pills(
        tr("catalogue.principle"),
        PRINCIPLES,
        key="principle",
        selection_mode="multi",
        wrap=True,
        format_func=lambda p: tr(f"principle.{p}"),
    )
    return [
        t
        for t in map(technique, ALL)
        if _matches(t, wanted) and (not chosen or str(t.principle) in chosen)
    ]


def _matches(t: Technique, wanted: str) -> bool:
    """Whether every word is in the id or in what is said about it, in either language."""
    keys = (f"technique.{t.id}.{part}" for part in ("title", "help", "when", "catch"))
    told = [text(lang, key) for key in keys for lang in LANGS]
    where = " ".join([t.id, t.id.replace("_", " "), *told]).casefold()
    return all(word in where for word in wanted.casefold().split())


def draw(found: Sequence[Technique], setting: Setting, reader: Reader) -> None:
    """Draw the list: at once without figures, then with them."""
    if not found:
        st.info(tr("catalogue.nothing"))
        return
    place = st.empty()
    with place.container():
        draw_html(_list(found, lambda *_: NO_FIGURES), "catalogue")
    with st.spinner(tr("catalogue.working")):
        body = _list(found, lambda t, name: words.cell(t.id, scenario(name), setting, reader))
    with place.container():
        draw_html(body, "catalogue")


def _list(found: Sequence[Technique], figure: Callable[[Technique, str], str]) -> str:
    groups: dict[int, list[Technique]] = {}
    for t in found:
        groups.setdefault(t.principle, []).append(t)
    ordered = sorted(groups.items(), key=lambda group: PRINCIPLES.index(str(group[0])))
    parts = [
        f"<h4>{escaped(tr(f'principle.{principle}'))}</h4>"
        f"<ul>{''.join(_row(t, figure) for t in group)}</ul>"
        for principle, group in ordered
    ]
    heads = [tr("catalogue.technique"), *(scenario(s).title[language()] for s in SCENARIOS)]
    head = "".join(f"<span>{escaped(h)}</span>" for h in (*heads, tr("catalogue.classes")))
    return f"<div class='catalogue'><div class='head'>{head}</div>{''.join(parts)}</div>"


def _row(t: Technique, figure: Callable[[Technique, str], str]) -> str:
    """One technique: name and what it does, what it is worth on each pipeline, effort and risk."""
    figures = "".join(
        f"<p class='figure'><span class='label'>{escaped(scenario(s).title[language()])}</span> "
        f"{figure(t, s)}</p>"
        for s in SCENARIOS
    )
    return (
        f"<li><div class='who'><a href='{escaped(link(t.id))}' target='_self'>"
        f"{escaped(_title(t.id))}</a><p>{escaped(tr(f'technique.{t.id}.help'))}</p></div>"
        f"{figures}<p class='classes'>{escaped(classes(t))}</p></li>"
    )


def classes(t: Technique) -> str:
    """Effort, risk and whether something new has to be run, in one line."""
    effort, risk = (tr(f"advice.level.{level}") for level in (t.effort, t.risk))
    line = tr("catalogue.effort_risk", effort=effort, risk=risk)
    return f"{line} · {tr('catalogue.new_to_run')}" if t.infrastructure else line


def link(technique_id: str) -> str:
    """The address of a technique, in the language somebody chose."""
    chosen = chosen_language()
    return f"?technique={technique_id}" + (f"&{PARAMETER}={chosen}" if chosen else "")
