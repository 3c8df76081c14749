"""A long job on a page: how far it is, a button that stops it, what became of it.

    seen = job.followed()                        # None, or the job as it is now
    st.button(label, on_click=job.start, args=("advice", work), disabled=job.unfinished(seen))
    job.draw(seen)
    if seen is not None and isinstance(seen.result, Answer):
        ...

The id stands in the address, so a reload finds the job again; a page switch keeps it.
"""

from __future__ import annotations

import secrets
from functools import lru_cache

import streamlit as st

from core.errors import Unavailable
from core.jobs import Jobs, Seen, Work
from core.text import say
from pages._ui.lang import language, tr

PARAMETER = "job"
EVERY_S = 0.5
"""How often a page looks after its job."""

_ID, _OWNER, _WATCHED, _REFUSED = "job_id", "job_owner", "job_watched", "job_refused"


@lru_cache(maxsize=1)
def registry() -> Jobs:
    """The jobs of this process."""
    return Jobs()


def close() -> None:
    """End what runs and take no more, at the server's shutdown."""
    if registry.cache_info().currsize:
        registry().close()


def start(kind: str, work: Work) -> None:
    """Hand work in and put its id into the address. For `on_click`."""
    owner: str = st.session_state.setdefault(_OWNER, secrets.token_urlsafe(8))
    try:
        job_id = registry().submit(kind, work, owner=owner)
    except Unavailable as full:
        st.session_state[_REFUSED] = str(full)
        return
    st.session_state[_ID] = st.query_params[PARAMETER] = job_id


def followed() -> Seen | None:
    """Return the job of this page as it is now, and keep its id in the address.

    None where there is none; an id that is not known, or no longer, leaves the address.
    """
    job_id = st.query_params.get(PARAMETER) or st.session_state.get(_ID)
    seen = registry().look(job_id) if job_id else None
    if seen is None:
        st.session_state.pop(_ID, None)
        if PARAMETER in st.query_params:
            del st.query_params[PARAMETER]
        return None
    st.session_state[_ID] = st.query_params[PARAMETER] = seen.id
    if not seen.ended:
        st.session_state[_WATCHED] = seen.id
    elif st.session_state.pop(_WATCHED, None) == seen.id:
        st.toast(tr(f"job.notice_{seen.state}"))
    return seen


def unfinished(seen: Seen | None) -> bool:
    """Return whether there is a job that still waits or runs."""
    return seen is not None and not seen.ended


def draw(seen: Seen | None) -> None:
    """Show how far the job is for as long as it is not finished, then only how it ended badly."""
    if (refused := st.session_state.pop(_REFUSED, None)) is not None:
        st.warning(refused)
    if seen is None:
        return
    if not seen.ended:
        st.fragment(_watched, run_every=EVERY_S)(seen.id)
    elif seen.state == "failed":
        st.error(tr("job.failed", error=seen.error), icon=":material/error:")
    elif seen.state == "cancelled":
        st.caption(tr("job.cancelled"))


def _watched(job_id: str) -> None:
    """Draw progress again and again; once the job has ended the whole page runs."""
    seen = registry().look(job_id)
    if seen is None or seen.ended:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="job"):
        st.progress(seen.progress, f"{_status(seen)} · {seen.progress:.0%}")
        st.button(
            tr("job.cancel"),
            key="job_cancel",
            on_click=registry().cancel,
            args=(job_id,),
            disabled=seen.cancelling,
            icon=":material/close:",
        )


def _status(seen: Seen) -> str:
    if seen.cancelling:
        return tr("job.cancelling")
    if seen.state == "queued":
        return tr("job.waiting", ahead=seen.ahead) if seen.ahead else tr("job.queued")
    if seen.message is not None:
        return say(seen.message, language())
    return tr("job.running")
