"""The frame around every page: its catalogue, navigation, heading and language control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from pages._ui.address import enter_page, leave_page
from pages._ui.lang import announce_language, keep_in_address, language_switch, tr

# Two lanes, the grey one long, the other short. Not an emoji or a symbol: for a tab Streamlit
# fetches those, also the icons of pages, from the network.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E"
    "%3Crect x='2' y='7' width='28' height='7' rx='3' fill='%2394a3b8'/%3E"
    "%3Crect x='2' y='18' width='14' height='7' rx='3' fill='%230a9d80'/%3E%3C/svg%3E"
)
PAGES_DIR = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page: its section and name, which are also its file, its address and its text keys.

    `pages/<section>/<name>.py` is the script, `/<name>` the address, `frame.page.<name>` the table
    of texts (`title` in the navigation, `heading` on the page).
    """

    section: str
    name: str

    @property
    def file(self) -> Path:
        """The script."""
        return PAGES_DIR / self.section / f"{self.name}.py"


# In the order of the navigation; the first one opens when the address names none.
PAGES: tuple[PageEntry, ...] = (
    PageEntry("play", "playground"),
    PageEntry("decide", "advice"),
    PageEntry("decide", "tail"),
    PageEntry("decide", "catalogue"),
    PageEntry("measure", "live"),
    PageEntry("measure", "calibrate"),
    PageEntry("measure", "accuracy"),
    PageEntry("labs", "cache"),
    PageEntry("labs", "retrieval"),
    PageEntry("labs", "tokens"),
    PageEntry("about", "method"),
)
# Pages of this section stand in the bar themselves, those of the others in a menu per section.
IN_THE_BAR = "play"


def run() -> None:
    """Draw the frame and the page that the address names. Called once per run, by the entry."""
    keep_in_address()
    pages = {entry.name: _page(entry) for entry in PAGES}
    current = st.navigation(_sections(pages), position="top")
    entry = next(entry for entry in PAGES if entry.name == (current.url_path or PAGES[0].name))
    st.set_page_config(
        page_title=f"{tr(f'frame.page.{entry.name}.title')} · {tr('frame.title')}",
        page_icon=ICON,
        layout="wide",
        initial_sidebar_state="auto",
        menu_items={"About": tr("frame.about")},
    )
    _head(entry)
    enter_page(entry.name)
    current.run()
    leave_page()


def _sections(pages: Mapping[str, Page]) -> dict[str, list[Page]]:
    """Return the pages under the title of their section, in the order of the catalogue."""
    sections: dict[str, list[Page]] = {}
    for entry in PAGES:
        bare = entry.section == IN_THE_BAR
        title = "" if bare else tr(f"frame.section.{entry.section}")
        sections.setdefault(title, []).append(pages[entry.name])
    return sections


def _page(entry: PageEntry) -> Page:
    return st.Page(
        entry.file,
        title=tr(f"frame.page.{entry.name}.title"),
        url_path=entry.name,
        default=entry is PAGES[0],
    )


def _head(entry: PageEntry) -> None:
    """Draw the page's heading and the language control in one line."""
    with st.container(horizontal=True, vertical_alignment="center", key="frame_head"):
        st.title(tr(f"frame.page.{entry.name}.heading"), anchor=False)
        language_switch()
        announce_language()
