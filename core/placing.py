"""A step's spell put on the clock: deadlines and speculation depend on when it is ready."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from core.dists import Array
from core.plan import Deadline, Step
from core.spells import Spell, chosen, started_again, timed_out
from core.timeline import Mask, State, Usage
from core.workload import Ints

T = TypeVar("T", bound=np.generic)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What was asked of a step: where it is left out whatever its guards say, its spell, them."""

    skip: Mask
    spell: Spell
    guarded: Guarded | None


@dataclass(slots=True)
class Lane:
    """One step's arrays, (n,), absolute times.

    `own_end` is when its own work ended, where its guard has not spoken yet. `asked` is what the
    lane was made from.
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
    asked: Asked | None = None

    @property
    def failed(self) -> Mask:
        """Where it failed for good."""
        out: Mask = self.state == State.FAILED
        return out

    @property
    def gave_up(self) -> Mask:
        """Where it ended on its own without its values, whatever its guard said later."""
        return np.zeros(len(self.ready), dtype=bool) if self.spell is None else self.spell.absent

    @property
    def start(self) -> Array:
        """When it began, (n,): later than `ready` where its first call waited for its place."""
        if self.asked is None or not self.asked.spell.attempts:
            return self.ready
        first = self.asked.spell.attempts[0]
        waited = np.where(first.made & (first.sent_s == 0.0), first.slot.wait_s, 0.0)
        return np.clip(self.ready + waited, self.ready, np.maximum(self.first, self.ready))


def columns(arrays: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    """Arrays (n,) side by side, (n, S), each still in one piece: that is what costs no time."""
    return np.stack(arrays).T


def drawn(entries: Sequence[V], rows: Ints) -> tuple[V, ...]:
    """The entry of each row, as a tuple of n; faster than a loop where n is large."""
    table = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        table[place] = entry
    return tuple(table[rows])


def usage(lanes: Sequence[Lane]) -> Usage:
    """What was used, (n, S); nothing where a step was skipped."""
    skipped = [lane.state == State.SKIPPED for lane in lanes]
    some = [bool(where.any()) for where in skipped]

    def column(name: str) -> Array:
        used = np.zeros((len(lanes), len(lanes[0].ready)))
        for row, lane, where, any_skipped in zip(used, lanes, skipped, some, strict=True):
            if lane.spell is not None:
                row[:] = getattr(lane.spell, name)
                if any_skipped:
                    row[where] = 0.0
        return used.T

    used = column("tokens_in")
    return Usage(
        used,
        column("tokens_cached"),
        column("tokens_out"),
        np.zeros_like(used),
        column("tokens_rejected"),
        column("cost_usd"),
        column("calls"),
    )


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


def turns_late(step: Step) -> tuple[float, ...]:
    """When it must be ready to do all it can, and then each lesser thing, in order of time."""
    levels = (p for p in step.policies if isinstance(p, Deadline) and p.then != "drop")
    return tuple(sorted({p.slo_s - p.left_s for p in levels}))


def between(limits: Sequence[float]) -> tuple[float, ...]:
    """A time before the first limit, one between each two, one after the last; none without."""
    if not limits:
        return ()
    inner = ((a + b) / 2 for a, b in itertools.pairwise(limits))
    return (limits[0] - 1.0, *inner, limits[-1] + 1.0)


def placed(
    step: Step, ready: Array, skip: Mask, spell: Spell, guarded: Guarded | None = None
) -> Lane:
    """Return the lane of a step that is ready at this time, left out where `skip`."""
    unheard = np.zeros(len(ready), dtype=bool)
    asked = Asked(skip, spell, guarded)
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
        said = np.maximum(guarded.said, ready)
        misled = guarded.misled & ~guarded.refused & ~skip & unheard
        again, _ = within_deadline(step, said, guarded.again)
        begun = np.where(misled, said + again.begun, begun)
        first = np.where(misled, said + again.first, np.maximum(first, said))
        own_end = np.where(misled, said + again.end, end)
        end = np.maximum(own_end, said)
        spell = started_again(spell, again, misled)
        cancelled = guarded.refused & ~skip
        first, end = np.where(cancelled, said, first), np.where(cancelled, said, end)
        own_end = np.where(cancelled, np.minimum(own_end, said), own_end)
        state = np.where(cancelled, State.CANCELLED, state).astype(np.int8)
    free = state == State.RAN
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
        asked,
    )
