"""Attempts at a model call: when each asks for its place, how long it holds it, what it waited.

Only made where calls share something (`core.load`). Policies lay attempts end to end, side by side
or cut them off, as they do with times; the functions here do the same to what is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.dists import Array
from core.timeline import Mask

Kind = Literal["set", "then", "hedge"]


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """What sharing did to one attempt, (n,).

    `wait_s`: seconds until it was sent, inf where it never was. `connect_s`: seconds of a new
    connection. `first_x`, `decode_x`: how many times as long as alone it took to its first token,
    and from there on.
    """

    wait_s: Array
    connect_s: Array
    first_x: Array
    decode_x: Array

    @staticmethod
    def free(n: int) -> Slot:
        """A place that is free at once, on a warm connection, with nobody else about."""
        return Slot(np.zeros(n), np.zeros(n), np.ones(n), np.ones(n))


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One attempt of a step at a call, (n,) each.

    `sent_s` is when it asks for its place, from the step's start: set beforehand, or (`then`) so
    long after the attempt before it ended. A `hedge` is made where its rival, the attempt before
    it, is silent so long; the later one to begin then stops. `made`: where it is wanted at all.
    `first_s` and `hold_s`: how long it takes to its first token and how long it holds its place,
    alone and on a warm connection. `tokens`: what a limit on tokens counts.
    """

    key: str
    kind: Kind
    sent_s: Array
    made: Mask
    first_s: Array
    hold_s: Array
    tokens: Array
    slot: Slot

    @property
    def began_s(self) -> Array:
        """When its first token came, from the step's start; inf where it was never sent."""
        slot = self.slot
        out: Array = self.sent_s + slot.wait_s + (slot.connect_s + self.first_s) * slot.first_x
        return out

    @property
    def left_s(self) -> Array:
        """When it let go of its place, from the step's start; inf where it was never sent."""
        short = np.minimum(self.hold_s, self.first_s)
        rest = (self.hold_s - short) * self.slot.decode_x
        begun = (self.slot.connect_s + short) * self.slot.first_x
        out: Array = self.sent_s + self.slot.wait_s + begun + rest
        return out


Attempts = tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sharing:
    """How sharing treated n requests so far: their places by step id and attempt.

    `pooled`: connections come from a pool of all requests, so `Slot.connect_s` says what they cost.
    """

    n: int
    slots: Mapping[tuple[str, str], Slot]
    pooled: bool

    def slot(self, step_id: str, key: str) -> Slot:
        """The place of an attempt; a free one where nothing is known yet."""
        found = self.slots.get((step_id, key))
        return Slot.free(self.n) if found is None else found


def shifted(attempts: Attempts, by: Array, kind: Kind | None = None) -> Attempts:
    """The same so much later; the first of them of this kind, if one is given."""
    later = tuple(replace(a, sent_s=a.sent_s + by) for a in attempts)
    return later if kind is None or not later else (replace(later[0], kind=kind), *later[1:])


def only(attempts: Attempts, where: Mask) -> Attempts:
    """The same, wanted only in some places."""
    return tuple(replace(a, made=a.made & where) for a in attempts)


def until(attempts: Attempts, at_s: Array) -> Attempts:
    """The same, given up at this time from the step's start."""
    return tuple(_until(a, at_s) for a in attempts)


def _until(attempt: Attempt, at_s: Array) -> Attempt:
    slot = attempt.slot
    left = at_s - attempt.sent_s - slot.wait_s - slot.connect_s * slot.first_x
    first = attempt.first_s * slot.first_x
    worked = np.where(
        left < first, left / slot.first_x, attempt.first_s + (left - first) / slot.decode_x
    )
    hold = np.clip(worked, 0.0, attempt.hold_s)
    return replace(attempt, hold_s=hold, made=attempt.made & (attempt.sent_s < at_s))


def either(where: Mask, a: Attempts, b: Attempts) -> Attempts:
    """Row by row the one or the other; attempts of one name stay one."""
    others = {o.key: o for o in b}
    both = [_either(where, x, others.pop(x.key)) if x.key in others else x for x in a]
    mixed = {x.key for x in b} - others.keys()
    chosen = (x if x.key in mixed else replace(x, made=x.made & where) for x in both)
    return (*chosen, *only(tuple(others.values()), ~where))


def _either(where: Mask, a: Attempt, b: Attempt) -> Attempt:
    return replace(
        a,
        sent_s=np.where(where, a.sent_s, b.sent_s),
        made=np.where(where, a.made, b.made),
        first_s=np.where(where, a.first_s, b.first_s),
        hold_s=np.where(where, a.hold_s, b.hold_s),
        tokens=np.where(where, a.tokens, b.tokens),
    )
