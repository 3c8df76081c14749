"""A lab's parts: one control that names them, one of them drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from pages._ui.address import keep_choice
from pages._ui.lang import tr


def draw_part(lab: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw the chosen part of a lab; its names are the texts `<lab>.part.<name>`."""
    names = tuple(parts)
    key = f"{lab}_part"
    keep_choice(key, names, default=names[0])
    st.caption(tr(f"{lab}.intro"))
    chosen = st.segmented_control(
        tr("lab.part"),
        names,
        key=key,
        format_func=lambda name: tr(f"{lab}.part.{name}"),
        required=True,
        label_visibility="collapsed",
    )
    st.caption(tr(f"{lab}.part_help.{chosen}"))
    parts[str(chosen)]()
