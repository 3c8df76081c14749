"""What is wrapped round one step: a closed set, each with its meaning in a sentence or two.

Policies on one step apply from the inside out, in the order in which they are listed; speculation
and deadlines, which depend on when the step is ready, lie round all others. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Timeout:
    """Give up after `after_s` and go on without the step's values."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Retry:
    """After a failure try again, at most `attempts` in all, each pause twice the one before.

    The first pause is `backoff_s`. Source: exponential backoff, as the SDKs of the providers do it.
    """

    attempts: int
    backoff_s: float = 0.0

    def pause_s(self, attempt: int) -> float:
        """Seconds of waiting before this attempt, the second one or a later one."""
        return self.backoff_s * 2.0 ** (attempt - 2)


@dataclass(frozen=True, slots=True)
class Hedge:
    """Send the same work again after `delay_s`; the first answer wins, both are paid."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Cache:
    """Look the step's result up by `key` (value names) first; the lookup is paid on misses too."""

    key: tuple[str, ...]
    lookup: str
    ttl_s: float


@dataclass(frozen=True, slots=True)
class Gate:
    """Ask service `check` first; do the work only for the `share` of requests that needs it.

    The others pass on what they read. The check is paid by all.
    """

    check: str
    share: float


@dataclass(frozen=True, slots=True)
class Speculate:
    """Do not wait for the step `guard`; nothing comes out before the guard has spoken.

    The step starts when everything else it waits for is there; what comes out earlier than the
    guard's end comes out at the guard's end. Where the guard says no (a condition it gives does not
    hold) the step is cancelled at the guard's end, its values are absent, and the work counts in
    full. Steps with the same guard follow each other at once, without waiting for it in between;
    one that has read the values of a step which is then cancelled starts again without them at the
    guard's end, and both attempts count.
    """

    guard: str


@dataclass(frozen=True, slots=True)
class Cascade:
    """Ask the small model first, check with service `gate`, escalate the share that fails.

    Nothing comes out before the gate has passed the whole small answer.
    """

    gate: str
    escalation_rate: float


@dataclass(frozen=True, slots=True)
class Deadline:
    """One time limit `slo_s` for the request; what is left of it decides what this step may do.

    `drop`: it may run until `left_s` before the limit, then the plan goes on without its values
    (without having begun it, where that moment has passed when it is ready). `small`: with less
    than `left_s` to go when it is ready, the small model does it. `short`: with less than `left_s`
    to go when it is ready, it stops `short_tok` tokens after the first one that can be read.
    """

    slo_s: float
    left_s: float
    then: Literal["drop", "small", "short"] = "drop"
    short_tok: int = 0


Policy = Timeout | Retry | Hedge | Cache | Gate | Speculate | Cascade | Deadline
