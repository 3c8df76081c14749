"""The way there: a staircase from the naive plan to the best set, most gain per effort first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import streamlit as st

from core.advice.answer import Answer, preset_steps
from core.advice.search import gain_per_effort
from core.advice.value import Outcome
from core.text import Lang
from pages._ui.advice import parts
from pages._ui.advice.parts import added, name
from pages._ui.choosing import one_of
from pages._ui.lang import language, tr
from pages._ui.sections.figures import seconds
from pages._ui.sections.look import escaped

SAME_S = 0.0005
"""A median that moves by less is said to stay."""

NEARLY_ALL = 0.9
"""The share of the gain after which what follows is called the rest."""


BEST = "best"
WAYS = (BEST, "guide", "travel-post", "everything")
"""To the best set, or through a preset."""


def draw(answer: Answer) -> None:
    """Draw the staircase and say how far the first steps go."""
    way = one_of("way", WAYS, tr("advice.way"), _way_name)
    later = answer.advice.roadmap if way == BEST else preset_steps(answer.question, way)
    steps = (answer.advice.naive, *later)
    if len(steps) == 1:
        st.info(tr("advice.nothing_helps"))
        return
    st.markdown(_summary(steps))
    longest = max(step.p50_s for step in steps)
    rows = "".join(_rows(answer, steps, longest, language()))
    parts.draw(f"<ol class='stairs'>{rows}</ol>")
    st.caption(tr("advice.roadmap_how" if way == BEST else "advice.preset_how"))


def _way_name(way: str) -> str:
    return tr("advice.best") if way == BEST else tr(f"preset.{way.replace('-', '_')}.title")


def _summary(steps: tuple[Outcome, ...]) -> str:
    """After how many steps nearly all is won."""
    gain = steps[0].p50_s - steps[-1].p50_s
    won = [steps[0].p50_s - step.p50_s for step in steps]
    enough = next((k for k, w in enumerate(won) if w >= NEARLY_ALL * gain), len(won) - 1)
    if gain <= 0 or enough >= len(steps) - 1:
        return tr("advice.all_needed", n=len(steps) - 1)
    return tr("advice.first_steps", k=enough, n=len(steps) - 1, share=f"{won[enough] / gain:.0%}")


def _rows(answer: Answer, steps: tuple[Outcome, ...], longest: float, lang: Lang) -> Iterator[str]:
    yield _row(tr("advice.naive"), "", 0.0, steps[0].p50_s, longest, seconds(steps[0].p50_s, lang))
    for before, after in pairwise(steps):
        new = added(before, after)
        gain = before.p50_s - after.p50_s
        effort, risk = (tr(f"advice.level.{c}") for c in answer.question.classes(new))
        rate = seconds(gain_per_effort(before, after), lang)
        about = tr("advice.step_about", effort=effort, risk=risk, rate=rate)
        key = "same" if abs(gain) < SAME_S else "saves" if gain > 0 else "costs"
        words = tr(
            f"advice.step_{key}", value=seconds(abs(gain), lang), now=seconds(after.p50_s, lang)
        )
        yield _row(name(new), about, before.p50_s, after.p50_s, longest, words)


def _row(title: str, about: str, before: float, after: float, longest: float, words: str) -> str:
    """One step: what is left as a solid bar, what it won (or lost, in red) at its end."""
    left, right = sorted((before, after)) if before else (after, after)
    lost = bool(before) and after > before
    kind, loss = ("lost", " loss") if lost else ("won", "")
    bar = (
        f"<i class='left' style='width:{min(left, after) / longest:.2%}'></i>"
        f"<i class='{kind}' style='left:{left / longest:.2%};"
        f"width:{(right - left) / longest:.2%}'></i>"
    )
    small = f"<small>{escaped(about)}</small>" if about else ""
    return (
        f"<li><span class='who'><b>{escaped(title)}</b>{small}</span>"
        f"<span class='track' aria-hidden='true'>{bar}</span>"
        f"<span class='value{loss}'>{escaped(words)}</span></li>"
    )
