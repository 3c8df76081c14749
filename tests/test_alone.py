"""What each technique does by itself: somewhere every one does something, and losses are losses."""

from __future__ import annotations

import pytest

from core.alone import AIMS, SITUATIONS, Effect, effect, effects, first_effect
from core.metrics import Reader
from core.profiles import setting
from core.scenarios import SCENARIOS, scenario
from core.techniques import TECHNIQUES
from core.text import LANGS, Note, text

DRAWN, READER = setting(), Reader()
WAIT, P95, _, COST = range(len(AIMS))


def first(technique_id: str, name: str = "support") -> Effect | Note:
    return first_effect(technique_id, scenario(name), DRAWN, READER)


def difference(technique_id: str, aim: int, name: str = "support") -> float:
    found = first(technique_id, name)
    assert isinstance(found, Effect)
    change = found.changes[aim]
    assert change is not None
    return change.difference


@pytest.mark.parametrize("technique_id", [t.id for t in TECHNIQUES])
def test_every_technique_applies_somewhere(technique_id: str) -> None:
    assert any(isinstance(first(technique_id, name), Effect) for name in SCENARIOS)


@pytest.mark.parametrize(
    ("technique_id", "situation"),
    [
        ("streaming", "plain"),
        ("chunking", "checked"),
        ("no_buffering", "streaming"),
        ("inline_snippets", "two_stage"),
        ("rerank_gate", "two_stage"),
        ("near_region", "far"),
    ],
)
def test_it_is_shown_where_it_makes_a_difference(technique_id: str, situation: str) -> None:
    found = first(technique_id)
    assert isinstance(found, Effect)
    assert found.situation == situation
    assert found.matters


def test_gains_are_gains_and_losses_are_losses() -> None:
    assert difference("streaming", WAIT) < -0.5
    assert difference("chunking", WAIT) < -0.1
    assert difference("no_buffering", WAIT) > 0.5
    assert difference("hedge", COST) > 0
    assert difference("service_tier", COST) > 0


def test_chunking_loses_against_text_that_does_not_wait_for_its_check() -> None:
    found = {e.situation: e for e in effects("chunking", scenario("support"), DRAWN, READER)}
    slower = found["streaming"].changes[WAIT]
    assert slower is not None
    assert slower.low > 0


def test_one_long_call_loses_against_small_ones_that_run_side_by_side() -> None:
    found = {e.situation: e for e in effects("merge_requests", scenario("support"), DRAWN, READER)}
    plain, turned = (found[s].changes[WAIT] for s in ("plain", "side_by_side"))
    assert plain is not None
    assert turned is not None
    assert plain.high < 0 < turned.low


def test_a_cache_that_nobody_hits_only_costs() -> None:
    found = {e.situation: e for e in effects("caching", scenario("support"), DRAWN, READER)}
    nobody = found["no_repeats"]
    change = nobody.changes[WAIT]
    assert change is not None
    assert change.low > 0
    assert nobody.reach is not None
    assert nobody.reach.better == 0.0


def test_a_slow_end_that_gets_shorter_is_seen_although_the_median_stays() -> None:
    # Hedged requests help those that are slow: the median of all changes is none at all.
    found = first("hedge", "travel")
    assert isinstance(found, Effect)
    assert difference("hedge", WAIT, "travel") == 0.0
    assert found.reach is not None
    assert found.reach.better > 0.02


def test_why_nothing_happens_is_said_of_the_pipeline_as_it_is() -> None:
    reason = first("items_jsonl")
    plain = effect("items_jsonl", SITUATIONS[0], scenario("support"), DRAWN, READER)
    assert isinstance(reason, Note)
    assert reason == plain


def test_models_that_do_not_offer_predictions_are_named() -> None:
    found = first("predicted_output", "travel")
    assert isinstance(found, Effect)
    assert found.what_if == (DRAWN.large.name,)


@pytest.mark.parametrize("lang", LANGS)
def test_every_situation_has_a_text(lang: str) -> None:
    for situation in SITUATIONS:
        assert text(lang, f"catalogue.situation.{situation.id}")  # type: ignore[arg-type]
