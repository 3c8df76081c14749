"""Tables of cases of which a few run always, and all where there is time."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet


def every(*axes: Collection[object]) -> list[ParameterSet]:
    """Every combination of the axes' values, for `parametrize`.

    As many as the longest axis has values are fast, and together they have every value of every
    axis; the others are slow.
    """
    values = [tuple(axis) for axis in axes]
    longest = max(len(axis) for axis in values)
    fast = {tuple(k % len(axis) for axis in values) for k in range(longest)}
    return [
        pytest.param(
            *(axis[k] for axis, k in zip(values, at, strict=True)),
            marks=() if at in fast else pytest.mark.slow,
        )
        for at in itertools.product(*(range(len(axis)) for axis in values))
    ]


def slow_but(fast: object, values: Iterable[object]) -> list[ParameterSet]:
    """These values, for `parametrize`: all but the one are slow."""
    return [pytest.param(v, marks=() if v == fast else pytest.mark.slow) for v in values]
