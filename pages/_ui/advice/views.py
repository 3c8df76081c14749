"""The views of an answer by name, in the order of their control; only one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from core.advice.answer import Answer
from pages._ui.advice import following, front, roadmap, shares

VIEWS: Mapping[str, Callable[[Answer], None]] = {
    "roadmap": roadmap.draw,
    "shares": shares.draw,
    "next": following.draw,
    "front": front.draw,
}
