"""Chunking: checks work sentence by sentence on the stream instead of on the whole answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, WorkStep
from core.rewrite import Context, NotApplicable, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`sentences` per chunk: more give the check more context and the reader a later start."""

    sentences: int = within(1, 1, 6, 1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Let each step between the answer and the screen start at the first sentence."""
    if not any(s.stream for s in shown_steps(plan)):
        return NotApplicable(Note.of("reason.needs_streaming"))
    shown, gates = set(plan.show.reads), set(plan.show.gates)
    checks = [s for s in plan.work_steps if set(s.reads) & shown and set(s.gives) & gates]
    whole = [s for s in checks if not s.per_piece]
    if not whole:
        return NotApplicable(Note.of("reason.nothing_after_answer"))
    changed: list[WorkStep] = [
        replace(s, per_piece=True, piece_sentences=params.sentences, after=()) for s in whole
    ]
    return plan.with_steps(*changed, replace(plan.show, early=False, after=()))
