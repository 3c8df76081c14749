"""Races on real engines: turns, progress, badges, many at once, and the simulator's word."""

from __future__ import annotations

import asyncio
from collections import Counter

import numpy as np
import pytest

from core import live
from core.badges import badges
from core.engines import DEFAULT_MODELS, Target, emulated, named, opened, priced
from core.errors import InputError, ProviderError, TimedOut, Unavailable
from core.execute import Engine, Model
from core.fitted import FittedProfile, Law, TokenRatio
from core.fitted_io import save
from core.fitted_setting import setting_of
from core.live import LiveRace, Progress, plan_pair, race
from core.profiles import MEASURED_ROUTE, Profile, Setting, setting
from core.providers.fake import FakeProvider, Pace
from core.providers.scripted import wait_until
from core.rewrite import Choice
from core.scenarios import scenario
from core.simulate import simulate
from core.techniques import choose
from core.text import say
from core.workload import only
from tests.agreement import disagreements
from tests.paced import paced
from tests.stage import Play, StageModel
from tests.virtual_time import run

SUPPORT = scenario("support")
REQUEST = SUPPORT.requests[0]
CHOICES = choose(("streaming", "parallel"))


def fake(error: ProviderError | None = None) -> Engine:
    provider = FakeProvider(Pace(0.05, 0.001, error=error))
    return Engine("fake", Model(provider, "big"), Model(provider, "little"))


def raced(
    engine: Engine,
    choices: tuple[Choice, ...] = CHOICES,
    *,
    repeats: int = 2,
    seed: int = 0,
    told: list[Progress] | None = None,
    where: Setting | None = None,
) -> LiveRace:
    heard: list[Progress] = [] if told is None else told
    return run(
        race(
            SUPPORT,
            REQUEST,
            choices,
            engine,
            where or setting(),
            repeats=repeats,
            rng=np.random.default_rng(seed),
            tell=heard.append,
        )
    )


def test_both_sides_run_as_often_as_asked_in_random_order() -> None:
    told: list[Progress] = []
    found = raced(fake(), repeats=6, told=told)
    assert (found.before.n, found.after.n, found.errors) == (6, 6, (0, 0))
    begun = [p for p in told if p.news is None and p.repeat > 0]
    order = [p.side for p in begun[::2]]
    assert Counter(order) == {"before": 6, "after": 6}
    first = order[::2]
    assert set(first) == {"before", "after"}  # neither side always goes first
    assert [p.done for p in begun[-2:]] == [11, 12]
    assert {p.total for p in told} == {12}
    assert any(p.news is not None for p in told)


def test_what_is_not_real_is_the_same_chance_on_both_sides() -> None:
    found = raced(fake(), (), repeats=3)
    assert found.before.total_s == pytest.approx(found.after.total_s, abs=1e-9)
    assert len(set(found.before.total_s)) == 3


def test_a_race_says_what_the_simulator_says() -> None:
    where = setting().at_median()
    pair = plan_pair(SUPPORT, CHOICES, where)
    for side in live.SIDES:
        found = raced(paced(pair.side(side), where, REQUEST), where=where, repeats=1)
        timeline = found.before if side == "before" else found.after
        expected = simulate(pair.side(side), where, only(SUPPORT, REQUEST))
        assert timeline.total_s[0] == pytest.approx(expected.total_s[0], abs=1e-6)


def test_plans_that_count_on_earlier_calls_run_once_before() -> None:
    told: list[Progress] = []
    raced(fake(), choose(("static_prefix", "caching")), repeats=1, told=told)
    pair = plan_pair(SUPPORT, choose(("static_prefix", "caching")), setting())
    warmed = {p.side for p in told if p.repeat == 0 and p.news is not None}
    prompt_cached = any(s.prompt_cache for s in pair.after.llm_steps)
    assert warmed == ({"after"} if prompt_cached else set())


def test_a_failed_warm_up_ends_the_race_with_its_reason() -> None:
    refused = fake(ProviderError("no such model"))
    with pytest.raises(ProviderError, match="no such model"):
        raced(refused)


def test_failed_runs_are_counted_and_shown() -> None:
    good, bad = Play(("ok",)), Play((), error=TimedOut("no end within 3 s"))
    model = StageModel((good, bad))
    spare = Model(model, "m")
    found = raced(Engine("stage", spare, spare), repeats=2)
    assert found.errors == (2, 2)
    assert np.isnan(found.before.total_s).all()
    (badge,) = [b for b in found.badges if b.key == "badge.errors"]
    assert "no end within 3 s" in say(badge, "en")
    assert "no end within 3 s" in say(badge, "ko")


@pytest.mark.parametrize("repeats", [0, -1, live.MOST_REPEATS + 1])
def test_repeats_have_bounds(repeats: int) -> None:
    with pytest.raises(InputError, match=f"{repeats} repeats"):
        raced(fake(), repeats=repeats)


def test_badges_say_what_the_calls_say() -> None:
    found = raced(fake(), repeats=1)
    keys = {b.key for b in found.badges}
    assert {"badge.warm", "badge.cached_unknown", "badge.counted_server"} <= keys
    busy = badges(found.runs_before, found.runs_after, 0.8)
    assert any(b.key == "badge.busy" and "80 %" in say(b, "en") for b in busy)
    for note in busy:
        assert say(note, "ko")


def test_twenty_races_at_once_take_the_time_of_one() -> None:
    where = setting().at_median()
    pair = plan_pair(SUPPORT, (), where)

    async def all_of_them() -> list[LiveRace]:
        engines = [paced(pair.before, where, REQUEST) for _ in range(20)]
        return await asyncio.gather(
            *(
                race(
                    SUPPORT, REQUEST, (), engine, where,
                    repeats=1, rng=np.random.default_rng(k), tell=lambda _: None,
                )
                for k, engine in enumerate(engines)
            )
        )  # fmt: skip

    expected = simulate(pair.before, where, only(SUPPORT, REQUEST)).total_s[0]
    for found in run(all_of_them()):
        assert found.before.total_s[0] == pytest.approx(expected, abs=1e-6)


def test_cancelling_a_race_closes_its_stream() -> None:
    model = StageModel((Play(("a", "b"), first_s=0.01), Play(tuple("abcdef" * 50), first_s=1.0)))
    engine = Engine("stage", Model(model, "m"), Model(model, "m"))

    async def cancelled() -> float:
        work = asyncio.create_task(
            race(
                SUPPORT, REQUEST, (), engine, setting(),
                repeats=1, rng=np.random.default_rng(0), tell=lambda _: None,
            )
        )  # fmt: skip
        await wait_until(3.0)  # the second call has begun to write and has five seconds to go
        assert len(model.asked) == 2
        work.cancel()
        began = asyncio.get_running_loop().time()
        await asyncio.wait([work])
        assert work.cancelled()
        return asyncio.get_running_loop().time() - began

    assert run(cancelled()) < 0.5
    assert len(model.ended_s) == len(model.asked)


# --- targets --------------------------------------------------------------------------------------


def test_targets_by_name() -> None:
    assert named("local") == Target("local", "large", "small")
    server = named("http://127.0.0.1:8000/v1", "m", "n")
    assert (server.engine, server.base_url) == ("compatible", "http://127.0.0.1:8000/v1")
    for engine, (large, small) in DEFAULT_MODELS.items():
        assert (named(engine).large, named(engine).small) == (large, small)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("nope", "", ""), "valid are local"),
        (("http://127.0.0.1:1/v1", "", ""), "needs the name of a model in the large role"),
        (("http://127.0.0.1:1/v1", "m", " "), "in the small role"),
    ],
)
def test_wrong_targets(given: tuple[str, str, str], says: str) -> None:
    with pytest.raises((InputError,), match=says):
        Target("compatible", "m", " ") if given[2] == " " else named(*given)


def test_a_key_never_shows() -> None:
    assert "sk-secret" not in repr(Target("openai", "m", "n", api_key="sk-secret"))


async def test_opening_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Unavailable, match="OPENAI_API_KEY"):
        await opened(named("openai"), setting())
    with pytest.raises(InputError, match="no local model 'huge'"):
        await opened(Target("local", "huge", "small"), setting())
    monkeypatch.setenv("PLAYGROUND_MODELS", "/nonexistent")
    with pytest.raises(Unavailable, match="models pull"):
        await opened(named("local"), setting())


def test_prices_are_found_by_the_name_an_api_takes() -> None:
    found = priced("openai-responses", "gpt-5.5")
    assert found is not None
    assert found.input_price is not None
    assert priced("openai", "unheard-of") is None


def test_an_emulator_has_the_pace_of_its_profile() -> None:
    profile = setting().large
    model = emulated(profile, certain=True)
    assert model.ttft_s == profile.ttft().median_s
    assert model.tpot_s == profile.tpot().median_s
    assert model.ttft_spread == model.tpot_spread == 1.0


# --- calibrated models in the simulator -----------------------------------------------------------

LAW = Law(0.1, 0.002, 1e-6, 0.02, 1e-5)


def calibrated(name: str, law: Law = LAW, **more: tuple[TokenRatio, ...]) -> FittedProfile:
    return FittedProfile(
        name, "local", "small", "a machine", "2026-11-30T00:00+00:00", law, 0.05, 8, 0,
        busy=False, foreign=None, largest_context_tok=1000, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_calibrated_call_takes_what_its_law_says() -> None:
    where = setting_of(calibrated("a"), calibrated("b"), setting()).at_median()
    plan = SUPPORT.plan
    timeline = simulate(plan, where, only(SUPPORT, REQUEST))
    first = plan.llm_steps[0]
    k = timeline.column(first.id)
    u = float(timeline.usage.tokens_in[0, k])
    o = float(timeline.usage.tokens_out[0, k])
    took = float(timeline.end_s[0, k] - timeline.start_s[0, k])
    expected = LAW.ttft_s(u, 0.0) + LAW.decode_s(u, 0.0, o)
    assert took == pytest.approx(expected, rel=1e-9)
    assert where.route == MEASURED_ROUTE


@pytest.mark.parametrize("ids", [(), ("streaming",), ("parallel", "small_model", "short_keys")])
def test_runs_and_simulations_of_calibrated_models_agree(ids: tuple[str, ...]) -> None:
    slow = calibrated("a", Law(0.2, 0.004, 2e-6, 0.04, 2e-5))
    where = setting_of(slow, calibrated("b"), setting()).at_median()
    plan = plan_pair(SUPPORT, choose(ids), where).after
    assert not disagreements(plan, where, only(SUPPORT, REQUEST))


def test_a_model_with_more_tokens_per_word_of_a_language_takes_longer_in_it() -> None:
    spelled = calibrated("a", ratios=(TokenRatio("ko", 3.0, 2.0),))
    where = setting_of(spelled, calibrated("b"), setting()).at_median()
    korean = next(r for r in SUPPORT.requests if r.lang == "ko")
    for request, into, out in ((REQUEST, 1.0, 1.0), (korean, 3.0, 2.0)):
        timeline = simulate(SUPPORT.plan, where, only(SUPPORT, request))
        k = timeline.column(SUPPORT.plan.llm_steps[0].id)
        u = float(timeline.usage.tokens_in[0, k]) * into
        o = float(timeline.usage.tokens_out[0, k]) * out
        took = float(timeline.end_s[0, k] - timeline.start_s[0, k])
        assert took == pytest.approx(LAW.ttft_s(u, 0.0) + LAW.decode_s(u, 0.0, o), rel=1e-9)
        assert not disagreements(SUPPORT.plan, where, only(SUPPORT, request))


def test_saved_fits_are_models_by_name(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    save(calibrated("mine"))
    where = setting(large="fitted:mine", small="fitted:mine")
    assert where.large.fitted
    assert (where.large.name, where.large.source_date) == ("fitted:mine", "2026-11-30")
    assert "a machine" in where.large.source
    assert setting(large="fitted:mine", small="fitted:mine") is where
    save(calibrated("mine", Law(1.0, 0.0, 0.0, 0.5, 0.0)))
    assert setting(large="fitted:mine").large.law == Law(1.0, 0.0, 0.0, 0.5, 0.0)
    with pytest.raises(InputError, match="fitted profile 'other'"):
        setting(large="fitted:other")


def test_published_models_have_no_law() -> None:
    found: Profile = setting().large
    assert not found.fitted
    assert found.law is None
