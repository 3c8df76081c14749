"""The plan as a graph, before and after, with what the request shown made of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import streamlit as st

from core.graph import Run, Words, links, sentences
from core.graph_svg import Drawing, graph
from core.layered import ranks
from core.plan import Plan
from core.text import Lang, catalogue, text
from core.timeline import State, Timeline
from pages._ui.lang import tr
from pages._ui.sections.drawing import drawing
from pages._ui.sections.look import draw_html, escaped
from pages._ui.view import View

KINDS = ("llm", "embed", "search", "rerank", "fetch", "compute", "show")
NARROWEST = 0.6
"""A graph gets at least this share of the room of the wider one."""

_TEXTS = "section.graph."


def draw(view: View) -> None:
    """Draw the section."""
    if not view.choices:
        st.info(tr("section.nothing_on"))
    draw_html(_legend(view), "graph")
    sides = {"before": view.race.before, "yours": view.race.after}
    shown = sides if view.choices else {"before": view.race.before}
    drawn = {side: _drawn(view, side) for side in shown}
    widest = max(d.width for d in drawn.values())
    columns = st.columns([max(d.width, NARROWEST * widest) for d in drawn.values()])
    for column, (side, timeline) in zip(columns, shown.items(), strict=True):
        with column:
            st.markdown(f"**{tr(f'section.graph.title_{side}')}** · {_shape(timeline.plan)}")
            label = tr("section.graph.scroll", side=tr(f"section.graph.title_{side}"))
            drawing(drawn[side].svg, key=f"graph_{side}", label=label, lane=side)
    with st.expander(tr("section.graph.as_text")):
        for column, (side, timeline) in zip(st.columns(len(shown)), shown.items(), strict=True):
            with column:
                draw_html("".join(_listed(view, side, timeline)), "graph")


@lru_cache(maxsize=64)
def _drawn(view: View, side: str) -> Drawing:
    timeline = view.race.before if side == "before" else view.race.after
    return graph(timeline.plan, _words(view, side, timeline.plan), Run.of(timeline))


def _words(view: View, side: str, plan: Plan) -> Words:
    title = text(view.lang, f"section.graph.title_{side}")
    labels = {s.id: view.scenario.label(s.id, view.lang) for s in plan.steps}
    heading = text(view.lang, "section.graph.alt", side=title, n=len(plan.steps))
    return Words(heading, labels, _texts(view.lang))


@lru_cache(maxsize=2)
def _texts(lang: Lang) -> dict[str, str]:
    """Everything a graph says beside the names of steps."""
    texts = catalogue()[lang]
    own = {k.removeprefix(_TEXTS): v for k, v in texts.items() if k.startswith(_TEXTS)}
    kinds = {f"kind_{kind}": texts[f"race.kind_{kind}"] for kind in KINDS}
    return own | kinds | {"in_s": texts["race.in_s"]}


def _shape(plan: Plan) -> str:
    """How many steps, model calls, and how long the longest chain is."""
    rank = ranks([s.id for s in plan.steps], [(e.source, e.target) for e in links(plan)])
    return tr(
        "section.graph.shape",
        steps=len(plan.steps),
        calls=len(plan.llm_steps),
        longest=max(rank.values()) + 1,
    )


def _legend(view: View) -> str:
    """Return what lines mean, as far as the two plans use them."""
    timelines: tuple[Timeline, ...] = (view.race.before, view.race.after)
    edges = [e for t in timelines for e in links(t.plan)]
    used = {
        "data": True,
        "order": any(not e.data for e in edges),
        "stream": any(e.streams for e in edges),
        "decides": any(e.decides for e in edges),
        "critical": True,
        "skipped": any((t.state[-1] == State.SKIPPED).any() for t in timelines),
    }
    items = (
        f"<li><i class='{name}' aria-hidden='true'></i>"
        f"{escaped(tr(f'section.graph.legend_{name}'))}</li>"
        for name, yes in used.items()
        if yes
    )
    return f"<ul class='lines'>{''.join(items)}</ul>"


def _listed(view: View, side: str, timeline: Timeline) -> Iterator[str]:
    yield f"<h5>{escaped(tr(f'section.graph.title_{side}'))}</h5>"
    words = _words(view, side, timeline.plan)
    for sentence in sentences(timeline.plan, words, Run.of(timeline)):
        yield f"<p class='step-text'>{escaped(sentence)}</p>"
