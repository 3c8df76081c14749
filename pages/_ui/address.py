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
_PAGE, _SWITCHED, _CARRIED = "address_page", "address_switched", "address_carried"

V = TypeVar("V")


def enter_page(name: str) -> None:
    """Note which page is drawn: a switch empties the address, and means nothing to a choice.

    Called once per run by the frame, before the page.
    """
    st.session_state[_SWITCHED] = st.session_state.get(_PAGE, name) != name
    st.session_state[_PAGE] = name


def leave_page() -> None:
    """Remember the values that are carried to other pages. Called by the frame, after the page.

    Fragments that run later are not the run after a switch: what they draw keeps its value.
    """
    st.session_state[_SWITCHED] = False
    carried: dict[str, object] = st.session_state.setdefault(_CARRIED, {})
    carried.update({k: st.session_state[k] for k in carried if k in st.session_state})


def carry(key: str) -> None:
    """Let the bound widget `key` keep its value on another page that has it, too.

    Called just before it is drawn. What the address names goes before.
    """
    carried: dict[str, object] = st.session_state.setdefault(_CARRIED, {})
    known = carried.setdefault(key, None)
    switched = st.session_state.get(_SWITCHED, False)
    if switched and known is not None and key not in st.query_params:
        st.session_state[key] = known


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
    if key not in st.session_state or st.session_state.get(_SWITCHED, False):
        # The session's first run, or from another page, which may have had this widget, too.
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
