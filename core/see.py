"""From step times to what the person sees: units of text and cards on the clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.display import Display
from core.dists import Array
from core.timeline import Mask, Visible
from core.workload import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A step whose output is shown, (n,) each.

    `begun`: when its first token was made, `first`: before this nothing comes out of it, `end`,
    `tpot`: seconds per token, `cap`: token times after which it was cut off.
    """

    begun: Array
    first: Array
    end: Array
    tpot: Array
    cap: Array
    streams: bool

    def at(self, weight: Array) -> Array:
        """When the tokens at these weights (n, K) are there; all at the end if not streamed."""
        if not self.streams:
            return np.broadcast_to(self.end[:, None], weight.shape)
        made: Array = self.begun[:, None] + self.tpot[:, None] * weight
        return np.maximum(made, self.first[:, None])


def arrivals(source: Ints, weight: Array, sources: list[Source]) -> Array:
    """When each entry (n, K) of several sources' outputs is there; -inf for pads (source -1)."""
    at = np.full(weight.shape, -np.inf)
    for j, one in enumerate(sources):
        at = np.where(source == j, one.at(weight), at)
    return at


def kept(source: Ints, weight: Array, sources: list[Source]) -> Mask:
    """Which entries (n, K) were written before their step was cut off; never a pad."""
    real = source >= 0
    for j, one in enumerate(sources):
        real &= (source != j) | (weight <= one.cap[:, None])
    return real


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """When each sentence or card (n, J) has passed a check that works on the stream."""

    done: Array
    real: Mask

    @staticmethod
    def worked(
        display: Display,
        rows: Ints,
        sources: list[Source],
        ready: Array,
        costs: Array,
        per_1k_chars_s: float,
    ) -> Pieces:
        """Piece j is done at max(its text complete, the piece before it done) + its cost.

        Nothing is done before the check is `ready`. What there is of a piece that was cut off in
        its middle is complete when its step ends.
        """
        source = display.piece_source[rows]
        weight = display.piece_weight[rows]
        whole = kept(source, display.piece_first[rows], sources)
        complete = arrivals(source, weight, sources)
        for number, one in enumerate(sources):
            broken = (source == number) & (weight > one.cap[:, None])
            complete = np.where(broken, one.end[:, None], complete)
        order = np.argsort(complete, axis=1, kind="stable")
        complete = np.maximum(complete, ready[:, None])
        cost = costs + per_1k_chars_s * display.piece_chars[rows] / 1000
        before = np.full(len(rows), -np.inf)
        done = np.empty_like(complete)
        row = np.arange(len(rows))
        for step in range(complete.shape[1]):
            j = order[:, step]
            real = whole[row, j]
            here = np.maximum(complete[row, j], before) + np.where(real, cost[row, j], 0.0)
            done[row, j] = here
            before = np.where(real, here, before)
        return Pieces(done, whole)

    @staticmethod
    def through(checks: list[tuple[Pieces, Mask]]) -> Pieces | None:
        """When each piece has passed all checks but, row by row, those that were left out."""
        if not checks:
            return None
        done = [np.where(out[:, None], -np.inf, p.done) for p, out in checks]
        real = [out[:, None] | p.real for p, out in checks]
        return Pieces(np.maximum.reduce(done), np.logical_and.reduce(real))

    @property
    def first(self) -> Array:
        """When the first piece is through, (n,)."""
        earliest: Array = np.where(self.real, self.done, np.inf).min(axis=1)
        return earliest

    @property
    def end(self) -> Array:
        """When the last piece is through, (n,)."""
        latest: Array = np.where(self.real, self.done, -np.inf).max(axis=1)
        return latest


def first_out(display: Display, rows: Ints, sources: list[Source]) -> Array:
    """When the first readable part comes out of any step, (n,); inf where none does."""
    first = np.full(len(rows), np.inf)
    for j, one in enumerate(sources):
        weight = display.producer_first[rows, j][:, None]
        there = (weight <= one.cap[:, None]) & np.isfinite(weight)
        at = one.at(np.where(there, weight, 0.0))
        first = np.minimum(first, np.where(there, at, np.inf)[:, 0])
    return first


def visible(
    display: Display,
    served: Ints,
    sources: list[Source],
    pieces: Pieces | None,
    gate: Array | None,
    start: Array,
    end: Array,
    hit: Mask,
    failed: Mask,
    *,
    buffered: bool,
) -> Visible:
    """The visible events of n requests, sorted by time in each row.

    `gate` holds back everything until a check of the whole has spoken, `pieces` each piece until
    its own check. Answers from a cache (`hit`) appear at once; failed requests show nothing.
    """
    source = display.source[served]
    real = kept(source, display.weight[served], sources)
    at = arrivals(source, display.weight[served], sources)
    if pieces is not None:
        piece = display.piece[served]
        at = np.maximum(at, np.take_along_axis(pieces.done, piece, axis=1))
        real &= np.take_along_axis(pieces.real, piece, axis=1)
    real = (real | (hit[:, None] & (source >= 0))) & ~failed[:, None]
    if gate is not None:
        at = np.maximum(at, gate[:, None])
    at = np.where(hit[:, None], start[:, None], at)
    if buffered:
        at = np.broadcast_to(end[:, None], at.shape)
    last = np.where(real, at, -np.inf).max(axis=1, keepdims=True)
    at = np.where(real, at, np.where(np.isfinite(last), last, 0.0))
    chars = np.where(real, display.chars[served], 0.0)
    closes = display.closes[served] & real
    unit = np.broadcast_to(np.arange(source.shape[1]), source.shape)
    if display.exclusive and pieces is None:
        return Visible(at, chars, closes, unit)
    order = np.argsort(at, axis=1, kind="stable")
    at, chars = np.take_along_axis(at, order, 1), np.take_along_axis(chars, order, 1)
    closes, unit = np.take_along_axis(closes, order, 1), np.take_along_axis(unit, order, 1)
    return Visible(at, chars, closes, unit)
