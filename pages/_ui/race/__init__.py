"""The race: two versions of one request side by side on one clock, and both plans beneath.

A Components v2 element without a frame. It plays in the browser: no rerun while it runs, and a
rerun with equal data leaves it untouched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from pages._ui.race.labels import LABEL_KEYS
from pages._ui.race.payload import Lane, Marks, RacePayload, StepBar, VisibleEvent, run_id_of

__all__ = [
    "LABEL_KEYS",
    "Lane",
    "Marks",
    "RacePayload",
    "StepBar",
    "VisibleEvent",
    "race",
    "run_id_of",
]

SCRIPTS: Final = (
    "dom.js",
    "clock.js",
    "transcript.js",
    "pane.js",
    "ruler.js",
    "tooltip.js",
    "rows.js",
    "waterfall.js",
    "facts.js",
    "controls.js",
    "race.js",
)
"""Joined in this order into the one module the browser loads."""

STYLES: Final = (
    "frame.css",
    "panes.css",
    "controls.css",
    "waterfall.css",
    "perception.css",
    "facts.css",
    "narrow.css",
)
"""Joined in this order: what is narrow speaks last."""


def _joined(folder: str, names: tuple[str, ...]) -> str:
    here = Path(__file__).parent / folder
    return "\n".join((here / name).read_text(encoding="utf-8") for name in names)


_mount = st.components.v2.component(
    "latency_race",
    css=_joined("styles", STYLES),
    js=_joined("scripts", SCRIPTS),
)


def race(payload: RacePayload, *, key: str) -> None:
    """Draw the race; one with the same `key` keeps its place, its clock and its speed."""
    _mount(key=key, data=payload.as_data())
