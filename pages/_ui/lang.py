"""In which language a session is shown.

The `lang` parameter of the address decides; without it the browser's locale; else English. So a
link that somebody copied while reading Korean opens in Korean only if that was chosen by hand, and
a link without `lang` means "the reader's own language", whoever made it.

This is why `lang` is not a widget bound to the address: a bound parameter is left out where it
equals the widget's default, and here the default differs from reader to reader.
"""

from __future__ import annotations

import streamlit as st

from core.text import LANGS, Lang, text

PARAMETER = "lang"
NAMES: dict[Lang, str] = {"en": "EN", "ko": "한국어"}

_CHOSEN = "chosen_language"  # survives page switches, which empty the address
_WIDGET = "language_switch"
_SETTLED = "settled_language"
_STYLE = """<style>
[data-testid=stElementContainer]:has(> .stHtml .document-language) { position: absolute }
[data-testid=stMainBlockContainer] { padding-inline: clamp(1rem, 3vw, 2.5rem) }
:lang(ko) .stMarkdown :is(p, li, td, th) { word-break: keep-all; overflow-wrap: break-word }
</style>"""


def language() -> Lang:
    """Return the language of the session that is running, settled once per run by the frame."""
    settled: Lang | None = st.session_state.get(_SETTLED)
    return settled or _settle()


def _settle() -> Lang:
    lang = chosen_language() or _known((st.context.locale or "").split("-")[0]) or "en"
    st.session_state[_SETTLED] = lang
    return lang


def tr(key: str, /, **args: object) -> str:
    """Return the text `key` in the session's language. Raises: as `core.text.text`."""
    return text(language(), key, **args)


def chosen_language() -> Lang | None:
    """Return the language the address asks for, or was chosen earlier in the session, if any."""
    return _known(st.query_params.get(PARAMETER, "")) or st.session_state.get(_CHOSEN)


def keep_in_address() -> None:
    """Write a chosen language back into the address, and remove one that does not exist.

    Called once per run by the frame: switching pages empties the address.
    """
    chosen = chosen_language()
    if chosen is not None:
        st.session_state[_CHOSEN] = chosen
        st.query_params[PARAMETER] = chosen
    elif PARAMETER in st.query_params:
        del st.query_params[PARAMETER]
    _settle()


def language_switch() -> None:
    """Draw the control that shows the language and lets people choose the other one."""
    st.session_state[_WIDGET] = language()
    st.segmented_control(
        text(language(), "frame.language"),
        LANGS,
        format_func=NAMES.__getitem__,
        required=True,
        key=_WIDGET,
        on_change=_choose,
        label_visibility="collapsed",
        width="content",
    )


def announce_language() -> None:
    """Tell the browser the document's language: screen readers and font choice depend on it.

    Streamlit serves every page as English. Korean lines break between words, not within them. The
    element itself takes no room.
    """
    st.html(
        f"{_STYLE}<span class='document-language'></span>"
        f"<script>document.documentElement.lang = '{language()}'</script>",
        unsafe_allow_javascript=True,
        width="content",
    )


def _choose() -> None:
    chosen: Lang = st.session_state[_WIDGET]
    st.session_state[_CHOSEN] = chosen
    st.query_params[PARAMETER] = chosen


def _known(name: str) -> Lang | None:
    """Return `name` as a language of ours, whatever its case; None when it is not one."""
    return next((lang for lang in LANGS if lang == name.lower()), None)
