"""How a long piece of work tells how far it is, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.errors import Unavailable


class Phase(StrEnum):
    """What is being done to get weights."""

    DOWNLOAD = "download"
    UNPACK = "unpack"
    CONVERT = "convert"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one phase is, in bytes; `total_b` is None where it is not known."""

    model: str
    phase: Phase
    done_b: int
    total_b: int | None

    @property
    def fraction(self) -> float | None:
        """Share done, 0..1; None where the total is not known."""
        return None if not self.total_b else min(1.0, self.done_b / self.total_b)


OnProgress = Callable[[Progress], None]
IsCancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told about the work on one model, and who may stop it."""

    model: str
    on_progress: OnProgress
    is_cancelled: IsCancelled

    def step(self, phase: Phase, done_b: int, total_b: int | None) -> None:
        """Report, and stop here when asked to.

        Raises:
            Unavailable: the work was cancelled.
        """
        if self.is_cancelled():
            raise Unavailable(f"{self.model}: stopped on request, nothing is left half-made")
        self.on_progress(Progress(self.model, phase, done_b, total_b))
