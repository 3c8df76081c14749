"""Choices whose labels are translated, kept in the address by their code.

A widget bound to the address (`bind="query-params"`) writes what it shows. Where `format_func`
translates, that is the label: a link made in Korean means nothing in English, and switching the
language loses the choice at the next reload. So such a widget is not bound; its page calls
`keep_choice` just before drawing it, and the address holds the code:

    keep_choice("scenario", ("support", "travel"), default="support")
    st.segmented_control(label, ("support", "travel"), key="scenario", format_func=name, ...)

The widget gets no `default` of its own. Numbers, switches and untranslated labels use `bind`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

_SEPARATOR = ","

V = TypeVar("V")


def keep_choice(key: str, options: Sequence[str], *, default: str) -> None:
    """Give the widget `key` the option the address names, and keep the address in step.

    The parameter is left out while the choice is `default`, which must be the same for everybody.
    A code that is no option counts as absent. The choice survives page switches.
    """

    def settle(code: str | None) -> str:
        return code if code is not None and code in options else default

    _keep(key, default, read=settle, write=settle)


def keep_choices(key: str, options: Sequence[str], *, default: Sequence[str] = ()) -> None:
    """Do the same for a widget with several choices: `?key=a,b`, in the order of `options`.

    Codes that are no options are dropped; an empty parameter means that nothing is chosen.
    """

    def read(written: str) -> list[str]:
        codes = written.split(_SEPARATOR)
        return [option for option in options if option in codes]

    def write(chosen: Sequence[str]) -> str:
        return _SEPARATOR.join(option for option in options if option in chosen)

    _keep(key, write(default), read=read, write=write)


def _keep(key: str, default: str, *, read: Callable[[str], V], write: Callable[[V], str]) -> None:
    """Settle the value of the widget `key` from the widget, the address and what was before.

    Values are compared as they are written in the address; `read` and `write` convert.
    """
    before = f"address:{key}"  # what was settled last: a page switch drops the widget's own value
    written = st.query_params.get(key)
    named = default if written is None else write(read(written))
    known: str = st.session_state.get(before, default)
    if key not in st.session_state:
        # The session's first run, or back from another page, which emptied the address.
        code = known if written is None else named
        st.session_state[key] = read(code)
    else:
        code = write(st.session_state[key])
        if code == known and named != known:
            # Not the widget but the address moved: back and forward in the browser.
            code = named
            st.session_state[key] = read(code)
    st.session_state[before] = code
    if code != default:
        st.query_params[key] = code
    elif written is not None:
        del st.query_params[key]
