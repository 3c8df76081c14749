"""A finished live run: what to know about it, its figures, and one repeat of it as a race."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import streamlit as st

from core.execute.export import jsonl
from core.live import LiveRace
from core.metrics import Reader
from core.text import say
from core.verdicts import FEWEST_REPEATS
from pages._ui.lanes import payload
from pages._ui.lang import language, tr
from pages._ui.live import repeats
from pages._ui.live.asked import Asked, Measured, view_of
from pages._ui.live.engine import title
from pages._ui.live.look import draw_html
from pages._ui.race import RacePayload, race
from pages._ui.sections.look import escaped

MOST_LENGTH = 300
"""Characters of a badge that are shown: an error may quote a long answer of a server."""

SAID_BY_STEP = "execute.note.simulated"
"""What one badge already says of all steps together."""


def draw(found: Measured, now: Asked, reader: Reader) -> None:
    """Draw the result; `now` is what the controls say by now."""
    if now.same_as != found.asked.same_as:
        st.info(tr("live.changed"), icon=":material/history:")
    _heading(found)
    _badges(found)
    best = found.typical_repeat
    if best is None:
        st.error(tr("live.none_whole"), icon=":material/error:")
        return
    repeats.draw(found, reader, language())
    st.caption(_legend(found))
    shown = _pick(found, best)
    race(_payload(found, shown, reader), key="live_race")
    _notes(found)
    _download(found)


def _heading(found: Measured) -> None:
    asked = found.asked
    large, small = asked.setting.large.name, asked.setting.small.name
    st.markdown(tr("live.measured", engine=title(asked.engine), large=large, small=small))
    st.caption(tr("live.is_own_words" if asked.own_words else "live.is_scripted"))


def _badges(found: Measured) -> None:
    """What to know before one believes the times, each in a frame of its own."""
    notes = (n for n in found.race.badges if n.key != SAID_BY_STEP)
    said = [say(note, language()) for note in notes]
    chips = "".join(f"<li>{escaped(words[:MOST_LENGTH])}</li>" for words in said)
    draw_html(f"<ul class='badges'>{chips}</ul>", "live")


def _lines(race: LiveRace) -> Iterator[str]:
    """Yield all runs, each with its side and which repeat it was, from 1."""
    sides = {"before": race.runs_before, "after": race.runs_after}
    for side, runs in sides.items():
        for repeat, run in enumerate(runs, start=1):
            yield from jsonl(run, {"side": side, "repeat": repeat})


def _legend(found: Measured) -> str:
    """How to read the figures, and what they are too few or too old for."""
    basis, n = found.foresight, len(found.whole)
    parts = [tr("live.legend", n=n)]
    if n < FEWEST_REPEATS:
        parts.append(tr("live.few", fewest=FEWEST_REPEATS))
    if basis is None:
        parts.append(tr("live.no_prediction"))
    else:
        parts.append(tr(f"live.basis_{basis.basis}", date=basis.date[:10]))
        parts += [tr("live.basis_busy")] if basis.busy else []
    return " ".join(parts)


def _pick(found: Measured, best: int) -> int:
    """Which repeat runs as a race: the one in the middle, unless a person wants another."""
    if len(found.whole) < 2:
        return best
    chosen = st.selectbox(
        tr("live.repeat"),
        found.whole,
        index=found.whole.index(best),
        format_func=lambda k: tr("live.repeat_best" if k == best else "live.repeat_n", n=k + 1),
        key=f"live_repeat_{id(found)}",
    )
    return int(chosen)


def _payload(found: Measured, repeat: int, reader: Reader) -> RacePayload:
    """The race of one repeat, each lane saying that it was measured."""
    plain = payload(view_of(found, repeat, reader, language()))
    lanes = tuple(replace(one, subtitle=tr("live.lane", what=one.subtitle)) for one in plain.lanes)
    return replace(plain, lanes=lanes)


def _notes(found: Measured) -> None:
    """Techniques that did nothing here, and what a slow reader of prompts changes."""
    for entry in found.race.log:
        if entry.reason is not None:
            name, reason = tr(f"technique.{entry.technique}.title"), say(entry.reason, language())
            st.caption(tr("playground.not_possible", name=name, reason=reason))
    if found.asked.engine == "local":
        st.caption(tr("live.cpu"))


def _download(found: Measured) -> None:
    st.download_button(
        tr("live.download"),
        data=lambda: "".join(_lines(found.race)),
        file_name="live-run.jsonl",
        mime="application/x-ndjson",
        on_click="ignore",
        icon=":material/download:",
        help=tr("live.download_help"),
    )
