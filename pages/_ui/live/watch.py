"""A race under way: how far it is, whose turn it is, and what each side has shown so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import streamlit as st

from core.execute.news import Appeared, Arrived, News, StepBegan, StepEnded
from core.live import SIDES, Progress, Side
from core.providers.base import ChunkKind
from core.scenarios import Scenario
from pages._ui.lang import language, tr
from pages._ui.live.look import draw_html
from pages._ui.sections.look import escaped


@dataclass(frozen=True, slots=True)
class Ahead:
    """So many runs of others go before this one; 0 when it is its turn."""

    runs: int


@dataclass(slots=True)
class SideNow:
    """The run of one side that is under way, or ended last."""

    repeat: int = 0
    shown: dict[tuple[str, str, str], str] = field(default_factory=dict)
    working: dict[str, str] = field(default_factory=dict)

    def take(self, news: News) -> None:
        """Follow one piece of news; `working` holds, by step, what is known of its progress."""
        match news:
            case Appeared(_, place, unit, part, text, _):
                key = (place, unit, part)
                self.shown[key] = self.shown.get(key, "") + text
            case StepBegan(step, _):
                self.working[step] = ""
            case StepEnded(step, _, _):
                self.working.pop(step, None)
            case Arrived(step, _, chunk):
                if chunk.kind is ChunkKind.QUEUED:
                    self.working[step] = tr("live.now.queued", place=chunk.text)
                elif chunk.kind is ChunkKind.PROGRESS and chunk.fraction is not None:
                    self.working[step] = tr("live.now.reads", share=f"{chunk.fraction:.0%}")
                elif chunk.kind is ChunkKind.TEXT:
                    self.working[step] = tr("live.now.writes")


@dataclass(slots=True)
class Watch:
    """What has been told so far, newest state only."""

    ahead: int = 0
    done: int = 0
    total: int = 0
    repeat: int = 0
    begun: bool = False
    sides: dict[Side, SideNow] = field(default_factory=lambda: {s: SideNow() for s in SIDES})

    def take(self, news: Iterable[object]) -> None:
        """Follow the news."""
        for one in news:
            if isinstance(one, Ahead):
                self.ahead = one.runs
            elif isinstance(one, Progress):
                self._take(one)

    def _take(self, progress: Progress) -> None:
        self.begun, self.repeat = True, progress.repeat
        self.done, self.total = progress.done, progress.total
        side = self.sides[progress.side]
        if side.repeat != progress.repeat:
            side = self.sides[progress.side] = SideNow(progress.repeat)
        if progress.news is not None:
            side.take(progress.news)

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return self.done / self.total if self.total else 0.0

    @property
    def words(self) -> str:
        """What is being done now."""
        if self.ahead:
            return tr("live.now.ahead", n=self.ahead)
        if not self.begun:
            return tr("live.now.opening")
        if not self.repeat:
            return tr("live.now.warm_up")
        return tr("live.now.run", n=min(self.done + 1, self.total), total=self.total)


def draw(watch: Watch, scenario: Scenario) -> None:
    """Draw both sides as far as they are; what is written is text, whatever it looks like."""
    body = "".join(_side(side, watch.sides[side], scenario) for side in SIDES)
    draw_html(f"<div class='both'>{body}</div>", "live")


def _side(name: Side, now: SideNow, scenario: Scenario) -> str:
    title = tr("playground.before" if name == "before" else "playground.yours")
    steps = "".join(
        f"<li>{escaped(scenario.label(step, language()))}"
        f"{f' <small>{escaped(words)}</small>' if words else ''}</li>"
        for step, words in now.working.items()
    )
    shown = "\n".join(text for text in now.shown.values())
    return (
        f"<section class='{name}'><h4>{escaped(title)}</h4><ul class='steps'>{steps}</ul>"
        f"<p class='shown'>{escaped(shown)}</p></section>"
    )


def progress(watch: Watch) -> None:
    """Draw how far the whole is."""
    st.progress(watch.share, watch.words)
