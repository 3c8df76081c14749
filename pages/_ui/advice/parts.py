"""What all views of an answer share: names, sets, links, and how an outcome is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import streamlit as st

from core.advice.value import WEIGHT, Outcome
from core.techniques import HEADLINE_ORDER
from pages._ui.controls import OTHERS
from pages._ui.lang import tr
from pages._ui.sections.look import draw_html, escaped

PLAYGROUND = "play/playground.py"
WITH_TOGGLES = "next"
"""The view that draws the toggles of the Playground."""

_LEAVE = "open_playground"


def draw(body: str) -> None:
    """Show HTML in the style of this page. Whatever text it holds must be escaped."""
    draw_html(f"<div class='advice'>{body}</div>", "advice")


def name(technique_id: str) -> str:
    """What a technique is called."""
    return tr(f"technique.{technique_id}.title")


def names(techniques: Iterable[str]) -> str:
    """Techniques in the order people meet them, by name; a word where there is none."""
    chosen = set(techniques)
    shown = [name(t) for t in (*HEADLINE_ORDER, *OTHERS) if t in chosen]
    return ", ".join(shown) or tr("advice.nothing")


def level(weight: int) -> str:
    """What a class of risk is called, by its weight."""
    return tr(f"advice.level.{next(n for n, w in WEIGHT.items() if w == weight)}")


def open_button(label: str, techniques: Collection[str], *, key: str) -> None:
    """A button that opens the Playground with just these switched on.

    Not a link: a parameter that says what is the default anyway would not move back a toggle that
    somebody has moved before.
    """
    icon = ":material/play_arrow:"
    st.button(label, key=key, icon=icon, on_click=_switch, args=(frozenset(techniques),))


def leave() -> None:
    """Open the Playground if such a button was clicked: first of all, before there are toggles."""
    if not st.session_state.pop(_LEAVE, False):
        return
    on = {t: str(bool(st.session_state[t])).lower() for t in HEADLINE_ORDER}
    on["also"] = ",".join(st.session_state["also"])
    # A view with toggles has bound them to the address: they go along by themselves.
    bound = st.session_state.get("show") == WITH_TOGGLES
    st.switch_page(PLAYGROUND, query_params=None if bound else on)


def _switch(techniques: frozenset[str]) -> None:
    """Set the toggles of the Playground."""
    st.session_state[_LEAVE] = True
    for t in HEADLINE_ORDER:
        st.session_state[t] = t in techniques
    st.session_state["also"] = [t for t in OTHERS if t in techniques]


def added(before: Outcome, after: Outcome) -> str:
    """The one technique that came to a set."""
    (new,) = after.techniques - before.techniques
    return new


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table; cells are HTML, the first one of a row names it.

    Each cell carries the name of its column, for screens on which the rows are stacked.
    """
    names = [escaped(h) for h in heads]
    head = "".join(f"<th scope='col'>{h}</th>" for h in names)
    body = "".join(
        f"<tr><th scope='row'>{first}</th>{_cells(names, rest)}</tr>" for first, *rest in rows
    )
    return (
        f"<div class='scroll'><table class='{kind}'><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(names: Sequence[str], cells: Sequence[str]) -> str:
    return "".join(
        f"<td data-name='{name}'>{cell}</td>" for name, cell in zip(names[1:], cells, strict=True)
    )
