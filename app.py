"""The server's entry: `streamlit run app.py`.

Pages and the frame around them start at `pages/main.py`; here is what belongs to the server as a
whole: headers, compression, logging, and what all sessions share.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from core.errors import PlaygroundError
from core.text import catalogue
from hosting.compression import CompressedOnce
from hosting.headers import SecurityHeaders
from hosting.logs import keep_keys_out_of_logs
from pages._ui import job
from pages._ui.frame import PAGES
from pages._ui.live import shared

_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Prepare what all sessions share before the first of them; release it after the last."""
    keep_keys_out_of_logs()
    catalogue()  # a broken text file stops the start, not somebody's visit
    if st.get_option("runner.postScriptGC"):
        # A hidden option: it may vanish from Streamlit without notice, or the file was not found.
        _LOG.warning("runner.postScriptGC is on: many visitors at once will wait")
    yield
    job.close()
    shared.close()


def show_error(error: Exception) -> bool:
    """Show an error raised on purpose as its own sentence; leave all others to Streamlit."""
    if isinstance(error, PlaygroundError):
        st.error(str(error), icon=":material/error:")
        return True
    return False


async def to_the_first_page(request: Request) -> RedirectResponse:
    """Lead from the first page's name to where it stands: Streamlit serves it at the root alone."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")


app = st.App(
    Path(__file__).resolve().parent / "pages" / "main.py",
    lifespan=lifespan,
    routes=[Route(f"/{PAGES[0].name}", to_the_first_page)],
    middleware=[Middleware(SecurityHeaders), Middleware(CompressedOnce)],
    on_script_error=show_error,
)
