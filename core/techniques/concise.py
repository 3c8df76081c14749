"""Concise: a bounded answer, the first sentences only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan
from core.rewrite import Context, NotApplicable, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`keep`: share of the sentences that is still written."""

    keep: float = within(0.5, 0.1, 0.9, 0.1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Ask for a short text wherever people read one."""
    wordy = [
        s
        for s in shown_steps(plan)
        if s.signature.concise > params.keep and any(f.shown == "text" for f in s.signature.fields)
    ]
    if not wordy:
        return NotApplicable(Note.of("reason.no_long_text"))
    return plan.with_steps(
        *(replace(s, signature=replace(s.signature, concise=params.keep)) for s in wordy)
    )
