"""What the local engine must be able to do, on its real weights."""

from __future__ import annotations

import os

import pytest

from core.bench_local import cache_reuse, cancelling, crowd, orphans
from core.errors import Unavailable
from core.local.models import locate

pytestmark = [pytest.mark.engine, pytest.mark.alone, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def _weights() -> None:
    try:
        pytest.importorskip("xllamacpp")
        locate("small")
    except (Unavailable, pytest.skip.Exception) as problem:
        if "CI" in os.environ:
            pytest.fail(f"CI must have the engine and its weights: {problem}")
        pytest.skip(str(problem))


def test_a_cached_prefix_of_a_thousand_tokens_is_five_times_faster_or_more() -> None:
    figures = cache_reuse(repeats=1)
    assert figures["cold_cached_tok"] == 0
    assert figures["warm_cached_tok"] >= 1000
    assert figures["ratio"] >= 5


def test_no_engine_outlives_a_killed_app() -> None:
    figures = orphans()
    assert figures["engines"] >= 1
    assert figures["left"] == 0


def test_an_engine_stops_writing_soon_after_its_stream_is_closed() -> None:
    assert cancelling(tries=2)["writing_s"] < 0.5


def test_twenty_at_once_are_all_served_in_order_and_told_their_place() -> None:
    figures = crowd(20)
    assert figures["answered"] == 20
    assert figures["waited"] == figures["told_falling_places"] == 20 - figures["lanes"]
    assert figures["in_order"]
