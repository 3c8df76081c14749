"""Output limit: an answer stops after so many tokens, or where nobody reads what would follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from core.counts import call
from core.plan import Field, Form, LlmStep, Plan
from core.rewrite import Context, NotApplicable, read_values, shown_steps, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`max_tok`: most tokens an answer may have; with `by_length` each call has a limit of its own.

    That lets `whole` of its answers come to their end, by their lengths in the scenario. `stop`:
    a stop sequence ends the call at the first key that nobody reads, nor anything after it.
    """

    max_tok: int = within(200, 16, 4000, 8)
    by_length: bool = False
    whole: float = within(0.95, 0.5, 1.0, 0.01)
    stop: bool = True


def rewrite(plan: Plan, params: Params, context: Context) -> Plan | NotApplicable:
    """Limit every call whose text people see, and stop those that end in what nobody reads."""
    read = read_values(plan)
    limited = [_limited(s, params, context) for s in shown_steps(plan)]
    if params.stop:
        limited = [_stopped(s, read) for s in limited]
    changed = plan.with_steps(*limited)
    return NotApplicable(Note.of("reason.already_limited")) if changed == plan else changed


def _limited(step: LlmStep, params: Params, context: Context) -> LlmStep:
    limit, written = params.max_tok, call(context.scenario, step).tokens_out
    if params.by_length and written.any():
        limit = int(np.quantile(written[written > 0], params.whole, method="higher"))
    own = step.max_output_tok
    return replace(step, max_output_tok=limit if own is None else min(own, limit))


def _stopped(step: LlmStep, read: frozenset[str]) -> LlmStep:
    """Mark the first of the fields at the end of the answer that nobody reads."""
    fields, form = step.signature.fields, step.signature.form
    last = max((k for k, f in enumerate(fields) if _wanted(f, read)), default=-1)
    if form is Form.TEXT or last < 0 or last == len(fields) - 1 or any(f.stops for f in fields):
        return step
    first = replace(fields[last + 1], stops=True)
    cut = (*fields[: last + 1], first, *fields[last + 2 :])
    return replace(step, signature=replace(step.signature, fields=cut))


def _wanted(field: Field, read: frozenset[str]) -> bool:
    return field.read or field.name in read
