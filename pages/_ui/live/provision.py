"""The local models: which are here, what they are, and one click that gets the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError

import streamlit as st

from core.errors import Unavailable
from core.jobs import Control
from core.local.models import ModelState, State, listing, pull
from core.local.watch import Phase, Progress
from core.local.wheel import SOURCE
from core.text import Note
from pages._ui import job
from pages._ui.labs.table import table
from pages._ui.lang import tr
from pages._ui.sections.look import draw_html

KIND = "models"
PHASES = tuple(Phase)


def draw() -> None:
    """Draw what there is and, while something is missing, how to get it."""
    states = listing()
    missing = [s for s in states if s.state is not State.READY]
    with st.expander(tr("live.models.title"), expanded=bool(missing)):
        _table(states)
        for state in states:
            if state.stand_in:
                st.caption(tr("local.model.stand_in"))
        st.caption(
            tr(
                "live.models.source",
                package=SOURCE.package,
                version=SOURCE.version,
                sha256=SOURCE.sha256,
            )
        )
    mine = [s for s in missing if s.named_by is None]
    for state in missing:
        if state.named_by is not None:
            st.warning(tr("live.models.named", variable=state.named_by, path=state.path.name))
    seen = job.followed()
    if mine and not job.unfinished(seen):
        st.button(
            tr("live.models.get", mb=round(SOURCE.wheel_b / 1e6)),
            key="models_get",
            type="primary",
            icon=":material/download:",
            on_click=job.start,
            args=(KIND, lambda control: get([s.role for s in mine], control)),
            help=tr("live.models.get_help"),
        )
    if seen is not None and seen.kind == KIND:
        job.draw(seen)


def get(roles: Sequence[str], control: Control) -> tuple[ModelState, ...]:
    """Get the weights of these roles as a job. Raises: as `core.local.models.pull`."""
    try:
        return pull(
            roles,
            on_progress=lambda progress: control.tell(*_told(progress, roles)),
            cancelled=lambda: control.cancelled,
        )
    except Unavailable:
        if control.cancelled:
            raise CancelledError from None
        raise


def _told(progress: Progress, roles: Sequence[str]) -> tuple[float, Note]:
    """Return how far the whole is, each role and phase taken for as long, and what is done now."""
    before = roles.index(progress.model) * len(PHASES) + PHASES.index(progress.phase)
    done = (before + (progress.fraction or 0.0)) / (len(roles) * len(PHASES))
    words = Note.of(
        "live.models.phase",
        phase=Note.of(f"local.phase.{progress.phase}"),
        model=Note.of(f"local.model.{progress.model}"),
        mb=round(progress.done_b / 1e6),
    )
    return done, words


def _table(states: Sequence[ModelState]) -> None:
    heads = [tr(f"live.models.{c}") for c in ("role", "name", "state", "size", "licence")]
    draw_html(table(heads, [list(_cells(s)) for s in states], kind="facts"), "lab")


def _cells(state: ModelState) -> Iterator[str]:
    yield tr(f"local.model.{state.role}")
    yield state.name
    yield tr(f"local.state.{state.state}")
    yield f"{state.size_b / 1e6:,.0f} MB"
    yield state.licence or tr("live.models.unknown")
