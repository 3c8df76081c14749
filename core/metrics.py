"""Every metric once: id, unit, which way is better, its formula in words, and how it is computed.

A metric is a function of a timeline to an array (n,). NaN means "no value", which is never 0: a
request that failed has no answer to be seen, a call that does not stream has no TTFT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from core import curves
from core.dists import Array
from core.errors import UnknownName
from core.timeline import State, Timeline

READING_EN_CPS = 16.7
"""Reading pace, non-space characters/s. Source: Brysbaert 2019, 238 words/min, silent reading."""

READING_KO_CPS = 9.0
"""Reading pace, syllables/s. Source: Rhiu 2017, 8 to 10; a weak source."""

TTFT_EXPECTED_S = 1.0
DEADLINE_FIRST_S = 1.0
DEADLINE_NEXT_S = 0.04

MIN_P95, MIN_P99 = 20, 100
"""Fewest requests from which these percentiles are given."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: non-space characters/s by language, times `pace`; what wait is expected."""

    pace: float = 1.0
    ttft_expected_s: float = TTFT_EXPECTED_S

    def cps(self, lang: str) -> float:
        """Characters/s in a language."""
        return self.pace * (READING_KO_CPS if lang == "ko" else READING_EN_CPS)

    def paces(self, timeline: Timeline) -> Array:
        """Characters/s for each request, (n,)."""
        by_lang = {lang: self.cps(lang) for lang in ("en", "ko")}
        return np.array([by_lang[r.lang] for r in timeline.requests])


Compute = Callable[[Timeline, Reader], Array]


@dataclass(frozen=True, slots=True)
class Metric:
    """One definition. `kind`: what was done (real), or what the person saw (perceived)."""

    id: str
    unit: Literal["s", "ratio", "usd", "tokens", "count"]
    kind: Literal["real", "perceived"]
    better: Literal["lower", "higher"]
    compute: Compute


def _work(t: Timeline, _: Reader) -> Array:
    busy = np.where(t.state == State.SKIPPED, 0.0, t.end_s - t.start_s)
    shown = t.column(t.plan.show.id)
    out: Array = np.delete(busy, shown, axis=1).sum(axis=1)
    return out


def _overlap(t: Timeline, r: Reader) -> Array:
    total = t.total_s
    return _work(t, r) / np.where(total > 0, total, np.nan)


def _ack(t: Timeline, r: Reader) -> Array:
    seen = [_first_visible(t, r), *t.status.values()]
    stacked = np.stack([np.where(np.isnan(a), np.inf, a) for a in seen])
    earliest: Array = stacked.min(axis=0)
    return np.where(np.isfinite(earliest), earliest, np.nan)


def _first_visible(t: Timeline, _: Reader) -> Array:
    return curves.first(t.visible.t_s, t.visible.chars > 0)


def _first_useful(t: Timeline, _: Reader) -> Array:
    return curves.first(t.visible.t_s, t.visible.closes)


def _done(t: Timeline, _: Reader) -> Array:
    return curves.last(t.visible.t_s, t.visible.chars > 0)


def _speed_index(t: Timeline, _: Reader) -> Array:
    return curves.speed_index(t.visible.t_s, t.visible.chars)


def _reading(t: Timeline, r: Reader) -> curves.Reading:
    return curves.read(t.visible.t_s, t.visible.chars, r.paces(t))


def _reader_wait(t: Timeline, r: Reader) -> Array:
    return curves.reader_wait(t.visible.t_s, t.visible.chars, r.paces(t))


def _qoe(t: Timeline, r: Reader) -> Array:
    return curves.qoe(t.visible.t_s, t.visible.chars, r.paces(t), r.ttft_expected_s)


def _fluidity(t: Timeline, _: Reader) -> Array:
    shown = (t.visible.chars > 0).astype(float)
    return curves.fluidity(
        t.visible.t_s, shown, prefill_s=DEADLINE_FIRST_S, decode_s=DEADLINE_NEXT_S
    )


def _used(name: str) -> Compute:
    def compute(t: Timeline, _: Reader) -> Array:
        out: Array = getattr(t.usage, name).sum(axis=1)
        return out

    return compute


METRICS: tuple[Metric, ...] = (
    Metric("total_s", "s", "real", "lower", lambda t, _: t.total_s),
    Metric("ack_s", "s", "perceived", "lower", _ack),
    Metric("first_visible_s", "s", "perceived", "lower", _first_visible),
    Metric("first_useful_s", "s", "perceived", "lower", _first_useful),
    Metric("done_s", "s", "perceived", "lower", _done),
    Metric("reader_wait_s", "s", "perceived", "lower", _reader_wait),
    Metric("startup_s", "s", "perceived", "lower", lambda t, r: _reading(t, r).startup_s),
    Metric("stall_s", "s", "perceived", "lower", lambda t, r: _reading(t, r).stall_s),
    Metric("stall_count", "count", "perceived", "lower", lambda t, r: _reading(t, r).stall_count),
    Metric(
        "stall_longest_s", "s", "perceived", "lower", lambda t, r: _reading(t, r).stall_longest_s
    ),
    Metric("reader_done_s", "s", "perceived", "lower", lambda t, r: _reading(t, r).finished_s),
    Metric("speed_index_s", "s", "perceived", "lower", _speed_index),
    Metric("qoe", "ratio", "perceived", "higher", _qoe),
    Metric("fluidity", "ratio", "perceived", "higher", _fluidity),
    Metric("work_s", "s", "real", "lower", _work),
    Metric("overlap", "ratio", "real", "higher", _overlap),
    Metric("calls", "count", "real", "lower", _used("calls")),
    Metric("tokens_in", "tokens", "real", "lower", _used("tokens_in")),
    Metric("tokens_cached", "tokens", "real", "higher", _used("tokens_cached")),
    Metric("tokens_out", "tokens", "real", "lower", _used("tokens_out")),
    Metric("tokens_rejected", "tokens", "real", "lower", _used("tokens_rejected")),
    Metric("cost_usd", "usd", "real", "lower", _used("cost_usd")),
)

HEADLINE: tuple[str, ...] = (
    "total_s",
    "first_visible_s",
    "first_useful_s",
    "reader_wait_s",
    "cost_usd",
    "tokens_out",
    "calls",
)


def metric(metric_id: str) -> Metric:
    """The metric of that id. Raises UnknownName."""
    for m in METRICS:
        if m.id == metric_id:
            return m
    raise UnknownName("metric", metric_id, (m.id for m in METRICS))


@dataclass(frozen=True, slots=True)
class Summary:
    """Percentiles over the requests that have a value; None where too few do.

    `missing` counts those without one (failed, or nothing to measure): they are never dropped
    silently.
    """

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    n: int
    missing: int


def summary(values: Array) -> Summary:
    """Median, tail and mean of (n,) values."""
    return _rows(values[None, :])[0]


def _rows(values: Array) -> list[Summary]:
    """Summaries of each row of (k, n) values, by linear interpolation between order statistics."""
    if values.shape[1] == 0:
        return [Summary(None, None, None, None, 0, 0)] * len(values)
    ordered = np.sort(values, axis=1)  # NaN last
    real = ~np.isnan(ordered)
    count = real.sum(axis=1)
    means = np.where(real, ordered, 0.0).sum(axis=1) / np.maximum(count, 1)
    at = {q: _interpolated(ordered, count, q) for q in (0.50, 0.95, 0.99)}
    return [
        Summary(
            float(at[0.50][k]) if n else None,
            float(at[0.95][k]) if n >= MIN_P95 else None,
            float(at[0.99][k]) if n >= MIN_P99 else None,
            float(means[k]) if n else None,
            int(n),
            int(ordered.shape[1] - n),
        )
        for k, n in enumerate(count)
    ]


def _interpolated(ordered: Array, count: npt.NDArray[np.int64], q: float) -> Array:
    """The q quantile of the first `count` entries of each row."""
    place = q * np.maximum(count - 1, 0)
    low = place.astype(np.int64)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    row = np.arange(len(ordered))
    a, b = ordered[row, low], ordered[row, high]
    out: Array = a + (place - low) * (b - a)
    return out


def summaries(
    timeline: Timeline, reader: Reader, ids: Sequence[str] | None = None
) -> dict[str, Summary]:
    """Summaries by metric id, all metrics where none are named."""
    chosen = METRICS if ids is None else [metric(i) for i in ids]
    values = np.stack([m.compute(timeline, reader) for m in chosen])
    return dict(zip((m.id for m in chosen), _rows(values), strict=True))


@dataclass(frozen=True, slots=True)
class Change:
    """Median paired difference b - a with its 95 % bootstrap interval, and its share of a."""

    difference: float
    low: float
    high: float
    share: float | None


def change(a: Array, b: Array, *, rng: np.random.Generator, resamples: int = 400) -> Change | None:
    """The effect of going from a to b, (n,) each, request by request; None without pairs."""
    ok = ~(np.isnan(a) | np.isnan(b))
    if not ok.any():
        return None
    delta = b[ok] - a[ok]
    picks = rng.integers(0, len(delta), size=(resamples, len(delta)))
    medians = np.median(delta[picks], axis=1)
    low, high = (float(q) for q in np.percentile(medians, (2.5, 97.5)))
    base = float(np.median(a[ok]))
    middle = float(np.median(delta))
    return Change(middle, low, high, middle / base if base else None)
