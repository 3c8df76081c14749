"""Plans survive the way to plain data and back; broken data names its place."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from core.errors import InvalidData, InvalidPlan
from core.plan_io import from_plain, to_plain
from core.scenarios import SCENARIOS, scenario


def plain(name: str = "support") -> Any:
    return copy.deepcopy(to_plain(scenario(name).plan))


@pytest.mark.parametrize("name", SCENARIOS)
def test_round_trip_through_json(name: str) -> None:
    plan = scenario(name).plan
    assert from_plain(json.loads(json.dumps(to_plain(plan)))) == plan


def test_unknown_key_is_named_with_its_place() -> None:
    data = plain()
    data["steps"][0]["signature"]["colour"] = "red"
    with pytest.raises(InvalidData, match=r"steps\[0\]\.signature\.colour: unknown key; valid are"):
        from_plain(data, "mine.json")


def test_wrong_type_is_named_with_its_place() -> None:
    data = plain()
    data["steps"][0]["stream"] = "yes"
    with pytest.raises(InvalidData, match=r"mine.json: steps\[0\]\.stream: bool is expected"):
        from_plain(data, "mine.json")


def test_unknown_kind_lists_the_valid_ones() -> None:
    data = plain()
    data["steps"][1]["kind"] = "oracle"
    with pytest.raises(
        InvalidData, match=r"steps\[1\]\.kind: 'oracle' is not one of llm, work, show"
    ):
        from_plain(data)


def test_missing_key_is_named() -> None:
    data = plain()
    del data["steps"][2]["service"]
    with pytest.raises(InvalidData, match=r"steps\[2\]\.service: is missing"):
        from_plain(data)


def test_another_schema_is_refused() -> None:
    with pytest.raises(InvalidData, match="schema 2 is not readable, 1 is"):
        from_plain({**plain(), "schema": 2})


def test_a_cycle_is_shown() -> None:
    data = plain()
    data["steps"][0]["after"] = ["moderate"]
    with pytest.raises(InvalidPlan, match="wait for each other: contextualize -> "):
        from_plain(data)
