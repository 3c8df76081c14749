"""How sections look: their style sheets, the theme's palette for both colour schemes, safe text.

Streamlit lends its theme only to components. `st.html` follows it through `light-dark()`, which
reads the colour scheme Streamlit sets on the whole app.
"""

from __future__ import annotations

import html
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Literal

import streamlit as st

Scheme = Literal["light", "dark"]

ROLES = ("before", "yours", "llm", "embed", "search", "rerank", "fetch", "compute", "show")
"""What the colours of the theme's chart palette stand for, in its order."""

_ROOT = Path(__file__).resolve().parents[3]
_STYLES = Path(__file__).parent / "styles"


@lru_cache(maxsize=1)
def _themes() -> dict[Scheme, dict[str, str | list[str]]]:
    config = tomllib.loads((_ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    theme = config["theme"]
    return {"light": theme["light"], "dark": theme["dark"]}


def palette(scheme: Scheme) -> dict[str, str]:
    """Return the theme's colour of each role, with `page`, `ink` and `line`."""
    theme = _themes()[scheme]
    named = {"page": "backgroundColor", "ink": "textColor", "line": "borderColor"}
    colors = {name: str(theme[key]) for name, key in named.items()}
    return colors | dict(zip(ROLES, theme["chartCategoricalColors"], strict=True))


def escaped(text: str) -> str:
    """Text as it may stand in HTML, between tags or in quotes."""
    return html.escape(text, quote=True)


def emphasised(text: str) -> str:
    """Return text as HTML, with what stands between two stars in bold."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escaped(text))


def draw_html(body: str, *sheets: str) -> None:
    """Show HTML made here, with these style sheets. Whatever text it holds must be escaped."""
    st.html(f"<style>{_styles(sheets)}</style><div class='closer'>{body}</div>")


@lru_cache(maxsize=16)
def _styles(sheets: tuple[str, ...]) -> str:
    light, dark = palette("light"), palette("dark")
    colors = "".join(f"--{name}:light-dark({light[name]},{dark[name]});" for name in light)
    rules = [style(name) for name in ("section", *sheets)]
    return f".closer{{{colors}}}{''.join(rules)}"


@lru_cache(maxsize=16)
def style(name: str) -> str:
    """Return a style sheet of this folder."""
    return (_STYLES / f"{name}.css").read_text(encoding="utf-8")
