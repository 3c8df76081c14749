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
    "waterfall.js",
    "facts.js",
    "controls.js",
    "race.js",
)
"""Joined in this order into the one module the browser loads."""

_HERE: Final = Path(__file__).parent


def script() -> str:
    """Join the browser's part into one ES module."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)


_mount = st.components.v2.component(
    "latency_race",
    css=(_HERE / "race.css").read_text(encoding="utf-8"),
    js=script(),
)


def race(payload: RacePayload, *, key: str) -> None:
    """Draw the race; one with the same `key` keeps its place, its clock and its speed."""
    _mount(key=key, data=payload.as_data())
