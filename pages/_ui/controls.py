"""The Playground's controls: question, models, toggles, presets; all in the address."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core import fitted_io
from core.metrics import READING_EN_CPS, READING_KO_CPS, Reader
from core.nearest import MAX_MESSAGE_CHARS, Match, asking, nearest
from core.profiles import (
    DEFAULT_LARGE,
    DEFAULT_ROUTE,
    DEFAULT_SMALL,
    FITTED,
    Setting,
    models,
    routes,
    setting,
)
from core.request import Request
from core.rewrite import Choice, Range, Technique
from core.scenarios import SCENARIOS, Scenario, scenario
from core.techniques import HEADLINE_ORDER, PRESETS, TECHNIQUES, choose, technique
from pages._ui.address import carry, keep_choice, keep_choices
from pages._ui.choosing import one_of
from pages._ui.lang import language, tr

FIRST_SCREEN: tuple[str, ...] = ("streaming", "short_keys", "parallel", "small_model")
"""What is switched on for a first visitor: enough to see both kinds of latency fall."""

OTHERS = tuple(
    t.id for t in sorted(TECHNIQUES, key=lambda t: t.principle or len(TECHNIQUES)) if not t.headline
)
"""By principle, those of none last; within one in order of application."""

_BEFORE_PRESET = "toggles_before_preset"
_POPULAR = "popular"


def pick_scenario() -> Scenario:
    """Which pipeline."""
    label = tr("playground.scenario")
    return scenario(one_of("pipeline", SCENARIOS, label, lambda s: scenario(s).title[language()]))


def pick_request(base: Scenario) -> tuple[Scenario, Request, Match | None]:
    """An example question, or the person's own words with the example that answers them.

    Raises InputError for a message that is too long.
    """
    label = tr("playground.source")
    source = one_of("source", ("example", "own"), label, lambda s: tr(f"playground.{s}"))
    if source == "own":
        return _own_words(base)
    first = popular(base)
    ids = [_POPULAR, *(r.id for r in _own_language_first(base) if r is not first)]
    key = f"{base.id}_q"
    keep_choice(key, ids, default=_POPULAR)
    chosen = st.selectbox(
        tr("playground.request"),
        ids,
        key=key,
        format_func=lambda i: _caption(first if i == _POPULAR else base.request(i)),
    )
    return base, first if chosen == _POPULAR else base.request(str(chosen)), None


def _own_words(base: Scenario) -> tuple[Scenario, Request, Match | None]:
    message = st.text_input(
        tr("playground.message"),
        key="ask",
        placeholder=tr("playground.message_hint"),
        max_chars=MAX_MESSAGE_CHARS,
        bind="query-params",
    )
    match = nearest(base, message) if message.strip() else None
    if match is not None and match.answers:
        own = asking(base, message.strip())
        return own, own.requests[0], match
    return base, popular(base), match


def popular(base: Scenario) -> Request:
    """The most asked question in the reader's language: what an address without one means."""
    mine = language()
    return next(r for r in base.requests if r.lang == mine and not r.history)


def _own_language_first(base: Scenario) -> list[Request]:
    mine = language()
    return sorted(base.requests, key=lambda r: r.lang != mine)


def _caption(request: Request) -> str:
    """The question, with a mark where a conversation goes before it."""
    return f"… {request.message}" if request.history else request.message


def pick_setting() -> tuple[Setting, Reader]:
    """Models, network path and reading pace."""
    usable = [name for name, profile in models().items() if not profile.missing]
    usable += [FITTED + name for name in fitted_io.saved()]
    large = _model("large", usable, DEFAULT_LARGE)
    small = _model("small", usable, DEFAULT_SMALL)
    paths = list(routes())
    carry("route")
    route = st.selectbox(
        tr("playground.route"),
        paths,
        index=paths.index(DEFAULT_ROUTE),
        key="route",
        bind="query-params",
    )
    carry("pace")
    pace = st.number_input(
        tr("playground.pace"),
        0.5,
        4.0,
        1.0,
        0.1,
        format="%.1f",
        key="pace",
        bind="query-params",
        help=tr("playground.pace_help", en=READING_EN_CPS, ko=READING_KO_CPS),
    )
    return setting(large, small, str(route)), Reader(pace)


def _model(role: str, usable: list[str], default: str) -> str:
    carry(role)
    chosen = st.selectbox(
        tr(f"playground.{role}"),
        usable,
        index=usable.index(default),
        key=role,
        bind="query-params",
    )
    return str(chosen)


def pick_techniques() -> tuple[Choice, ...]:
    """Presets, toggles, all others and their settings, for a page that runs as a whole."""
    draw_presets()
    draw_toggles()
    pick_others()
    draw_parameters()
    return chosen_techniques()


def draw_toggles() -> None:
    """The headline toggles by principle."""
    with st.container(gap="xsmall", key="toggles"):
        for principle, ids in by_principle(HEADLINE_ORDER).items():
            st.caption(tr(f"principle.{principle}"))
            for t in ids:
                _toggle(t)


def pick_others() -> list[str]:
    """All techniques but the headline ones, in a list that can be searched; those that are on."""
    keep_choices("also", OTHERS)
    return st.multiselect(
        tr("playground.more", n=len(OTHERS)),
        OTHERS,
        key="also",
        format_func=_with_principle,
        placeholder=tr("playground.search"),
    )


def _with_principle(technique_id: str) -> str:
    """Name a technique so that a search finds it by its principle, too."""
    principle = tr(f"principle.{technique(technique_id).principle}")
    return f"{tr(f'technique.{technique_id}.title')} · {principle}"


def chosen_techniques() -> tuple[Choice, ...]:
    """What the toggles and settings on the page say. Raises InputError for a bad setting."""
    chosen = _switched_on()
    return choose(chosen, {t: _settings(technique(t)) for t in chosen})


def _settings(t: Technique) -> dict[str, object]:
    return {
        f.name: st.session_state.get(f"{t.id}_{f.name}", f.default)
        for f in dataclasses.fields(t.params)
    }


def by_principle(ids: Sequence[str]) -> dict[int, list[str]]:
    """The techniques by principle, principles in order of first mention."""
    groups: dict[int, list[str]] = {}
    for t in ids:
        groups.setdefault(technique(t).principle, []).append(t)
    return groups


def _toggle(technique_id: str) -> None:
    what = tr(f"technique.{technique_id}.help")
    catch = tr(f"technique.{technique_id}.catch")
    carry(technique_id)
    st.toggle(
        tr(f"technique.{technique_id}.title"),
        value=technique_id in FIRST_SCREEN,
        key=technique_id,
        bind="query-params",
        help=f"{what}\n\n{catch}",
    )


def draw_presets() -> None:
    """Sets of techniques to switch on at once, and the way back."""
    with st.container(horizontal=True, gap="xsmall", key="presets"):
        for name in PRESETS:
            st.button(
                tr(f"preset.{name.replace('-', '_')}.title"),
                key=f"preset_{name}",
                help=tr(f"preset.{name.replace('-', '_')}.help"),
                on_click=_use_preset,
                args=(name,),
                type="tertiary",
            )
        if _BEFORE_PRESET in st.session_state:
            st.button(
                tr("playground.undo"),
                key="preset_undo",
                help=tr("playground.undo_help"),
                on_click=_undo,
                type="tertiary",
                icon=":material/undo:",
            )


def _use_preset(name: str) -> None:
    st.session_state[_BEFORE_PRESET] = _switched_on()
    _switch(PRESETS[name])


def _undo() -> None:
    _switch(st.session_state.pop(_BEFORE_PRESET))


def _switched_on() -> tuple[str, ...]:
    on = [t for t in HEADLINE_ORDER if st.session_state.get(t)]
    return (*on, *st.session_state.get("also", ()))


def _switch(wanted: Sequence[str]) -> None:
    for t in HEADLINE_ORDER:
        st.session_state[t] = t in wanted
    if OTHERS:
        st.session_state["also"] = [t for t in OTHERS if t in wanted]


def draw_parameters() -> None:
    """A widget for each parameter of what is switched on, made from its type and limits."""
    having = [t for t in map(technique, _switched_on()) if dataclasses.fields(t.params)]
    if having:
        with st.expander(tr("playground.parameters")):
            for t in having:
                st.caption(f"**{tr(f'technique.{t.id}.title')}**")
                for field in dataclasses.fields(t.params):
                    _parameter(t, field)


def _parameter(t: Technique, field: dataclasses.Field[Any]) -> None:
    label = tr(f"technique.{t.id}.param.{field.name}")
    key = f"{t.id}_{field.name}"
    limits: Range | None = field.metadata.get("range")
    options: Sequence[str] | None = field.metadata.get("choices")
    default: Any = field.default
    carry(key)
    if options:
        first = options.index(default)
        st.selectbox(label, options, first, key=key, bind="query-params")
    elif limits is None:
        st.checkbox(label, bool(default), key=key, bind="query-params")
    else:
        kind = int if isinstance(default, int) else float
        low, high, step = kind(limits.low), kind(limits.high), kind(limits.step)
        # Not sliders: they bring 120 kB of date and number formatting to the first visit.
        st.number_input(label, low, high, kind(default), step, key=key, bind="query-params")
