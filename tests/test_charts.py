from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.charts import Limit, Side, Words, distribution, share_within

WORDS = Words("seconds", "share", "%{y:.0%} within %{x:.3~g} s", " s")
NAN = float("nan")


def side(*values: float, name: str = "Before") -> Side:
    return Side(name, "#112233", np.array(values, dtype=float))


def curve(figure: dict[str, object], k: int) -> dict[str, list[float]]:
    return figure["data"][k]


def test_a_curve_counts_who_is_there_by_when() -> None:
    figure = distribution(side(3, 1, 2, 4), side(1, 1, 1, 1), WORDS)
    assert curve(figure, 0)["x"][:6] == [0.0, 1.0, 1.0, 2.0, 3.0, 4.0]
    assert curve(figure, 0)["y"][:6] == [0.0, 0.0, 0.25, 0.5, 0.75, 1.0]
    assert curve(figure, 0)["y"][-1] == 1.0  # on to the right edge
    assert curve(figure, 1)["y"][-1] == 1.0


def test_requests_without_a_value_keep_the_curve_below_all() -> None:
    figure = distribution(side(1, 2, NAN, NAN), side(1, 2, 3, 4), WORDS)
    assert curve(figure, 0)["y"][-1] == 0.5
    assert share_within(np.array([1, 2, NAN, NAN]), 10.0) == 0.5


@pytest.mark.parametrize(
    ("values", "limit", "share"),
    [([1, 2, 3, 4], 2, 0.5), ([1, 2, 3, 4], 0.5, 0.0), ([NAN], 9, 0.0), ([], 1, 0.0)],
)
def test_the_share_within_a_limit_has_failures_below_the_line(
    values: list[float], limit: float, share: float
) -> None:
    assert share_within(np.array(values), limit) == share


@pytest.mark.parametrize(
    ("n", "dots"), [(19, ["p50"]), (20, ["p50", "p95"]), (100, ["p50", "p95", "p99"])]
)
def test_tails_need_enough_requests(n: int, dots: list[str]) -> None:
    figure = distribution(side(*range(n)), side(*range(n)), WORDS)
    assert len(curve(figure, 2)["x"]) == len(dots)
    assert curve(figure, 2)["y"] == [{"p50": 0.5, "p95": 0.95, "p99": 0.99}[d] for d in dots]


def test_dots_lie_on_a_curve_that_ends_early() -> None:
    figure = distribution(side(*range(50), *[NAN] * 50), side(*range(100)), WORDS)
    assert curve(figure, 2)["y"][0] == 0.25  # the median of those who have a value: half of half


def test_limits_far_beyond_are_left_out() -> None:
    limits = (Limit(1.0, "1 s"), Limit(10.0, "10 s"))
    near = distribution(side(9), side(9), WORDS, limits)["layout"]
    far = distribution(side(2), side(2), WORDS, limits)["layout"]
    assert [s["x0"] for s in near["shapes"]] == [1.0, 10.0]
    assert near["xaxis"]["range"][1] > 10.0
    assert [s["x0"] for s in far["shapes"]] == [1.0]


def test_values_stand_on_the_other_side_where_the_left_has_no_room() -> None:
    figure = distribution(side(*[8.0] * 30), side(*[0.1] * 30), WORDS)
    assert set(curve(figure, 3)["textposition"]) == {"bottom right"}
    figure = distribution(side(*[8.0] * 30), side(*[7.0] * 30), WORDS)
    assert set(curve(figure, 3)["textposition"]) == {"top left"}


values = arrays(
    float, st.integers(1, 40), elements=st.floats(0, 1e4) | st.just(NAN), fill=st.nothing()
)


def test_plotly_takes_the_chart() -> None:
    values = (*range(120), NAN)
    figure = distribution(side(*values), side(*values), WORDS, (Limit(1.0, "1 s"),))
    assert len(go.Figure(figure).data) == 6
    nothing = distribution(side(NAN), side(NAN), WORDS)
    assert len(go.Figure(nothing).data) == 6


@given(values, values)
def test_any_values_make_a_chart_of_plain_numbers(before: np.ndarray, after: np.ndarray) -> None:
    sides = [Side(n, "#112233", v) for n, v in (("a", before), ("b", after))]
    figure = distribution(*sides, WORDS, (Limit(1.0, "1 s"),))
    json.dumps(figure, allow_nan=False)
    for k in (0, 1):
        shares = curve(figure, k)["y"]
        assert shares == sorted(shares)
        assert all(0 <= s <= 1 for s in shares)
