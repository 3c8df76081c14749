from __future__ import annotations

import math

import numpy as np
import pytest

from core.emulator.timing import Z95, EmulatedModel, draw
from core.errors import InputError, UnknownName
from core.providers.scripted import script

MODEL = EmulatedModel(ttft_s=0.5, tpot_s=0.02, per_1k_s=0.01)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_without_spread_the_times_are_exact() -> None:
    drawn = draw(MODEL, 3000, rng=rng())
    assert drawn.first_s == 0.5 + 0.01 * 3000 / 1000
    text = script("one two three four five")
    assert drawn.answer(text, MODEL) == tuple(
        (0.53 + k * 0.02, word)
        for k, word in enumerate(("one", " two", " three", " four", " five"))
    )


def test_chunks_of_five_tokens_come_with_the_first_of_them() -> None:
    model = MODEL.retuned({"tokens_per_chunk": 5})
    text = script("one two three four five six seven")
    times = [at for at, _ in draw(model, 0, rng=rng()).answer(text, model)]
    assert times == [0.5, 0.5 + 5 * 0.02]


def test_thinking_comes_first_and_pushes_the_answer_back() -> None:
    model = MODEL.retuned({"reasoning_tokens": 3})
    drawn = draw(model, 0, rng=rng())
    assert drawn.reasoning(model) == (0.5, 0.5 + 0.02, 0.5 + 2 * 0.02)
    assert drawn.answer(script("one"), model)[0][0] == 0.5 + 3 * 0.02


def test_spread_is_a_lognormal_with_that_median_and_p95() -> None:
    model = EmulatedModel(ttft_s=0.5, tpot_s=0.02, ttft_spread=2.3)
    n = 4000
    source = rng()
    logs = np.log([draw(model, 0, rng=source).first_s / 0.5 for _ in range(n)])
    sigma = math.log(2.3) / Z95
    assert abs(logs.mean()) < 4 * sigma / math.sqrt(n)
    assert abs(logs.std() - sigma) < 4 * sigma / math.sqrt(2 * n)


def test_the_same_seed_draws_the_same_times() -> None:
    model = MODEL.retuned({"ttft_spread": 2.0, "tpot_spread": 1.2})
    assert draw(model, 0, rng=rng()) == draw(model, 0, rng=rng())


def test_a_published_ttft_was_measured_on_a_prompt_of_a_thousand_tokens() -> None:
    model = EmulatedModel.from_profile(
        ttft_p50_s=0.6, ttft_p95_s=1.38, tokens_per_s=100, per_1k_s=0.01
    )
    assert draw(model.retuned({"ttft_spread": 1.0}), 1000, rng=rng()).first_s == pytest.approx(0.6)
    assert model.tpot_s == 0.01
    assert model.ttft_spread == pytest.approx(2.3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ttft_s": -1.0}, "ttft_s from 0"),
        ({"ttft_s": 1e9}, "ttft_s from 0"),
        ({"ttft_s": math.nan}, "ttft_s from 0"),
        ({"tpot_s": -0.1}, "tpot_s"),
        ({"ttft_spread": 0.5}, "ttft_spread"),
        ({"tokens_per_chunk": 0}, "tokens_per_chunk"),
        ({"reasoning_tokens": -1}, "reasoning_tokens"),
        ({"ttft_s": "soon"}, "a float is needed"),
        ({"ttft_s": True}, "a float is needed"),
        ({"tokens_per_chunk": 1.5}, "a int is needed"),
        ({"headers_early": 1}, "a bool is needed"),
    ],
)
def test_impossible_models_are_refused_with_what_would_be_valid(
    changes: dict[str, object], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        MODEL.retuned(changes)


def test_unknown_values_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'ttft_s'"):
        MODEL.retuned({"tfft_s": 1.0})


def test_whole_numbers_are_fine_for_seconds() -> None:
    assert MODEL.retuned({"ttft_s": 1}).ttft_s == 1
