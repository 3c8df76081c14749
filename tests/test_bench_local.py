"""What the local engine must be able to do, on its real weights."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

from core import bench_local
from core.bench_local import Call, cache_reuse, cancelling, orphans
from core.local.provider import LocalProvider
from core.providers.base import CallRequest

pytestmark = [
    *(pytest.mark.engine, pytest.mark.alone, pytest.mark.slow),
    pytest.mark.usefixtures("local_model"),
]


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


# --- twenty calls at once -------------------------------------------------------------------------


@dataclass(frozen=True)
class Crowd:
    """What the bench says, and its calls in the order in which they were made."""

    figures: bench_local.Figures
    calls: tuple[Call, ...]

    @property
    def lanes(self) -> int:
        return int(self.figures["lanes"])


@pytest.fixture(scope="module")
def twenty() -> Crowd:
    made: dict[int, Call] = {}
    numbers, call = itertools.count(), bench_local._call

    async def noted(provider: LocalProvider, request: CallRequest) -> Call:
        number = next(numbers)
        made[number] = await call(provider, request)
        return made[number]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bench_local, "_call", noted)
        figures = bench_local.crowd(20)
    return Crowd(figures, tuple(made[k] for k in range(20)))


def test_all_are_served_in_order(twenty: Crowd) -> None:
    assert twenty.figures["answered"] == 20
    assert twenty.figures["in_order"]


def test_all_who_wait_are_told_how_many_go_before_and_it_only_falls(twenty: Crowd) -> None:
    served, waiting = twenty.calls[: twenty.lanes], twenty.calls[twenty.lanes :]
    assert not any(call.places for call in served)
    for place, call in enumerate(waiting, start=1):
        assert call.places[0] == place
        # Where two engines are free at once, a place is passed over.
        assert list(call.places) == sorted(set(call.places), reverse=True)
        assert call.places[-1] <= twenty.lanes


def test_time_in_the_line_is_not_the_engines(twenty: Crowd) -> None:
    work = [(c.sent_s, c.sent_s + c.ttft_s + c.decode_s) for c in twenty.calls]
    for sent_s, _ in work:
        assert sum(start_s <= sent_s < end_s for start_s, end_s in work) <= twenty.lanes
