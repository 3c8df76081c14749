"""Measures of one delivered answer: when which part of it was there, and what a reader makes of it.

All functions take arrays (n, K): `t_s` times in order in each row, `chars` or tokens that came with
each event, 0 for padding. They return (n,), NaN where there is nothing to measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.dists import Array
from core.timeline import Mask

STALL_S = 0.1
"""Shortest pause counted as a stall: the limit of what feels instant. Source: Nielsen 1993."""


def first(t_s: Array, where: Mask) -> Array:
    """Time of the first event for which `where` holds."""
    found: Array = t_s.min(axis=1, where=where, initial=np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def last(t_s: Array, where: Mask) -> Array:
    """Time of the last event for which `where` holds."""
    found: Array = t_s.max(axis=1, where=where, initial=-np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def tpot(t_s: Array, tokens: Array) -> Array:
    """Time per output token after the first chunk: (t_last - t_first) / (N - n_1).

    Counting from the first chunk's tokens keeps it right where chunks hold several tokens.
    """
    real = tokens > 0
    n_1 = np.take_along_axis(tokens, real.argmax(axis=1)[:, None], axis=1)[:, 0]
    later = tokens.sum(axis=1) - n_1
    span = last(t_s, real) - first(t_s, real)
    return np.where(later > 0, span / np.maximum(later, 1), np.nan)


def gaps(t_s: Array, tokens: Array) -> tuple[Array, Mask]:
    """Times between chunks (n, K - 1) and which of them are real."""
    real = tokens > 0
    return np.diff(t_s, axis=1), real[:, 1:] & real[:, :-1]


def longest_gap(t_s: Array, tokens: Array) -> Array:
    """Longest time between two chunks; NaN for a single chunk."""
    gap, real = gaps(t_s, tokens)
    found: Array = np.where(real, gap, -np.inf).max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(found), found, np.nan)


def speed_index(t_s: Array, chars: Array) -> Array:
    """Integral of (1 - visible share) dt = sum(c_k / C * t_k)."""
    total = chars.sum(axis=1)
    out: Array = (chars * t_s).sum(axis=1) / np.where(total > 0, total, np.nan)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How a reader gets through the answer, (n,): all seconds but `stall_count`.

    `wait_s` is the headline: the start-up wait plus all stalls. A stall is counted from STALL_S on.
    """

    wait_s: Array
    startup_s: Array
    stall_s: Array
    stall_count: Array
    stall_longest_s: Array
    finished_s: Array
    begin_s: Array


def reader_wait(t_s: Array, chars: Array, pace: Array) -> Array:
    """The wait of `read` alone: max over chunks of t_k - (characters before k)/pace."""
    before = np.cumsum(chars, axis=1)
    before -= chars
    behind = t_s - before / pace[:, None]
    wait = behind.max(axis=1, where=chars > 0, initial=-np.inf)
    return np.where(np.isfinite(wait), wait, np.nan)


def read(t_s: Array, chars: Array, pace: Array) -> Reading:
    """A reader who starts at the first character and reads at most `pace` (n,) characters/s.

    Reading chunk k begins at M_k + (characters before k)/pace, where M_k is the running maximum of
    t_j - (characters before j)/pace over j up to k; M_K is the wait.
    """
    real = chars > 0
    before = np.cumsum(chars, axis=1) - chars
    behind = np.where(real, t_s - before / pace[:, None], t_s[:, :1])
    running = np.maximum.accumulate(behind, axis=1)
    startup = first(t_s, real)
    wait = running[:, -1] + (startup - startup)  # NaN where nothing is shown
    late = np.maximum(running - startup[:, None], 0.0)  # NaN where nothing is shown
    step = np.nan_to_num(np.diff(late, axis=1))
    nothing = wait - wait
    return Reading(
        wait,
        startup,
        wait - startup,
        (step >= STALL_S).sum(axis=1) + nothing,
        step.max(axis=1, initial=0.0) + nothing,
        wait + chars.sum(axis=1) / pace,
        running + before / pace[:, None],
    )


def qoe(t_s: Array, chars: Array, pace: Array, ttft_expected_s: float) -> Array:
    """Area under what the reader got, over the area under what was expected; 0 to 1.

    Expected: from `ttft_expected_s` on at reading pace. Got: the delivered text at no more than
    reading pace. Up to the moment the reader has finished. Source: Andes (Liu et al. 2024).
    """
    reading = read(t_s, chars, pace)
    total = chars.sum(axis=1)
    horizon = reading.finished_s
    begin = np.where(chars > 0, reading.begin_s, 0.0)
    got = (chars * (horizon[:, None] - begin - chars / (2 * pace[:, None]))).sum(axis=1)
    since = np.maximum(horizon - ttft_expected_s, 0.0)
    ramp = total / pace
    wanted = np.where(since <= ramp, pace * since**2 / 2, total * ramp / 2 + total * (since - ramp))
    ratio = np.where(wanted > 0, got / np.where(wanted > 0, wanted, 1.0), 1.0)
    return np.where(np.isnan(reading.wait_s), np.nan, np.minimum(ratio, 1.0))


def fluidity(t_s: Array, tokens: Array, *, prefill_s: float, decode_s: float) -> Array:
    """Share of token deadlines met, early tokens earning slack for later ones; 0 to 1.

    Tokens that come together are on time but for the first. Source: Etalon (Agrawal et al. 2024),
    in the form its code computes.
    """
    n = len(t_s)
    slack, before, missed = np.zeros(n), np.zeros(n), np.zeros(n)
    met = np.zeros(n)
    begun = np.zeros(n, dtype=bool)
    for k in range(t_s.shape[1]):
        real = tokens[:, k] > 0
        deadline = np.where(begun, decode_s, prefill_s)
        gap = t_s[:, k] - before
        late = real & (gap > deadline + slack)
        over = np.where(begun, gap - slack, gap - slack - prefill_s)
        count = np.floor_divide(over, decode_s) + np.where(begun, 0.0, 1.0)
        on_time = real & ~late
        missed += np.where(late, count, 0.0)
        slack = np.where(late, 0.0, slack + np.where(on_time, deadline - gap, 0.0))
        met += on_time
        together = np.where(real, tokens[:, k] - 1, 0.0)  # the rest of the chunk, gap 0
        met += together
        slack += together * decode_s
        before = np.where(real, t_s[:, k], before)
        begun |= real
    total = met + missed
    return np.where(begun, 1.0 - missed / np.maximum(total, 1.0), np.nan)
