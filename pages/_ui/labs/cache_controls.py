"""What parts of the Cache lab share: threshold, guards, pipeline, language, in the address."""

from __future__ import annotations

from typing import cast

import streamlit as st

from core.retrieval.encoders import ENCODERS
from core.retrieval.guards import GUARDS, GuardId
from core.scenarios import SCENARIOS, scenario
from core.text import LANGS, Lang
from pages._ui.address import keep_choice
from pages._ui.lang import NAMES, language, tr

DEFAULT_THRESHOLD = 0.86
"""What the English encoder ships with; the same for everybody, so that links mean one thing."""


def pick_threshold() -> float:
    """Return the least cosine at which a cached answer is served."""
    shipped = ", ".join(f"{spec.id} {spec.threshold:g}" for spec in ENCODERS)
    return st.slider(
        tr("cachelab.threshold"),
        0.5,
        1.0,
        DEFAULT_THRESHOLD,
        0.01,
        key="threshold",
        bind="query-params",
        help=tr("cachelab.threshold_help", shipped=shipped),
    )


def pick_guards() -> frozenset[GuardId]:
    """Return the guards that are switched on."""
    st.caption(tr("cachelab.guards"))
    return frozenset(guard.id for guard in GUARDS if _switch(guard.id))


def _switch(guard: GuardId) -> bool:
    return st.toggle(
        tr(f"cachelab.guard.{guard}"),
        value=True,
        key=f"guard_{guard}",
        bind="query-params",
        help=tr(f"cachelab.guard_help.{guard}"),
    )


def pick_pipeline() -> str:
    """Return the scenario whose requests are asked; the one the Playground shows."""
    keep_choice("pipeline", SCENARIOS, default=SCENARIOS[0])
    return str(
        st.segmented_control(
            tr("playground.scenario"),
            SCENARIOS,
            key="pipeline",
            format_func=lambda s: scenario(s).title[language()],
            required=True,
        )
    )


def pick_language(key: str) -> Lang:
    """Return the language of the requests: the reader's own until another is chosen."""
    keep_choice(key, ("own", *LANGS), default="own")
    chosen = st.segmented_control(
        tr("cachelab.language"),
        ("own", *LANGS),
        key=key,
        format_func=lambda code: tr("cachelab.own") if code == "own" else NAMES[code],
        required=True,
    )
    return language() if chosen == "own" else cast("Lang", chosen)
