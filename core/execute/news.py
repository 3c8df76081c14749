"""What a running plan tells while it runs; times are seconds since the request was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.providers.base import Chunk
from core.timeline import State


@dataclass(frozen=True, slots=True)
class StepBegan:
    """A step started its work."""

    step: str
    t_s: float


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step has ended, in whatever way."""

    step: str
    state: State
    t_s: float


@dataclass(frozen=True, slots=True)
class Arrived:
    """Something came from a model: text, progress, its place in a line; `label` is the attempt."""

    step: str
    label: str
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Appeared:
    """The person can read this now. `unit` and `part` say which text or part of a card it is."""

    step: str
    field: str
    unit: str
    part: str
    text: str
    t_s: float


News = StepBegan | StepEnded | Arrived | Appeared

Report = Callable[[News], None]
"""Takes the news on the loop's thread; must not take long."""


def nobody(_: News) -> None:
    """Take no notice."""
