"""Retry: an external search that fails is asked again, after a pause that doubles each time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.plan import Plan, Retry, WorkStep
from core.rewrite import Context, NotApplicable, external_searches, within
from core.text import Note


@dataclass(frozen=True, slots=True)
class Params:
    """`attempts` in all; `backoff_s`: the pause before the second one, twice that before a third.

    Both are choices to be made, not measured figures.
    """

    attempts: int = within(2, 2, 5, 1)
    backoff_s: float = within(0.2, 0.0, 5.0, 0.1)


def rewrite(plan: Plan, params: Params, _: Context) -> Plan | NotApplicable:
    """Ask every external search again where it failed, inside whatever limit it has."""
    found = external_searches(plan)
    if not found:
        return NotApplicable(Note.of("reason.nothing_external"))
    once = [s for s in found if not _retries(s)]
    if not once:
        return NotApplicable(Note.of("reason.already_retried"))
    policy = Retry(params.attempts, params.backoff_s)
    return plan.with_steps(*(replace(s, policies=(policy, *s.policies)) for s in once))


def _retries(step: WorkStep) -> bool:
    return any(isinstance(p, Retry) for p in step.policies)
