"""Precompute: the answers to the most popular requests are written before anybody asks."""

from __future__ import annotations

from dataclasses import dataclass

from core import hits
from core.plan import AnswerCache, Plan
from core.rewrite import Context, NotApplicable, within
from core.techniques._lookup import look_up_first
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`entries`: how many requests; `similar`: also in other words, from `threshold` on."""

    entries: int = within(12, 1, 200, 1)
    similar: bool = True
    threshold: float = within(0.86, 0.5, 1.0, 0.01)


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Look among the prepared answers first."""
    similar = params.similar and hits.measured(context.scenario)
    threshold = params.threshold if similar else 1.0
    layer = AnswerCache("precomputed", 86_400.0, threshold, entries=params.entries)
    answered = look_up_first(plan, (layer,))
    return NotApplicable(Note.of("reason.already_prepared")) if answered == plan else answered
