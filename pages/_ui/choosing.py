"""One of several, side by side: its code in the address, its name in the reader's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import streamlit as st

from pages._ui.address import keep_choice

T = TypeVar("T")


def one_of(
    key: str,
    options: Sequence[str],
    label: str,
    name: Callable[[str], str],
    *,
    default: str | None = None,
    about: str | None = None,
) -> str:
    """Return the chosen code; the first one is the default unless another is named."""
    keep_choice(key, options, default=options[0] if default is None else default)
    chosen = st.segmented_control(
        label, options, key=key, format_func=name, required=True, help=about, wrap=True
    )
    return str(chosen)


def draw_one_of(
    key: str,
    views: Mapping[str, Callable[[T], None]],
    subject: T,
    label: str,
    name: Callable[[str], str],
) -> None:
    """Draw one of several views of something; only that one is worked out."""
    views[one_of(key, tuple(views), label, name)](subject)
