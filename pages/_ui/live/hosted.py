"""What this server lets its visitors do: everything on one's own machine, less where it is hosted.

`PLAYGROUND_HOSTED=1` in the environment, or `hosted = true` in the secrets, says that strangers
use this app. Then custom base URLs are off, keys of the environment are not spent on visitors, and
profiles of visitors are not kept for all.
"""

from __future__ import annotations

import os

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

VARIABLE, SECRET = "PLAYGROUND_HOSTED", "hosted"
_NO = frozenset({"", "0", "false", "no", "off"})


def hosted() -> bool:
    """Return whether this app is open to strangers."""
    return any(_says_yes(word) for word in (os.environ.get(VARIABLE), secret(SECRET)))


def secret(name: str) -> str | None:
    """Return a secret of this server as text; None where there is none, or no secrets at all."""
    try:
        value = st.secrets.get(name)
    except StreamlitSecretNotFoundError:
        return None
    return None if value is None else str(value)


def _says_yes(word: str | None) -> bool:
    return word is not None and word.strip().lower() not in _NO
