"""An API key of the person who visits: for this visit only, never shown again.

It is taken out of its field at once (a field's content stands in the page) and put where nothing
prints it. Without one, the server's own key is used where the app is not hosted: from the secrets
or from the environment, and the page says which.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from core.providers.catalogue import Entry
from pages._ui.lang import tr
from pages._ui.live.hosted import hosted, secret

Source = Literal["visit", "secrets", "environment", "none"]

_KEPT, _FIELD = "key_of_visit", "key_field"


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it came from.

    `value` is None where there is none, or where the provider itself reads it from the environment.
    """

    source: Source
    value: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Keys of this visit by provider; printing it shows none."""

    by_provider: Mapping[str, str] = field(default_factory=dict, repr=False)


def key_for(entry: Entry) -> Key:
    """Return the key that calls to this provider would be made with."""
    own = _kept().by_provider.get(entry.id)
    if own is not None:
        return Key("visit", own)
    if hosted() or not entry.key_variable:
        return Key("none")
    stored = secret(entry.key_variable)
    if stored:
        return Key("secrets", stored)
    return Key("environment" if os.environ.get(entry.key_variable, "").strip() else "none")


def draw(entry: Entry) -> Key:
    """Draw the form for a key and where the one in use comes from; return that one."""
    with st.form(f"key_form_{entry.id}", border=False):
        st.text_input(
            tr("live.key.field"),
            type="password",
            key=f"{_FIELD}_{entry.id}",
            autocomplete="off",
            placeholder=tr("live.key.placeholder"),
        )
        st.form_submit_button(tr("live.key.use"), on_click=_take, args=(entry.id,))
    key = key_for(entry)
    optional = entry.key_optional and key.source == "none"
    told = "optional" if optional else key.source
    st.caption(tr(f"live.key.from_{told}", variable=entry.key_variable))
    if key.source == "visit":
        st.button(tr("live.key.forget"), key="key_forget", on_click=_forget, args=(entry.id,))
    return key


def _kept() -> _Kept:
    kept: _Kept = st.session_state.get(_KEPT, _Kept())
    return kept


def _take(provider: str) -> None:
    """Move what was typed out of the field."""
    typed = str(st.session_state.get(f"{_FIELD}_{provider}") or "").strip()
    st.session_state[f"{_FIELD}_{provider}"] = ""
    if typed:
        st.session_state[_KEPT] = _Kept({**_kept().by_provider, provider: typed})


def _forget(provider: str) -> None:
    rest = {name: key for name, key in _kept().by_provider.items() if name != provider}
    st.session_state[_KEPT] = _Kept(rest)
