from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calibrate import AT_ONCE, PROBES, Probe, calibrate, fit, measure, probe_plan
from core.errors import InputError, InvalidData, ProviderError, UnknownName
from core.fitted import FittedProfile, Law, Sample, Slowdown, fit_law, slowdown_of, spread_of
from core.fitted_io import load, save, saved
from core.local.machine import BUSY_SHARE, CpuReading, foreign_share, read_cpu, usable_cores
from core.providers.base import CallRequest, Chunk, ChunkKind, Usage

LAW = Law(0.03, 3.0e-3, 2.0e-6, 9.2e-3, 1.0e-5)
PROFILE = FittedProfile(
    name="here",
    provider="local",
    model="small",
    machine="a machine",
    date="2026-11-30T00:00+00:00",
    law=LAW,
    spread=0.02,
    samples=8,
    failed=0,
    busy=False,
    foreign=None,
    largest_context_tok=1100,
    slowdowns=(Slowdown(2, 1.1, 1.2, 0.0), Slowdown(4, 1.3, 1.2, 1.5)),
)


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others do on this machine is no part of these tests."""
    monkeypatch.setattr("core.calibrate.read_cpu", lambda: None)


def sample(u: int, h: int, o: int, law: Law = LAW, noise: float = 1.0) -> Sample:
    ttft_s = law.ttft_s(float(u), float(h)) * noise
    return Sample(u, h, o, ttft_s, law.decode_s(float(u), float(h), float(o)) * noise)


def plan_samples(law: Law = LAW, noise: Callable[[], float] = lambda: 1.0) -> list[Sample]:
    return [sample(p.prompt_tok, p.cached_tok, p.out_tok, law, noise()) for p in PROBES]


class FormulaProvider:
    """Answers when a law says so; stamps are computed, nothing waits."""

    name = "formula"

    def __init__(
        self, law: Law, *, fail: Callable[[int], bool] = lambda _: False, counts: bool = True
    ) -> None:
        self.law, self.fail, self.counts = law, fail, counts
        self.calls: list[CallRequest] = []
        self.known: dict[str, str] = {}

    async def stream(self, request: CallRequest) -> AsyncIterator[Chunk]:
        self.calls.append(request)
        if self.fail(len(self.calls)):
            raise ProviderError("refused")
        words = [len(message.text.split()) for message in request.messages]
        static = sum(words[: request.static_messages])
        key, prefix = request.cache_key, request.messages[0].text
        cached = static if key is not None and self.known.get(key) == prefix else 0
        if key is not None:
            self.known[key] = prefix
        out = len((request.scripted_text or "").split())
        u, h = float(sum(words) - cached), float(cached)
        ttft_s, decode_s = self.law.ttft_s(u, h), self.law.decode_s(u, h, float(out))
        yield Chunk(ChunkKind.SENT, 100.0)
        yield Chunk(ChunkKind.TEXT, 100.0 + ttft_s, "first")
        yield Chunk(ChunkKind.TEXT, 100.0 + ttft_s + decode_s, "last")
        if self.counts:
            usage = Usage(tokens_in=sum(words), tokens_cached=cached, tokens_out=out)
            yield Chunk(ChunkKind.USAGE, 101.0 + ttft_s + decode_s, usage=usage)

    async def aclose(self) -> None:
        return


def close(one: Law, other: Law, rel: float) -> bool:
    pairs = zip(dataclasses.astuple(one), dataclasses.astuple(other), strict=True)
    return all(math.isclose(a, b, rel_tol=rel) for a, b in pairs)


def test_the_law_by_hand() -> None:
    # 0.03 + 100 x 0.003 + 100 x (400 + 50) x 2e-6
    assert LAW.ttft_s(100.0, 400.0) == pytest.approx(0.03 + 0.3 + 0.09)
    # 10 steps of 9.2 ms + 1e-5 x (100 + 400 + 5.5)
    assert LAW.decode_s(100.0, 400.0, 11.0) == pytest.approx(10 * (9.2e-3 + 5.055e-3))
    assert LAW.decode_s(100.0, 400.0, 1.0) == 0.0


def test_eight_exact_samples_give_the_law_back() -> None:
    assert close(fit_law(plan_samples()), LAW, rel=1e-6)
    assert spread_of(plan_samples()) == pytest.approx(0.0, abs=1e-9)


@given(
    st.floats(0.01, 1), st.floats(1e-5, 1e-2), st.floats(1e-7, 1e-5), st.floats(1e-3, 0.1),
    st.floats(1e-7, 1e-4),
)  # fmt: skip
def test_any_law_is_given_back_in_what_it_predicts(
    a: float, b: float, c: float, d: float, e: float
) -> None:
    law = Law(a, b, c, d, e)
    found = fit_law(plan_samples(law))
    assert found.ttft_s(300.0, 200.0) == pytest.approx(law.ttft_s(300.0, 200.0), rel=1e-4)
    expected_s = law.decode_s(300.0, 200.0, 40.0)
    assert found.decode_s(300.0, 200.0, 40.0) == pytest.approx(expected_s, rel=1e-4)


def test_noise_of_three_percent_moves_predictions_by_about_as_much() -> None:
    rng = np.random.default_rng(7)
    off = []
    for _ in range(100):
        found = fit_law(plan_samples(noise=lambda: float(np.exp(0.03 * rng.standard_normal()))))
        total_s = found.ttft_s(300.0, 200.0) + found.decode_s(300.0, 200.0, 40.0)
        off.append(total_s / (LAW.ttft_s(300.0, 200.0) + LAW.decode_s(300.0, 200.0, 40.0)) - 1)
    assert np.std(off) < 0.03
    assert abs(np.mean(off)) < 4 * 0.03 / math.sqrt(100)


def test_the_spread_is_that_of_the_noise() -> None:
    rng = np.random.default_rng(8)
    samples = [
        s
        for _ in range(5)
        for s in plan_samples(noise=lambda: float(np.exp(0.05 * rng.standard_normal())))
    ]
    # 40 samples: the standard error of a standard deviation is sigma / sqrt(2 n).
    assert spread_of(samples) == pytest.approx(0.05, abs=4 * 0.05 / math.sqrt(80))


def test_no_coefficient_is_negative() -> None:
    rng = np.random.default_rng(9)
    flat = Law(0.4, 1e-6, 0.0, 0.02, 0.0)  # a hosted model: the prompt's length hardly matters
    for _ in range(50):
        noisy = plan_samples(flat, lambda: float(np.exp(0.2 * rng.standard_normal())))
        assert min(dataclasses.astuple(fit_law(noisy))) >= 0


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(InputError, match="5 samples or more, got 4"):
        fit_law(plan_samples()[:4])
    with pytest.raises(InputError, match="more than one piece"):
        fit_law([sample(u, 0, 1) for u in (10, 20, 30, 40, 50)])


def test_slow_down_is_the_median_ratio_at_each_concurrency() -> None:
    law = LAW
    pair = [
        dataclasses.replace(sample(150, 0, 32, noise=noise), concurrency=2, queue_s=0.5)
        for noise in (1.0, 1.2, 1.3, 9.0)
    ]
    (found,) = slowdown_of(law, [*plan_samples(), *pair])
    assert found.concurrency == 2
    assert found.ttft == pytest.approx(1.25)
    assert found.decode == pytest.approx(1.25)
    assert found.queue_s == 0.5


def test_predictions_between_and_beyond_the_measured_concurrencies() -> None:
    alone = PROFILE.predict(100, 400, 11)
    assert alone.ttft_s == pytest.approx(0.42)
    assert alone.total_s == pytest.approx(0.42 + alone.decode_s)
    assert PROFILE.predict(100, 400, 11, concurrency=2).ttft_s == pytest.approx(1.1 * 0.42)
    assert PROFILE.predict(100, 400, 11, concurrency=3).ttft_s == pytest.approx(1.2 * 0.42)
    assert PROFILE.predict(100, 400, 11, concurrency=9).ttft_s == pytest.approx(1.3 * 0.42)


def test_the_band_holds_nine_of_ten() -> None:
    rng = np.random.default_rng(10)
    told = PROFILE.predict(100, 400, 11)
    true = told.total_s * np.exp(PROFILE.spread * rng.standard_normal(10_000))
    inside = float(np.mean((told.low_s <= true) & (true <= told.high_s)))
    assert inside == pytest.approx(0.9, abs=4 * math.sqrt(0.9 * 0.1 / 10_000))


def test_samples_of_a_busy_machine_are_left_out_while_enough_remain() -> None:
    quiet = [dataclasses.replace(s, foreign=0.0) for s in plan_samples()]
    busy = [dataclasses.replace(sample(100, 0, 20, noise=5.0), foreign=0.9) for _ in range(3)]
    profile = fit([*quiet, *busy], name="n", provider="p", model="m")
    assert close(profile.law, LAW, rel=1e-6)
    assert (profile.busy, profile.samples) == (False, 8)
    profile = fit([*quiet[:5], *busy], name="n", provider="p", model="m")
    assert (profile.busy, profile.samples) == (True, 8)
    assert profile.foreign == 0.0


def test_the_plan_holds_every_probe_in_an_order_of_chance() -> None:
    one, two = (probe_plan(np.random.default_rng(seed), repeats=2) for seed in (1, 2))
    assert one != two
    expected = sorted([*PROBES, *AT_ONCE] * 2, key=repr)
    assert sorted(one, key=repr) == sorted(two, key=repr) == expected


async def test_calibrating_a_provider_that_follows_a_law_gives_it_back() -> None:
    provider = FormulaProvider(LAW)
    told: list[tuple[int, int]] = []
    rng = np.random.default_rng(3)
    profile = await calibrate(
        provider, "a/model:1", rng=rng, on_probe=lambda done, total: told.append((done, total))
    )
    assert close(profile.law, LAW, rel=1e-4)
    assert told[-1] == (10, 10)
    assert (profile.name, profile.samples, profile.failed) == ("formula-a-model-1", 8, 0)
    assert [slow.concurrency for slow in profile.slowdowns] == [2, 4]
    assert profile.slowdowns[0].ttft == pytest.approx(1.0, rel=1e-4)


async def test_only_probes_with_a_prefix_may_be_cached_and_they_are_primed() -> None:
    provider = FormulaProvider(LAW)
    rng = np.random.default_rng(4)
    (plain,) = await measure(provider, "m", Probe(40, 8), rng=rng)
    assert [call.cache_key for call in provider.calls] == [None]
    assert plain.cached_tok == 0
    (cached,) = await measure(provider, "m", Probe(40, 8, cached_tok=400), rng=rng)
    _, prime, measured = provider.calls
    assert prime.cache_key == measured.cache_key is not None
    assert prime.messages[0] == measured.messages[0]
    assert prime.messages[1] != measured.messages[1]
    assert cached.cached_tok == 400


async def test_some_failures_are_counted_and_many_give_up() -> None:
    rng = np.random.default_rng(5)
    # Calls 1 to 4 are the warm-up, four at once.
    profile = await calibrate(FormulaProvider(LAW, fail=lambda call: call == 6), "m", rng=rng)
    assert profile.failed == 1
    with pytest.raises(ProviderError, match="of 10 probes failed, the last: refused"):
        await calibrate(FormulaProvider(LAW, fail=lambda call: call > 9), "m", rng=rng)


async def test_an_endpoint_without_counts_cannot_be_calibrated() -> None:
    with pytest.raises(ProviderError, match="reports no token counts"):
        await calibrate(FormulaProvider(LAW, counts=False), "m", rng=np.random.default_rng(6))


def test_a_saved_profile_is_the_same_when_loaded(tmp_path: Path) -> None:
    assert saved(tmp_path / "new") == ()
    path = save(PROFILE, tmp_path / "new")
    assert load("here", tmp_path / "new") == PROFILE
    assert saved(tmp_path / "new") == ("here",)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 65, "a\nb"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be named"):
        save(dataclasses.replace(PROFILE, name=name), tmp_path)
    with pytest.raises(InputError, match="cannot be named"):
        load(name, tmp_path)


def test_unknown_and_broken_profiles_are_named(tmp_path: Path) -> None:
    path = save(PROFILE, tmp_path)
    with pytest.raises(UnknownName, match="valid are here"):
        load("there", tmp_path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "law": {**data["law"], "base_s": "fast"}}))
    with pytest.raises(InvalidData, match="base_s"):
        load("here", tmp_path)
    path.write_text(json.dumps({**data, "schema": 2}))
    with pytest.raises(InvalidData, match="schema"):
        load("here", tmp_path)
    path.write_text("{")
    with pytest.raises(InvalidData, match="cannot be read"):
        load("here", tmp_path)


def test_the_foreign_share_is_what_others_used_of_all_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.local.machine.os.cpu_count", lambda: 2)
    before = CpuReading(at_s=10.0, everybody_s=100.0, ours_s=50.0)
    after = CpuReading(at_s=14.0, everybody_s=106.0, ours_s=52.0)
    # Others used 6 - 2 = 4 of 2 x 4 = 8 processor seconds.
    assert foreign_share(before, after) == 0.5 > BUSY_SHARE
    assert foreign_share(before, None) is None
    assert foreign_share(before, before) is None


def test_the_machine_can_be_read() -> None:
    reading = read_cpu()
    assert reading is None or reading.everybody_s >= reading.ours_s >= 0
    assert usable_cores() >= 1
