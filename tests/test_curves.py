"""Delivered curves against the reference vectors and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import curves

K = np.arange(100)
CASES = {
    "steady": (0.5 + 0.02 * K, np.ones(100)),
    "not_streamed": (np.array([2.48]), np.array([100.0])),
    "chunks_of_5": (0.5 + 0.1 * np.arange(20), np.full(20, 5.0)),
    "stall": (0.5 + 0.02 * K + 3.0 * (K >= 50), np.ones(100)),
}
NONE = None
# name: ttft, e2e, tpot, max gap, speed index, qoe 5.3, qoe 25, wait 5.3, wait 25, fluidity
VECTORS = {
    "steady": (0.50, 2.48, 0.0200, 0.020, 1.49, 1.000, 1.000, 0.50, 0.50, 1.00),
    "not_streamed": (2.48, 2.48, NONE, NONE, 2.48, 0.864, 0.575, 2.48, 2.48, 0.73),
    "chunks_of_5": (0.50, 2.40, 0.0200, 0.100, 1.45, 1.000, 1.000, 0.50, 0.50, 1.00),
    "stall": (0.50, 5.48, 0.0503, 3.020, 2.99, 1.000, 0.857, 0.50, 2.50, 0.72),
}


@pytest.mark.parametrize("name", CASES)
def test_reference_vectors(name: str) -> None:
    t, tokens = (np.array([a], dtype=float) for a in CASES[name])
    slow, fast = np.array([5.3]), np.array([25.0])
    found = (
        curves.first(t, tokens > 0),
        curves.last(t, tokens > 0),
        curves.tpot(t, tokens),
        curves.longest_gap(t, tokens),
        curves.speed_index(t, tokens),
        curves.qoe(t, tokens, slow, 1.0),
        curves.qoe(t, tokens, fast, 1.0),
        curves.read(t, tokens, slow).wait_s,
        curves.read(t, tokens, fast).wait_s,
        curves.fluidity(t, tokens, prefill_s=1.0, decode_s=0.04),
    )
    digits = (2, 2, 4, 3, 2, 3, 3, 2, 2, 2)
    for value, expected, places in zip(found, VECTORS[name], digits, strict=True):
        if expected is None:
            assert np.isnan(value[0])
        else:
            assert round(float(value[0]), places) == expected


def brute_wait(t: list[float], chars: list[float], pace: float) -> tuple[float, float]:
    """Reads chunk by chunk; returns the wait and the longest stall."""
    clock, longest = t[0], 0.0
    for at, count in zip(t, chars, strict=True):
        longest = max(longest, at - clock)
        clock = max(clock, at) + count / pace
    return clock - sum(chars) / pace, longest


chunks = st.lists(st.tuples(st.floats(0.0, 2.0), st.integers(1, 40)), min_size=1, max_size=30)


@given(chunks, st.floats(1.0, 60.0))
def test_reader_agrees_with_reading_chunk_by_chunk(
    gaps: list[tuple[float, int]], pace: float
) -> None:
    t = list(np.cumsum([g for g, _ in gaps]) + 0.3)
    chars = [float(c) for _, c in gaps]
    found = curves.read(np.array([t]), np.array([chars]), np.array([pace]))
    wait, longest = brute_wait(t, chars, pace)
    assert found.wait_s[0] == pytest.approx(wait, abs=1e-9)
    assert found.stall_longest_s[0] == pytest.approx(longest, abs=1e-9)
    assert found.startup_s[0] + found.stall_s[0] == pytest.approx(found.wait_s[0])


@given(chunks, st.integers(1, 5))
def test_padding_changes_nothing(gaps: list[tuple[float, int]], pads: int) -> None:
    t = np.cumsum([g for g, _ in gaps]) + 0.3
    chars = np.array([float(c) for _, c in gaps])
    padded_t = np.concatenate([t, np.full(pads, t[-1])])
    padded_c = np.concatenate([chars, np.zeros(pads)])
    pace = np.array([16.7])
    for a, b in (
        (
            curves.read(t[None], chars[None], pace).wait_s,
            curves.read(padded_t[None], padded_c[None], pace).wait_s,
        ),
        (
            curves.qoe(t[None], chars[None], pace, 1.0),
            curves.qoe(padded_t[None], padded_c[None], pace, 1.0),
        ),
        (
            curves.speed_index(t[None], chars[None]),
            curves.speed_index(padded_t[None], padded_c[None]),
        ),
        (curves.tpot(t[None], chars[None]), curves.tpot(padded_t[None], padded_c[None])),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@given(chunks)
def test_speed_index_is_the_area_above_the_visible_curve(gaps: list[tuple[float, int]]) -> None:
    t = np.cumsum([g for g, _ in gaps])
    chars = np.array([float(c) for _, c in gaps])
    share = np.concatenate([[0.0], np.cumsum(chars) / chars.sum()])
    area = float(np.sum(np.diff(np.concatenate([[0.0], t])) * (1 - share[:-1])))
    found = curves.speed_index(t[None], chars[None])
    assert found[0] == pytest.approx(area, abs=1e-9)


def test_nothing_visible_is_no_value() -> None:
    t, chars = np.zeros((1, 3)), np.zeros((1, 3))
    assert np.isnan(curves.read(t, chars, np.array([10.0])).wait_s[0])
    assert np.isnan(curves.first(t, chars > 0)[0])
    assert np.isnan(curves.speed_index(t, chars)[0])
    assert np.isnan(curves.fluidity(t, chars, prefill_s=1.0, decode_s=0.04)[0])
