"""A step's spell put on the clock: deadlines and speculation depend on when it is ready."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.dists import Array
from core.durations import Spell, chosen, started_again, timed_out
from core.plan import Deadline, Step
from core.timeline import Mask, State


@dataclass(slots=True)
class Lane:
    """One step's arrays, (n,), absolute times.

    `own_end` is when its own work ended, where its guard has not spoken yet.
    """

    ready: Array
    begun: Array
    first: Array
    end: Array
    own_end: Array
    state: npt.NDArray[np.int8]
    tpot: Array
    cap: Array
    absent: Mask
    spell: Spell | None = None

    @property
    def failed(self) -> Mask:
        """Where it failed for good."""
        out: Mask = self.state == State.FAILED
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """What a guard means to a step that speculates on it, (n,).

    `said`: when it spoke; `refused`: where the step's condition does not hold; `misled`: where the
    step reads something that was cancelled; `again`: its spell without that. Where the guard has
    spoken before the step is ready, nothing is guessed and nothing wasted.
    """

    said: Array
    refused: Mask
    misled: Mask
    again: Spell


def within_deadline(step: Step, ready: Array, spell: Spell) -> tuple[Spell, Mask]:
    """Return the spell given up in time, and where it was not even begun; see `Deadline`."""
    never = np.zeros(len(ready), dtype=bool)
    for policy in step.policies:
        if isinstance(policy, Deadline) and policy.then == "drop":
            left = policy.slo_s - policy.left_s - ready
            spell = timed_out(spell, np.maximum(left, 0.0))
            never |= left <= 0.0
    return spell, never


def late_for(step: Step, ready: Array, then: str) -> list[tuple[Deadline, Mask]]:
    """Where less than the policy's `left_s` is to go, for each deadline policy of this sort."""
    return [
        (p, p.slo_s - ready < p.left_s)
        for p in step.policies
        if isinstance(p, Deadline) and p.then == then
    ]


def placed(
    step: Step, ready: Array, skip: Mask, spell: Spell, guarded: Guarded | None = None
) -> Lane:
    """Return the lane of a step that is ready at this time, left out where `skip`."""
    unheard = np.zeros(len(ready), dtype=bool)
    if guarded is not None:
        unheard = guarded.said > ready
        skip = skip | (guarded.refused & ~unheard)
        spell = chosen(guarded.misled & ~unheard, guarded.again, spell)
    spell, never = within_deadline(step, ready, spell)
    skip = skip | never
    state = np.where(skip, State.SKIPPED, State.RAN).astype(np.int8)
    begun, first, end = ready + spell.begun, ready + spell.first, ready + spell.end
    own_end = end
    if guarded is not None:
        again, misled = guarded.again, guarded.misled & ~guarded.refused & ~skip & unheard
        said = np.maximum(guarded.said, ready)
        begun = np.where(misled, said + again.begun, begun)
        first = np.where(misled, said + again.first, np.maximum(first, said))
        own_end = np.where(misled, said + again.end, end)
        end = np.maximum(own_end, said)
        spell = started_again(spell, again, misled)
        cancelled = guarded.refused & ~skip
        first, end = np.where(cancelled, said, first), np.where(cancelled, said, end)
        own_end = np.where(cancelled, np.minimum(own_end, said), own_end)
        state = np.where(cancelled, State.CANCELLED, state).astype(np.int8)
    free = (state == State.RAN)
    state = np.where(spell.cached & free, State.CACHED, state).astype(np.int8)
    state = np.where(~spell.ok & free, State.FAILED, state).astype(np.int8)
    absent = skip | (state == State.CANCELLED) | spell.absent
    return Lane(
        ready,
        np.where(skip, ready, begun),
        np.where(skip, ready, first),
        np.where(skip, ready, end),
        np.where(skip, ready, own_end),
        state,
        spell.tpot,
        np.where(skip, np.inf, spell.cap),
        absent,
        spell,
    )
