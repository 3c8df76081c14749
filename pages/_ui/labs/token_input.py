"""The text a person looks at in the Token lab, JSON or not, and the short names of its keys."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.labs import short_keys
from core.labs.guide_keys import long_json
from core.labs.json_text import MAX_CHARS, Parsed, keys_of, parse
from core.text import Note, say
from pages._ui.lang import language, tr

TEXT, ALIASES = "token_text", "token_aliases"
LIKE_JSON = ("{", "[")
"""How a text begins that is read as JSON; anything else is a prompt."""


def pick_text() -> str:
    """Return the text, at most as long as the labs read; an example where nobody wrote one."""
    if TEXT not in st.session_state:
        st.session_state[TEXT] = long_json()
    written = st.text_area(
        tr("tokenlab.text"),
        key=TEXT,
        max_chars=MAX_CHARS,
        height=190,
        help=tr("tokenlab.text_help", most=f"{MAX_CHARS:,}"),
        persist_state="session",
    )
    return written[:MAX_CHARS]


def read(written: str) -> Parsed | None:
    """Return the text as JSON; None for a prompt, and for broken JSON, which one line says."""
    if not written.lstrip().startswith(LIKE_JSON):
        return None
    found = parse(written)
    if isinstance(found, Note):
        st.warning(say(found, language()), icon=":material/data_object:")
        return None
    if found.twice:
        names = ", ".join(found.twice[:5])
        st.warning(tr("tokenlab.json.twice", keys=_plain(names)), icon=":material/data_object:")
    return found


def pick_aliases(found: Parsed) -> Mapping[str, str]:
    """Return the short name of every key: proposed, or what the person made of it.

    What was written for a key is kept for the session, also while the JSON is broken.
    """
    keys = keys_of(found.value)
    proposed = short_keys.propose(keys)
    edits: dict[str, str] = st.session_state.setdefault(ALIASES, {})
    current = {key: edits.get(key, alias) for key, alias in proposed.items() if key.isprintable()}
    field = f"aliases_{hash(keys)}"
    lines = st.text_area(
        tr("tokenlab.aliases"),
        value=short_keys.as_lines(current),
        key=field,
        height=min(320, 60 + 24 * len(current)),
        max_chars=MAX_CHARS,
        help=tr("tokenlab.aliases_help"),
    )
    edited = short_keys.from_lines(lines, keys, proposed)
    edits.update({key: a for key, a in edited.aliases.items() if a != proposed[key]})
    for problem in edited.problems[:3]:
        st.warning(_plain(say(problem, language())), icon=":material/edit_note:")
    return edited.aliases


def _plain(sentence: str) -> str:
    """Return a sentence in which nothing is Markdown: keys are other people's text."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-!|~$:" else c for c in sentence)
