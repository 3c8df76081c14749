from __future__ import annotations

import pytest

from core.bench_providers import BAR_S, TTFT_S, OverheadRow, overhead


@pytest.mark.slow
def test_overhead_is_measured_for_every_hosted_provider() -> None:
    rows = overhead(n=5)
    assert [row.provider for row in rows] == [
        "openai",
        "openai-responses",
        "anthropic",
        "compatible",
    ]
    for row in rows:
        assert row.n == 5
        # at least half of it: on a busy machine the stamp of sending comes late
        assert row.raw_ttft_s >= TTFT_S / 2
        assert row.ttft_s >= TTFT_S / 2


def test_the_bar_is_on_the_difference() -> None:
    assert OverheadRow("p", 9, 0.0200, 0.0229).within_bar
    assert not OverheadRow("p", 9, 0.0200, 0.0200 + BAR_S + 1e-4).within_bar
