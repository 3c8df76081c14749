"""Drawings made on the server, shown in the theme's colours and saved by the browser.

`st.html` lets no SVG through, and a picture in an `img` does not follow the theme; so drawings go
through a component. It also makes the files: the browser has the reader's fonts, while a server
often has none for Korean.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from pages._ui.sections.look import style

_SCRIPT = Path(__file__).parent / "scripts" / "drawing.js"

_mount = st.components.v2.component(
    "drawing",
    html="<div class='drawing'></div>",
    css=style("drawing"),
    js=_SCRIPT.read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class Save:
    """Buttons that save the drawing: the file's name without ending, and their labels.

    `failed` is said where the browser cannot make the file.
    """

    name: str
    svg: str
    png: str
    failed: str


def drawing(
    svg: str, *, key: str, label: str, lane: str = "", fit: bool = False, save: Save | None = None
) -> None:
    """Show an SVG in the colours of a lane (before, yours); `fit` scales it to the width."""
    data: dict[str, object] = {"svg": svg, "label": label, "lane": lane, "fit": fit}
    if save is not None:
        data["save"] = asdict(save)
    _mount(key=key, data=data)
