"""Prune the context: of all passages only the sentences that bear most on the question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable, tighter, update_found, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`keep` sentences of all passages stay."""

    keep: int = within(8, 2, 20, 1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Prune every input that a search has found; a limit that is tighter already stays."""
    changed = update_found(plan, lambda i: replace(i, sentences=tighter(i.sentences, params.keep)))
    return NotApplicable(Note.of("reason.no_passages")) if changed == plan else changed
