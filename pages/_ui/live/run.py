"""One live run of a visit: started, followed while its tab is open, stopped, kept when done."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import streamlit as st

from core.background import Job, Tell
from core.engines import Target
from core.errors import PlaygroundError
from core.keys import scrub
from core.live import LiveRace, race
from pages._ui.lang import tr
from pages._ui.live import watch
from pages._ui.live.asked import Asked, Measured
from pages._ui.live.predicted import Foresight
from pages._ui.live.shared import Desk, desk
from pages._ui.live.shelf import shelf
from pages._ui.live.visitor import PATIENCE_S, presence, while_here
from pages._ui.live.watch import Ahead, Watch

EVERY_S = 0.5
"""How often the page looks after its run. What was measured does not depend on it."""

PARAMETER = "measured"
"""Names a result in the address."""

_RUNNING, _DONE = "live_running", "live_measured"
_TROUBLE, _STOPPED = "live_trouble", "live_stopped"


@dataclass(slots=True, eq=False)
class Running:
    """A run under way, as its visit knows it."""

    asked: Asked
    target: Target
    foresight: Foresight | None
    job: Job[LiveRace]
    watch: Watch = field(default_factory=Watch)


def start(asked: Asked, target: Target, foresight: Foresight | None) -> None:
    """Begin; what an earlier run found is dropped. For `on_click`."""
    st.session_state.pop(_DONE, None)
    st.query_params.pop(PARAMETER, None)
    here, shared = presence(), desk()
    try:
        job = shared.background.submit(
            lambda tell: while_here(measure(shared, asked, target, tell), here),
            patience_s=PATIENCE_S,
        )
    except PlaygroundError as error:
        st.session_state[_TROUBLE] = str(error)
        return
    st.session_state[_RUNNING] = Running(asked, target, foresight, job)


async def measure(shared: Desk, asked: Asked, target: Target, tell: Tell) -> LiveRace:
    """Open the engine in its turn and race. Raises: as `core.live.race` and `opened`."""

    def ahead(runs: int) -> None:
        tell(Ahead(runs))

    async with shared.engine(target, asked.setting, ahead) as engine:
        return await race(
            asked.scenario,
            asked.request,
            asked.choices,
            engine,
            asked.setting,
            repeats=asked.repeats,
            rng=np.random.default_rng(),
            tell=tell,
            repeated=asked.repeated,
        )


def running() -> Running | None:
    """Return the run under way; one that has ended is put away first."""
    found: Running | None = st.session_state.get(_RUNNING)
    if found is not None and found.job.done:
        del st.session_state[_RUNNING]
        _put_away(found)
        return None
    return found


def finished() -> Measured | None:
    """Return what the last run of this visit found, or else the run that the address names."""
    own: tuple[str, Measured | None] = st.session_state.get(_DONE, ("", None))
    name, found = own
    named = st.query_params.get(PARAMETER, name)
    if named != name and (other := shelf().get(named)) is not None:
        name, found = named, other
    if found is None:
        st.query_params.pop(PARAMETER, None)
        return None
    st.session_state[_DONE] = name, found
    st.query_params[PARAMETER] = name
    return found


def cancel() -> None:
    """Stop the run under way. For `on_click`."""
    found: Running | None = st.session_state.get(_RUNNING)
    if found is not None:
        found.job.cancel()


def draw_trouble() -> None:
    """Say once why there is no result."""
    if st.session_state.pop(_STOPPED, False):
        st.info(tr("live.stopped"), icon=":material/info:")
    trouble: str | None = st.session_state.pop(_TROUBLE, None)
    if trouble is not None:
        st.error(trouble, icon=":material/error:")


def follow() -> None:
    """Draw the run under way again and again; once it has ended the whole page runs."""
    st.fragment(_followed, run_every=EVERY_S)()


def _followed() -> None:
    now = running()
    if now is None:
        st.rerun()
    now.watch.take(now.job.news())
    with st.container(horizontal=True, vertical_alignment="center", key="live_progress"):
        watch.progress(now.watch)
        st.button(tr("job.cancel"), key="live_cancel", on_click=cancel, icon=":material/close:")
    watch.draw(now.watch, now.asked.scenario)


def _put_away(ended: Running) -> None:
    """Keep the result, or the one line that says why there is none, without any key in it."""
    if ended.job.cancelled:
        st.session_state[_STOPPED] = True
        return
    try:
        result = ended.job.result(0)
    except PlaygroundError as error:
        st.session_state[_TROUBLE] = scrub(str(error), (ended.target.api_key,))
        return
    found = Measured(ended.asked, result, ended.foresight)
    st.session_state[_DONE] = shelf().put(found), found
