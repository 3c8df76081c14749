from __future__ import annotations

import numpy as np
import pytest

from core.metrics import Reader
from core.profiles import setting
from core.scenarios import scenario
from core.techniques import HEADLINE_ORDER, choose
from core.workload import stream
from core.worth import Reach, Worth, reach, worths

NAN = float("nan")


def worth(name: str, *techniques: str, metric_id: str = "reader_wait_s") -> dict[str, Worth]:
    base = scenario(name)
    found = worths(
        base, choose(techniques), setting(), stream(base, 120), metric_id=metric_id, reader=Reader()
    )
    return {w.technique: w for w in found}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        # Two of four save 1 and 3 (median 2), one loses 2, one stays.
        ([5, 5, 5, 5], [4, 2, 7, 5], Reach(0.5, 2.0, 0.25, 2.0)),
        ([1, 1], [1, 1], Reach(0.0, 0.0, 0.0, 0.0)),
        ([4, NAN, 4], [3, 1, NAN], Reach(1.0, 1.0, 0.0, 0.0)),  # pairs only
        ([NAN], [1], None),
        ([], [], None),
        ([1e6], [1e6 + 1e-3], Reach(0.0, 0.0, 0.0, 0.0)),  # rounding
    ],
)
def test_reach_counts_who_gains_and_who_loses(
    before: list[float], after: list[float], found: Reach | None
) -> None:
    assert reach(np.array(before, float), np.array(after, float)) == found


def test_more_is_better_for_some_metrics() -> None:
    found = reach(np.array([1.0, 1.0]), np.array([2.0, 0.5]), better="higher")
    assert found == Reach(0.5, 1.0, 0.5, 0.5)


def test_a_cache_helps_a_few_a_lot_and_costs_all_others_a_little() -> None:
    found = worth("support", "caching")["caching"]
    assert found.gain.alone is not None
    assert found.gain.alone.difference > 0  # the median request pays the look-up
    assert found.reach is not None
    assert 0 < found.reach.better < 0.5 < found.reach.worse
    assert found.reach.better_by > 100 * found.reach.worse_by


def test_what_cannot_work_alone_says_why() -> None:
    found = worth("support", "streaming", "chunking")
    chunking = found["chunking"]
    assert chunking.gain.alone is None
    assert chunking.idle_alone is not None
    assert chunking.idle_alone.key == "reason.needs_streaming"
    assert chunking.idle_within is None
    assert found["streaming"].idle_alone is None


def test_what_has_nothing_left_to_do_in_the_set_says_why() -> None:
    found = worth("support", "merge_requests", "parallel")["parallel"]
    assert found.gain.alone is not None
    assert found.idle_within is not None
    assert found.idle_within.key == "reason.all_dependent"
    assert found.reach is None


def test_all_eight_are_listed_in_their_order() -> None:
    assert list(worth("travel", *HEADLINE_ORDER)) == [
        c.technique.id for c in choose(HEADLINE_ORDER)
    ]
    assert worth("travel") == {}
