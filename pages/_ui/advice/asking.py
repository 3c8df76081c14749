"""What is asked: the goal, what has to be kept, and how effort and risk are judged."""

from __future__ import annotations

import streamlit as st

from core.advice.search import Limits
from core.advice.value import GOALS, WEIGHT, Goal
from core.rewrite import Level
from core.techniques import HEADLINE_ORDER, TECHNIQUES, technique
from pages._ui.address import keep_choice, keep_choices
from pages._ui.advice import parts
from pages._ui.advice.parts import table
from pages._ui.choosing import one_of
from pages._ui.controls import OTHERS
from pages._ui.lang import tr
from pages._ui.sections.figures import PER_REQUESTS
from pages._ui.sections.look import escaped

ANY = "any"
MOST_CHANGES = 8
LEVELS: tuple[Level, ...] = tuple(WEIGHT)
SCOPES = ("eight", "all")

ALL = (*HEADLINE_ORDER, *OTHERS)

_JUDGED = "levels"
"""Techniques judged otherwise than in the catalogue, in the address: `levels=hedge.low.none,...`"""


def pick_goal() -> Goal:
    """What is to become shorter."""
    chosen = one_of("goal", GOALS, tr("advice.goal"), lambda g: tr(f"metric.{g}"))
    return next(goal for goal in GOALS if goal == chosen)


def pick_scope() -> bool:
    """Whether the whole catalogue is asked about."""
    sizes = {"eight": len(HEADLINE_ORDER), "n": len(TECHNIQUES)}
    label = tr("advice.scope")
    return one_of("scope", SCOPES, label, lambda s: tr(f"advice.scope_{s}", **sizes)) == "all"


def pick_limits() -> Limits:
    """What the best set has to keep."""
    slo_s = _number("slo", least=0.1, most=120.0, step=0.5)
    per_1000_usd = _number("budget", least=0.01, most=1000.0, step=1.0)
    return Limits(
        slo_s,
        None if per_1000_usd is None else per_1000_usd / PER_REQUESTS,
        _most_changes(),
        _switch("careful", "no_quality_risk"),
        _switch("same_servers", "no_infrastructure"),
    )


def _number(key: str, *, least: float, most: float, step: float) -> float | None:
    """A limit in the address; None where there is none."""
    value = st.number_input(
        tr(f"advice.{key}"),
        min_value=least,
        max_value=most,
        value=None,
        step=step,
        key=key,
        bind="query-params",
        placeholder=tr("advice.none"),
        help=tr(f"advice.{key}_help"),
    )
    return None if value is None else float(value)


def _most_changes() -> int | None:
    options = (ANY, *(str(k) for k in range(1, MOST_CHANGES + 1)))
    keep_choice("changes", options, default=ANY)
    chosen = st.selectbox(
        tr("advice.changes"),
        options,
        key="changes",
        format_func=lambda k: tr("advice.any_number") if k == ANY else tr("advice.at_most", k=k),
    )
    return None if chosen == ANY else int(chosen)


def _switch(key: str, name: str) -> bool:
    return st.checkbox(
        tr(f"advice.{name}"), key=key, bind="query-params", help=tr(f"advice.{name}_help")
    )


def pick_levels() -> tuple[tuple[str, Level, Level], ...]:
    """Effort and risk of every technique, and a place to judge them otherwise."""
    codes = [f"{t.id}.{e}.{r}" for t in TECHNIQUES for e in LEVELS for r in LEVELS]
    keep_choices(_JUDGED, codes)
    judged = _judged()
    panel = st.expander(tr("advice.judge"), key="judge", on_change="rerun")
    if panel.open:
        with panel:
            _judge(judged)
    return tuple((t, e, r) for t, (e, r) in judged.items())


def _judged() -> dict[str, tuple[Level, Level]]:
    """What was judged otherwise, by id, in the order of the catalogue."""
    found: dict[str, tuple[Level, Level]] = {}
    for code in st.session_state[_JUDGED]:
        name, effort, risk = code.split(".")
        found[name] = (_level(effort), _level(risk))
    return found


def _level(name: str) -> Level:
    return next(level for level in LEVELS if level == name)


def _judge(judged: dict[str, tuple[Level, Level]]) -> None:
    st.caption(tr("advice.judge_help"))
    chosen = st.selectbox(
        tr("advice.technique"),
        ALL,
        key="judged_technique",
        format_func=lambda t: tr(f"technique.{t}.title"),
    )
    found = technique(chosen)
    now = judged.get(chosen, (found.effort, found.risk))
    for what, level in zip(("effort", "risk"), now, strict=True):
        st.selectbox(
            tr(f"advice.{what}"),
            LEVELS,
            index=LEVELS.index(level),
            key=f"judged_{what}_{chosen}",
            format_func=lambda n: tr(f"advice.level.{n}"),
            on_change=_keep_judgement,
            args=(chosen,),
        )
    if judged:
        st.button(tr("advice.judge_reset"), on_click=_forget_judgements, key="judge_reset")
    parts.draw(_classes(judged))


def _keep_judgement(technique_id: str) -> None:
    effort, risk = (st.session_state[f"judged_{w}_{technique_id}"] for w in ("effort", "risk"))
    found = technique(technique_id)
    rest = [c for c in st.session_state[_JUDGED] if c.split(".")[0] != technique_id]
    own = (effort, risk) != (found.effort, found.risk)
    st.session_state[_JUDGED] = [*rest, f"{technique_id}.{effort}.{risk}"] if own else rest


def _forget_judgements() -> None:
    st.session_state[_JUDGED] = []
    for key in [k for k in st.session_state if str(k).startswith("judged_")]:
        del st.session_state[key]


def _classes(judged: dict[str, tuple[Level, Level]]) -> str:
    """A table of the classes in use; what is judged otherwise stands out."""
    rows = []
    for name in ALL:
        found = technique(name)
        classes = judged.get(name, (found.effort, found.risk))
        cells = (tr(f"technique.{name}.title"), *(tr(f"advice.level.{c}") for c in classes))
        mark = "<b class='own'>{}</b>" if name in judged else "{}"
        rows.append([mark.format(escaped(cell)) for cell in cells])
    heads = [tr(f"advice.{what}") for what in ("technique", "effort", "risk")]
    return f"<div class='classes'>{table(heads, rows)}</div>"
