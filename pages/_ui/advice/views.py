"""The views of an answer by name, in the order of their control; only one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.advice.answer import Answer
from pages._ui.advice import following, front, reporting, roadmap, shares
from pages._ui.advice.parts import WITH_TOGGLES

VIEWS: Mapping[str, Callable[[Answer], None]] = {
    "roadmap": roadmap.draw,
    "shares": shares.draw,
    WITH_TOGGLES: following.draw,
    "front": front.draw,
    "report": reporting.draw,
}
