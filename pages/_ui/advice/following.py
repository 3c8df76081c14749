"""The next single step from where somebody is: what the Playground's toggles say."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from core.advice.answer import Answer, Question, following
from core.advice.value import Outcome
from core.techniques import HEADLINE_ORDER
from pages._ui.advice import parts
from pages._ui.advice.parts import added, name, names, table
from pages._ui.controls import FIRST_SCREEN, pick_others
from pages._ui.lang import language, tr
from pages._ui.sections.figures import NONE, amount, seconds
from pages._ui.sections.look import escaped

SAME_S = 0.005
"""A median that moves by less is said to stay."""


def draw(answer: Answer) -> None:
    """Draw where somebody is, and every step from there."""
    now = _now()
    with st.spinner(tr("advice.working")):
        here, steps = following(answer.question, now)
    lang = language()
    st.markdown(tr("advice.you_are", names=names(now), value=seconds(here.p50_s, lang)))
    if not steps:
        st.info(tr("advice.no_step"))
        return
    first = steps[0]
    if here.p50_s - first.p50_s >= SAME_S:
        gain = seconds(here.p50_s - first.p50_s, lang)
        st.markdown(tr("advice.next_is", name=name(added(here, first)), gain=gain))
        label = tr("advice.next_open", name=name(added(here, first)))
        parts.open_button(label, first.techniques, key="open_next")
    else:
        st.markdown(tr("advice.no_step_helps"))
    parts.draw(_table(answer.question, here, steps))


def _now() -> frozenset[str]:
    """The toggles of the Playground, under the same names in the address."""
    with st.expander(tr("advice.here")), st.container(horizontal=True, key="here"):
        on = [
            t
            for t in HEADLINE_ORDER
            if st.toggle(name(t), value=t in FIRST_SCREEN, key=t, bind="query-params")
        ]
        on += pick_others()
    return frozenset(on)


def _table(question: Question, here: Outcome, steps: tuple[Outcome, ...]) -> str:
    heads = (
        tr("advice.switch_on"),
        tr("advice.median"),
        tr("advice.p95"),
        tr("section.cost_of_1000"),
        tr("advice.effort"),
        tr("advice.risk"),
    )
    return table(heads, _rows(question, here, steps), "stacked")


def _rows(
    question: Question, here: Outcome, steps: tuple[Outcome, ...]
) -> Iterator[tuple[str, ...]]:
    for step in steps:
        classes = question.classes(added(here, step))
        yield (
            escaped(name(added(here, step))),
            _change(here.p50_s, step.p50_s, "s"),
            _change(here.p95_s, step.p95_s, "s"),
            _change(here.cost_usd, step.cost_usd, "usd"),
            *(escaped(tr(f"advice.level.{c}")) for c in classes),
        )


def _change(before: float, after: float, unit: str) -> str:
    """A difference with its sign: a loss in red, a dash where it is too small to see."""
    difference = after - before
    if not abs(difference) >= (SAME_S if unit == "s" else 5e-6):
        return NONE
    value = amount(abs(difference), unit, language())
    kind = "loss" if difference > 0 else "gain"
    sign = "+" if difference > 0 else "−"
    return f"<span class='{kind}'>{sign}{escaped(value)}</span>"
